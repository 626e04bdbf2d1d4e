package e2etest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A Partner is an extension with a back end of its own. Its methods may be
// called concurrently once its locks are made.
type Partner struct {
	Slug, ID, Token string

	pipeline Pipeline
	sessions map[string]string // by lock

	mu   sync.Mutex
	hits []Hit
}

// A Hit is one webhook that arrived.
type Hit struct {
	Header http.Header
	Body   []byte
	Hook   Hook
}

// Offers are a manifest in short: the names of what an extension offers, and
// the events that it subscribes to.
type Offers struct {
	Commands, Events, Subscriptions []string
	// Options names an input field of every command that has options.
	Options string
}

func (o Offers) document(slug string) map[string]any {
	open := json.RawMessage(`{"type":"object"}`)
	input := open
	if o.Options != "" {
		input = fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":"string","x-chaster-options":true}}}`, o.Options)
	}
	commands, events, subscriptions := []any{}, []any{}, []string{}
	for _, c := range o.Commands {
		commands = append(commands, map[string]any{
			"id": slug + "." + c, "title": c, "description": c, "kind": "control", "invocableBy": []string{"extension"},
			"inputSchema": input, "outputSchema": open, "deprecated": nil,
		})
	}
	for _, e := range o.Events {
		events = append(events, map[string]any{"id": slug + "." + e, "payloadSchema": open, "deprecated": nil})
	}
	return map[string]any{
		"commands": commands, "queries": []any{}, "events": events, "subscriptions": append(subscriptions, o.Subscriptions...),
	}
}

// NewPartner makes an extension whose webhook is answered by serve, which may
// be nil for one without a webhook.
func (p Pipeline) NewPartner(t *testing.T, o Offers, serve func(w http.ResponseWriter, r *http.Request, h Hook)) *Partner {
	t.Helper()
	x := &Partner{Slug: "x" + strings.ToLower(rand.Text()[:12]), pipeline: p, sessions: make(map[string]string)}
	in := map[string]any{"slug": x.Slug, "displayName": x.Slug}
	if serve != nil {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serve(w, r, x.note(r))
		}))
		t.Cleanup(srv.Close)
		in["webhookUrl"] = srv.URL + "/"
	}
	var made struct {
		ID string `json:"id"`
	}
	p.Operate(t, Request{Method: http.MethodPost, Path: "/api/admin/extensions", Body: in}, &made)
	x.ID = made.ID
	var tok struct {
		Token string `json:"token"`
	}
	p.Operate(t, Request{Method: http.MethodPost, Path: "/api/admin/extensions/" + x.Slug + "/tokens", Body: map[string]any{}}, &tok)
	x.Token = tok.Token
	a := p.Send(t, Request{
		Token: x.Token, Method: http.MethodPut, Path: "/api/extensions/" + x.Slug + "/manifest", Body: o.document(x.Slug),
	})
	if a.Status != http.StatusOK {
		t.Fatalf("publish: got HTTP %d %s", a.Status, a.Body)
	}
	return x
}

// note keeps a webhook that arrived.
func (x *Partner) note(r *http.Request) Hook {
	b, _ := io.ReadAll(r.Body) // what was cut off is not JSON
	var h Hook
	_ = json.Unmarshal(b, &h) // the test sees what is missing
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hits = append(x.hits, Hit{r.Header.Clone(), b, h})
	return h
}

// Call runs a command on a lock by the first edge replica.
func (x *Partner) Call(t *testing.T, lock, command string, body map[string]any) Answer {
	t.Helper()
	return x.pipeline.Send(t, Request{Token: x.Token, Method: http.MethodPost, Path: x.Path(lock, "/actions/"+command), Body: body})
}

// Read reads a path of the partner's session on a lock, by the first edge
// replica, and wants success.
func (x *Partner) Read(t *testing.T, lock, rest string, out any) {
	t.Helper()
	a := x.pipeline.Send(t, Request{Token: x.Token, Method: http.MethodGet, Path: x.Path(lock, rest)})
	if a.Status != http.StatusOK {
		t.Fatalf("%s: got HTTP %d %s", rest, a.Status, a.Body)
	}
	Decode(t, a.Body, out)
}

// Path returns a path of the partner's session on a lock.
func (x *Partner) Path(lock, rest string) string {
	return "/api/extensions/sessions/" + x.sessions[lock] + rest
}

// Received returns the webhooks that arrived so far and match.
func (x *Partner) Received(match func(Hook) bool) []Hit {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []Hit
	for _, h := range x.hits {
		if match(h.Hook) {
			out = append(out, h)
		}
	}
	return out
}

// Complete answers a call as completed, with a result and the events that it
// caused, each in JSON.
func Complete(w http.ResponseWriter, result string, events ...string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"status":"completed","result":%s,"events":[%s]}`, result, strings.Join(events, ","))
}

// Key returns an idempotency key that nobody has used.
func Key() string { return "key-" + rand.Text() }
