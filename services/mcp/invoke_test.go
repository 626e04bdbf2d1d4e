package mcpservice_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
)

// chain is the place of a root event that an extension started.
func chain(starter invocation.Slug) invocation.Chain {
	return invocation.Chain{Starter: invocation.Starter{Extension: starter}}
}

// An invocation comes back as it settled: rejected and failed ones are errors to
// the model, pending and unknown ones are not (contract section 10).
func TestInvocationsComeBackAsTheySettled(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	c := s.client(t, s.lock(t))
	for as, want := range map[string]struct {
		status, code string
		isError      bool
	}{
		"complete": {"completed", "", false},
		"reject":   {"rejected", "not-today", true},
		"fail":     {"failed", "target-error", true},
		"unknown":  {"unknown", "target-timeout", false},
		"hold":     {"pending", "", false},
	} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			c := c
			c.t = t
			check := func(r result) {
				t.Helper()
				code := ""
				if e, _ := r.structured["error"].(map[string]any); e != nil {
					code = fmt.Sprint(e["code"])
				}
				if r.structured["status"] != want.status || code != want.code || r.isError != want.isError {
					t.Errorf("got %s, an error: %t", r.raw, r.isError)
				}
			}
			r := c.call("invoke_action", fmt.Sprintf(`{"id":"probe.echo","input":{"as":%q,"n":9007199254740993}}`, as))
			check(r)
			if as == "complete" && !strings.Contains(string(r.raw), `"result":{"as":"complete","n":9007199254740993}`) {
				t.Errorf("S-03: got %s", r.raw)
			}
			check(c.call("get_invocation", fmt.Sprintf(`{"id":%q}`, r.structured["invocationId"])))
		})
	}
}

// deep returns an object of n levels.
func deep(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }

// What a tool was given that is not right, and what of it reaches anybody:
// nothing (SEC-101, S-10, contract sections 9 and 10).
func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	c := s.client(t, l)
	for name, tc := range map[string]struct {
		tool, arguments string
		code, path      string
		message         string
	}{
		"a cause":               {"invoke_action", `{"id":"probe.echo","causationId":"aaaaaaaaaaaaaaaaaaaaaaaa"}`, "invalid-arguments", "", "must NOT have additional properties"},
		"an actor":              {"invoke_action", `{"id":"probe.echo","actor":"keyholder"}`, "invalid-arguments", "", "must NOT have additional properties"},
		"a session":             {"invoke_action", `{"id":"probe.echo","sessionId":"ses_x"}`, "invalid-arguments", "", "must NOT have additional properties"},
		"a lock":                {"list_capabilities", `{"lockId":"x"}`, "invalid-arguments", "", "must NOT have additional properties"},
		"S-01: another case":    {"invoke_action", `{"id":"probe.echo","ID":"probe.strict"}`, "invalid-arguments", "", "must NOT have additional properties"},
		"S-10: no id":           {"invoke_action", `{}`, "invalid-arguments", "", "must have required property 'id'"},
		"an id with a newline":  {"invoke_action", `{"id":"probe.echo\n"}`, "invalid-arguments", "/id", "must match pattern"},
		"an id that is none":    {"invoke_action", `{"id":7}`, "invalid-arguments", "/id", "must be string"},
		"an input that is none": {"invoke_action", `{"id":"probe.echo","input":[]}`, "invalid-arguments", "/input", "must be object"},
		"an empty key":          {"invoke_action", `{"id":"probe.echo","idempotencyKey":""}`, "invalid-arguments", "/idempotencyKey", "must NOT have fewer than 1 characters"},
		"S-10: a null key":      {"invoke_action", `{"id":"probe.echo","idempotencyKey":null}`, "invalid-arguments", "/idempotencyKey", "must be string"},
		"a key of 201":          {"invoke_action", `{"id":"probe.echo","idempotencyKey":"` + strings.Repeat("k", 201) + `"}`, "invalid-arguments", "/idempotencyKey", "must NOT have more than 200 characters"},
		"no ids":                {"describe_actions", `{"ids":[]}`, "invalid-arguments", "/ids", "must NOT have fewer than 1 items"},
		"51 ids":                {"describe_actions", `{"ids":["a.b"` + strings.Repeat(`,"a.b"`, 50) + `]}`, "invalid-arguments", "/ids", "must NOT have more than 50 items"},
		"a limit of 0":          {"read_events", `{"limit":0}`, "invalid-arguments", "/limit", "must be >= 1"},
		"a limit of 101":        {"read_events", `{"limit":101}`, "invalid-arguments", "/limit", "must be <= 100"},
		"a cursor below 0":      {"read_events", `{"afterSeq":-1}`, "invalid-arguments", "/afterSeq", "must be >= 0"},
		"all types":             {"read_events", `{"types":["*"]}`, "invalid-arguments", "/types/0", "must match pattern"},
		"a long search":         {"get_field_options", `{"id":"probe.peek","field":"habit","search":"` + strings.Repeat("s", 101) + `"}`, "invalid-arguments", "/search", "must NOT have more than 100 characters"},
		"65 levels":             {"invoke_action", `{"id":"probe.echo","input":` + deep(65) + `}`, "invalid-request", "", ""},
		"66 levels in a list":   {"invoke_action", `{"id":"probe.echo","input":{"a":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}}`, "invalid-request", "", ""},
		"300 levels":            {"invoke_action", `{"id":"probe.echo","input":` + deep(300) + `}`, "invalid-request", "", ""},
		"SEC-33: a number":      {"invoke_action", `{"id":"probe.echo","input":{"a":1e400}}`, "invalid-input", "/a", "must be a finite number"},
		"SEC-33: as a cursor":   {"read_events", `{"afterSeq":1e400}`, "invalid-arguments", "/afterSeq", "must be a finite number"},
		"the command's schema":  {"invoke_action", `{"id":"probe.strict","input":{"n":0}}`, "invalid-input", "/n", "must be >= 1"},
		"an unknown action":     {"invoke_action", `{"id":"probe.nothing"}`, "unknown-capability", "", ""},
		"not for extensions":    {"invoke_action", `{"id":"probe.people"}`, "not-invocable", "", ""},
		"not available":         {"invoke_action", `{"id":"lock.unfreeze"}`, "unavailable", "", ""},
		"an unknown invocation": {"get_invocation", `{"id":"000000000000000000000000"}`, "not-found", "", ""},
		"S-11: one that closes": {"get_invocation", `{"id":"</extension-data>x"}`, "not-found", "", ""},
		"a field without":       {"get_field_options", `{"id":"probe.peek","field":"n"}`, "invalid-field", "", ""},
		"nobody to ask":         {"get_field_options", `{"id":"probe.peek","field":"habit"}`, "service-unavailable", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c
			c.t = t
			e := c.call(tc.tool, tc.arguments).refused(t, tc.code)
			if e["nextAction"] == nil || e["retry"] == nil || e["outcome"] != "not_applied" {
				t.Errorf("got %v, want what to do", e)
			}
			if tc.message == "" {
				return
			}
			details, _ := e["details"].([]any)
			if len(details) != 1 {
				t.Fatalf("got %v, want one problem", e)
			}
			d, _ := details[0].(map[string]any)
			if d["instancePath"] != tc.path || !strings.HasPrefix(fmt.Sprint(d["message"]), tc.message) {
				t.Errorf("got %v, want %q %q", d, tc.path, tc.message)
			}
		})
	}
	t.Cleanup(func() { // after the subtests
		stream, err := s.p.Conn.JS.Stream(context.WithoutCancel(t.Context()), ledger.InvocationStream(0))
		if err == nil && stream.CachedInfo().State.Msgs > 0 {
			t.Errorf("got %d messages of refused calls, want none", stream.CachedInfo().State.Msgs)
		}
	})
}

// The largest of what is allowed is served.
func TestArgumentsAtTheirBounds(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	if got := s.client(t, s.lock(t)).call("invoke_action", `{"id":"probe.echo","input":`+deep(64)+`}`); got.isError {
		t.Errorf("64 levels: got %s", got.raw)
	}
	if got := s.client(t, s.lock(t)).call("describe_actions", `{"ids":["a.b"`+strings.Repeat(`,"a.b"`, 49)+`]}`); got.isError {
		t.Errorf("50 ids: got %s", got.raw)
	}
}

// What a refusal advises (contract section 10).
func TestAdvice(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{
		MCPExtension: invocation.Limit{Max: 2, Window: time.Hour}, Extension: invocation.Limit{Max: 100, Window: time.Hour},
	}}}, mcpservice.Config{})
	l := s.lock(t)
	c := s.client(t, l)
	c.call("invoke_action", `{"id":"probe.echo","input":{"n":1},"idempotencyKey":"k"}`)
	e := c.call("invoke_action", `{"id":"probe.echo","input":{"n":2},"idempotencyKey":"k"}`).refused(t, "idempotency-conflict")
	if e["nextAction"] != "check_result" || e["retry"] != "never" {
		t.Errorf("got %v", e)
	}
	for range 2 {
		e = c.call("invoke_action", `{"id":"probe.echo","idempotencyKey":"other"}`).refused(t, "rate-limited")
		details, _ := e["details"].(map[string]any)
		seconds, _ := details["retryAfterSeconds"].(float64)
		if details["bucket"] != "mcp-extension" || seconds < 50 || seconds > 60 || e["retryAfterMs"] != seconds*1000 ||
			e["retry"] != "after_delay" || e["nextAction"] != "retry" || e["retrySameRequest"] != true || e["outcome"] != "not_applied" {
			t.Errorf("got %v, want the seconds that remain of a minute", e)
		}
	}
	if e = c.call("invoke_action", `{"id":"probe.echo"}`).refused(t, "rate-limited"); e["retrySameRequest"] != nil {
		t.Errorf("got %v, want no promise for a call without a key", e)
	}
	entries, _, err := s.p.Ledger.History(t.Context(), l.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, entry := range entries {
		for _, h := range entry.History {
			if h.Type == "extension_blocked" && h.Extension == "caller" && h.Actor == invocation.ActorExtension {
				lines++
			}
		}
	}
	if lines != 1 {
		t.Errorf("got %d lines of a block, want one that names the extension", lines)
	}
}

// A call by MCP has its cause inferred, and is refused too deep in a chain.
func TestCausesAreInferred(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	c := s.client(t, l)
	event := platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{
		Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: 7, Starter: invocation.Starter{Extension: "other"},
	})
	sent := func(e invocation.Event) {
		t.Helper()
		if err := s.p.Ledger.MarkSent(t.Context(), "caller", e); err != nil {
			t.Fatal(err)
		}
	}
	sent(event)
	r := c.call("invoke_action", `{"id":"probe.echo"}`)
	if r.structured["causationId"] != string(event.ID) || r.structured["depth"] != 8.0 || r.structured["causationInferred"] != true {
		t.Errorf("got %s, want the event as its cause", r.raw)
	}
	event.Chain.Depth = 8
	sent(event)
	if e := c.call("invoke_action", `{"id":"probe.echo"}`).refused(t, "depth-exceeded"); e["retry"] != "never" {
		t.Errorf("got %v", e)
	}
}

// REST and MCP share the keys of an extension on a lock (contract section 10).
func TestKeysAreSharedWithREST(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	ext, err := s.p.Registry.Extension(t.Context(), "caller")
	if err != nil {
		t.Fatal(err)
	}
	in := intake.New(s.p.Ledger, s.p.Registry, s.p.Catalog, intake.Config{})
	a, err := in.Invoke(t.Context(), intake.Call{
		Caller: intake.Caller{Extension: ext, Session: l.Session("caller")}, Command: "probe.echo", Key: "shared", Via: invocation.REST,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := s.client(t, l).call("invoke_action", `{"id":"probe.echo","idempotencyKey":"shared"}`)
	if r.structured["invocationId"] != string(a.Invocation.ID) {
		t.Errorf("got %s, want the invocation %s", r.raw, a.Invocation.ID)
	}
	one, other := s.client(t, l).call("invoke_action", `{"id":"probe.echo"}`), s.client(t, l).call("invoke_action", `{"id":"probe.echo"}`)
	if one.structured["invocationId"] == other.structured["invocationId"] {
		t.Errorf("got %s twice without a key", one.raw)
	}
}

// A caller that gives up early loses nothing: the invocation goes on, in either
// era (S-19).
func TestACallerThatGivesUpLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{Wait: 3 * time.Second})
	for era, modern := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			l := s.lock(t)
			c := s.client(t, l)
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"invoke_action","arguments":{"id":"probe.echo","input":{"as":"hold"},"idempotencyKey":"k"}}}`
			if modern {
				body = strings.Replace(body, `"name"`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name"`, 1)
				c.header.Set("Mcp-Protocol-Version", "2026-07-28")
				c.header.Set("Mcp-Method", "tools/call")
				c.header.Set("Mcp-Name", "invoke_action")
			}
			ctx, leave := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() {
				_, err := c.do(ctx, http.MethodPost, body)
				gone <- err
			}()
			id := invocation.InvocationID(l.ID, "caller", "k")
			brokertest.Eventually(t, time.Minute, "the call is recorded", func() bool {
				_, err := s.p.Ledger.Invocation(t.Context(), l.ID, id)
				return err == nil
			})
			leave()
			if err := <-gone; err == nil {
				t.Error("the caller did not leave")
			}
			if r := s.client(t, l).call("get_invocation", fmt.Sprintf(`{"id":%q}`, id)); r.structured["status"] != "pending" {
				t.Errorf("got %s, want the call pending", r.raw)
			}
		})
	}
}
