package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// A fault is one thing wrong with a call, and the step of admission that it
// fails at (contract section 6).
type fault struct {
	name string
	code invocation.Code
	// finished and full choose the lock that the call is made on.
	finished, full bool
	wrong          func(*intake.Call)
}

// faults are in the order of admission.
func faults(deep invocation.ID) []fault {
	return []fault{
		{name: "3 key", code: invocation.InvalidInput, wrong: func(c *intake.Call) { c.Key = "" }},
		{name: "4 capability", code: invocation.UnknownCapability, wrong: func(c *intake.Call) { c.Command = "probe.nothing" }},
		{name: "5 invocable", code: invocation.NotInvocable, wrong: func(c *intake.Call) { c.Command = "probe.people" }},
		{name: "6 actor", code: invocation.InvalidActor, wrong: func(c *intake.Call) { c.Actor = "nobody" }},
		{name: "7 input", code: invocation.InvalidInput, wrong: func(c *intake.Call) { c.Input = []byte(`{"n":"x"}`) }},
		{name: "8 availability", code: invocation.Unavailable, finished: true},
		{name: "9 limits", code: invocation.RateLimited, full: true},
		{name: "10 conflict", code: invocation.IdempotencyConflict, wrong: func(c *intake.Call) { c.Key = "used" }},
		{name: "11 cause", code: invocation.InvalidCausation, wrong: func(c *intake.Call) { c.Causation = "0123456789abcdef01234567" }},
		{name: "12 depth", code: invocation.DepthExceeded, wrong: func(c *intake.Call) { c.Causation = deep }},
	}
}

// Whatever two things are wrong with a call, the earlier step answers, and
// nothing is recorded.
func TestOrderOfAdmission(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{Extension: invocation.Limit{Max: 100}}}}, intake.Config{Wait: short})
	locks := make(map[[2]bool]platformtest.Lock)
	deep := make(map[[2]bool]invocation.ID)
	for _, at := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
		l := s.lock(t)
		used := s.echo(t, l, "used")
		used.Input = []byte(`{"first":true}`)
		s.invoke(t, used)
		event := platformtest.Event(t, s.p, l.ID, "caller", invocation.Chain{Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: invocation.MaxDepth})
		if at[0] {
			platformtest.Finish(t, s.p, l.ID)
		}
		if at[1] {
			s.fill(t, l)
		}
		locks[at], deep[at] = l, event.ID
	}
	for i, first := range faults("") {
		for j, second := range faults("") {
			if j < i || first.name == "11 cause" && second.name == "12 depth" { // one call names one cause
				continue
			}
			t.Run(first.name+" before "+second.name, func(t *testing.T) {
				t.Parallel()
				at := [2]bool{first.finished || second.finished, first.full || second.full}
				c := s.echo(t, locks[at], t.Name())
				c.Command, c.Input = "probe.strict", []byte(`{"n":1}`)
				for _, k := range []int{j, i} { // the first has the last word where both set one field
					if f := faults(deep[at])[k]; f.wrong != nil {
						f.wrong(&c)
					}
				}
				_, err := s.in.Invoke(t.Context(), c)
				_ = refusal(t, err, first.code)
				if c.Key != "used" && c.Key != "" {
					s.mustNotStand(t, c)
				}
			})
		}
	}
}

// fill uses up what the caller may call on a lock.
func (s *stand) fill(tb testing.TB, l platformtest.Lock) {
	tb.Helper()
	session := l.Session("caller")
	charge := ledger.Charge{Bucket: invocation.BucketExtension, Key: string(session.Slug) + "-" + string(session.Lock)}
	for range 2000 {
		if err := s.p.Ledger.Charge(tb.Context(), charge); err != nil {
			_ = refusal(tb, err, invocation.RateLimited)
			return
		}
	}
	tb.Fatal("the limit was never reached")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	platformtest.Publish(t, s.p, "silent", "", nil)
	platformtest.Publish(t, s.p, "homeless", strings.ReplaceAll(platformtest.ProbeManifest, "probe.", "homeless."), nil)
	platformtest.Publish(t, s.p, "disabled", strings.ReplaceAll(platformtest.ProbeManifest, "probe.", "disabled."), func(e *registry.Extension) {
		e.WebhookURL, e.Disabled = "https://disabled.example/", true
	})
	platformtest.Publish(t, s.p, "elsewhere", strings.ReplaceAll(platformtest.ProbeManifest, "probe.", "elsewhere."), func(e *registry.Extension) {
		e.WebhookURL = "https://elsewhere.example/"
	})
	all := []invocation.Slug{"caller", "other", "probe", "silent", "homeless", "disabled", "tasks"}
	l, alone, frozen := platformtest.NewLock(t, s.p, all...), platformtest.NewLockAlone(t, s.p, all...), platformtest.NewLock(t, s.p, all...)
	state, err := s.p.Ledger.Lock(t.Context(), frozen.ID)
	if err != nil {
		t.Fatal(err)
	}
	now := s.p.Ledger.Now()
	state.State.FrozenAt = &now
	platformtest.Transit(t, s.p, frozen.ID, ledger.Transition{State: state.State})
	for name, tc := range map[string]struct {
		on    platformtest.Lock
		call  intake.Call
		code  invocation.Code
		facts map[string]string
		path  string // of the only problem
	}{
		"a malformed id":                      {on: l, call: intake.Call{Command: "probe.echo\n"}, code: invocation.UnknownCapability},
		"an id with a wildcard":               {on: l, call: intake.Call{Command: "probe.*"}, code: invocation.UnknownCapability},
		"an id without a slug":                {on: l, call: intake.Call{Command: "echo"}, code: invocation.UnknownCapability},
		"an empty id":                         {on: l, call: intake.Call{}, code: invocation.UnknownCapability},
		"an extension that nobody has":        {on: l, call: intake.Call{Command: "nobody.echo"}, code: invocation.UnknownCapability},
		"an extension that is not installed":  {on: l, call: intake.Call{Command: "elsewhere.echo"}, code: invocation.UnknownCapability},
		"an extension without a manifest":     {on: l, call: intake.Call{Command: "silent.echo"}, code: invocation.UnknownCapability},
		"a built-in that is not installed":    {on: l, call: intake.Call{Command: "penalty.increment"}, code: invocation.UnknownCapability},
		"a command that is not declared":      {on: l, call: intake.Call{Command: "probe.other"}, code: invocation.UnknownCapability},
		"an event is no command":              {on: l, call: intake.Call{Command: "probe.done"}, code: invocation.UnknownCapability},
		"a command of the lock, not declared": {on: l, call: intake.Call{Command: "lock.remove"}, code: invocation.UnknownCapability},
		"for people only":                     {on: l, call: intake.Call{Command: "probe.people"}, code: invocation.NotInvocable},
		"actor system":                        {on: l, call: intake.Call{Command: "probe.echo", Actor: invocation.ActorSystem}, code: invocation.InvalidActor},
		"actor Wearer":                        {on: l, call: intake.Call{Command: "probe.echo", Actor: "Wearer"}, code: invocation.InvalidActor},
		"no keyholder":                        {on: alone, call: intake.Call{Command: "probe.echo", Actor: invocation.ActorKeyholder}, code: invocation.InvalidActor},
		"input that is no JSON":               {on: l, call: intake.Call{Command: "probe.echo", Input: []byte(`{`)}, code: invocation.InvalidInput},
		"input that is no object":             {on: l, call: intake.Call{Command: "probe.echo", Input: []byte(`[]`)}, code: invocation.InvalidInput},
		"input null":                          {on: l, call: intake.Call{Command: "probe.echo", Input: []byte(`null`)}, code: invocation.InvalidInput},
		"input with a name twice":             {on: l, call: intake.Call{Command: "probe.echo", Input: []byte(`{"a":1,"a":1}`)}, code: invocation.InvalidInput},
		"input of 65 levels":                  {on: l, call: intake.Call{Command: "probe.echo", Input: nested(65)}, code: invocation.InvalidInput},
		"input with the wrong type":           {on: l, call: intake.Call{Command: "probe.strict", Input: []byte(`{"n":"1"}`)}, code: invocation.InvalidInput, path: "/n"},
		"input of the lock out of range":      {on: l, call: intake.Call{Command: "lock.add-time", Input: []byte(`{"duration":0}`)}, code: invocation.InvalidInput, path: "/duration"},
		"an empty key":                        {on: l, call: intake.Call{Command: "probe.echo", Key: "-"}, code: invocation.InvalidInput, path: "/idempotencyKey"},
		"a key of 201 letters":                {on: l, call: intake.Call{Command: "probe.echo", Key: strings.Repeat("a", 201)}, code: invocation.InvalidInput, path: "/idempotencyKey"},
		"a key of 201 emoji":                  {on: l, call: intake.Call{Command: "probe.echo", Key: strings.Repeat("😀", 201)}, code: invocation.InvalidInput, path: "/idempotencyKey"},
		"input of more than 256 KiB":          {on: l, call: intake.Call{Command: "probe.echo", Input: []byte(`{"x":"` + strings.Repeat("<", invocation.MaxBody-7) + `"}`)}, code: invocation.PayloadTooLarge},
		"a disabled extension":                {on: l, call: intake.Call{Command: "disabled.echo"}, code: invocation.Unavailable, facts: map[string]string{"reason": "extension-disabled"}},
		"an extension without an endpoint":    {on: l, call: intake.Call{Command: "homeless.echo"}, code: invocation.Unavailable, facts: map[string]string{"reason": "endpoint-not-configured"}},
		"already frozen":                      {on: frozen, call: intake.Call{Command: "lock.freeze"}, code: invocation.Unavailable, facts: map[string]string{"reason": "already-frozen"}},
		"not frozen":                          {on: l, call: intake.Call{Command: "lock.unfreeze"}, code: invocation.Unavailable, facts: map[string]string{"reason": "not-frozen"}},
		"a cause that is no id":               {on: l, call: intake.Call{Command: "probe.echo", Causation: "*"}, code: invocation.InvalidCausation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tc.call
			c.Caller = s.on(t, tc.on, "caller")
			switch c.Key {
			case "":
				c.Key = t.Name()
			case "-":
				c.Key = ""
			}
			_, err := s.in.Invoke(t.Context(), c)
			e := refusal(t, err, tc.code)
			for k, v := range tc.facts {
				if e.Facts[k] != v {
					t.Errorf("got the facts %v, want %v", e.Facts, tc.facts)
				}
			}
			if tc.code == invocation.InvalidInput && len(e.Problems) == 0 {
				t.Error("got no problems, want them all")
			}
			if tc.path != "" && (len(e.Problems) != 1 || e.Problems[0].InstancePath != tc.path) {
				t.Errorf("got the problems %v, want one at %s", e.Problems, tc.path)
			}
			s.mustNotStand(t, c)
		})
	}
}

// nested returns objects in each other, this many levels.
func nested(levels int) []byte {
	return []byte(strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1))
}

func TestAdmitted(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l, alone := s.lock(t), platformtest.NewLockAlone(t, s.p, "caller", "probe")
	big := []byte(`{"x":"` + strings.Repeat("<", invocation.MaxBody-8) + `"}`)
	for name, tc := range map[string]struct {
		on   platformtest.Lock
		call intake.Call
		want invocation.Invocation
	}{
		"a command of a partner": {l, intake.Call{Command: "probe.echo", Input: []byte(`{"a":1}`)}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{"a":1}`), Actor: invocation.ActorExtension}},
		"a query":                {l, intake.Call{Command: "probe.peek"}, invocation.Invocation{Capability: invocation.Query, Revision: 1, Input: []byte(`{}`), Actor: invocation.ActorExtension}},
		"a command of the lock":  {l, intake.Call{Command: "lock.add-time", Input: []byte(`{"duration":60}`)}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{"duration":60}`), Actor: invocation.ActorExtension}},
		"in the wearer's name":   {l, intake.Call{Command: "lock.remove-time", Input: []byte(`{"duration":60}`), Actor: invocation.ActorWearer}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{"duration":60}`), Actor: invocation.ActorWearer}},
		"in the keyholder's":     {l, intake.Call{Command: "probe.echo", Actor: invocation.ActorKeyholder}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{}`), Actor: invocation.ActorKeyholder}},
		"by MCP":                 {l, intake.Call{Command: "probe.echo", Via: invocation.MCP}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{}`), Actor: invocation.ActorExtension, Via: invocation.MCP}},
		"without a keyholder":    {alone, intake.Call{Command: "probe.echo", Actor: invocation.ActorExtension}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{}`), Actor: invocation.ActorExtension}},
		"input of 64 levels":     {l, intake.Call{Command: "probe.echo", Input: nested(64)}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: nested(64), Actor: invocation.ActorExtension}},
		"input of 256 KiB":       {l, intake.Call{Command: "probe.echo", Input: big}, invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: big, Actor: invocation.ActorExtension}},
		"numbers as they are": {
			l,
			intake.Call{Command: "probe.echo", Input: []byte(`{"n":9007199254740993,"m":1.0,"e":1E2}`)},
			invocation.Invocation{Capability: invocation.Command, Revision: 1, Input: []byte(`{"n":9007199254740993,"m":1.0,"e":1E2}`), Actor: invocation.ActorExtension},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tc.call
			c.Caller, c.Key = s.on(t, tc.on, "caller"), t.Name()
			a := s.invoke(t, c)
			stored, err := s.in.Invocation(t.Context(), c.Caller, a.Invocation.ID)
			if err != nil {
				t.Fatalf("read it: %v", err)
			}
			target := invocation.Party{Slug: c.Command.Slug(), Session: tc.on.Session(c.Command.Slug()).ID}
			if target.Slug == "probe" {
				target.Partner = s.on(t, tc.on, "probe").Extension.ID
			}
			for what, got := range map[string]invocation.Invocation{"the answer": a.Invocation, "the record": stored} {
				if got.Command != c.Command || got.Capability != tc.want.Capability || got.Revision != tc.want.Revision ||
					string(got.Input) != string(tc.want.Input) || got.Actor != tc.want.Actor || got.Via != tc.want.Via ||
					got.Caller != c.Caller.Party() || got.Target != target || got.Lock != tc.on.ID || got.Status != invocation.Pending {
					t.Errorf("%s: got %+v", what, got)
				}
				if got.ID != invocation.InvocationID(tc.on.ID, "caller", c.Key) || time.Since(got.CreatedAt) > time.Minute || !got.SettledAt.IsZero() {
					t.Errorf("%s: got %+v", what, got)
				}
				if want := invocation.Root(got.ID, invocation.Starter{Extension: "caller"}); got.Chain != want {
					t.Errorf("%s: got the chain %+v, want %+v", what, got.Chain, want)
				}
			}
			if a.Replayed {
				t.Error("the first call is marked as a repeat")
			}
		})
	}
}

// Keys hold any character and count code points; nothing is normalised
// (SEC-72, SEC-73, S-17).
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	keys := []string{
		"chat-6731b2c4e5:turn-12", "spin-6731b2c4e5:assign", "a b", "a..b", ".a.", "*", ">", "ключ", "50%", "a/b", `"q"`,
		"\u00e9", "e\u0301", "\r\nNats-Msg-Id: x", "\x00", "../../x", "A", "a", strings.Repeat("a", 200), strings.Repeat("😀", 200),
	}
	seen := make(map[invocation.ID]string)
	for _, key := range keys {
		first, again := s.invoke(t, s.echo(t, l, key)), s.invoke(t, s.echo(t, l, key))
		if was, taken := seen[first.Invocation.ID]; taken {
			t.Errorf("%q and %q are one key", key, was)
		}
		seen[first.Invocation.ID] = key
		if first.Replayed || !again.Replayed || first.Invocation.ID != again.Invocation.ID {
			t.Errorf("%q: got %s, then %s (replayed %t)", key, first.Invocation.ID, again.Invocation.ID, again.Replayed)
		}
	}
}
