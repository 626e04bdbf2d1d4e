package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/mcp"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/latchwire"
	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// patience is how long a target, and a caller, wait here.
const patience = 700 * time.Millisecond

// An endpoint is an MCP endpoint of an extension on a lock, on which target
// offers a command that settles as its input says.
type endpoint struct{ url, token, command string }

// start runs the pipeline until the test ends, with a caller and a target.
func start(t *testing.T) endpoint {
	t.Helper()
	p := startPipeline(t)
	caller := p.NewPartner(t, e2etest.Offers{}, nil)
	target := p.NewPartner(t, e2etest.Offers{Commands: []string{"settle"}, Options: "as"}, settle)
	lock := p.NewLock(t, caller, target)
	return endpoint{p.Base(0) + caller.Path(lock, "/mcp/v2"), caller.Token, target.Slug + ".settle"}
}

func startPipeline(t *testing.T) e2etest.Pipeline {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	tel, err := telemetry.New(ctx, telemetry.Config{Name: "conformance"})
	if err != nil {
		t.Fatal(err)
	}
	const admin = "conformance-admin-token"
	bound := make(chan string, 1)
	var cfg latchwire.Config
	cfg.Server = broker.ServerConfig{Dir: t.TempDir()}
	cfg.HTTP = service.HTTPConfig{Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- latchwire.BaseURL(a) }}
	cfg.Edge.AdminToken, cfg.MCP.Wait = admin, patience
	cfg.Platform.Egress.Timeout = 2 * patience
	cfg.Platform.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	stack, err := latchwire.New(ctx, cfg, tel, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stack.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return e2etest.Pipeline{Bases: []string{<-bound}, Admin: admin}
}

// settle answers a call as its input says.
func settle(w http.ResponseWriter, r *http.Request, h e2etest.Hook) {
	switch h.Event {
	case "extension.command_invoked":
	case "extension.options_requested":
		fmt.Fprint(w, `{"options":[{"value":"complete","label":"Complete"}]}`)
		return
	default:
		return
	}
	var in struct{ As string }
	if err := json.Unmarshal(h.Data.Invocation.Input, &in); err != nil {
		panic(err)
	}
	switch in.As {
	case "complete":
		e2etest.Complete(w, `{"done":true}`)
	case "reject":
		fmt.Fprint(w, `{"status":"rejected","error":{"code":"not-today","message":"Come back tomorrow."}}`)
	case "fail":
		w.WriteHeader(http.StatusInternalServerError)
	case "unknown":
		fmt.Fprint(w, `<html>`)
	default: // longer than the caller waits
		select {
		case <-time.After(4 * patience / 3):
		case <-r.Context().Done():
		}
		e2etest.Complete(w, `{}`)
	}
}

// seen is what a client saw.
type seen struct {
	Tools        []string
	Instructions string
	Calls        map[string]outcome
	Again, Refused, Missing, Capabilities, Described,
	Events, Options outcome
	UnknownTool int
}

type outcome struct {
	IsError    bool
	Structured map[string]any
	Text       string
}

// code returns the code of a refusal, or of a failure in an invocation.
func (o outcome) code() string {
	e, _ := o.Structured["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

// check judges what any client must have seen: refusals as results, not as
// exceptions, and every kind of settlement (contract section 10).
func (s seen) check(t *testing.T) {
	t.Helper()
	if len(s.Tools) != 6 || !slices.Contains(s.Tools, "invoke_action") || !strings.Contains(s.Instructions, "list_capabilities") {
		t.Errorf("got the tools %v and the instructions %q", s.Tools, s.Instructions)
	}
	for as, want := range map[string]struct {
		status, code string
		isError      bool
	}{
		"complete": {"completed", "", false}, "reject": {"rejected", "not-today", true}, "fail": {"failed", "target-error", true},
		"unknown": {"unknown", "invalid-response", false}, "hold": {"pending", "", false},
	} {
		if got := s.Calls[as]; got.Structured["status"] != want.status || got.code() != want.code || got.IsError != want.isError {
			t.Errorf("%s: got %+v", as, got)
		}
	}
	if s.Again.Structured["status"] != "completed" || s.Again.IsError {
		t.Errorf("got %+v read again", s.Again)
	}
	for code, got := range map[string]outcome{"invalid-arguments": s.Refused, "not-found": s.Missing} {
		if !got.IsError || got.code() != code || !strings.Contains(got.Text, "<extension-data>") {
			t.Errorf("got %+v, want %s as a result", got, code)
		}
	}
	for key, got := range map[string]outcome{"extensions": s.Capabilities, "actions": s.Described, "events": s.Events, "options": s.Options} {
		if list, _ := got.Structured[key].([]any); got.IsError || list == nil || key != "events" && len(list) == 0 {
			t.Errorf("got %+v, want %s", got, key)
		}
	}
	if s.UnknownTool != -32602 {
		t.Errorf("got %d for an unknown tool", s.UnknownTool)
	}
}

// node returns a command of the packages that LATCHWIRE_NODE names.
func node(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := os.Getenv("LATCHWIRE_NODE")
	if dir == "" {
		t.Skip("LATCHWIRE_NODE is not set: run make conformance to try the official clients")
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

func TestTheOfficialJavaScriptClients(t *testing.T) {
	t.Parallel()
	cmd := node(t, "node", "clients.mjs")
	e := start(t)
	for _, client := range []string{"pin", "auto", "sdk"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), cmd.Path, cmd.Args[1:]...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = os.Getenv("LATCHWIRE_NODE"), &stdout, &stderr
			cmd.Env = append(os.Environ(), "CLIENT="+client, "URL="+e.url, "TOKEN="+e.token, "COMMAND="+e.command)
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, stderr.Bytes())
			}
			var s seen
			if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
				t.Fatalf("%s: %v", stdout.Bytes(), err)
			}
			s.check(t)
		})
	}
}

// inspect runs the Inspector's command line and returns the result it prints.
func inspect(t *testing.T, e endpoint, era string, args ...string) []byte {
	t.Helper()
	cmd := node(t, "mcp-inspector", append([]string{
		"--cli", e.url, "--transport", "http", "--protocol-era", era, "--header", "Authorization: Bearer " + e.token, "-q", "--format", "json",
	}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return out
}

func TestTheInspector(t *testing.T) {
	t.Parallel()
	node(t, "mcp-inspector")
	e := start(t)
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := seen{Instructions: "list_capabilities", Calls: make(map[string]outcome), UnknownTool: -32602} // what it does not show
			var listed struct {
				Result struct{ Tools []struct{ Name string } }
			}
			if out := inspect(t, e, era, "--method", "tools/list"); json.Unmarshal(out, &listed) != nil {
				t.Fatalf("got %s", out)
			}
			for _, x := range listed.Result.Tools {
				s.Tools = append(s.Tools, x.Name)
			}
			call := func(tool string, args ...string) outcome {
				t.Helper()
				all := []string{"--method", "tools/call", "--tool-name", tool}
				for _, a := range args {
					all = append(all, "--tool-arg", a)
				}
				var called struct {
					Result struct {
						IsError           bool
						StructuredContent map[string]any
						Content           []struct{ Text string }
					}
				}
				out := inspect(t, e, era, all...)
				r := &called.Result
				if err := json.Unmarshal(out, &called); err != nil || len(r.Content) != 1 {
					t.Fatalf("%s: got %s: %v", tool, out, err)
				}
				return outcome{r.IsError, r.StructuredContent, r.Content[0].Text}
			}
			for _, as := range []string{"complete", "reject", "fail", "unknown", "hold"} {
				s.Calls[as] = call("invoke_action", "id="+e.command, `input={"as":"`+as+`"}`)
			}
			id, _ := s.Calls["complete"].Structured["invocationId"].(string)
			s.Again = call("get_invocation", "id="+id)
			s.Refused = call("read_events", "limit=0")
			s.Missing = call("get_invocation", "id=000000000000000000000000")
			s.Capabilities, s.Described = call("list_capabilities"), call("describe_actions", `ids=["`+e.command+`"]`)
			s.Events, s.Options = call("read_events", "limit=5"), call("get_field_options", "id="+e.command, "field=as")
			s.check(t)
		})
	}
}

// bearer adds the caller's token to every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func TestTheOfficialGoClient(t *testing.T) {
	t.Parallel()
	e := start(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for _, version := range mcp.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			client := sdk.NewClient(&sdk.Implementation{Name: "conformance", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
				Endpoint: e.url, HTTPClient: &http.Client{Transport: bearer{e.token, transport}},
			}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = session.Close() }()
			s := seen{Instructions: session.InitializeResult().Instructions, Calls: make(map[string]outcome), UnknownTool: -32602}
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list.Tools {
				s.Tools = append(s.Tools, x.Name)
			}
			call := func(tool string, args map[string]any) outcome {
				t.Helper()
				r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				structured, _ := r.StructuredContent.(map[string]any)
				text, _ := r.Content[0].(*sdk.TextContent)
				return outcome{r.IsError, structured, text.Text}
			}
			for _, as := range []string{"complete", "reject", "fail", "unknown", "hold"} {
				s.Calls[as] = call("invoke_action", map[string]any{"id": e.command, "input": map[string]any{"as": as}})
			}
			s.Again = call("get_invocation", map[string]any{"id": s.Calls["complete"].Structured["invocationId"]})
			s.Refused, s.Missing = call("read_events", map[string]any{"limit": 0}), call("get_invocation", map[string]any{"id": "000000000000000000000000"})
			s.Capabilities, s.Described = call("list_capabilities", nil), call("describe_actions", map[string]any{"ids": []string{e.command}})
			s.Events = call("read_events", map[string]any{"limit": 5})
			s.Options = call("get_field_options", map[string]any{"id": e.command, "field": "as"})
			s.check(t)
		})
	}
}

// The official suite passes in both eras, but for what a server of tools alone
// has not got: the lists beside the packages, where a stale entry fails the run.
func TestTheOfficialSuite(t *testing.T) {
	t.Parallel()
	node(t, "conformance")
	e := start(t)
	target, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	// The suite cannot send a token.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL = target
		r.Out.Header.Set("Authorization", "Bearer "+e.token)
	}})
	t.Cleanup(proxy.Close)
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			cmd := node(t, "conformance", "server", "--url", proxy.URL+"/mcp", "--requirements", revision, "--expected-failures", "expected-"+revision+".yml")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out[max(0, len(out)-1500):])
		})
	}
}
