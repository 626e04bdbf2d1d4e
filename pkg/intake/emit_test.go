package intake_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// done returns an emission of probe.done by probe.
func (s *stand) done(tb testing.TB, l platformtest.Lock, key string) intake.Emission {
	tb.Helper()
	return intake.Emission{Caller: s.on(tb, l, "probe"), Type: "probe.done", Payload: []byte(`{"a":1}`), Key: key}
}

func TestEmitRefuses(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{Events: invocation.Limit{Max: 30, Window: time.Hour}}}}, intake.Config{})
	platformtest.Publish(t, s.p, "silent", "", nil)
	l := platformtest.NewLock(t, s.p, "caller", "other", "probe", "silent")
	finished, full := s.lock(t), s.lock(t)
	platformtest.Finish(t, s.p, finished.ID)
	for i := range 30 {
		if _, err := s.in.Emit(t.Context(), s.done(t, full, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	deep := platformtest.Event(t, s.p, l.ID, "probe", invocation.Chain{Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: 8})
	foreign := platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{})
	payload := func(text string) func(*intake.Emission) {
		return func(e *intake.Emission) { e.Payload = []byte(text) }
	}
	for name, tc := range map[string]struct {
		on    platformtest.Lock
		wrong func(*intake.Emission)
		code  invocation.Code
		facts map[string]string
		path  string
	}{
		"a type that is not declared":       {on: l, wrong: func(e *intake.Emission) { e.Type = "probe.other" }, code: invocation.UnknownEvent},
		"a type of another extension":       {on: l, wrong: func(e *intake.Emission) { e.Type = "lock.time-changed" }, code: invocation.UnknownEvent},
		"a command is no event":             {on: l, wrong: func(e *intake.Emission) { e.Type = "probe.echo" }, code: invocation.UnknownEvent},
		"a pattern":                         {on: l, wrong: func(e *intake.Emission) { e.Type = "probe.*" }, code: invocation.UnknownEvent},
		"an emitter without a manifest":     {on: l, wrong: func(e *intake.Emission) { e.Caller = s.on(t, l, "silent") }, code: invocation.UnknownEvent},
		"an emitter that declares nothing":  {on: l, wrong: func(e *intake.Emission) { e.Caller = s.on(t, l, "caller") }, code: invocation.UnknownEvent},
		"no payload":                        {on: l, wrong: payload(``), code: invocation.InvalidInput, path: "/payload"},
		"a payload that is no object":       {on: l, wrong: payload(`[]`), code: invocation.InvalidInput, path: "/payload"},
		"a payload that is no JSON":         {on: l, wrong: payload(`{`), code: invocation.InvalidInput},
		"a payload of 65 levels":            {on: l, wrong: payload(string(nested(65))), code: invocation.InvalidInput, path: "/payload"},
		"a payload of 16 KiB and one":       {on: l, wrong: payload(sized(invocation.MaxPayload + 1)), code: invocation.PayloadTooLarge},
		"a payload that does not fit":       {on: l, wrong: func(e *intake.Emission) { e.Type, e.Payload = "probe.counted", []byte(`{"n":"1"}`) }, code: invocation.InvalidInput, path: "/payload/n"},
		"a key of 201":                      {on: l, wrong: func(e *intake.Emission) { e.Key = strings.Repeat("ü", 201) }, code: invocation.InvalidInput, path: "/idempotencyKey"},
		"a lock that is not active":         {on: finished, wrong: func(*intake.Emission) {}, code: invocation.Unavailable, facts: map[string]string{"reason": "lock-not-active"}},
		"too many":                          {on: full, wrong: func(*intake.Emission) {}, code: invocation.RateLimited, facts: map[string]string{"bucket": "events"}},
		"too many, also for a repeat":       {on: full, wrong: func(e *intake.Emission) { e.Key = "0" }, code: invocation.RateLimited},
		"a cause of somebody else":          {on: l, wrong: func(e *intake.Emission) { e.Causation = foreign.ID }, code: invocation.InvalidCausation},
		"a cause too deep":                  {on: l, wrong: func(e *intake.Emission) { e.Causation = deep.ID }, code: invocation.DepthExceeded},
		"an undeclared type before its key": {on: l, wrong: func(e *intake.Emission) { e.Type, e.Key = "probe.other", "" }, code: invocation.UnknownEvent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := s.done(t, tc.on, t.Name())
			tc.wrong(&e)
			_, err := s.in.Emit(t.Context(), e)
			got := refusal(t, err, tc.code)
			for k, v := range tc.facts {
				if got.Facts[k] != v {
					t.Errorf("got the facts %v, want %v", got.Facts, tc.facts)
				}
			}
			if tc.path != "" && (len(got.Problems) != 1 || got.Problems[0].InstancePath != tc.path) {
				t.Errorf("got the problems %v, want one at %s", got.Problems, tc.path)
			}
			if tc.code == invocation.RateLimited && (got.RetryAfter <= 0 || got.RetryAfter > time.Hour) {
				t.Errorf("got retry after %s", got.RetryAfter)
			}
			for on, want := range map[invocation.LockID]int{l.ID: 2, finished.ID: 0, full.ID: 30} {
				if n := len(platformtest.Events(t, s.p, on)); n != want {
					t.Errorf("got %d events, want the %d from before", n, want)
				}
			}
		})
	}
}

// sized returns an object of this many bytes.
func sized(n int) string { return `{"x":"` + strings.Repeat("<", n-8) + `"}` }

func TestEmit(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	own := platformtest.Event(t, s.p, l.ID, "probe", invocation.Chain{
		Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: 7, Starter: invocation.Starter{Extension: "other"},
	})
	call := s.invoke(t, s.echo(t, l, "received")).Invocation
	for name, tc := range map[string]struct {
		emission intake.Emission
		want     invocation.Chain // the zero chain is a root
	}{
		"a root":               {emission: intake.Emission{Type: "probe.done", Payload: []byte(`{"n":9007199254740993}`)}},
		"with a key":           {emission: intake.Emission{Type: "probe.done", Payload: []byte(`{}`), Key: "k"}},
		"by its schema":        {emission: intake.Emission{Type: "probe.counted", Payload: []byte(`{"n":1}`)}},
		"a payload of 16 KiB":  {emission: intake.Emission{Type: "probe.done", Payload: []byte(sized(invocation.MaxPayload))}},
		"64 levels":            {emission: intake.Emission{Type: "probe.done", Payload: nested(64)}},
		"after one of its own": {emission: intake.Emission{Type: "probe.done", Payload: []byte(`{}`), Causation: own.ID}, want: invocation.Chain{Causation: own.ID, Correlation: own.Chain.Correlation, Depth: 8, Starter: own.Chain.Starter}},
		"after a call received": {
			emission: intake.Emission{Type: "probe.done", Payload: []byte(`{}`), Causation: call.ID, Key: "after a call"},
			want:     invocation.Chain{Causation: call.ID, Correlation: call.ID, Depth: 1, Starter: invocation.Starter{Extension: "caller"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := tc.emission
			e.Caller = s.on(t, l, "probe")
			got, err := s.in.Emit(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			want := tc.want
			if want.Correlation == "" {
				want = invocation.Root(got.ID, invocation.Starter{Extension: "probe"})
			}
			source := invocation.Source{Extension: "probe", Partner: e.Caller.Extension.ID, Actor: invocation.ActorExtension}
			stored, err := s.p.Ledger.Event(t.Context(), l.ID, got.ID)
			if err != nil {
				t.Fatal(err)
			}
			for what, ev := range map[string]invocation.Event{"answer": got, "log": stored} {
				if ev.Chain != want || ev.Source != source || ev.Type != e.Type || string(ev.Payload) != string(e.Payload) ||
					ev.Lock != l.ID || ev.ID != invocation.EventID(l.ID, ev.Seq) || time.Since(ev.CreatedAt) > time.Minute {
					t.Errorf("%s: got %+v, want %+v from %+v", what, ev, want, source)
				}
			}
		})
	}
}

// Without a named cause the last delivered event is the cause, as for calls.
func TestEmitInfersItsCause(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	bubble(t, func(t *testing.T, s *stand) {
		t.Helper()
		l := s.lock(t)
		cause := platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{})
		s.sent(t, "probe", cause)
		got, err := s.in.Emit(t.Context(), s.done(t, l, ""))
		if err != nil || got.Chain.Causation != cause.ID || !got.Chain.Inferred || got.Chain.Depth != 1 || got.Chain.Correlation != cause.ID {
			t.Errorf("got %+v, %v; want it after the delivered event", got.Chain, err)
		}
		pass(11 * time.Second)
		if got, err = s.in.Emit(t.Context(), s.done(t, l, "")); err != nil || got.Chain.Causation != "" {
			t.Errorf("got %+v, %v after 11 s; want a root", got.Chain, err)
		}
	})
}

// A key holds for 24 hours: the same emission returns the first event, another
// one is refused (contract section 3).
func TestEmissionKeys(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	for name, tc := range map[string]struct {
		change func(*intake.Emission)
		field  string
		other  bool // another event
	}{
		"the same":                 {change: func(*intake.Emission) {}},
		"the same in other words":  {change: func(e *intake.Emission) { e.Payload = []byte(`{ "\u0061": 1.0 }`) }},
		"another, invalid cause":   {change: func(e *intake.Emission) { e.Causation = "0123456789abcdef01234567" }},
		"another payload":          {change: func(e *intake.Emission) { e.Payload = []byte(`{"a":2}`) }, field: "payload"},
		"another type":             {change: func(e *intake.Emission) { e.Type, e.Payload = "probe.counted", []byte(`{"n":1}`) }, field: "type"},
		"another key":              {change: func(e *intake.Emission) { e.Key += "2" }, other: true},
		"no key":                   {change: func(e *intake.Emission) { e.Key = "" }, other: true},
		"a key of a call is apart": {change: func(e *intake.Emission) { e.Key = "call" }, other: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := s.lock(t)
			c := s.echo(t, l, "call")
			c.Caller = s.on(t, l, "probe")
			s.invoke(t, c)
			e := s.done(t, l, "k")
			first, err := s.in.Emit(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{}) // the log goes on
			tc.change(&e)
			again, err := s.in.Emit(t.Context(), e)
			events := len(platformtest.Events(t, s.p, l.ID))
			switch {
			case tc.field != "":
				if got := refusal(t, err, invocation.IdempotencyConflict); got.Facts["field"] != tc.field || events != 2 {
					t.Errorf("got the field %q and %d events, want %s and 2", got.Facts["field"], events, tc.field)
				}
			case err != nil:
				t.Error(err)
			case (again.ID != first.ID) != tc.other || (events == 3) != tc.other:
				t.Errorf("got %s after %s and %d events, want another one: %t", again.ID, first.ID, events, tc.other)
			}
		})
	}
}

func TestAnEmissionKeyHoldsForADay(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	emit := func(t *testing.T, s *stand, l platformtest.Lock) invocation.ID {
		t.Helper()
		e, err := s.in.Emit(t.Context(), s.done(t, l, "k"))
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	inDays(t, func(t *testing.T, at func(func(*stand, platformtest.Lock))) {
		t.Helper()
		var first invocation.ID
		at(func(s *stand, l platformtest.Lock) { first = emit(t, s, l) })
		pass(24*time.Hour - time.Minute)
		at(func(s *stand, l platformtest.Lock) {
			if again := emit(t, s, l); again != first {
				t.Errorf("got %s within a day, want %s again", again, first)
			}
		})
		pass(2 * time.Minute)
		at(func(s *stand, l platformtest.Lock) {
			if again := emit(t, s, l); again == first {
				t.Error("got the first event after more than a day, want a new one")
			}
		})
	})
}

// Of simultaneous emissions with one key one is made; all get it.
func TestSimultaneousEmissionsWithOneKey(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	doors := [2]*intake.Intake{s.in, door(s.Open(t), intake.Config{})}
	l := s.lock(t)
	var (
		wg  sync.WaitGroup
		ids sync.Map
	)
	for i := range 32 {
		wg.Go(func() {
			e, err := doors[i%2].Emit(t.Context(), s.done(t, l, "k"))
			if err != nil {
				t.Errorf("emission %d: %v", i, err)
			}
			ids.Store(e.ID, true)
		})
	}
	wg.Wait()
	distinct := 0
	ids.Range(func(any, any) bool { distinct++; return true })
	if events := len(platformtest.Events(t, s.p, l.ID)); distinct != 1 || events != 1 {
		t.Errorf("got %d ids and %d events, want one", distinct, events)
	}
}

// A process that died after it had stored the key left no event: the repeat
// makes it, once.
func TestAnEmissionThatWasCutShortIsFinished(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	l := s.lock(t)
	id := invocation.EmissionID(l.ID, "probe", "k")
	snap, err := s.p.Ledger.Lock(t.Context(), l.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.p.Ledger.Reserve(t.Context(), l.ID, id, ledger.Reservation{Body: `probe.done {"a":1}`, After: snap.Seq}); err != nil {
		t.Fatal(err)
	}
	platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{})
	var first invocation.ID
	for range 2 {
		e, err := s.in.Emit(t.Context(), s.done(t, l, "k"))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = e.ID
		}
		if e.ID != first {
			t.Errorf("got %s, then %s", first, e.ID)
		}
	}
	if n := len(platformtest.Events(t, s.p, l.ID)); n != 2 {
		t.Errorf("got %d events, want the other one and this one", n)
	}
}
