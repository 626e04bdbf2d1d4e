package grade

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// userAgent tells the receiver's log where the requests come from.
const userAgent = "Latchwire-Receiver-Test"

// eventHeader names a webhook's kind, so that a receiver can choose before it
// reads the body (contract section 7).
const eventHeader = "X-Chaster-Event"

// dripSize is how many bytes the slow sender writes at a time.
const dripSize = 64

// newClient returns a client that follows no redirect and uses no proxy. It
// speaks HTTP/1.1, as the pipeline does.
func newClient(buffer int) *http.Client {
	only := new(http.Protocols)
	only.SetHTTP1(true)
	return &http.Client{
		Transport:     &http.Transport{Protocols: only, WriteBufferSize: buffer, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A message is one request to the receiver.
type message struct {
	id     string
	method string
	header http.Header
	body   []byte
	drip   bool
}

// sign sets the headers of the signature anew.
func (m *message) sign(at time.Time, secrets ...egress.Secret) {
	event := m.header.Get(eventHeader)
	m.header = egress.Sign(m.id, at, m.body, secrets...)
	m.header.Set(eventHeader, event)
}

// event returns a lock event that nobody has sent before, signed.
func (g *grader) event() (message, error) {
	return g.webhook("webhook-lock-event.valid.json", func(_, data map[string]any) string {
		id := newID()
		if e, ok := data["lockEvent"].(map[string]any); ok {
			e["eventId"], e["correlationId"], e["createdAt"] = id, id, invocation.FormatTime(g.cfg.Now())
		}
		return id
	})
}

// command returns a call of a command, signed.
func (g *grader) command() (message, error) {
	return g.webhook("webhook-invocation.valid.json", func(_, data map[string]any) string {
		id := newID()
		call, ok := data["invocation"].(map[string]any)
		if !ok {
			return id
		}
		call["invocationId"], call["correlationId"], call["createdAt"] = id, id, invocation.FormatTime(g.cfg.Now())
		call["causationId"], call["depth"] = nil, 0
		call["commandId"], call["input"] = "my-ext.receiver-test", map[string]any{}
		if g.cfg.Command != "" {
			call["commandId"], data["extension"] = g.cfg.Command, map[string]any{"slug": g.cfg.Command.Slug()}
		}
		if g.cfg.Input != "" {
			call["input"] = json.RawMessage(g.cfg.Input)
		}
		return id
	})
}

// webhook makes a signed message of one of the contract's examples, new from
// end to end. The edit returns its webhook-id.
func (g *grader) webhook(example string, edit func(doc, data map[string]any) string) (message, error) {
	var doc map[string]any
	for _, e := range contracts.Examples() {
		if e.File == example {
			if err := json.Unmarshal(e.JSON, &doc); err != nil {
				return message{}, fmt.Errorf("read the contract's %s: %w", example, err)
			}
		}
	}
	data, ok := doc["data"].(map[string]any)
	if !ok {
		return message{}, fmt.Errorf("the contract has no %s", example)
	}
	now := g.cfg.Now()
	doc["sentAt"], doc["requestId"] = invocation.FormatTime(now), newID()
	data["lockId"] = newID()
	data["sessionId"] = g.cfg.Session
	if g.cfg.Session == "" {
		data["sessionId"] = invocation.NewSessionID()
	}
	m := message{id: edit(doc, data), method: http.MethodPost}
	var err error
	if m.body, err = json.Marshal(doc); err != nil {
		return message{}, fmt.Errorf("encode the contract's %s: %w", example, err)
	}
	event, _ := doc["event"].(string)
	m.header = http.Header{}
	m.header.Set(eventHeader, event)
	m.sign(now, g.cfg.Secret)
	return m, nil
}

// newID returns an id that nobody has used.
func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// An exchange is what came back.
type exchange struct {
	status int
	body   []byte
	took   time.Duration
	err    error // there is no answer, or only a part of one
	late   bool  // because its time was up
	// sending says that the connection ended while a large body was sent.
	sending bool
}

func (x exchange) redirects() bool { return x.err == nil && x.status >= 300 && x.status <= 399 }

// got says what came back, in a few words.
func (x exchange) got() string {
	switch {
	case x.late:
		return "nothing in time"
	case x.err != nil:
		return x.err.Error()
	}
	return strconv.Itoa(x.status)
}

// send sends a message and waits for the whole answer.
func (g *grader) send(parent context.Context, m message) exchange {
	limit := g.cfg.Timeout
	client := g.client
	if m.drip {
		limit += g.cfg.Drip
		client = g.slow
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	var body io.Reader = bytes.NewReader(m.body)
	if m.drip {
		body = &dripping{done: ctx.Done(), rest: m.body, perByte: g.cfg.Drip / time.Duration(len(m.body))}
	}
	began := time.Now()
	x := exchange{}
	x.status, x.body, x.err = g.exchange(ctx, client, m, body)
	x.took = time.Since(began)
	x.late = x.err != nil && ctx.Err() != nil && parent.Err() == nil
	x.sending = len(m.body) > invocation.MaxBody
	if failed, ok := errors.AsType[*url.Error](x.err); ok {
		x.err = failed.Err // without the URL, which may hold a password
	}
	return x
}

func (g *grader) exchange(ctx context.Context, client *http.Client, m message, body io.Reader) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, m.method, g.cfg.URL, body)
	if err != nil {
		return 0, nil, err
	}
	req.ContentLength = int64(len(m.body))
	if len(m.body) == 0 {
		req.Body = http.NoBody
	}
	req.Header = m.header.Clone()
	req.Header.Set("User-Agent", userAgent)
	if len(m.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, invocation.MaxBody+1))
	return resp.StatusCode, answer, err
}

// dripping is a body that comes a few bytes at a time, until done is closed.
type dripping struct {
	done    <-chan struct{}
	rest    []byte
	perByte time.Duration
}

// Read waits and returns the next few bytes.
func (d *dripping) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(d.rest), dripSize)
	wait := time.NewTimer(time.Duration(n) * d.perByte)
	defer wait.Stop()
	select {
	case <-d.done:
		return 0, context.Canceled
	case <-wait.C:
	}
	copy(p, d.rest[:n])
	d.rest = d.rest[n:]
	return n, nil
}
