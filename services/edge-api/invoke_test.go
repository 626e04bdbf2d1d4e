package edgeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
)

type invocationForm struct {
	InvocationID, Status, CorrelationID string
	CausationID, SettledAt              *string
	CausationInferred                   bool
	Depth                               int
	Result                              json.RawMessage
	Error                               *struct{ Code, Message string }
}

func (s session) invoke(t *testing.T, name, body string) (answer, invocationForm) {
	t.Helper()
	a := shared.client(t, s.token).do(http.MethodPost, s.action(name), body).want(t, 200)
	var inv invocationForm
	a.into(t, &inv)
	return a, inv
}

func TestACallIsAnsweredWithItsSettlement(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	tests := map[string]struct {
		name, status, code string
	}{
		"completed": {"echo", "completed", ""},
		"rejected":  {"reject", "rejected", "not-today"},
		"pending":   {"hold", "pending", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, inv := s.invoke(t, test.name, call(`,"input":{"a":[1,"x",null]}`))
			code := ""
			if inv.Error != nil {
				code = inv.Error.Code
			}
			if inv.Status != test.status || code != test.code || (inv.SettledAt == nil) != (test.status == "pending") {
				t.Errorf("got %s, want status %s and code %q", a.body, test.status, test.code)
			}
			if inv.CorrelationID != inv.InvocationID || inv.Depth != 0 || inv.CausationID != nil {
				t.Errorf("got %s, want the root of a chain", a.body)
			}
			if got, want := a.header.Get("X-Trace-Id"), telemetry.TraceIDOf(inv.CorrelationID); got != want {
				t.Errorf("got trace %s, want the chain's %s", got, want)
			}
			again := shared.client(t, s.token).do(http.MethodGet, s.path("/invocations/"+inv.InvocationID), nil).want(t, 200)
			if string(again.body) != string(a.body) || again.header.Get("X-Trace-Id") != a.header.Get("X-Trace-Id") {
				t.Errorf("got %s, want what the call answered: %s", again.body, a.body)
			}
		})
	}
}

func TestARepeatedKeyFindsTheFirstCall(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	key := unique("key")
	body := func(rest string) string { return fmt.Sprintf(`{"idempotencyKey":%q%s}`, key, rest) }
	first, _ := s.invoke(t, "echo", body(`,"input":{"a":1,"b":2}`))
	if got := first.header.Get("Idempotency-Replayed"); got != "" {
		t.Errorf("got Idempotency-Replayed %q for the first call, want none", got)
	}
	second, _ := s.invoke(t, "echo", body(`,"input":{ "b":2.0, "a":1 }`))
	if got := second.header.Get("Idempotency-Replayed"); got != "true" || string(second.body) != string(first.body) {
		t.Errorf("got %q %s, want the first answer, marked", got, second.body)
	}
	tests := map[string]struct{ action, rest, field string }{
		"S-18: another command": {"reject", `,"input":{"a":1,"b":2}`, "command"},
		"S-18: another input":   {"echo", `,"input":{"a":2}`, "input"},
		"another actor":         {"echo", `,"input":{"a":1,"b":2},"actor":"wearer"`, "actor"},
	}
	for name, test := range tests {
		p := shared.client(t, s.token).do(http.MethodPost, s.action(test.action), body(test.rest)).refused(t, 409, invocation.IdempotencyConflict)
		if got := p.fact(t, "field"); got != test.field {
			t.Errorf("%s: got field %v, want %s", name, got, test.field)
		}
	}
}

func TestTwoSimultaneousCallsAreOne(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	body := call(`,"input":{"a":1}`)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var inv invocationForm
			if err := json.Unmarshal(shared.client(t, s.token).do(http.MethodPost, s.action("echo"), body).body, &inv); err != nil {
				t.Error(err)
			}
			ids[i] = inv.InvocationID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("got %v, want one id", ids)
		}
	}
}

func TestCallsThatAreNotAdmitted(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	lonely := shared.install(t, s.extension, shared.newLockOf(t, nil)) // without a keyholder
	elsewhere := shared.newSession(t)
	tests := map[string]struct {
		session session
		path    string
		body    string
		status  int
		code    invocation.Code
	}{
		"a command nobody has":                  {s, s.action("none"), call(""), 404, "unknown-capability"},
		"a command of an extension elsewhere":   {s, s.path("/actions/" + elsewhere.slug + ".echo"), call(""), 404, "unknown-capability"},
		"an id that is none":                    {s, s.path("/actions/nothing"), call(""), 404, "unknown-capability"},
		"an id with a wildcard":                 {s, s.path("/actions/*.>"), call(""), 404, "unknown-capability"},
		"a command for the wearer only":         {s, s.action("mine"), call(`,"actor":"wearer"`), 403, "not-invocable"},
		"SEC-69: an actor that is none":         {s, s.action("echo"), call(`,"actor":"admin"`), 400, "invalid-actor"},
		"SEC-69: the platform itself":           {s, s.action("echo"), call(`,"actor":"system"`), 400, "invalid-actor"},
		"an empty actor":                        {s, s.action("echo"), call(`,"actor":""`), 400, "invalid-actor"},
		"SEC-69: no keyholder to name":          {lonely, lonely.action("echo"), call(`,"actor":"keyholder"`), 400, "invalid-actor"},
		"an input that the schema refuses":      {s, s.action("count"), call(`,"input":{"n":0}`), 400, "invalid-input"},
		"SEC-35: -0 is less than 1":             {s, s.path("/actions/lock.add-time"), call(`,"input":{"duration":-0}`), 400, "invalid-input"},
		"SEC-35: 1e-400 is no integer":          {s, s.path("/actions/lock.add-time"), call(`,"input":{"duration":1e-400}`), 400, "invalid-input"},
		"what is not available":                 {s, s.path("/actions/lock.unfreeze"), call(""), 409, "unavailable"},
		"a cause that is none":                  {s, s.action("echo"), call(`,"causationId":"nothing"`), 400, "invalid-causation"},
		"an empty cause":                        {s, s.action("echo"), call(`,"causationId":""`), 400, "invalid-causation"},
		"a cause that nobody knows":             {s, s.action("echo"), call(`,"causationId":"0123456789abcdef01234567"`), 400, "invalid-causation"},
		"a cause with an injection in it":       {s, s.action("echo"), call(`,"causationId":"*.>"`), 400, "invalid-causation"},
		"a main page token on a call":           {session{extension{s.slug, "none"}, s.id, s.lock}, s.action("echo"), call(""), 401, "unauthorized"},
		"an input with what the schema forbids": {s, s.path("/actions/lock.freeze"), call(`,"input":{"x":1}`), 400, "invalid-input"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared.client(t, test.session.token).do(http.MethodPost, test.path, test.body).refused(t, test.status, test.code)
		})
	}
}

func TestAnInputsProblemsNameTheirPlaces(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	p := shared.client(t, s.token).do(http.MethodPost, s.action("count"), call(`,"input":{"n":0}`)).refused(t, 400, invocation.InvalidInput)
	if got, want := string(p.Details), `[{"instancePath":"/n","message":"must be >= 1"}]`; got != want || p.Message != "invalid-input" {
		t.Errorf("got %q %s, want invalid-input %s", p.Message, got, want)
	}
	p = shared.client(t, s.token).do(http.MethodPost, s.path("/actions/lock.unfreeze"), call("")).refused(t, 409, invocation.Unavailable)
	if got := p.fact(t, "reason"); got != "not-frozen" {
		t.Errorf("got reason %v, want not-frozen", got)
	}
}

func TestKeysHoldAnyCharacters(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	for name, key := range map[string]string{
		"200 code points":      strings.Repeat("😀", 200),
		"dots and wildcards":   "a.*.>",
		"blanks and controls":  " \u0000\n",
		"another composition":  "e\u0301",
		"one that looks alike": "é",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(map[string]any{"idempotencyKey": key})
			if err != nil {
				t.Fatal(err)
			}
			a, _ := s.invoke(t, "echo", string(raw))
			if a.header.Get("Idempotency-Replayed") != "" {
				t.Error("the key was used before, want it to be another one")
			}
		})
	}
}

func TestACauseThatIsNamed(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	_, root := s.invoke(t, "echo", call(""))
	parent := root
	for depth := 1; depth <= invocation.MaxDepth; depth++ {
		a, next := s.invoke(t, "echo", call(fmt.Sprintf(`,"causationId":%q`, parent.InvocationID)))
		if next.Depth != depth || next.CorrelationID != root.InvocationID || *next.CausationID != parent.InvocationID {
			t.Fatalf("got %s, want depth %d in the chain of %s", a.body, depth, root.InvocationID)
		}
		parent = next
	}
	c := shared.client(t, s.token)
	c.do(http.MethodPost, s.action("echo"), call(fmt.Sprintf(`,"causationId":%q`, parent.InvocationID))).refused(t, 409, invocation.DepthExceeded)
	c.do(http.MethodPost, s.path("/events"), fmt.Sprintf(`{"type":"%s.done","payload":{},"causationId":%q}`, s.slug, parent.InvocationID)).
		refused(t, 409, invocation.DepthExceeded)
}

func TestTimesAlwaysHaveThreeDecimals(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	times := regexp.MustCompile(`"(?:createdAt|settledAt)":"([^"]*)"`)
	exact := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	for range 20 {
		a, _ := s.invoke(t, "echo", call(""))
		for _, m := range times.FindAllStringSubmatch(string(a.body), -1) {
			if !exact.MatchString(m[1]) {
				t.Errorf("S-35: got %s", m[1])
			}
		}
	}
}

func TestALimitTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	cfg := platform.Config{}
	cfg.Ledger.Limits.Extension = invocation.Limit{Max: 2, Window: time.Minute}
	own, err := newStack(t.TempDir(), cfg, edgeapi.Config{AdminToken: adminSecret, Wait: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer own.stop()
	s := own.newSession(t)
	c := own.client(t, s.token)
	body := call("")
	c.do(http.MethodPost, s.action("echo"), body).want(t, 200)
	c.do(http.MethodPost, s.action("echo"), body).want(t, 200) // a repeat counts, too
	a := c.do(http.MethodPost, s.action("echo"), body)
	if a.status == 200 { // the window ended between the calls
		c.do(http.MethodPost, s.action("echo"), body).want(t, 200)
		a = c.do(http.MethodPost, s.action("echo"), body)
	}
	p := a.refused(t, 429, invocation.RateLimited)
	if got := p.fact(t, "bucket"); got != "extension" {
		t.Errorf("got bucket %v, want extension", got)
	}
	seconds, ok := p.fact(t, "retryAfterSeconds").(float64)
	if !ok || seconds < 1 || seconds > 60 || fmt.Sprint(seconds) != a.header.Get("Retry-After") {
		t.Errorf("got Retry-After %q and %v, want the same whole seconds", a.header.Get("Retry-After"), seconds)
	}
}

func TestOneThatIsOutOfReachIsUnavailable(t *testing.T) {
	t.Parallel()
	cfg := platform.Config{}
	cfg.Ledger.Patience = 300 * time.Millisecond
	cfg.Broker.Timeout = 300 * time.Millisecond
	own, err := newStack(t.TempDir(), cfg, edgeapi.Config{AdminToken: adminSecret})
	if err != nil {
		t.Fatal(err)
	}
	defer own.stop()
	s := own.newSession(t)
	own.platform.Conn.NC.Close()
	c := own.client(t, s.token)
	for method, path := range map[string]string{http.MethodPost: s.action("echo"), http.MethodGet: s.path("/events")} {
		a := c.do(method, path, call(""))
		if p := a.refused(t, 503, invocation.ServiceUnavailable); p.Message != "service-unavailable" || a.header.Get("Retry-After") == "" {
			t.Errorf("got %s and Retry-After %q, want no internals and advice", a.body, a.header.Get("Retry-After"))
		}
	}
	own.client(t, "").do(http.MethodGet, "/healthz", nil).want(t, 200)
	own.client(t, "").do(http.MethodGet, "/readyz", nil).want(t, 503)
}
