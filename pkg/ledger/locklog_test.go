package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// adding returns a change that adds a millisecond to what the lock was frozen
// for: a counter, for which every lost update shows.
func adding(on invocation.LockID) ledger.Change {
	return ledger.Change{Lock: on, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
		next := s.State
		next.FrozenMS++
		return ledger.Transition{State: next, At: time.Now()}, nil
	}}
}

// lockOf reads a lock's newest state.
func lockOf(t *testing.T, l *ledger.Ledger, id invocation.LockID) ledger.Snapshot {
	t.Helper()
	s, err := l.Lock(t.Context(), id)
	if err != nil {
		t.Fatalf("read the lock: %v", err)
	}
	return s
}

func TestConcurrentChangesLoseNothing(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on := ledgertest.NewLock(t, one.Ledger).Lock
		var mu sync.Mutex
		var seqs []uint64
		var wg sync.WaitGroup
		for i := range 50 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				for range 2 {
					e, err := l.Change(t.Context(), adding(on))
					if err != nil {
						t.Errorf("change: %v", err)
						return
					}
					mu.Lock()
					seqs = append(seqs, e.Seq)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		// The newest, by a change that sees it.
		e, err := one.Ledger.Change(t.Context(), adding(on))
		if err != nil || e.State.FrozenMS != 101 {
			t.Errorf("got %d after 101 changes, %v", e.State.FrozenMS, err)
		}
		slices.Sort(seqs)
		if len(slices.Compact(seqs)) != 100 {
			t.Errorf("got %d seqs for 100 changes", len(slices.Compact(seqs)))
		}
		history, next, err := one.Ledger.History(t.Context(), on, 0, 1000)
		if err != nil || next != 0 || len(history) != 1 {
			t.Errorf("got %d transitions with history, next %d, %v; want the first alone", len(history), next, err)
		}
		if one.Ledger.Held() != 0 || other.Ledger.Held() != 0 {
			t.Error("a lock on a key was left behind")
		}
	})
}

// A stale snapshot costs a try, never an update or a wrong refusal.
func TestChangeFromAStaleSnapshot(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	stale := lockOf(t, env.Ledger, on)
	if _, err := env.Ledger.Change(t.Context(), adding(on)); err != nil {
		t.Fatal(err)
	}
	c := adding(on)
	c.From = stale
	if e, err := env.Ledger.Change(t.Context(), c); err != nil || e.State.FrozenMS != 2 {
		t.Errorf("got %d, %v; want 2", e.State.FrozenMS, err)
	}
	asked := 0
	c.Decide = func(s ledger.Snapshot) (ledger.Transition, error) {
		asked++
		if s.State.FrozenMS == 0 {
			return ledger.Transition{}, errors.New("as the stale one had it")
		}
		return ledger.Transition{State: s.State, At: time.Now()}, nil
	}
	if _, err := env.Ledger.Change(t.Context(), c); err != nil || asked != 2 {
		t.Errorf("got %v after %d questions, want the newest state asked about", err, asked)
	}
}

func TestDecideRefuses(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	before := lockOf(t, env.Ledger, on)
	no := errors.New("no")
	_, err := env.Ledger.Change(t.Context(), ledger.Change{Lock: on, Decide: func(ledger.Snapshot) (ledger.Transition, error) {
		return ledger.Transition{}, no
	}})
	if !errors.Is(err, no) {
		t.Errorf("got %v, want Decide's own", err)
	}
	if after := lockOf(t, env.Ledger, on); after.Seq != before.Seq {
		t.Error("a refused change was written")
	}
	if env.Ledger.Held() != 0 {
		t.Error("a lock on a key was left behind")
	}
}

func TestChangeIsMadeOnce(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		created := ledgertest.NewLock(t, one.Ledger)
		on := created.Lock
		once := invocation.EmissionID(on, "emitter", "key")
		try := func(l *ledger.Ledger) (ledger.Entry, error) {
			c := adding(on)
			c.Once, c.After = once, created.Seq
			return l.Change(t.Context(), c)
		}
		var mu sync.Mutex
		made := map[uint64]int{}
		var wg sync.WaitGroup
		for i := range 16 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				if _, err := l.Change(t.Context(), adding(on)); err != nil { // others get in between
					t.Errorf("change: %v", err)
				}
				e, err := try(l)
				if err != nil || e.Applied != once {
					t.Errorf("got %+v, %v", e, err)
				}
				mu.Lock()
				defer mu.Unlock()
				made[e.Seq]++
			})
		}
		wg.Wait()
		again, err := try(other.Ledger)
		if err != nil || len(made) != 1 || made[again.Seq] != 16 {
			t.Errorf("got it made at %v and found at %d, %v; want one place", made, again.Seq, err)
		}
		if e, err := one.Ledger.Change(t.Context(), adding(on)); err != nil || e.State.FrozenMS != 18 {
			t.Errorf("got %d after 17 and one changes, %v", e.State.FrozenMS, err)
		}
	})
}

// A write whose answer was lost is found, with an id to find it by and without.
func TestChangeWhoseAnswerWasLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]invocation.ID{"with an id": "cccccccccccccccccccccccc", "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := ledgertest.New(t, small())
			on := ledgertest.NewLock(t, env.Ledger).Lock
			deafen(env.Ledger)
			c := adding(on)
			c.Once = once
			e, err := env.Ledger.Change(t.Context(), c)
			if err != nil || e.State.FrozenMS != 1 {
				t.Fatalf("got %d, %v; want 1", e.State.FrozenMS, err)
			}
			if s := lockOf(t, env.Ledger, on); s.State.FrozenMS != 1 || s.Seq != e.Seq {
				t.Errorf("got %d at %d, want 1 at %d", s.State.FrozenMS, s.Seq, e.Seq)
			}
		})
	}
}

// Where a replica has nothing yet, the leader is asked: the search never ends
// before the transition that is known to stand.
func TestFindDoesNotTrustAReplicaThatLags(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	created := ledgertest.NewLock(t, env.Ledger)
	c := adding(created.Lock)
	c.Once = "cccccccccccccccccccccccc"
	made, err := env.Ledger.Change(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	// In place of the replica, one that has nothing.
	blind := blindfold(t, env)
	e, found, err := blind.Find(t.Context(), created.Lock, created.Seq, made.Seq, c.Once)
	if err != nil || !found || e.Seq != made.Seq {
		t.Errorf("got %+v, found %v, %v; want it at %d", e, found, err, made.Seq)
	}
	if _, found, err := blind.Find(t.Context(), created.Lock, created.Seq, made.Seq, "dddddddddddddddddddddddd"); err != nil || found {
		t.Errorf("got found %v, %v for an id that made nothing", found, err)
	}
}

func TestUnknownLock(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, _ ledgertest.Env) {
		t.Helper()
		for name, id := range map[string]invocation.LockID{"none made": invocation.NewLockID(0), "of no partition": invocation.NewLockID(99)} {
			_, err := one.Ledger.Lock(t.Context(), id)
			if invocation.CodeOf(err) != invocation.ResourceNotFound {
				t.Errorf("%s: got %v, want not found", name, err)
			}
			page, err := one.Ledger.Events(t.Context(), ledger.EventQuery{Lock: id, After: 7, Limit: 10})
			if err != nil || len(page.Events) != 0 || page.More || page.Truncated || page.Last != 7 || page.Oldest != 0 {
				t.Errorf("%s: got %+v, %v; want an empty page", name, page, err)
			}
			if _, err := one.Ledger.Event(t.Context(), id, invocation.EventID(id, 16)); invocation.CodeOf(err) != invocation.ResourceNotFound {
				t.Errorf("%s: got %v for an event, want not found", name, err)
			}
			if entries, next, err := one.Ledger.History(t.Context(), id, 0, 10); err != nil || len(entries) != 0 || next != 0 {
				t.Errorf("%s: got %v, %d, %v for the history", name, entries, next, err)
			}
		}
	})
}

func TestChangeGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	begun, gate := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		c := adding(on)
		decide := c.Decide
		c.Decide = func(s ledger.Snapshot) (ledger.Transition, error) {
			close(begun)
			<-gate
			return decide(s)
		}
		if _, err := env.Ledger.Change(t.Context(), c); err != nil {
			t.Errorf("change: %v", err)
		}
	})
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := env.Ledger.Change(ctx, adding(on)) // waits for the other's turn to end
	wantCode(t, err, invocation.ServiceUnavailable)
	close(gate)
	wg.Wait()
	if env.Ledger.Held() != 0 {
		t.Error("a lock on a key was left behind")
	}
}

func TestEveryFieldOfATransitionSurvives(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	created := ledgertest.NewLock(t, env.Ledger)
	want := ledger.Transition{
		State: created.State,
		Events: []invocation.Emission{
			{Type: "a.one", Payload: json.RawMessage(`{"big":9007199254740993,"<":"&"}`)},
			{Type: "a.two", Payload: json.RawMessage(`{}`)},
		},
		History: []invocation.HistoryLine{{Type: "time_changed", Extension: "a", Actor: invocation.ActorExtension, Payload: json.RawMessage(`{}`)}},
		Source:  invocation.Source{Extension: "a", Partner: "aaaaaaaaaaaaaaaaaaaaaaaa", Invocation: "cccccccccccccccccccccccc", Actor: invocation.ActorWearer},
		Chain:   invocation.Chain{Causation: "cccccccccccccccccccccccc", Correlation: "dddddddddddddddddddddddd", Depth: 8, Inferred: true, Starter: invocation.Starter{Extension: "s"}},
		Refused: &invocation.Failure{Code: "no", Message: "<no>", Details: json.RawMessage(`{}`)},
		At:      invocation.Instant(time.Now()),
	}
	made, err := env.Ledger.Change(t.Context(), ledger.Change{
		Lock: created.Lock, Once: "cccccccccccccccccccccccc", After: created.Seq,
		Decide: func(ledger.Snapshot) (ledger.Transition, error) { return want, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	want.Applied = "cccccccccccccccccccccccc"
	m, err := env.Conn.Stored(t.Context(), ledger.LockStream(0), broker.StoredRequest{Sequence: made.Seq})
	if err != nil || m == nil {
		t.Fatalf("read the transition: %v", err)
	}
	d := broker.Delivery{Subject: m.Subject, Data: m.Data, Sequence: m.Sequence}
	got, err := ledger.ParseEntry(d)
	if err != nil || got.Seq != made.Seq || got.Lock != created.Lock || got.Prev != created.Seq {
		t.Fatalf("got %+v, %v; want it after %d", got, err, created.Seq)
	}
	wantJSON, errWant := json.Marshal(want)
	gotJSON, errGot := json.Marshal(got.Transition)
	if errWant != nil || errGot != nil || string(gotJSON) != string(wantJSON) {
		t.Errorf("got\n%s, want\n%s", gotJSON, wantJSON)
	}
	for name, spoil := range map[string]func(*broker.Delivery){
		"another lock's partition": func(d *broker.Delivery) { d.Subject = "lock.1." + string(created.Lock) },
		"no lock's id":             func(d *broker.Delivery) { d.Subject = "lock.0.x" },
		"another version":          func(d *broker.Delivery) { d.Data = []byte(`{"v":9,` + string(d.Data[len(`{"v":1,`):])) },
		"no JSON":                  func(d *broker.Delivery) { d.Data = []byte("x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoilt := d
			spoil(&spoilt)
			if e, err := ledger.ParseEntry(spoilt); err == nil {
				t.Errorf("got %+v, want an error", e)
			}
		})
	}
}

func TestTransitionHoldsAtMostSixteenEvents(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	if _, err := env.Ledger.Change(t.Context(), ledgertest.Emitting(on, numbered(0, 16)...)); err != nil {
		t.Errorf("sixteen: %v", err)
	}
	if _, err := env.Ledger.Change(t.Context(), ledgertest.Emitting(on, numbered(0, 17)...)); err == nil {
		t.Error("got seventeen events stored, of which the last has no seq")
	}
}

// numbered returns events with the payloads {"n":from} to {"n":to-1}.
func numbered(from, to int) []invocation.Emission {
	var all []invocation.Emission
	for n := from; n < to; n++ {
		all = append(all, invocation.Emission{Type: "emitter.n", Payload: json.RawMessage(`{"n":` + strconv.Itoa(n) + `}`)})
	}
	return all
}
