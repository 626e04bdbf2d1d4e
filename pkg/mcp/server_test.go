package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/mcp"
	"github.com/latchwire/latchwire/pkg/mcp/mcptest"
)

// post returns a request with a body, in the legacy era.
func post(tb testing.TB, body string) *http.Request {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

const callEcho = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"TEXT"}}}`

// A body of the largest size is served, one byte more is refused (SEC-91).
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for name, tc := range map[string]struct{ size, status int }{
		"1 MiB": {1 << 20, 200}, "1 MiB and a byte": {1<<20 + 1, 413}, "4 MiB": {4 << 20, 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.Replace(callEcho, "TEXT", strings.Repeat("x", tc.size-len(callEcho)+len("TEXT")), 1)
			for _, length := range []int64{int64(len(body)), -1} {
				r := post(t, body)
				r.ContentLength = length
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != tc.status {
					t.Errorf("got %d, want %d", w.Code, tc.status)
				}
				if tc.status == 413 && (w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"code":-32600`)) {
					t.Errorf("got %.200s, want a JSON-RPC error", w.Body)
				}
			}
		})
	}
}

// Pages of foreign origins, and names that were made to point here, are kept
// out (SEC-93, SEC-94, MCP-03, MCP-04).
func TestGuard(t *testing.T) {
	t.Parallel()
	set := mcp.Guard{Hosts: []string{"api.example"}, Origins: []string{"https://app.example"}}
	for name, tc := range map[string]struct {
		guard   mcp.Guard
		host    string
		origins []string
		served  bool
	}{
		"loopback by name":             {host: "localhost:8080", served: true},
		"loopback by address":          {host: "127.0.0.1", served: true},
		"loopback of IPv6":             {host: "[::1]:8080", served: true},
		"a page on loopback":           {host: "localhost", origins: []string{"http://localhost:5173"}, served: true},
		"SEC-94: a name that rebinds":  {host: "evil.example"},
		"SEC-94: with an equal origin": {host: "evil.example", origins: []string{"http://evil.example"}},
		"SEC-93: a foreign origin":     {host: "localhost", origins: []string{"https://evil.example"}},
		"SEC-93: null":                 {host: "localhost", origins: []string{"null"}},
		"an origin like loopback":      {host: "localhost", origins: []string{"http://localhost.evil.example"}},
		"an origin of a file":          {host: "localhost", origins: []string{"file://localhost"}},
		"an empty origin":              {host: "localhost", origins: []string{""}},
		"two origins":                  {host: "localhost", origins: []string{"http://localhost", "http://localhost"}},
		"a public name":                {guard: set, host: "API.example:443", served: true},
		"a public name and origin":     {guard: set, host: "api.example", origins: []string{"https://app.example"}, served: true},
		"another public name":          {guard: set, host: "localhost"},
		"another scheme":               {guard: set, host: "api.example", origins: []string{"http://app.example"}},
		"another port":                 {guard: set, host: "api.example", origins: []string{"https://app.example:8443"}},
		"a loopback page is foreign":   {guard: set, host: "api.example", origins: []string{"http://localhost"}},
		"no host":                      {host: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			r.Host = tc.host
			if tc.origins != nil {
				r.Header["Origin"] = tc.origins
			}
			w := httptest.NewRecorder()
			tc.guard.Wrap(newServer(t, nil)).ServeHTTP(w, r)
			if want := map[bool]int{true: 200, false: 403}[tc.served]; w.Code != want || !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0"`) {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, want)
			}
		})
	}
}

// A panic is told to us with its stack, and not to the caller (SEC-106).
func TestFailuresOfToolsAreLogged(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string][]string{"panic": {"a string", "fixture_test.go"}, "fail": {"a secret of ours"}} {
		var log bytes.Buffer
		s, err := mcp.New(mcp.Config{Tools: tools()}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, post(t, strings.Replace(callEcho, "echo", tool, 1)))
		if strings.Contains(w.Body.String(), "secret") || w.Code != 200 {
			t.Errorf("%s: got %d %s", tool, w.Code, w.Body)
		}
		if tool == "panic" && strings.Contains(log.String(), "secret") {
			t.Errorf("got the log %s with the value of the panic", log.String())
		}
		for _, text := range want {
			if !strings.Contains(log.String(), text) {
				t.Errorf("%s: got the log %s, want %q in it", tool, log.String(), text)
			}
		}
	}
}

// A result that no client could read is ours to answer for (MCP-47).
func TestAResultThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		structured, text string
		served           bool
	}{
		"an object":               {structured: ` {"a":1}`, served: true},
		"equal names of a target": {structured: `{"a":1,"a":2}`, served: true},
		"nothing":                 {},
		"null":                    {structured: `null`},
		"a list":                  {structured: `[]`},
		"half an object":          {structured: `{"a":`},
		"two objects":             {structured: `{}{}`},
		"bytes that are no UTF-8": {structured: "{\"a\":\"\xff\"}"},
		"such bytes in the text":  {structured: `{}`, text: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(c *mcp.Config) {
				c.Tools[0].Call = func(context.Context, mcp.Call) (mcp.Result, error) {
					return mcp.Result{Structured: json.RawMessage(tc.structured), Text: tc.text}, nil
				}
			})
			r, w := post(t, callEcho), httptest.NewRecorder()
			s.ServeHTTP(w, r)
			mcptest.CheckAnswer(t, r, []byte(callEcho), w)
			if failed := strings.Contains(w.Body.String(), `"code":-32603`); failed == tc.served || w.Code != 200 {
				t.Errorf("got %d %s, want served %t", w.Code, w.Body, tc.served)
			}
		})
	}
}

// Tools that clients could not use are all named at once (MCP-18, MCP-50 to MCP-54).
func TestToolsThatClientsRefuse(t *testing.T) {
	t.Parallel()
	good := tools()[0]
	bad := func(name string, change func(*mcp.Tool)) mcp.Tool {
		tool := good
		tool.Name = name
		change(&tool)
		return tool
	}
	schema := func(s string) func(*mcp.Tool) { return func(t *mcp.Tool) { t.InputSchema = json.RawMessage(s) } }
	_, err := mcp.New(mcp.Config{Tools: []mcp.Tool{
		good, good,
		bad("with space", func(*mcp.Tool) {}),
		bad(strings.Repeat("n", 129), func(*mcp.Tool) {}),
		bad("no-description", func(t *mcp.Tool) { t.Description = "" }),
		bad("no-call", func(t *mcp.Tool) { t.Call = nil }),
		bad("no-schema", schema("")),
		bad("no-object", schema(`{"type":"array"}`)),
		bad("any-of", schema(`{"type":"object","anyOf":[]}`)),
		bad("by-reference", schema(`{"type":"object","$ref":"#/$defs/a"}`)),
		bad("header", schema(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`)),
		bad("bad-output", func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{"anyOf":[]}`) }),
	}}, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"echo", "with space", "nnn", "no-description", "no-call", "no-schema", "no-object", "any-of", "by-reference", "\"header\"", "bad-output"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s named", err, want)
		}
	}
	output := bad("output", func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{"type":"object","anyOf":[{}]}`) })
	if _, err := mcp.New(mcp.Config{Tools: []mcp.Tool{output}}, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("a root of alternatives in an output: %v", err)
	}
}

// The trace context of a call reaches its tool (MCP-28).
func TestTraceContextReachesTheTool(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	got := ""
	s := newServer(t, func(c *mcp.Config) {
		c.Tools[0].Call = func(_ context.Context, call mcp.Call) (mcp.Result, error) {
			got = call.Traceparent
			return mcp.Result{Structured: json.RawMessage("{}")}, nil
		}
	})
	s.ServeHTTP(httptest.NewRecorder(), post(t, strings.Replace(callEcho, `"name"`, `"_meta":{"traceparent":"`+parent+`"},"name"`, 1)))
	if got != parent {
		t.Errorf("got %q, want %q", got, parent)
	}
}

// JSON is UTF-8, and a text that is not is none (MCP-08).
func TestBytesThatAreNoUTF8(t *testing.T) {
	t.Parallel()
	for _, body := range []string{strings.Replace(callEcho, "TEXT", "\xff", 1), "\xef\xbb\xbf" + callEcho} {
		r, w := post(t, body), httptest.NewRecorder()
		newServer(t, nil).ServeHTTP(w, r)
		mcptest.CheckAnswer(t, r, []byte(body), w)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"code":-32700`) || strings.Contains(w.Body.String(), `"id"`) {
			t.Errorf("got %d %s, want a parse error without an id", w.Code, w.Body)
		}
	}
}
