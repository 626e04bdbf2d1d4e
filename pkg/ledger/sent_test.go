package ledger_test

import (
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// eventAt returns an event of a lock.
func eventAt(on invocation.LockID, seq invocation.Seq) invocation.Event {
	id := invocation.EventID(on, seq)
	return invocation.Event{
		ID: id, Seq: seq, Lock: on, Type: "a.x",
		Chain: invocation.Chain{Correlation: "dddddddddddddddddddddddd", Depth: int(seq % 9), Starter: invocation.Starter{Extension: "s"}},
	}
}

func markSent(tb testing.TB, l *ledger.Ledger, to invocation.Slug, events ...invocation.Event) {
	tb.Helper()
	for _, e := range events {
		if err := l.MarkSent(tb.Context(), to, e); err != nil {
			tb.Fatalf("mark %s sent: %v", e.ID, err)
		}
	}
}

// The newest is the one whose POST began last, whatever its seq; each
// extension and each lock has its own.
func TestLastSentIsTheNewest(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on, elsewhere := invocation.NewLockID(0), invocation.NewLockID(0)
		last := func(l *ledger.Ledger, to invocation.Slug, on invocation.LockID) invocation.ID {
			t.Helper()
			s, found, err := l.LastSent(t.Context(), to, on)
			if err != nil || found != (s.Cause.ID != "") {
				t.Fatalf("got %+v, found %v, %v", s, found, err)
			}
			return s.Cause.ID
		}
		if got := last(one.Ledger, "a", on); got != "" {
			t.Errorf("got %s before anything was sent, want none", got)
		}
		for seq := range invocation.Seq(30) { // the other replica reads it at once
			e := eventAt(on, 1600+seq)
			markSent(t, one.Ledger, "a", e)
			if got := last(other.Ledger, "a", on); got != e.ID {
				t.Fatalf("got %s last, want %s", got, e.ID)
			}
		}
		older := eventAt(on, 1600)
		markSent(t, other.Ledger, "a", older) // a retry
		markSent(t, one.Ledger, "b", eventAt(on, 1700))
		markSent(t, one.Ledger, "a", eventAt(elsewhere, 1800))
		if got := last(one.Ledger, "a", on); got != older.ID {
			t.Errorf("got %s after a retry of an older one, want %s", got, older.ID)
		}
		if got, want := last(one.Ledger, "b", on), invocation.EventID(on, 1700); got != want {
			t.Errorf("got %s for another extension, want %s", got, want)
		}
		if got, want := last(one.Ledger, "a", elsewhere), invocation.EventID(elsewhere, 1800); got != want {
			t.Errorf("got %s for another lock, want %s", got, want)
		}
	})
}

func TestWasSent(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := invocation.NewLockID(0)
	root := eventAt(on, 16)
	root.Chain = invocation.Root(root.ID, invocation.Starter{})
	begun := env.Ledger.Now()
	markSent(t, env.Ledger, "a", eventAt(on, 32), root, eventAt(on, 48))
	ended := env.Ledger.Now()
	for name, tc := range map[string]struct {
		to    invocation.Slug
		lock  invocation.LockID
		event invocation.ID
		want  bool
	}{
		"sent":                 {"a", on, eventAt(on, 32).ID, true},
		"a root":               {"a", on, root.ID, true},
		"to another extension": {"b", on, eventAt(on, 32).ID, false},
		"on another lock":      {"a", invocation.NewLockID(0), eventAt(on, 32).ID, false},
		"not sent at all":      {"a", on, eventAt(on, 64).ID, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, found, err := env.Ledger.WasSent(t.Context(), tc.to, tc.lock, tc.event)
			if err != nil || found != tc.want || found && s.Cause.ID != tc.event {
				t.Fatalf("got %+v, found %v, %v; want found %v", s, found, err, tc.want)
			}
			if found && (s.At.Before(begun.Add(-time.Second)) || s.At.After(ended.Add(time.Second))) {
				t.Errorf("got it sent at %v, want between %v and %v", s.At, begun, ended)
			}
		})
	}
	if s, _, err := env.Ledger.WasSent(t.Context(), "a", on, eventAt(on, 32).ID); err != nil ||
		s.Cause.Correlation != "dddddddddddddddddddddddd" || s.Cause.Depth != 5 || s.Cause.Starter.Extension != "s" {
		t.Errorf("got the cause %+v, %v", s.Cause, err)
	}
	if s, _, err := env.Ledger.WasSent(t.Context(), "a", on, root.ID); err != nil || s.Cause.Correlation != root.ID || s.Cause.Depth != 0 {
		t.Errorf("got the root cause %+v, %v; want its own id as correlation", s.Cause, err)
	}
}

// What was sent may be named as a cause for seven days by the server's clock,
// and is inferred as one for ten seconds (SEC-81, SEC-82, SEC-90).
func TestSentIsForgottenAfterSevenDays(t *testing.T) {
	t.Parallel()
	l := still(t, brokertest.Start(t), small())
	on := invocation.NewLockID(0)
	e := eventAt(on, 16)
	markSent(t, l, "a", e)
	l.Advance(invocation.CausationWindow - time.Minute)
	if _, found, err := l.WasSent(t.Context(), "a", on, e.ID); err != nil || !found {
		t.Errorf("got found %v, %v a minute before, want it", found, err)
	}
	l.Advance(2 * time.Minute)
	if _, found, err := l.WasSent(t.Context(), "a", on, e.ID); err != nil || found {
		t.Errorf("got found %v, %v a minute after, want nothing", found, err)
	}
	if _, found, err := l.LastSent(t.Context(), "a", on); err != nil || found {
		t.Errorf("got found %v, %v as the last, want nothing", found, err)
	}
}

// Whatever a machine's own clock says, times are the server's (SEC-90).
func TestClockFollowsTheServer(t *testing.T) {
	t.Parallel()
	l := still(t, brokertest.Start(t), small())
	for _, skew := range []time.Duration{10 * time.Minute, -10 * time.Minute, 0} {
		if err := l.SetLocalClock(t.Context(), func() time.Time { return time.Now().Add(skew) }); err != nil {
			t.Fatal(err)
		}
		if off := time.Until(l.Now()).Abs(); off > 5*time.Second {
			t.Errorf("got a clock that is %v off with a machine that is %v off", off, skew)
		}
	}
}
