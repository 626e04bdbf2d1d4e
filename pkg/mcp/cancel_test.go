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

	"github.com/latchwire/latchwire/pkg/mcp"
	"github.com/latchwire/latchwire/pkg/mcp/mcptest"
)

const modernEcho = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + mcptest.Modern + `,"name":"echo"}}`

// modern adds the headers of modernEcho to its request.
func modern(r *http.Request) *http.Request {
	r.Header.Set("Mcp-Protocol-Version", mcp.Modern)
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "echo")
	return r
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
				r = modern(post(t, modernEcho))
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

// waiting is a server whose echo waits for its context, and what it logs.
func waiting(t *testing.T, started chan<- struct{}, ended chan<- error) (*mcp.Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	all := tools()
	all[0].Call = func(ctx context.Context, _ mcp.Call) (mcp.Result, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return mcp.Result{}, ctx.Err()
	}
	s, err := mcp.New(mcp.Config{Tools: all}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, &log
}

// A connection that a modern client closes ends its call, and is no failure of
// ours (MCP-12).
func TestAClosedConnectionCancels(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan error, 1)
	s, log := waiting(t, started, ended)
	srv := httptest.NewServer(mcp.Guard{}.Wrap(s))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r := modern(post(t, modernEcho).WithContext(ctx))
	r.RequestURI, r.URL.Host, r.Host = "", srv.Listener.Addr().String(), ""
	var asking sync.WaitGroup
	asking.Go(func() {
		if answer, err := srv.Client().Do(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("got %d, want no answer", answer.StatusCode)
		}
	})
	<-started
	leave()
	if got := <-ended; got != context.Canceled { //nolint:errorlint // exactly what a context says
		t.Errorf("got %v, want the call cancelled", got)
	}
	asking.Wait()
	srv.Close() // waits for the handler
	if log.Len() > 0 {
		t.Errorf("got the log %s, want none", log)
	}
}

// Whoever serves us may bound a request: its client is still there, and gets an
// answer.
func TestADeadlineFromOutsideIsAnswered(t *testing.T) {
	t.Parallel()
	s, log := waiting(t, make(chan struct{}), make(chan error, 1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r, w := modern(post(t, modernEcho)).WithContext(ctx), httptest.NewRecorder()
	s.ServeHTTP(w, r)
	mcptest.CheckAnswer(t, r, []byte(modernEcho), w)
	if !strings.Contains(w.Body.String(), `"code":-32603`) || !strings.Contains(log.String(), "tool failed") {
		t.Errorf("got %s and the log %s", w.Body, log)
	}
}

// A tool that panics harms no other request on the same connections (SEC-106).
func TestAPanicHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(newServer(t, nil))
	defer srv.Close()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			tool, want := "echo", `"structuredContent"`
			if i%2 == 0 {
				tool, want = "panic", `"code":-32603`
			}
			r := post(t, strings.Replace(callEcho, "echo", tool, 1))
			r.RequestURI, r.URL.Host = "", srv.Listener.Addr().String()
			answer, err := srv.Client().Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = answer.Body.Close() }()
			if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 || !strings.Contains(string(body), want) {
				t.Errorf("%s: got %d %s, %v", tool, answer.StatusCode, body, err)
			}
		})
	}
	all.Wait()
}
