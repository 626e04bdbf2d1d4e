package dispatcher_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
)

// claimed takes a request as a worker does that dies right afterwards.
func (s *stand) claimed(tb testing.TB, inv invocation.Invocation, left time.Duration) ledger.Claim {
	tb.Helper()
	snap, err := s.p.Ledger.Lock(tb.Context(), inv.Lock)
	if err != nil {
		tb.Fatal(err)
	}
	standing, err := s.p.Ledger.Claim(tb.Context(), inv, s.p.Ledger.Now().Add(left), snap.Seq)
	if err != nil || !standing.Mine {
		tb.Fatalf("claim: %+v, %v", standing, err)
	}
	return standing.Claim
}

// change is what a worker asks for that runs lock.freeze.
func freezing(s *stand, inv invocation.Invocation, c ledger.Claim, from ledger.Snapshot) ledger.Change {
	return ledger.Change{
		Lock: inv.Lock, From: from, Once: inv.ID, After: c.LockSeq,
		Decide: func(snap ledger.Snapshot) (ledger.Transition, error) {
			now := s.p.Ledger.Now()
			done, refusal := lock.Apply(snap.State, lock.Act{Command: inv.Command, Input: inv.Input, Caller: "caller", Actor: inv.Actor}, now)
			if refusal != nil {
				return ledger.Transition{}, errors.New(refusal.Code)
			}
			return ledger.Transition{State: done.State, Events: done.Events, History: done.History, Chain: inv.Caused(), At: now}, nil
		},
	}
}

// frozen reports whether a lock is frozen.
func (s *stand) frozen(tb testing.TB, id invocation.LockID) bool {
	tb.Helper()
	snap, err := s.p.Ledger.Lock(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	return snap.State.Frozen()
}

// A built-in whose worker died at any point has its effect once, and is never
// unknown.
func TestBuiltInsAreTakenOver(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, "https://probe.example/")
	type died struct {
		l    platformtest.Lock
		inv  invocation.Invocation
		c    ledger.Claim
		seen ledger.Snapshot // of the lock, by the worker that died
	}
	begin := func() died {
		l := s.lock(t)
		inv := s.record(t, s.call(t, l, "lock.freeze", "k"))
		d := died{l: l, inv: inv, c: s.claimed(t, inv, time.Hour)}
		snap, err := s.p.Ledger.Lock(t.Context(), l.ID)
		if err != nil {
			t.Fatal(err)
		}
		d.seen = snap
		return d
	}
	apply := func(d died) ledger.Entry {
		e, err := s.p.Ledger.Change(t.Context(), freezing(s, d.inv, d.c, ledger.Snapshot{}))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	unfreezeByHand := func(d died) {
		snap, err := s.p.Ledger.Lock(t.Context(), d.l.ID)
		if err != nil {
			t.Fatal(err)
		}
		snap.State.FrozenAt = nil
		platformtest.Transit(t, s.p, d.l.ID, ledger.Transition{State: snap.State})
	}
	afterClaim, afterApply, afterApplyAndMore, afterSettle, refused := begin(), begin(), begin(), begin(), begin()
	apply(afterApply)
	apply(afterApplyAndMore)
	unfreezeByHand(afterApplyAndMore) // the log has gone on since: applying it again would be seen
	apply(afterSettle)
	done := afterSettle.inv.Settle(invocation.Completes(nil), s.p.Ledger.Now())
	if err := s.p.Ledger.Settle(t.Context(), afterSettle.c, done, nil); err != nil {
		t.Fatal(err)
	}
	frozenSince := refused.seen.State
	now := s.p.Ledger.Now()
	frozenSince.FrozenAt = &now
	platformtest.Transit(t, s.p, refused.l.ID, ledger.Transition{State: frozenSince})

	s.dispatch(t, dispatcher.Config{})
	for name, tc := range map[string]struct {
		died
		status  invocation.Status
		code    string
		frozen  bool
		applied int // transitions in the log that name the call
	}{
		"after the claim":                    {afterClaim, invocation.Completed, "", true, 1},
		"after it applied":                   {afterApply, invocation.Completed, "", true, 1},
		"after it applied, and others since": {afterApplyAndMore, invocation.Completed, "", false, 1},
		"after it settled":                   {afterSettle, invocation.Completed, "", true, 1},
		"where it is refused by now":         {refused, invocation.Rejected, string(lock.AlreadyFrozen), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, s.settled(t, tc.inv), tc.status, tc.code)
			brokertest.Eventually(t, within, "the request is done", func() bool { return s.done(t) })
			if got := s.frozen(t, tc.l.ID); got != tc.frozen {
				t.Errorf("got the lock frozen %t, want %t", got, tc.frozen)
			}
			entry, found, err := s.p.Ledger.Made(t.Context(), tc.l.ID, tc.inv.ID, tc.c.LockSeq)
			if err != nil || !found {
				t.Fatalf("got no transition that names the call, %v", err)
			}
			if second, found, err := s.p.Ledger.Made(t.Context(), tc.l.ID, tc.inv.ID, entry.Seq); err != nil || found {
				t.Errorf("got a second transition %+v, %v", second, err)
			}
			// The worker that seemed dead comes back and goes on where it was.
			late, err := s.p.Ledger.Change(t.Context(), freezing(s, tc.inv, tc.c, tc.seen))
			if err != nil || late.Seq != entry.Seq || (late.Refused != nil) != (tc.status == invocation.Rejected) {
				t.Errorf("got %+v, %v for the late worker; want what the other decided", late, err)
			}
			err = s.p.Ledger.Settle(t.Context(), tc.c, tc.inv.Settle(invocation.Fails("late"), s.p.Ledger.Now()), nil)
			if !errors.Is(err, ledger.ErrSuperseded) {
				t.Errorf("got %v for the late settlement, want that it is superseded", err)
			}
			check(t, s.settled(t, tc.inv), tc.status, tc.code)
			if got := s.frozen(t, tc.l.ID); got != tc.frozen {
				t.Errorf("got the lock frozen %t after the late worker, want %t", got, tc.frozen)
			}
		})
	}
}

// A partner's request whose worker died: called never again, finished once.
func TestPartnersCallsAreTakenOver(t *testing.T) {
	t.Parallel()
	x := newTarget(t, answers(200, completedEmpty))
	s := newStand(t, platform.Config{}, x.URL)
	event := []invocation.Emission{{Type: "probe.done", Payload: json.RawMessage(`{"n":1}`)}}
	begin := func() (platformtest.Lock, invocation.Invocation) {
		l := s.lock(t)
		return l, s.record(t, s.call(t, l, "probe.echo", "k"))
	}
	settle := func(inv invocation.Invocation) invocation.Invocation {
		done := inv.Settle(invocation.Completes(json.RawMessage(`{"first":true}`)), s.p.Ledger.Now())
		if err := s.p.Ledger.Settle(t.Context(), s.claimed(t, inv, time.Hour), done, event); err != nil {
			t.Fatal(err)
		}
		return done
	}
	lSettled, settled := begin()
	settle(settled)
	lRecorded, recorded := begin()
	done := settle(recorded)
	_, err := s.p.Ledger.Change(t.Context(), ledger.Change{
		Lock: recorded.Lock, Once: recorded.ID, Decide: func(snap ledger.Snapshot) (ledger.Transition, error) {
			return ledger.Transition{State: snap.State, Events: event, Chain: done.Caused(), At: s.p.Ledger.Now()}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, held := begin()
	owned := s.claimed(t, held, 3*time.Second)
	_, over := begin()
	s.claimed(t, over, -time.Second)

	woken, stop, err := s.p.Ledger.AwaitAnywhere(settled.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	s.dispatch(t, dispatcher.Config{})
	check(t, <-woken, invocation.Completed, "")
	check(t, s.settled(t, over), invocation.Unknown, invocation.DispatchInterrupted)
	if got := s.settled(t, held); got.SettledAt.Before(invocation.Instant(owned.Deadline)) {
		t.Errorf("got it settled at %s, before its owner's deadline %s", got.SettledAt, owned.Deadline)
	}
	check(t, s.settled(t, held), invocation.Unknown, invocation.DispatchInterrupted)
	brokertest.Eventually(t, within, "the requests are done", func() bool { return s.done(t) })
	for name, l := range map[string]platformtest.Lock{"settled": lSettled, "settled and recorded": lRecorded} {
		if n := len(platformtest.Events(t, s.p, l.ID)); n != 1 {
			t.Errorf("%s: got %d events, want the one of the answer", name, n)
		}
	}
	if n := x.total(); n != 0 {
		t.Errorf("got %d requests at the target, want none: each had its chance", n)
	}
}
