package egress

import (
	"context"
	"net/http"
	"net/url"
)

// A Request is one POST of a JSON document.
type Request struct {
	// URL must pass the policy's check.
	URL string
	// Header is sent along: signatures, trace context, the event's name.
	// Framing, connection, encoding, cookie and content headers are the
	// client's own and left out of it, and so are Idempotency-Key and
	// X-Idempotency-Key, which would make net/http repeat the POST (S-29).
	Header http.Header
	// Body is the document. It must not change before Post returns, nor
	// afterwards if the target answered before it had read all of it.
	Body []byte
	// Credentials are sent as Basic authentication unless they are zero.
	Credentials Credentials
}

// A Response is what came back.
type Response struct {
	// Status is the HTTP status, redirects included: nobody follows them.
	Status int
	// Header is the target's, MaxHeader bytes at most. Read single fields from
	// it; nothing in it is fit to be logged or passed on unread.
	Header http.Header
	// Body holds MaxBody bytes at most. It is nil if an answer other than 2xx
	// had a body that could not be read to its end.
	Body []byte
}

// A Client sends requests to third parties. Use [New] to make one.
type Client struct {
	cfg    Config
	secure *http.Transport // https, for everybody
	plain  *http.Transport // http, for the allow-list only; nil without one

	// Values that every request has in common, and nobody changes.
	json, identity, userAgent []string
}

// New returns a client. Fields of cfg that are zero get their defaults; check
// the others with [Config.Validate] before.
func New(cfg Config) *Client {
	return newClient(cfg, guardedDial(cfg.Resolver))
}

// newClient lets tests bring their own network.
func newClient(cfg Config, dial func(*guard) dialFunc) *Client {
	cfg = cfg.WithDefaults()
	c := &Client{
		cfg:       cfg,
		secure:    newTransport(cfg, dial(newGuard(cfg.Policy, "https"))),
		json:      []string{"application/json"},
		identity:  []string{"identity"},
		userAgent: []string{"Latchwire/" + cfg.Version},
	}
	if cfg.Policy.Development() {
		c.plain = newTransport(cfg, dial(newGuard(cfg.Policy, "http")))
	}
	return c
}

// Close closes the idle connections. Calls under way go on; those that follow
// open new connections.
func (c *Client) Close() {
	c.secure.CloseIdleConnections()
	if c.plain != nil {
		c.plain.CloseIdleConnections()
	}
}

// Post sends r once and returns the whole answer. The error is a *CallError,
// or nil.
//
// An answer whose status is not 2xx is an answer like any other and no error,
// even if its body is too large, compressed or cut off. With a 2xx status that
// is an error, and Status and Header of the response are set: whoever only
// wants an acknowledgement has got it.
func (c *Client) Post(ctx context.Context, r Request) (Response, error) {
	u, err := c.cfg.Policy.CheckURL(r.URL)
	if err != nil {
		return Response{}, &CallError{Kind: KindURL, cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()

	x := exchange{url: u, header: c.header(r), body: r.Body, maxBody: c.cfg.MaxBody}
	resp, err := x.run(ctx, c.transport(u))
	if err != nil && x.stale() && ctx.Err() == nil {
		resp, err = x.run(ctx, c.transport(u))
	}
	return resp, err
}

func (c *Client) transport(u *url.URL) *http.Transport {
	if u.Scheme == "http" {
		return c.plain
	}
	return c.secure
}

// header returns what is sent for r. Keys end up canonical, so that no
// spelling gets past the list of what is left out.
func (c *Client) header(r Request) http.Header {
	h := make(http.Header, len(r.Header)+5)
	h["Accept"] = c.json
	for key, values := range r.Header {
		if key = http.CanonicalHeaderKey(key); !reserved(key) {
			h[key] = values
		}
	}
	h["Accept-Encoding"] = c.identity
	h["Content-Type"] = c.json
	h["User-Agent"] = c.userAgent
	if !r.Credentials.IsZero() {
		h["Authorization"] = []string{r.Credentials.header()}
	}
	return h
}

// reserved reports whether a header, by its canonical key, is not the caller's
// to set. Host and the headers that frame the body are missing here: net/http
// writes those itself and takes none from the request's.
func reserved(key string) bool {
	switch key {
	case "Idempotency-Key", "X-Idempotency-Key", "Content-Encoding", "Cookie",
		"Connection", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade":
		return true
	}
	return false
}
