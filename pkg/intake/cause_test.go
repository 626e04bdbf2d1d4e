package intake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// sent notes that the delivery of an event to an extension begins now.
func (s *stand) sent(tb testing.TB, to invocation.Slug, e invocation.Event) {
	tb.Helper()
	if err := s.p.Ledger.MarkSent(tb.Context(), to, e); err != nil {
		tb.Fatalf("mark sent: %v", err)
	}
}

// What may be named as a cause (contract section 6, SEC-81), and where it puts
// the call.
func TestNamedCauses(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l, elsewhere := s.lock(t), s.lock(t)
	at := func(depth int, starter invocation.Slug) invocation.Chain {
		if depth == 0 {
			return invocation.Chain{Starter: invocation.Starter{Extension: starter}}
		}
		return invocation.Chain{
			Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: depth, Starter: invocation.Starter{Extension: starter},
		}
	}
	event := func(from invocation.Slug, chain invocation.Chain, to ...invocation.Slug) invocation.Event {
		e := platformtest.Event(t, s.p, l.ID, from, chain)
		for _, slug := range to {
			s.sent(t, slug, e)
		}
		return e
	}
	call := func(by, command string, on platformtest.Lock) invocation.Invocation {
		c := s.echo(t, on, "cause of "+by+command)
		c.Caller, c.Command = s.on(t, on, invocation.Slug(by)), invocation.CapabilityID(command)
		return s.invoke(t, c).Invocation
	}
	made, received, foreign := call("caller", "probe.echo", l), call("probe", "probe.peek", l), call("other", "probe.echo", l)
	atElsewhere := call("caller", "probe.echo", elsewhere)
	own, ownRoot := event("caller", at(3, "other")), event("caller", at(0, "caller"))
	delivered, deliveredRoot := event("other", at(2, "probe"), "caller"), event("probe", at(0, "probe"), "caller")
	toOther, unsent := event("probe", at(2, "probe"), "other"), event("probe", at(2, "probe"))
	abroad := platformtest.Event(t, s.p, elsewhere.ID, "caller", at(0, "caller"))
	edge, beyond, far := event("caller", at(7, "other")), event("caller", at(8, "other")), event("other", at(9, "other"), "caller")

	for name, tc := range map[string]struct {
		by    invocation.Slug // caller unless said
		cause invocation.ID
		code  invocation.Code // empty: admitted
		want  invocation.Chain
	}{
		"an event of one's own":               {cause: own.ID, want: invocation.Chain{Causation: own.ID, Correlation: own.Chain.Correlation, Depth: 4, Starter: own.Chain.Starter}},
		"a root event of one's own":           {cause: ownRoot.ID, want: invocation.Chain{Causation: ownRoot.ID, Correlation: ownRoot.ID, Depth: 1, Starter: invocation.Starter{Extension: "caller"}}},
		"an event that was delivered":         {cause: delivered.ID, want: invocation.Chain{Causation: delivered.ID, Correlation: delivered.Chain.Correlation, Depth: 3, Starter: invocation.Starter{Extension: "probe"}}},
		"a root event that was delivered":     {cause: deliveredRoot.ID, want: invocation.Chain{Causation: deliveredRoot.ID, Correlation: deliveredRoot.ID, Depth: 1, Starter: invocation.Starter{Extension: "probe"}}},
		"an invocation that one made":         {cause: made.ID, want: invocation.Chain{Causation: made.ID, Correlation: made.ID, Depth: 1, Starter: invocation.Starter{Extension: "caller"}}},
		"an invocation that one received":     {by: "probe", cause: foreign.ID, want: invocation.Chain{Causation: foreign.ID, Correlation: foreign.ID, Depth: 1, Starter: invocation.Starter{Extension: "other"}}},
		"one made and received":               {by: "probe", cause: received.ID, want: invocation.Chain{Causation: received.ID, Correlation: received.ID, Depth: 1, Starter: invocation.Starter{Extension: "probe"}}},
		"depth 8 runs":                        {cause: edge.ID, want: invocation.Chain{Causation: edge.ID, Correlation: edge.Chain.Correlation, Depth: 8, Starter: edge.Chain.Starter}},
		"depth 9 does not":                    {cause: beyond.ID, code: invocation.DepthExceeded},
		"depth 10 does not":                   {cause: far.ID, code: invocation.DepthExceeded},
		"an event that another got":           {cause: toOther.ID, code: invocation.InvalidCausation},
		"an event only read by GET":           {cause: unsent.ID, code: invocation.InvalidCausation},
		"an event of another lock":            {cause: abroad.ID, code: invocation.InvalidCausation},
		"an invocation on another lock":       {cause: atElsewhere.ID, code: invocation.InvalidCausation},
		"somebody else's invocation":          {cause: foreign.ID, code: invocation.InvalidCausation},
		"the next event, not there yet":       {cause: invocation.EventID(l.ID, 1<<40), code: invocation.InvalidCausation},
		"a place between two events":          {cause: invocation.EventID(l.ID, own.Seq+7), code: invocation.InvalidCausation},
		"an id that nobody has":               {cause: "0123456789abcdef01234567", code: invocation.InvalidCausation},
		"an id of a history line is no cause": {cause: invocation.ID("h" + string(own.ID[1:])), code: invocation.InvalidCausation},
		"an id in upper case":                 {cause: "ABCDEF0123456789ABCDEF01", code: invocation.InvalidCausation},
		"a wildcard":                          {cause: "*", code: invocation.InvalidCausation},
		"an id with more behind it":           {cause: own.ID + ".x", code: invocation.InvalidCausation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.echo(t, l, t.Name())
			if tc.by != "" {
				c.Caller = s.on(t, l, tc.by)
			}
			c.Causation = tc.cause
			a, err := s.in.Invoke(t.Context(), c)
			if tc.code != "" {
				_ = refusal(t, err, tc.code)
				s.mustNotStand(t, c)
				return
			}
			if err != nil || a.Invocation.Chain != tc.want {
				t.Errorf("got %+v, %v; want %+v", a.Invocation.Chain, err, tc.want)
			}
			stored, err := s.in.Invocation(t.Context(), c.Caller, a.Invocation.ID)
			if err != nil || stored.Chain != tc.want {
				t.Errorf("got %+v stored, %v; want %+v", stored.Chain, err, tc.want)
			}
		})
	}
}

// The look-up of a repeated call comes before its cause is judged (contract
// section 6, steps 10 to 12).
func TestARepeatNeedsNoValidCause(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	deep := platformtest.Event(t, s.p, l.ID, "caller", invocation.Chain{Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: 8})
	for name, cause := range map[string]invocation.ID{"an invalid cause": "0123456789abcdef01234567", "a cause too deep": deep.ID} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.echo(t, l, t.Name())
			first := s.invoke(t, c)
			c.Causation = cause
			again, err := s.in.Invoke(t.Context(), c)
			if err != nil || !again.Replayed || again.Invocation.ID != first.Invocation.ID || again.Invocation.Chain != first.Invocation.Chain {
				t.Errorf("got %+v, %v; want the first call", again, err)
			}
			c.Input = []byte(`{"other":1}`)
			_, err = s.in.Invoke(t.Context(), c)
			_ = refusal(t, err, invocation.IdempotencyConflict)
			c.Key += " of another call"
			_, err = s.in.Invoke(t.Context(), c)
			_ = refusal(t, err, map[bool]invocation.Code{true: invocation.DepthExceeded, false: invocation.InvalidCausation}[cause == deep.ID])
			s.mustNotStand(t, c)
		})
	}
}

// bubble runs a test with an installation in virtual time. Such a test is not
// parallel to others: all servers of a process share one clock, which has to be
// the bubble's.
func bubble(t *testing.T, test func(*testing.T, *stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newStand(t, platform.Config{}, intake.Config{Wait: short})) })
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// A call that names no cause has the last event that was delivered to its
// caller on its lock in the previous ten seconds (contract section 6, SEC-82).
func TestInferredCauses(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	type delivery struct {
		to    invocation.Slug
		depth int
		after time.Duration // since the delivery before
	}
	for name, tc := range map[string]struct { //nolint:paralleltest // in a bubble, alone
		deliveries []delivery
		elsewhere  bool
		after      time.Duration
		want       int // index of the cause, -1 for none
		code       invocation.Code
	}{
		"nothing was delivered":              {want: -1},
		"at once":                            {deliveries: []delivery{{"caller", 2, 0}}, want: 0},
		"after 9.9 s":                        {deliveries: []delivery{{"caller", 2, 0}}, after: 9900 * time.Millisecond, want: 0},
		"after 10.1 s":                       {deliveries: []delivery{{"caller", 2, 0}}, after: 10100 * time.Millisecond, want: -1},
		"to another extension":               {deliveries: []delivery{{"other", 2, 0}}, want: -1},
		"on another lock":                    {deliveries: []delivery{{"caller", 2, 0}}, elsewhere: true, want: -1},
		"the last of two":                    {deliveries: []delivery{{"caller", 2, 0}, {"caller", 4, time.Second}}, want: 1},
		"the last of two, not the deepest":   {deliveries: []delivery{{"caller", 4, 0}, {"caller", 2, time.Second}}, want: 1},
		"not what another got since":         {deliveries: []delivery{{"caller", 2, 0}, {"other", 4, time.Second}}, want: 0},
		"depth 7 leads to 8":                 {deliveries: []delivery{{"caller", 7, 0}}, want: 0},
		"depth 8 leads to 9":                 {deliveries: []delivery{{"caller", 8, 0}}, code: invocation.DepthExceeded},
		"depth 8 is forgotten after 10.1 s":  {deliveries: []delivery{{"caller", 8, 0}}, after: 10100 * time.Millisecond, want: -1},
		"a root event":                       {deliveries: []delivery{{"caller", 0, 0}}, want: 0},
		"an older one is not fallen back to": {deliveries: []delivery{{"caller", 2, 0}, {"caller", 3, 9 * time.Second}}, after: 9 * time.Second, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stand) {
				t.Helper()
				l := s.lock(t)
				on := l
				if tc.elsewhere {
					on = s.lock(t)
				}
				var events []invocation.Event
				for _, d := range tc.deliveries {
					pass(d.after)
					chain := invocation.Chain{Starter: invocation.Starter{Extension: "probe"}}
					if d.depth > 0 {
						chain.Causation, chain.Correlation, chain.Depth = "ffffffffffffffffffffffff", "eeeeeeeeeeeeeeeeeeeeeeee", d.depth
					}
					e := platformtest.Event(t, s.p, l.ID, "other", chain)
					s.sent(t, d.to, e)
					events = append(events, e)
				}
				pass(tc.after)
				c := s.echo(t, on, "k")
				a, err := s.in.Invoke(t.Context(), c)
				if tc.code != "" {
					_ = refusal(t, err, tc.code)
					s.mustNotStand(t, c)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := invocation.Root(a.Invocation.ID, invocation.Starter{Extension: "caller"})
				if tc.want >= 0 {
					cause := events[tc.want]
					want = invocation.Chain{
						Causation: cause.ID, Correlation: cause.Chain.Correlation, Depth: cause.Chain.Depth + 1, Inferred: true, Starter: cause.Chain.Starter,
					}
				}
				if a.Invocation.Chain != want {
					t.Errorf("got %+v, want %+v", a.Invocation.Chain, want)
				}
			})
		})
	}
}

// inDays runs a test in virtual time. What is done inside at is done on the same
// lock, by a new process each time; the server is away meanwhile, so that the
// days that pass cost nothing.
func inDays(t *testing.T, test func(t *testing.T, at func(func(*stand, platformtest.Lock)))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var l platformtest.Lock
		test(t, func(use func(*stand, platformtest.Lock)) {
			server, err := broker.StartServer(broker.ServerConfig{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Shutdown()
			w := platformtest.New(t, platform.Config{Broker: broker.Config{Server: server}}, nil)
			p := w.OpenIdle(t)
			defer p.Conn.Close()
			s := &stand{World: w, p: p, in: door(p, intake.Config{Wait: short})}
			if l.ID == "" {
				s.publish(t)
				l = s.lock(t)
			}
			use(s, l)
		})
	})
}

// A delivered event may be named for seven days (SEC-81).
func TestADeliveredEventMayBeNamedForSevenDays(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	inDays(t, func(t *testing.T, at func(func(*stand, platformtest.Lock))) {
		t.Helper()
		var e invocation.Event
		at(func(s *stand, l platformtest.Lock) {
			e = platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{})
			s.sent(t, "caller", e)
		})
		name := func(s *stand, l platformtest.Lock, key string) (intake.Answer, error) {
			c := s.echo(t, l, key)
			c.Causation = e.ID
			return s.in.Invoke(t.Context(), c)
		}
		pass(7*24*time.Hour - time.Minute)
		at(func(s *stand, l platformtest.Lock) {
			a, err := name(s, l, "just in time")
			if err != nil || a.Invocation.Chain.Causation != e.ID || a.Invocation.Chain.Inferred {
				t.Errorf("got %+v, %v in time; want the event, named", a.Invocation.Chain, err)
			}
		})
		pass(time.Minute)
		at(func(s *stand, l platformtest.Lock) {
			_, err := name(s, l, "too late")
			_ = refusal(t, err, invocation.InvalidCausation)
		})
	})
}

// A key holds for 30 days with its invocation (SEC-79).
func TestAKeyHoldsForThirtyDays(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	inDays(t, func(t *testing.T, at func(func(*stand, platformtest.Lock))) {
		t.Helper()
		at(func(s *stand, l platformtest.Lock) {
			a := s.invoke(t, s.echo(t, l, "k"))
			s.settle(t, l.ID, a.Invocation.ID, invocation.Completes([]byte(`{"first":true}`)))
		})
		pass(30*24*time.Hour - time.Minute)
		at(func(s *stand, l platformtest.Lock) {
			if a := s.invoke(t, s.echo(t, l, "k")); !a.Replayed || string(a.Invocation.Result) != `{"first":true}` {
				t.Errorf("got %+v within 30 days, want the first call", a)
			}
		})
		pass(2 * time.Minute)
		at(func(s *stand, l platformtest.Lock) {
			if a := s.invoke(t, s.echo(t, l, "k")); a.Replayed {
				t.Errorf("got %+v after 30 days, want a new call", a)
			}
		})
	})
}

// A request that nobody takes has failed, whoever asks (design section 4).
func TestACallThatNobodyTakesHasFailed(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	inDays(t, func(t *testing.T, at func(func(*stand, platformtest.Lock))) {
		t.Helper()
		at(func(s *stand, l platformtest.Lock) { s.invoke(t, s.echo(t, l, "k")) })
		pass(15*time.Minute + 20*time.Second)
		at(func(s *stand, l platformtest.Lock) {
			if a := s.invoke(t, s.echo(t, l, "k")); a.Invocation.Status != invocation.Pending {
				t.Errorf("got %s, want it pending: a worker may be about to say so itself", a.Invocation.Status)
			}
		})
		pass(20 * time.Second)
		at(func(s *stand, l platformtest.Lock) {
			a := s.invoke(t, s.echo(t, l, "k"))
			if a.Invocation.Status != invocation.Failed || a.Invocation.Error.Code != invocation.DispatchExpired || a.Invocation.SettledAt.IsZero() {
				t.Errorf("got %+v, want failed with dispatch-expired", a.Invocation)
			}
		})
	})
}
