package intake_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
)

func TestInvokeReturnsTheSettlement(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: time.Minute})
	s.settling(t, func(inv invocation.Invocation) invocation.Outcome {
		switch {
		case strings.Contains(string(inv.Input), "reject"):
			return invocation.Rejects("not-today", "not on Sundays")
		case strings.Contains(string(inv.Input), "fail"):
			return invocation.Fails(invocation.TargetError)
		case strings.Contains(string(inv.Input), "doubt"):
			return invocation.LeavesUnknown(invocation.TargetTimeout)
		}
		return echoes(inv)
	})
	l := s.lock(t)
	for input, want := range map[string]invocation.Outcome{
		`{"a":9007199254740993}`: invocation.Completes([]byte(`{"a":9007199254740993}`)),
		`{}`:                     invocation.Completes(nil),
		`{"reject":1}`:           invocation.Rejects("not-today", "not on Sundays"),
		`{"fail":1}`:             invocation.Fails(invocation.TargetError),
		`{"doubt":1}`:            invocation.LeavesUnknown(invocation.TargetTimeout),
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			c := s.echo(t, l, t.Name())
			c.Input = []byte(input)
			first := s.invoke(t, c)
			again := s.invoke(t, c)
			stored, err := s.in.Invocation(t.Context(), c.Caller, first.Invocation.ID)
			if err != nil {
				t.Fatal(err)
			}
			if first.Replayed || !again.Replayed {
				t.Errorf("got replayed %t and %t, want only the second", first.Replayed, again.Replayed)
			}
			for what, inv := range map[string]invocation.Invocation{"first": first.Invocation, "again": again.Invocation, "stored": stored} {
				if inv.Status != want.Status || string(inv.Result) != string(want.Result) || (inv.Error == nil) != (want.Failure == nil) ||
					want.Failure != nil && (inv.Error.Code != want.Failure.Code || inv.Error.Message != want.Failure.Message) ||
					inv.SettledAt.Before(inv.CreatedAt) || inv.ID != first.Invocation.ID {
					t.Errorf("%s: got %+v, want %+v", what, inv, want)
				}
			}
		})
	}
}

// Of many simultaneous calls with one key one is recorded and run; all get its
// answer, over both replicas (SEC-76, S-16).
func TestSimultaneousCallsWithOneKey(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: time.Minute})
	var runs atomic.Int64
	s.settling(t, func(inv invocation.Invocation) invocation.Outcome {
		runs.Add(1)
		return echoes(inv)
	})
	doors := [2]*intake.Intake{s.in, door(s.Open(t), intake.Config{Wait: time.Minute})}
	l := s.lock(t)
	var (
		wg       sync.WaitGroup
		created  atomic.Int64
		ids      sync.Map
		distinct int
	)
	for i := range 64 {
		wg.Go(func() {
			a, err := doors[i%2].Invoke(t.Context(), s.echo(t, l, "one"))
			if err != nil || a.Invocation.Status != invocation.Completed {
				t.Errorf("call %d: got %s, %v; want completed", i, a.Invocation.Status, err)
				return
			}
			if !a.Replayed {
				created.Add(1)
			}
			ids.Store(a.Invocation.ID, true)
		})
	}
	wg.Wait()
	ids.Range(func(any, any) bool { distinct++; return true })
	if created.Load() != 1 || distinct != 1 || runs.Load() != 1 {
		t.Errorf("got %d created, %d ids and %d runs, want one of each", created.Load(), distinct, runs.Load())
	}
}

// What makes two calls under one key the same call (contract section 6, S-18,
// SEC-74, SEC-75).
func TestRepeats(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	const input = `{"a":1,"b":[true,null,"x"]}`
	change := func(f func(*intake.Call)) func(*intake.Call) { return f }
	in := func(text string) func(*intake.Call) { return change(func(c *intake.Call) { c.Input = []byte(text) }) }
	event := invocation.ID("0123456789abcdef01234567")
	for name, tc := range map[string]struct {
		change func(*intake.Call)
		field  string // that differs; empty for the same call
	}{
		"the same":                          {change(func(*intake.Call) {}), ""},
		"names in another order":            {in(`{"b":[true,null,"x"],"a":1}`), ""},
		"white space":                       {in("{ \"a\" : 1,\n\t\"b\": [true, null, \"x\"] }"), ""},
		"a number in another spelling":      {in(`{"a":1.0,"b":[true,null,"x"]}`), ""},
		"a number with an exponent":         {in(`{"a":10e-1,"b":[true,null,"x"]}`), ""},
		"a text with an escape":             {in(`{"\u0061":1,"b":[true,null,"\u0078"]}`), ""},
		"another door":                      {change(func(c *intake.Call) { c.Via = invocation.MCP }), ""},
		"the actor spelled out":             {change(func(c *intake.Call) { c.Actor = invocation.ActorExtension }), ""},
		"a cause, valid or not":             {change(func(c *intake.Call) { c.Causation = event }), ""},
		"another number":                    {in(`{"a":2,"b":[true,null,"x"]}`), "input"},
		"a number beyond a float":           {in(`{"a":1.0000000000000000001,"b":[true,null,"x"]}`), "input"},
		"an array in another order":         {in(`{"a":1,"b":[null,true,"x"]}`), "input"},
		"a name more":                       {in(`{"a":1,"b":[true,null,"x"],"c":null}`), "input"},
		"no input":                          {in(``), "input"},
		"another actor":                     {change(func(c *intake.Call) { c.Actor = invocation.ActorWearer }), "actor"},
		"another command":                   {change(func(c *intake.Call) { c.Command = "probe.peek" }), "command"},
		"another command and another input": {change(func(c *intake.Call) { c.Command, c.Input = "probe.peek", nil }), "command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.echo(t, l, t.Name())
			c.Input = []byte(input)
			first := s.invoke(t, c)
			tc.change(&c)
			again, err := s.in.Invoke(t.Context(), c)
			if tc.field != "" {
				if e := refusal(t, err, invocation.IdempotencyConflict); e.Facts["field"] != tc.field {
					t.Errorf("got the field %q, want %s", e.Facts["field"], tc.field)
				}
			} else if err != nil || !again.Replayed || again.Invocation.ID != first.Invocation.ID {
				t.Errorf("got %+v, %v; want the first call", again, err)
			}
			stored, err := s.in.Invocation(t.Context(), c.Caller, first.Invocation.ID)
			if err != nil || string(stored.Input) != input || stored.Command != "probe.echo" || stored.Actor != invocation.ActorExtension {
				t.Errorf("got %+v stored, %v; want the first call unchanged", stored, err)
			}
		})
	}
}

// Keys belong to one extension on one lock.
func TestKeysAreScoped(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	a, b := s.lock(t), s.lock(t)
	others := s.echo(t, a, "k")
	others.Caller = s.on(t, a, "other")
	seen := make(map[invocation.ID]bool)
	for _, c := range []intake.Call{s.echo(t, a, "k"), s.echo(t, b, "k"), others} {
		got := s.invoke(t, c)
		if got.Replayed || seen[got.Invocation.ID] {
			t.Errorf("got a repeat for %s on %s", c.Caller.Session.Slug, c.Caller.Session.Lock)
		}
		seen[got.Invocation.ID] = true
	}
}

// A repeat while the first call runs waits for it (contract section 6), also
// where the other replica recorded it.
func TestARepeatWaitsWithTheFirst(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	recorded := make(chan struct{}, 3)
	open := func(p *platform.Platform) *intake.Intake {
		return door(p, intake.Config{Wait: time.Minute, Record: func(ctx context.Context, r ledger.Request) (invocation.Invocation, bool, error) {
			inv, created, err := p.Ledger.Record(ctx, r)
			recorded <- struct{}{}
			return inv, created, err
		}})
	}
	here := open(s.p)
	doors := []*intake.Intake{here, here, open(s.Open(t))}
	l := s.lock(t)
	c := s.echo(t, l, "k")
	var wg sync.WaitGroup
	var replayed atomic.Int64
	for _, in := range doors {
		wg.Go(func() {
			a, err := in.Invoke(t.Context(), c)
			if err != nil || a.Invocation.Status != invocation.Completed {
				t.Errorf("got %s, %v; want completed", a.Invocation.Status, err)
			}
			if a.Replayed {
				replayed.Add(1)
			}
		})
	}
	for range doors {
		<-recorded
	}
	// The one that recorded it listens in its own inbox, which a dispatcher
	// learns of from the request; here the record has to do.
	s.settling(t, echoes)
	wg.Wait()
	if replayed.Load() != 2 {
		t.Errorf("got %d repeats, want 2", replayed.Load())
	}
}

// A caller that hangs up once its call is admitted changes nothing (S-19).
func TestACallGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l := s.lock(t)
	ctx, hangUp := context.WithCancel(t.Context())
	in := door(s.p, intake.Config{Wait: time.Hour, Record: func(ctx context.Context, r ledger.Request) (invocation.Invocation, bool, error) {
		hangUp()
		return s.p.Ledger.Record(ctx, r)
	}})
	c := s.echo(t, l, "k")
	a, err := in.Invoke(ctx, c)
	if err != nil || a.Invocation.Status != invocation.Pending {
		t.Errorf("got %+v, %v; want it pending", a, err)
	}
	done := s.settle(t, l.ID, a.Invocation.ID, invocation.Completes([]byte(`{"done":true}`)))
	again := s.invoke(t, c)
	if !again.Replayed || again.Invocation.ID != done.ID || again.Invocation.Status != invocation.Completed || string(again.Invocation.Result) != `{"done":true}` {
		t.Errorf("got %+v, want the settled call", again)
	}
}

// A caller that hangs up before leaves nothing.
func TestACallerThatIsGoneLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := s.echo(t, l, "k")
	if _, err := s.in.Invoke(ctx, c); err == nil {
		t.Error("got an answer for a caller that is gone")
	}
	s.mustNotStand(t, c)
}

func TestPendingAfterTheWait(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	c := s.echo(t, l, "k")
	for i := range 2 {
		a := s.invoke(t, c)
		if a.Invocation.Status != invocation.Pending || a.Invocation.Result != nil || a.Invocation.Error != nil || a.Replayed != (i == 1) {
			t.Errorf("got %+v, want it pending", a)
		}
	}
}

// A wake-up that got lost is covered by reading the record at the end.
func TestALostWakeUpIsCovered(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l := s.lock(t)
	in := door(s.p, intake.Config{Wait: short, Record: func(ctx context.Context, r ledger.Request) (invocation.Invocation, bool, error) {
		inv, created, err := s.p.Ledger.Record(ctx, r)
		standing, _ := s.p.Ledger.Claim(ctx, inv, time.Now().Add(time.Minute), 0)
		if err := s.p.Ledger.Settle(ctx, standing.Claim, inv.Settle(invocation.Completes(nil), time.Now()), nil); err != nil {
			t.Errorf("settle: %v", err)
		}
		return inv, created, err
	}})
	a, err := in.Invoke(t.Context(), s.echo(t, l, "k"))
	if err != nil || a.Invocation.Status != invocation.Completed {
		t.Errorf("got %+v, %v; want it completed", a, err)
	}
}

// An invocation is its caller's alone, on the lock of the session (SEC-67).
func TestOnlyOnesOwnInvocationsAreShown(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	a, b := s.lock(t), s.lock(t)
	id := s.invoke(t, s.echo(t, a, "k")).Invocation.ID
	if _, err := s.in.Invocation(t.Context(), s.on(t, a, "caller"), id); err != nil {
		t.Errorf("the caller: got %v", err)
	}
	for name, tc := range map[string]struct {
		caller intake.Caller
		id     invocation.ID
	}{
		"another extension":       {s.on(t, a, "other"), id},
		"the target":              {s.on(t, a, "probe"), id},
		"on another lock":         {s.on(t, b, "caller"), id},
		"an id that nobody has":   {s.on(t, a, "caller"), "0123456789abcdef01234567"},
		"a malformed id":          {s.on(t, a, "caller"), "inv.0.req.*"},
		"an id in upper case":     {s.on(t, a, "caller"), invocation.ID(strings.ToUpper(string(id)))},
		"an empty id":             {s.on(t, a, "caller"), ""},
		"a wildcard":              {s.on(t, a, "caller"), ">"},
		"an id with a line break": {s.on(t, a, "caller"), id + "\r\n"},
	} {
		_, err := s.in.Invocation(t.Context(), tc.caller, tc.id)
		if invocation.CodeOf(err) != invocation.InvocationNotFound {
			t.Errorf("%s: got %v, want invocation-not-found", name, err)
		}
	}
}
