package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/latchwire/latchwire/pkg/mcp"
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

// A modern client that goes away has cancelled its call; a legacy one has not
// (MCP-12). A tool that takes too long is not waited for (MCP-13).
func TestWhoCancelsACall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		modern, leave bool
		cancelled     bool
	}{
		"a modern client leaves":         {true, true, true},
		"a legacy client leaves":         {false, true, false},
		"a modern client waits too long": {true, false, true},
		"a legacy client waits too long": {false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, done, proceed := make(chan struct{}), make(chan bool, 1), make(chan struct{})
			s := newServer(t, func(c *mcp.Config) {
				if !tc.leave {
					c.MaxWait = time.Millisecond
				}
				c.Tools[0].Call = func(ctx context.Context, _ mcp.Call) (mcp.Result, error) {
					close(started)
					select {
					case <-ctx.Done():
						done <- true
						return mcp.Result{}, ctx.Err()
					case <-proceed:
						done <- false
						return mcp.Result{Structured: json.RawMessage("{}")}, nil
					}
				}
			})
			r := post(t, callEcho)
			if tc.modern {
				r = post(t, strings.Replace(callEcho, `"name"`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name"`, 1))
				r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
				r.Header.Set("Mcp-Method", "tools/call")
				r.Header.Set("Mcp-Name", "echo")
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			w := httptest.NewRecorder()
			var serving sync.WaitGroup
			serving.Go(func() { s.ServeHTTP(w, r.WithContext(ctx)) })
			<-started
			if tc.leave {
				leave()
				if !tc.cancelled {
					close(proceed)
				}
			}
			serving.Wait()
			if got := <-done; got != tc.cancelled {
				t.Errorf("got cancelled %t, want %t", got, tc.cancelled)
			}
			if answered := w.Body.Len() > 0; answered == (tc.modern && tc.leave) {
				t.Errorf("got the answer %q", w.Body)
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

// A result that no client could read is ours to answer for.
func TestAResultThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *mcp.Config) {
		c.Tools[0].Call = func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{Structured: json.RawMessage("{}"), Text: "\xff"}, nil
		}
	})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, post(t, callEcho))
	if !strings.Contains(w.Body.String(), `"code":-32603`) {
		t.Errorf("got %s, want an internal error", w.Body)
	}
}

// Tools that clients could not use are all named at once (MCP-50 to MCP-54).
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
		bad("bad-output", func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{"anyOf":[]}`) }),
	}}, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"echo", "with space", "nnn", "no-description", "no-call", "no-schema", "no-object", "any-of", "by-reference", "bad-output"} {
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

// The official Go client lists the tools and calls them, in either era.
func TestTheOfficialClient(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(mcp.Guard{}.Wrap(newServer(t, nil)))
	defer srv.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, version := range mcp.Versions() {
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: transport}},
			&sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 4 || list.Tools[0].Name != "echo" || !list.Tools[0].Annotations.ReadOnlyHint {
			t.Errorf("%s: got %+v, %v", version, list, err)
		}
		if got := session.InitializeResult(); got.Instructions != "First echo." || got.ProtocolVersion != version {
			t.Errorf("%s: got %+v", version, got)
		}
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1}})
		if err != nil || result.IsError || len(result.Content) != 1 {
			t.Errorf("%s: got %+v, %v", version, result, err)
		}
		if result, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "refuse"}); err != nil || !result.IsError {
			t.Errorf("%s: got %+v, %v, want a refusal as a result", version, result, err)
		}
		if _, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
			t.Errorf("%s: got %v, want the unknown tool named", version, err)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", version, err)
		}
	}
}

// Whatever is sent, one message comes back, with the id that was sent or none.
func FuzzServe(f *testing.F) {
	for _, body := range []string{
		callEcho, `{"jsonrpc":"2.0","id":"a","method":"ping"}`, `[]`, `{}`, `null`, `{"id":null}`, "", "{", `{"jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `{"jsonrpc":"2.0","id":1e0,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	} {
		f.Add(body, "", "")
		f.Add(body, "2026-07-28", "tools/call")
		f.Add(body, "2025-11-25", "")
	}
	s := newServer(f, nil)
	f.Fuzz(func(t *testing.T, body, version, method string) {
		r := post(t, body)
		if version != "" {
			r.Header["Mcp-Protocol-Version"] = []string{version}
		}
		if method != "" {
			r.Header["Mcp-Method"] = []string{method}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == 202 {
			if w.Body.Len() > 0 {
				t.Errorf("got %s with 202", w.Body)
			}
			return
		}
		if w.Code != 200 && w.Code != 400 && w.Code != 404 {
			t.Errorf("got %d", w.Code)
		}
		var got struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Result  json.RawMessage `json:"result"`
			Error   json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.JSONRPC != "2.0" || (got.Result == nil) == (got.Error == nil) {
			t.Fatalf("got %s: %v", w.Body, err)
		}
		if got.ID != nil && !bytes.Contains([]byte(body), got.ID) {
			t.Errorf("got the id %s for %s", got.ID, body)
		}
	})
}

// recorder is a response that is thrown away.
type recorder struct{ header http.Header }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorder) WriteHeader(int)             {}

// The protocol part of one call, beside that of the official Go SDK with the
// same tool: aim 5 times fewer bytes and 4 times less time.
func BenchmarkToolsCall(b *testing.B) {
	const answer = `{"invocationId":"849f678423e7f319cfe6e620","commandId":"wheel.spin","status":"completed","result":{"segment":"5 more minutes"}}`
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_invocation","arguments":{"id":"849f678423e7f319cfe6e620"}}}`
	schema := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)
	ours, err := mcp.New(mcp.Config{Tools: []mcp.Tool{{
		Name: "get_invocation", Description: "Reads.", InputSchema: schema,
		Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{Structured: json.RawMessage(answer), Text: answer}, nil
		},
	}}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "get_invocation", Description: "Reads.", InputSchema: schema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer}}, StructuredContent: json.RawMessage(answer)}, nil
	})
	theirs := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	for name, h := range map[string]http.Handler{"latchwire": ours, "go-sdk": theirs} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := post(b, body)
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Body = io.NopCloser(strings.NewReader(body))
				h.ServeHTTP(&recorder{http.Header{}}, r)
			}
		})
	}
}
