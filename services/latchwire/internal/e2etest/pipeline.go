package e2etest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
)

// A Pipeline is a running pipeline as it is reached from outside.
type Pipeline struct {
	// Bases are the base URLs of the edge replicas.
	Bases []string
	// Models are the base URLs of the MCP replicas.
	Models []string
	// Admin is an admin token with every right.
	Admin string
	// Client sends the requests; nil is the default one.
	Client *http.Client
}

// Base returns one of the edge replicas, whatever the number.
func (p Pipeline) Base(i int) string { return p.Bases[i%len(p.Bases)] }

// A Request is one HTTP request to the pipeline.
type Request struct {
	// Base is the replica's; empty is the first.
	Base                string
	Token, Method, Path string
	// Body is encoded as JSON, or sent as it is if it is a []byte.
	Body any
}

// Send sends a request and wants an HTTP answer, whatever it says.
func (p Pipeline) Send(t *testing.T, r Request) Answer {
	t.Helper()
	a, err := p.Try(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Try sends a request. An error means that there was no complete answer.
func (p Pipeline) Try(ctx context.Context, r Request) (Answer, error) {
	body, err := encode(r.Body)
	if err != nil {
		return Answer{}, err
	}
	if r.Base == "" {
		r.Base = p.Base(0)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.Base+r.Path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+r.Token)
	req.Header.Set("Content-Type", "application/json")
	client := p.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, b}, err
}

func encode(body any) ([]byte, error) {
	if raw, isRaw := body.([]byte); isRaw || body == nil {
		return raw, nil
	}
	return json.Marshal(body)
}

// Operate calls the admin API and wants success. The answer is decoded into
// out unless that is nil.
func (p Pipeline) Operate(t *testing.T, r Request, out any) {
	t.Helper()
	r.Token = p.Admin
	a := p.Send(t, r)
	if a.Status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: got HTTP %d %s", r.Method, r.Path, a.Status, a.Body)
	}
	if out != nil {
		Decode(t, a.Body, out)
	}
}

// NewLock makes a lock that ends in a day, with the partners installed, and
// returns its id.
func (p Pipeline) NewLock(t *testing.T, partners ...*Partner) string {
	t.Helper()
	var lock struct {
		ID string `json:"id"`
	}
	p.Operate(t, Request{Method: http.MethodPost, Path: "/api/admin/locks", Body: map[string]any{
		"wearer": map[string]any{"id": "wearer", "name": "Robin"}, "keyholder": map[string]any{"id": "keyholder", "name": "Sam"},
		"endDate": time.Now().UTC().Add(24 * time.Hour).Format("2006-01-02T15:04:05.000Z"),
	}}, &lock)
	for _, x := range partners {
		var s struct {
			SessionID string `json:"sessionId"`
		}
		p.Operate(t, Request{
			Method: http.MethodPost, Path: "/api/admin/locks/" + lock.ID + "/sessions", Body: map[string]any{"slug": x.Slug},
		}, &s)
		x.sessions[lock.ID] = s.SessionID
	}
	return lock.ID
}

// Eventually waits until ok holds, and fails the test if it does not within
// thirty seconds.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	Within(t, 30*time.Second, what, ok)
}

// Within waits until ok holds, and fails the test if it does not in time.
func Within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	brokertest.Eventually(t, limit, what, ok)
}

// Decode reads a JSON value and fails the test if it is none.
func Decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("decode %.300s: %v", b, err)
	}
}
