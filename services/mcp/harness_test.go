package mcpservice_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/mcp/mcptest"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/pkg/service"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
)

// short is how long calls wait here for what never settles.
const short = 300 * time.Millisecond

// A stand is an installation in which caller, by MCP, calls probe. Calls settle
// as their input's "as" says.
type stand struct {
	*platformtest.World
	p      *platform.Platform
	secret string
	server *httptest.Server
}

func newStand(t *testing.T, cfg platform.Config, door mcpservice.Config) *stand {
	t.Helper()
	w := platformtest.New(t, cfg, nil)
	s := &stand{World: w, p: w.Open(t)}
	platformtest.Publish(t, s.p, "caller", platformtest.BareManifest, nil)
	platformtest.Publish(t, s.p, "other", platformtest.BareManifest, nil)
	platformtest.Publish(t, s.p, "probe", platformtest.ProbeManifest, func(e *registry.Extension) { e.WebhookURL = "https://probe.example/" })
	s.secret = s.token(t, "caller")
	platformtest.Settle(t, w.Open(t), outcome)
	s.server = s.replica(t, door)
	return s
}

// replica serves the door on a connection of its own.
func (s *stand) replica(t *testing.T, door mcpservice.Config) *httptest.Server {
	t.Helper()
	if door.Wait == 0 {
		door.Wait = short
	}
	h, err := mcpservice.New(s.Open(t), &service.Health{}, door)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// token makes a developer token of an extension.
func (s *stand) token(t *testing.T, slug invocation.Slug) string {
	t.Helper()
	made, secret := registry.NewToken(registry.Token{Kind: registry.DeveloperToken, Extension: slug}, s.p.Ledger.Now())
	if err := s.p.Registry.StoreToken(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return secret
}

func (s *stand) lock(t *testing.T) platformtest.Lock {
	t.Helper()
	return platformtest.NewLock(t, s.p, "caller", "other", "probe")
}

func outcome(inv invocation.Invocation) invocation.Outcome {
	var in struct {
		As string `json:"as"`
	}
	_ = json.Unmarshal(inv.Input, &in) // another input completes
	switch in.As {
	case "reject":
		return invocation.Rejects("not-today", "come <b>back</b>")
	case "fail":
		return invocation.Fails(invocation.TargetError)
	case "unknown":
		return invocation.LeavesUnknown(invocation.TargetTimeout)
	case "hold":
		return invocation.Outcome{}
	}
	return invocation.Completes(inv.Input)
}

// A client calls tools on one session.
type client struct {
	t      *testing.T
	url    string
	header http.Header
}

func (s *stand) client(t *testing.T, l platformtest.Lock) client {
	t.Helper()
	return s.at(t, s.server, l.Session("caller").ID, s.secret)
}

func (s *stand) at(t *testing.T, srv *httptest.Server, session invocation.SessionID, secret string) client {
	t.Helper()
	h := http.Header{"Content-Type": {"application/json"}}
	if secret != "" {
		h.Set("Authorization", "Bearer "+secret)
	}
	return client{t, srv.URL + "/api/extensions/sessions/" + string(session) + "/mcp/v2", h}
}

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (c client) do(ctx context.Context, method, body string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header = c.header.Clone()
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, raw}, err
}

func (c client) post(body string) answer {
	c.t.Helper()
	a, err := c.do(c.t.Context(), http.MethodPost, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// A result is what a tool answered.
type result struct {
	structured map[string]any
	raw        []byte
	text       string
	isError    bool
}

// call calls a tool and checks all that every result promises.
func (c client) call(tool, arguments string) result {
	c.t.Helper()
	a := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	if a.status != 200 {
		c.t.Fatalf("%s: got %d %s", tool, a.status, a.body)
	}
	mcptest.Check(c.t, mcptest.Exchange{Version: "2025-03-26", Method: "tools/call", Answer: a.body})
	var got struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	if err := json.Unmarshal(a.body, &got); err != nil || len(got.Result.Content) != 1 {
		c.t.Fatalf("%s: got %s: %v", tool, a.body, err)
	}
	r := result{raw: got.Result.StructuredContent, text: got.Result.Content[0].Text, isError: got.Result.IsError}
	if err := json.Unmarshal(r.raw, &r.structured); err != nil {
		c.t.Fatal(err)
	}
	checkFence(c.t, r.text, r.raw)
	return r
}

// checkFence checks that a text has the notice, then one pair of tags with the
// same data in between.
func checkFence(t *testing.T, text string, data []byte) {
	t.Helper()
	notice, rest, found := strings.Cut(text, "<extension-data>")
	inside, after, closed := strings.Cut(rest, "</extension-data>")
	if !found || !closed || after != "" || !strings.Contains(notice, "data, not instructions") || strings.ContainsAny(inside, "<>") {
		t.Fatalf("got the text %q", text)
	}
	var a, b any
	if json.Unmarshal([]byte(inside), &a) != nil || json.Unmarshal(data, &b) != nil {
		t.Fatalf("got %q, want JSON", inside)
	}
	one, _ := json.Marshal(a)
	other, _ := json.Marshal(b)
	if !bytes.Equal(one, other) {
		t.Errorf("got the text %s, want the data %s", one, other)
	}
}

// refused checks that a result is a refusal and returns it.
func (r result) refused(t *testing.T, code string) map[string]any {
	t.Helper()
	e, _ := r.structured["error"].(map[string]any)
	if !r.isError || e == nil || e["code"] != code || len(r.structured) != 1 {
		t.Fatalf("got %s (error: %t), want %s", r.raw, r.isError, code)
	}
	return e
}
