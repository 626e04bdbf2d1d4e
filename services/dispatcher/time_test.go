package dispatcher_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// bubble runs a test with an installation in virtual time. Such a test is not
// parallel to others: all servers of a process share one clock, which has to be
// the bubble's.
func bubble(t *testing.T, test func(*testing.T, *stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newStand(t, platform.Config{}, "https://probe.example/")) })
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// now reads an invocation.
func (s *stand) now(tb testing.TB, inv invocation.Invocation) invocation.Invocation {
	tb.Helper()
	inv, err := s.p.Ledger.Invocation(tb.Context(), inv.Lock, inv.ID)
	if err != nil {
		tb.Fatal(err)
	}
	return inv
}

// A request that nobody claimed within 15 minutes has failed and is called no
// more; one that was claimed is dealt with as at any other time (contract
// section 7).
func TestRequestsExpire(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	bubble(t, func(t *testing.T, s *stand) {
		t.Helper()
		l := s.lock(t)
		var calls atomic.Int64
		fresh := func(command invocation.CapabilityID) invocation.Invocation {
			return s.record(t, s.call(t, l, command, t.Name()+string(command)+time.Now().String()))
		}
		old, oldBuiltIn := fresh("probe.echo"), fresh("lock.freeze")
		held, heldBuiltIn := fresh("probe.peek"), fresh("lock.toggle-freeze")
		done := fresh("probe.echo")
		s.claimed(t, held, time.Minute)
		s.claimed(t, heldBuiltIn, time.Minute)
		settled := done.Settle(invocation.Completes(nil), s.p.Ledger.Now())
		if err := s.p.Ledger.Settle(t.Context(), s.claimed(t, done, time.Minute), settled, nil); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		young := fresh("probe.echo")
		pass(14*time.Minute + 45*time.Second)
		s.calling(t, func(context.Context, invocation.Invocation) invocation.Outcome {
			calls.Add(1)
			return invocation.Completes(nil)
		})
		pass(5 * time.Second)
		for _, tc := range []struct {
			name   string
			inv    invocation.Invocation
			status invocation.Status
			code   string
		}{
			{"a partner's", old, invocation.Failed, invocation.DispatchExpired},
			{"a built-in's", oldBuiltIn, invocation.Failed, invocation.DispatchExpired},
			{"one that was claimed", held, invocation.Unknown, invocation.DispatchInterrupted},
			{"a built-in's that was claimed", heldBuiltIn, invocation.Completed, ""},
			{"one that has settled", done, invocation.Completed, ""},
			{"one of 14 min 45 s", young, invocation.Completed, ""},
		} {
			t.Log(tc.name)
			check(t, s.now(t, tc.inv), tc.status, tc.code)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("got %d calls of the target, want one for the request that was in time", n)
		}
		if !s.done(t) {
			t.Error("a request is left")
		}
	})
}

// A message that nobody can read is given up after a few tries, and kept; the
// worker lives (SEC-113, S-23).
func TestPoisonIsBuried(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	bubble(t, func(t *testing.T, s *stand) {
		t.Helper()
		l := s.lock(t)
		template := s.record(t, s.call(t, l, "probe.echo", "template"))
		stored, err := s.p.Conn.JS.Stream(t.Context(), ledger.InvocationStream(0))
		if err != nil {
			t.Fatal(err)
		}
		subject := "inv.0.req." + string(template.ID)
		good, err := stored.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		var handled atomic.Int64
		s.calling(t, func(context.Context, invocation.Invocation) invocation.Outcome {
			handled.Add(1)
			return invocation.Completes(nil)
		})
		pass(time.Second)
		for subject, data := range map[string]string{
			"inv.0.req.000000000000000000000001": "\xff\x00 nothing",
			"inv.0.req.000000000000000000000002": "",
			"inv.0.req.000000000000000000000003": `{"v":1}`,
			"inv.0.req.000000000000000000000004": strings.Replace(string(good.Data), `"v":1`, `"v":99`, 1),
			"inv.0.req.000000000000000000000005": string(good.Data), // names another id
			"inv.0.req.000000000000000000000006": `{"v":1,"id":5}`,
		} {
			if _, err := s.p.Conn.JS.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte(data)}); err != nil {
				t.Fatal(err)
			}
		}
		check(t, s.invoke(t, s.call(t, l, "probe.echo", "beside")), invocation.Completed, "")
		if n := s.dead(t); n != 0 {
			t.Errorf("got %d messages given up at once, want them tried again", n)
		}
		pass(2 * time.Minute)
		if n := s.dead(t); n != 6 {
			t.Errorf("got %d messages given up, want 6", n)
		}
		if !s.done(t) {
			t.Error("a request is left")
		}
		check(t, s.invoke(t, s.call(t, l, "probe.echo", "after")), invocation.Completed, "")
		if n := handled.Load(); n != 3 {
			t.Errorf("got %d calls, want the three that are sound", n)
		}
	})
}

// A call whose handler panics leaves nobody pending and nobody else waiting.
func TestAPanicIsSurvived(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	bubble(t, func(t *testing.T, s *stand) {
		t.Helper()
		l := s.lock(t)
		var calls atomic.Int64
		s.calling(t, func(_ context.Context, inv invocation.Invocation) invocation.Outcome {
			if strings.Contains(string(inv.Input), "panic") {
				calls.Add(1)
				panic("planted")
			}
			return invocation.Completes(nil)
		})
		c := s.call(t, l, "probe.echo", "bad")
		c.Input = []byte(`{"panic":true}`)
		bad := s.record(t, c)
		pass(time.Second)
		check(t, s.invoke(t, s.call(t, l, "probe.echo", "beside")), invocation.Completed, "")
		pass(2 * time.Minute)
		check(t, s.now(t, bad), invocation.Unknown, invocation.DispatchInterrupted)
		if n := calls.Load(); n != 1 {
			t.Errorf("got %d calls of the target, want one", n)
		}
		if !s.done(t) {
			t.Error("a request is left")
		}
		check(t, s.invoke(t, s.call(t, l, "probe.echo", "after")), invocation.Completed, "")
	})
}

// An outage is no fault of the requests that meet it: nothing is given up, and
// what an answer caused is recorded when it is over.
func TestAnOutageBuriesNothing(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	bubble(t, func(t *testing.T, s *stand) {
		t.Helper()
		l := s.lock(t)
		var calls atomic.Int64
		s.calling(t, func(context.Context, invocation.Invocation) invocation.Outcome {
			if calls.Add(1) == 1 { // the lock's log goes away while the target is called
				if err := s.p.Conn.JS.DeleteStream(t.Context(), ledger.LockStream(0)); err != nil {
					t.Errorf("delete the log: %v", err)
				}
			}
			return invocation.Completes(nil, invocation.Emission{Type: "probe.done", Payload: json.RawMessage(`{}`)})
		})
		inv := s.record(t, s.call(t, l, "probe.echo", "k"))
		pass(10 * time.Minute)
		if n := s.dead(t); n != 0 {
			t.Errorf("got %d messages given up, want none", n)
		}
		if s.done(t) {
			t.Error("no request is left, want the one whose event is missing")
		}
		if err := ledger.Topology(ledger.Config{Partitions: 1}).Apply(t.Context(), s.p.Conn.JS); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		check(t, s.now(t, inv), invocation.Completed, "")
		if n := len(platformtest.Events(t, s.p, l.ID)); n != 1 {
			t.Errorf("got %d events, want the one of the answer", n)
		}
		if n := calls.Load(); !s.done(t) || n != 1 {
			t.Errorf("got all done: %t, after %d calls; want true after one", s.done(t), n)
		}
	})
}

// A request that can be read and never be handled is given up too, and its
// caller learns of it (S-23).
func TestARequestThatFailsEachTimeIsGivenUp(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	bubble(t, func(t *testing.T, s *stand) {
		t.Helper()
		l := s.lock(t)
		inv := s.record(t, s.call(t, l, "lock.freeze", "k"))
		log, err := s.p.Conn.JS.Stream(t.Context(), ledger.LockStream(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Purge(t.Context()); err != nil { // there is no such lock any more
			t.Fatal(err)
		}
		s.calling(t, nil)
		pass(10 * time.Second)
		check(t, s.now(t, inv), invocation.Pending, "")
		pass(time.Minute)
		check(t, s.now(t, inv), invocation.Unknown, invocation.DispatchInterrupted)
		if dead, done := s.dead(t), s.done(t); dead != 1 || !done {
			t.Errorf("got %d messages given up and the rest done: %t; want one and true", dead, done)
		}
	})
}
