package egress

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	body := `{"input":{"t":"é 😀 <&>"}}`
	var got *http.Request
	var read []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		read, _ = io.ReadAll(r.Body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"status":"completed","result":{}}`)
	}))
	t.Cleanup(server.Close)
	given := http.Header{
		"Traceparent":         {"00-1"},
		"X-Chaster-Event":     {"extension.command_invoked"},
		"idempotency-key":     {"k"},
		"X-Idempotency-Key":   {"k"},
		"Transfer-Encoding":   {"chunked"},
		"Content-Type":        {"text/plain"},
		"Content-Length":      {"1"},
		"Content-Encoding":    {"gzip"},
		"Host":                {"example.com"},
		"Trailer":             {"X-A"},
		"Te":                  {"trailers"},
		"Connection":          {"close"},
		"Keep-Alive":          {"timeout=99"},
		"Proxy-Connection":    {"close"},
		"Upgrade":             {"h2c"},
		"Cookie":              {"a=b"},
		"Expect":              {"100-continue"},
		"Accept-Encoding":     {"gzip"},
		"user-agent":          {"curl"},
		"Proxy-Authorization": {"Basic x"},
	}
	c := open(t, Config{Policy: loopback(), Version: "1.2.3"})
	resp, err := c.Post(t.Context(), Request{
		URL: server.URL + "/hook?a=b", Header: given, Body: []byte(body),
		Credentials: Credentials{User: "a@b", Password: "p:ä/ß%40"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != http.StatusCreated || string(resp.Body) != `{"status":"completed","result":{}}` || resp.Header.Get("Retry-After") != "7" {
		t.Errorf("got %d %q %v", resp.Status, resp.Body, resp.Header)
	}
	if len(given) != 20 {
		t.Errorf("got the caller's header changed: %v", given)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/hook?a=b" || got.Host != strings.TrimPrefix(server.URL, "http://") {
		t.Errorf("got %s %s of %s", got.Method, got.RequestURI, got.Host)
	}
	if string(read) != body || got.ContentLength != int64(len(body)) || len(got.TransferEncoding) != 0 {
		t.Errorf("S-33: got %q, length %d, encoding %v", read, got.ContentLength, got.TransferEncoding)
	}
	want := map[string]string{
		"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json",
		"User-Agent": "Latchwire/1.2.3", "Traceparent": "00-1", "X-Chaster-Event": "extension.command_invoked",
		"Authorization":  "Basic " + base64.StdEncoding.EncodeToString([]byte("a@b:p:ä/ß%40")),
		"Content-Length": fmt.Sprint(len(body)),
	}
	for key := range got.Header {
		if got.Header.Get(key) != want[key] {
			t.Errorf("got %s: %q, want %q", key, got.Header.Get(key), want[key])
		}
		delete(want, key)
	}
	if len(want) != 0 {
		t.Errorf("missing %v", want)
	}
}

func TestCallerMaySetAcceptAndAuthorization(t *testing.T) {
	t.Parallel()
	var got http.Header
	target := listen(t, "127.0.0.1:0", func(c net.Conn, r *http.Request, _ int64) bool {
		got = r.Header
		return keeps(okAnswer)(c, r, 0)
	})
	c := open(t, Config{Policy: loopback()})
	h := http.Header{"Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer t"}}
	if _, err := c.Post(t.Context(), Request{URL: target.url, Header: h}); err != nil {
		t.Fatal(err)
	}
	if got.Get("Accept") != h.Get("Accept") || got.Get("Authorization") != "Bearer t" || got.Get("Content-Length") != "0" {
		t.Errorf("got %v", got)
	}
}

func TestRequestThatCannotBeSent(t *testing.T) {
	t.Parallel()
	target := listen(t, "127.0.0.1:0", keeps(okAnswer))
	c := open(t, Config{Policy: loopback()})
	for name, tc := range map[string]struct {
		r    Request
		want Kind
	}{
		"no URL":                   {r: Request{}, want: KindURL},
		"SEC-07 a URL not allowed": {r: Request{URL: "http://example.com/"}, want: KindURL},
		"line break in a value":    {r: Request{URL: target.url, Header: http.Header{"X-A": {"a\r\nX-B: b"}}}, want: KindRequest},
		"line break in a name":     {r: Request{URL: target.url, Header: http.Header{"X-A\r\nX-B": {"b"}}}, want: KindRequest},
		"nobody listens":           {r: Request{URL: "http://127.0.0.1:1/"}, want: KindConnect},
		"no TLS there":             {r: Request{URL: strings.Replace(target.url, "http:", "https:", 1)}, want: KindTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := c.Post(t.Context(), tc.r)
			if got := fault(t, err); got.Kind != tc.want || got.Sent || resp.Status != 0 {
				t.Errorf("got %s (%v), sent %v, status %d, want %s", got.Kind, got.Unwrap(), got.Sent, resp.Status, tc.want)
			}
		})
	}
	t.Cleanup(func() {
		if got := target.hits.Load(); got != 0 {
			t.Errorf("got %d hits, want none", got)
		}
	})
}

// A redirect is an answer and nothing more: the body, its signature and the
// credentials stay where they were meant to go.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t, "127.0.0.1:0", keeps(okAnswer))
	for _, code := range []int{300, 301, 302, 303, 304, 307, 308} {
		for place, location := range map[string]string{
			"another server": elsewhere.url + "x", "the same server": "/again", "a file": "file:///etc/passwd", "nothing": "::",
		} {
			t.Run(fmt.Sprintf("SEC-04 S-30 %d to %s", code, place), func(t *testing.T) {
				t.Parallel()
				target := listen(t, "127.0.0.1:0", keeps(fmt.Sprintf("HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", code, location)))
				c := open(t, Config{Policy: loopback()})
				resp, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}"), Credentials: Credentials{User: "u", Password: "p"}})
				if err != nil || resp.Status != code || target.hits.Load() != 1 {
					t.Errorf("got %d, %v, %d hits", resp.Status, err, target.hits.Load())
				}
			})
		}
	}
	t.Cleanup(func() {
		if got := elsewhere.conns.Load(); got != 0 {
			t.Errorf("got %d connections to the redirect's target", got)
		}
	})
}

// The connection breaks after the target has read the second request. That
// request must not be sent again, whatever headers come with it.
func TestPostIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Request{
		"SEC-16 a body":                          {Body: []byte("{}")},
		"SEC-16 no body":                         {},
		"S-29 a body and Idempotency-Key":        {Body: []byte("{}"), Header: http.Header{"Idempotency-Key": {"k"}}},
		"S-29 no body and Idempotency-Key":       {Header: http.Header{"Idempotency-Key": {"k"}}},
		"S-29 no body and X-Idempotency-Key":     {Header: http.Header{"X-Idempotency-Key": {"k"}}},
		"S-29 no body and another spelling":      {Header: http.Header{"idempotency-key": {"k"}}},
		"SEC-16 a body longer than every buffer": {Body: make([]byte, 256<<10)},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reset %v", name, reset), func(t *testing.T) {
				t.Parallel()
				var keys atomic.Int64
				target := listen(t, "127.0.0.1:0", func(c net.Conn, r *http.Request, n int64) bool {
					if r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key") != "" {
						keys.Add(1)
					}
					if n == 1 {
						return keeps(okAnswer)(c, r, n)
					}
					if tcp, ok := c.(*net.TCPConn); ok && reset {
						_ = tcp.SetLinger(0)
					}
					return false
				})
				c := open(t, Config{Policy: loopback()})
				r := r
				r.URL = target.url
				if resp, err := c.Post(t.Context(), r); err != nil || resp.Status != http.StatusOK {
					t.Fatalf("got %d, %v for the first call", resp.Status, err)
				}
				_, err := c.Post(t.Context(), r)
				if got := fault(t, err); got.Kind != KindLost || !got.Sent {
					t.Errorf("got %s (%v), sent %v, want %s", got.Kind, got.Unwrap(), got.Sent, KindLost)
				}
				if target.hits.Load() != 2 || target.conns.Load() != 1 || keys.Load() != 0 {
					t.Errorf("got %d hits, %d connections, %d with a key header, want 2, 1, 0",
						target.hits.Load(), target.conns.Load(), keys.Load())
				}
			})
		}
	}
}

// Every status is handed on; what it means is for the caller (S-31).
func TestStatusIsHandedOn(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 201, 202, 204, 206, 299, 400, 401, 404, 409, 410, 422, 429, 500, 501, 503, 599, 999} {
		t.Run(fmt.Sprintf("S-31 status %d", code), func(t *testing.T) {
			t.Parallel()
			body, length := "{}", "Content-Length: 2\r\n"
			if code == 204 {
				body, length = "", ""
			}
			target := listen(t, "127.0.0.1:0", keeps(fmt.Sprintf("HTTP/1.1 %d X\r\nRetry-After: 1\r\n%s\r\n%s", code, length, body)))
			c := open(t, Config{Policy: loopback()})
			for range 2 {
				resp, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}")})
				if err != nil || resp.Status != code || string(resp.Body) != body {
					t.Errorf("got %d %q, %v", resp.Status, resp.Body, err)
				}
			}
			if target.hits.Load() != 2 || target.conns.Load() != 1 {
				t.Errorf("got %d hits on %d connections, want 2 on 1", target.hits.Load(), target.conns.Load())
			}
		})
	}
}

func TestNothingIsKeptBetweenCalls(t *testing.T) {
	t.Parallel()
	var cookies atomic.Int64
	target := listen(t, "127.0.0.1:0", func(c net.Conn, r *http.Request, n int64) bool {
		cookies.Add(int64(len(r.Cookies())))
		return says("HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nAlt-Svc: h2=\":1\"\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")(c, r, n)
	})
	c := open(t, Config{Policy: loopback()})
	for range 3 {
		if resp, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}")}); err != nil || resp.Status != http.StatusOK {
			t.Fatalf("SEC-21: got %d, %v", resp.Status, err)
		}
	}
	if cookies.Load() != 0 || target.conns.Load() != 3 {
		t.Errorf("SEC-21: got %d cookies, %d connections, want 0, 3", cookies.Load(), target.conns.Load())
	}
}

// TestMain points the proxy variables at a port where nobody listens.
func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	t.Parallel()
	target := listen(t, "127.0.0.1:0", keeps(okAnswer))
	_, port, _ := strings.Cut(target.host, ":")
	c := open(t, Config{Policy: loopback(), Resolver: resolve(t, points("127.0.0.1"))})
	// The standard library never uses a proxy for a loopback address, so the
	// target needs a name.
	resp, err := c.Post(t.Context(), Request{URL: "http://target:" + port + "/", Body: []byte("{}")})
	if err != nil || resp.Status != http.StatusOK {
		t.Errorf("SEC-05: got %d, %v", resp.Status, err)
	}
}

func TestConnectionsToOneHostAreBounded(t *testing.T) {
	t.Parallel()
	const most, calls = 3, 12
	var busy, peak atomic.Int64
	rounds := []*gate{newGate(most), newGate(most)}
	target := listen(t, "127.0.0.1:0", func(c net.Conn, r *http.Request, n int64) bool {
		now := busy.Add(1)
		defer busy.Add(-1)
		for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
		}
		rounds[(n-1)/calls].pass() // once all connections are busy, all calls go on
		return keeps(okAnswer)(c, r, n)
	})
	c := open(t, Config{Policy: loopback(), MaxConnsPerHost: most})
	for range rounds {
		var posts sync.WaitGroup
		for range calls {
			posts.Go(func() {
				if _, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}")}); err != nil {
					t.Errorf("got %v", err)
				}
			})
		}
		posts.Wait()
	}
	if peak.Load() > most || target.conns.Load() != most || target.hits.Load() != int64(len(rounds)*calls) {
		t.Errorf("got %d at once on %d connections, %d hits, want %d, %d, %d",
			peak.Load(), target.conns.Load(), target.hits.Load(), most, most, len(rounds)*calls)
	}
}

// A gate holds everybody until enough have come.
type gate struct {
	missing atomic.Int64
	open    chan struct{}
}

func newGate(enough int64) *gate {
	g := &gate{open: make(chan struct{})}
	g.missing.Store(enough)
	return g
}

func (g *gate) pass() {
	if g.missing.Add(-1) == 0 {
		close(g.open)
	}
	<-g.open
}
