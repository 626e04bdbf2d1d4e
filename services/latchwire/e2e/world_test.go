package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A partner is an extension with a back end of its own.
type partner struct {
	t        *testing.T
	slug     string
	id       string
	token    string
	sessions map[string]string // by lock

	mu   sync.Mutex
	hits []hit
}

// A hit is one webhook that arrived.
type hit struct {
	header http.Header
	body   []byte
	hook   hook
}

type hook struct {
	Event string `json:"event"`
	Data  struct {
		SessionID  string     `json:"sessionId"`
		Invocation invocation `json:"invocation"`
		LockEvent  event      `json:"lockEvent"`
		ActionLog  struct {
			Type string `json:"type"`
		} `json:"actionLog"`
	} `json:"data"`
}

type invocation struct {
	InvocationID      string          `json:"invocationId"`
	CommandID         string          `json:"commandId"`
	Status            string          `json:"status"`
	Input             json.RawMessage `json:"input"`
	Result            json.RawMessage `json:"result"`
	Error             *failure        `json:"error"`
	CausationID       *string         `json:"causationId"`
	CorrelationID     string          `json:"correlationId"`
	Depth             int             `json:"depth"`
	CausationInferred bool            `json:"causationInferred"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type event struct {
	EventID string          `json:"eventId"`
	Seq     uint64          `json:"seq"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Source  struct {
		Extension    string  `json:"extension"`
		InvocationID *string `json:"invocationId"`
	} `json:"source"`
	CausationID   *string `json:"causationId"`
	CorrelationID string  `json:"correlationId"`
	Depth         int     `json:"depth"`
}

// An answer is what the API answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	var p struct {
		Code string `json:"code"`
	}
	decode(t, a.body, &p)
	return p.Code
}

func (a answer) invocation(t *testing.T) invocation {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("got HTTP %d %s, want 200", a.status, a.body)
	}
	var inv invocation
	decode(t, a.body, &inv)
	return inv
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("decode %.300s: %v", b, err)
	}
}

// send sends a request to one replica and wants an HTTP answer.
func send(t *testing.T, base, token, method, path string, body any) answer {
	t.Helper()
	a, err := trySend(t.Context(), request{base: base, token: token, method: method, path: path, body: body})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type request struct {
	base, token, method, path string
	body                      any // JSON, or bytes as they are
}

func trySend(ctx context.Context, r request) (answer, error) {
	raw, isRaw := r.body.([]byte)
	if !isRaw && r.body != nil {
		var err error
		if raw, err = json.Marshal(r.body); err != nil {
			return answer{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.base+r.path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, b}, err
}

// base returns one of the edge replicas.
func base(i int) string { return pipeline.bases[i%len(pipeline.bases)] }

// operate calls the admin API and wants success.
func operate(t *testing.T, method, path string, in, out any) {
	t.Helper()
	a := send(t, base(0), pipeline.admin, method, path, in)
	if a.status >= 300 {
		t.Fatalf("%s %s: got HTTP %d %s", method, path, a.status, a.body)
	}
	if out != nil {
		decode(t, a.body, out)
	}
}

// A manifest in short: the names of what an extension offers.
type offers struct {
	commands, events, subscriptions []string
}

func (o offers) document(slug string) []byte {
	open := json.RawMessage(`{"type":"object"}`)
	doc := map[string]any{"commands": []any{}, "queries": []any{}, "events": []any{}, "subscriptions": []string{}}
	var commands, events []any
	for _, c := range o.commands {
		commands = append(commands, map[string]any{
			"id": slug + "." + c, "title": c, "description": c, "kind": "control", "invocableBy": []string{"extension"},
			"inputSchema": open, "outputSchema": open, "deprecated": nil,
		})
	}
	for _, e := range o.events {
		events = append(events, map[string]any{"id": slug + "." + e, "payloadSchema": open, "deprecated": nil})
	}
	if commands != nil {
		doc["commands"] = commands
	}
	if events != nil {
		doc["events"] = events
	}
	if o.subscriptions != nil {
		doc["subscriptions"] = o.subscriptions
	}
	b, _ := json.Marshal(doc)
	return b
}

// newPartner makes an extension whose webhook is answered by serve, which may
// be nil for one without a webhook.
func newPartner(t *testing.T, o offers, serve func(w http.ResponseWriter, r *http.Request, h hook)) *partner {
	t.Helper()
	p := &partner{t: t, slug: "x" + strings.ToLower(rand.Text()[:12]), sessions: make(map[string]string)}
	in := map[string]any{"slug": p.slug, "displayName": p.slug}
	if serve != nil {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			var h hook
			_ = json.Unmarshal(b, &h)
			p.mu.Lock()
			p.hits = append(p.hits, hit{r.Header.Clone(), b, h})
			p.mu.Unlock()
			serve(w, r, h)
		}))
		t.Cleanup(srv.Close)
		in["webhookUrl"] = srv.URL + "/"
	}
	var made struct {
		ID string `json:"id"`
	}
	operate(t, http.MethodPost, "/api/admin/extensions", in, &made)
	p.id = made.ID
	var tok struct {
		Token string `json:"token"`
	}
	operate(t, http.MethodPost, "/api/admin/extensions/"+p.slug+"/tokens", map[string]any{}, &tok)
	p.token = tok.Token
	if a := send(t, base(0), p.token, http.MethodPut, "/api/extensions/"+p.slug+"/manifest", o.document(p.slug)); a.status != http.StatusOK {
		t.Fatalf("publish: got HTTP %d %s", a.status, a.body)
	}
	return p
}

// newLock makes a lock with the partners installed.
func newLock(t *testing.T, partners ...*partner) string {
	t.Helper()
	var lock struct {
		ID string `json:"id"`
	}
	operate(t, http.MethodPost, "/api/admin/locks", map[string]any{
		"wearer": map[string]any{"id": "wearer", "name": "Robin"}, "keyholder": map[string]any{"id": "keyholder", "name": "Sam"},
		"endDate": time.Now().UTC().Add(24 * time.Hour).Format("2006-01-02T15:04:05.000Z"),
	}, &lock)
	for _, p := range partners {
		var s struct {
			SessionID string `json:"sessionId"`
		}
		operate(t, http.MethodPost, "/api/admin/locks/"+lock.ID+"/sessions", map[string]any{"slug": p.slug}, &s)
		p.sessions[lock.ID] = s.SessionID
	}
	return lock.ID
}

// call runs a command on a lock by one edge replica.
func (p *partner) call(t *testing.T, lock, command string, body map[string]any) answer {
	t.Helper()
	return send(t, base(0), p.token, http.MethodPost, p.path(lock, "/actions/"+command), body)
}

func (p *partner) path(lock, rest string) string {
	return "/api/extensions/sessions/" + p.sessions[lock] + rest
}

// received returns the webhooks that arrived so far and match.
func (p *partner) received(match func(hook) bool) []hit {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []hit
	for _, h := range p.hits {
		if match(h.hook) {
			out = append(out, h)
		}
	}
	return out
}

// eventually waits until ok holds, and fails the test when it never does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// complete answers a call as completed.
func complete(w http.ResponseWriter, result string, events ...string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"status":"completed","result":%s,"events":[%s]}`, result, strings.Join(events, ","))
}

func key() string { return "key-" + rand.Text() }
