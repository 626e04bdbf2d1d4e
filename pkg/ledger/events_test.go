package ledger_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// emit makes one transition with the events.
func emit(tb testing.TB, l *ledger.Ledger, on invocation.LockID, events ...invocation.Emission) ledger.Entry {
	tb.Helper()
	e, err := l.Change(tb.Context(), ledgertest.Emitting(on, events...))
	if err != nil {
		tb.Fatalf("emit: %v", err)
	}
	return e
}

// page reads one page of a lock's events.
func page(tb testing.TB, l *ledger.Ledger, q ledger.EventQuery) ledger.EventPage {
	tb.Helper()
	p, err := l.Events(tb.Context(), q)
	if err != nil {
		tb.Fatalf("read the events after %d: %v", q.After, err)
	}
	return p
}

// A reader pages while fifty writers emit: it sees every event once, in order.
func TestPagingMissesNothingWhileOthersWrite(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on := ledgertest.NewLock(t, one.Ledger).Lock
		noise := ledgertest.NewLock(t, one.Ledger).Lock
		const writers = 50
		var mu sync.Mutex
		written := map[invocation.ID]bool{}
		var wg sync.WaitGroup
		for i := range writers {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				for n := range 3 {
					e, err := l.Change(t.Context(), ledgertest.Emitting(on, numbered(0, (i+n)%17)...))
					if err != nil {
						t.Errorf("emit: %v", err)
						return
					}
					mu.Lock()
					for _, ev := range e.Committed() {
						written[ev.ID] = true
					}
					mu.Unlock()
					if _, err := l.Change(t.Context(), ledgertest.Emitting(noise, numbered(0, 1)...)); err != nil {
						t.Errorf("emit noise: %v", err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()

		var seen []invocation.Event
		after := invocation.Seq(0)
		for finished, quiet := false, 0; !finished || quiet < 20; {
			select {
			case <-done:
				finished = true
			default:
			}
			p := page(t, other.Ledger, ledger.EventQuery{Lock: on, After: after, Limit: 7})
			for _, ev := range p.Events {
				if ev.Seq <= after || ev.Seq > p.Last {
					t.Fatalf("got seq %d on the page after %d up to %d", ev.Seq, after, p.Last)
				}
				after = ev.Seq
				seen = append(seen, ev)
			}
			if p.Last < after || p.Truncated {
				t.Fatalf("got the page %+v after %d", p, after)
			}
			quiet++
			if len(p.Events) > 0 {
				quiet = 0
			}
			after = p.Last
		}
		if len(seen) != len(written) {
			t.Errorf("got %d events, want the %d written", len(seen), len(written))
		}
		for i, ev := range seen {
			if !written[ev.ID] || i > 0 && ev.Seq <= seen[i-1].Seq || ev.ID != invocation.EventID(on, ev.Seq) {
				t.Fatalf("got the event %+v after %+v", ev, seen[max(i-1, 0)])
			}
		}
	})
}

func TestLimitCutsInsideATransition(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	e := emit(t, env.Ledger, on, numbered(0, 16)...)
	first := invocation.Seq(e.Seq * invocation.SeqsPerTransition)
	var got []string
	after := invocation.Seq(0)
	for range 4 {
		p := page(t, env.Ledger, ledger.EventQuery{Lock: on, After: after, Limit: 5})
		for _, ev := range p.Events {
			got = append(got, string(ev.Payload))
		}
		if wantMore := len(got) < 16; p.More != wantMore {
			t.Errorf("got more %v after %d events, want %v", p.More, len(got), wantMore)
		}
		if want := first + invocation.Seq(len(got)) - 1; p.Last != want {
			t.Errorf("got the cursor %d after %d events, want %d", p.Last, len(got), want)
		}
		after = p.Last
	}
	if len(got) != 16 || got[0] != `{"n":0}` || got[15] != `{"n":15}` {
		t.Errorf("got %v, want sixteen in order", got)
	}
	if p := page(t, env.Ledger, ledger.EventQuery{Lock: on, After: after, Limit: 5}); len(p.Events) != 0 || p.Last != after || p.More {
		t.Errorf("got %+v at the end, want nothing new", p)
	}
}

func TestEventsAreFiltered(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	body := json.RawMessage(`{}`)
	for range 3 {
		emit(t, env.Ledger, on, invocation.Emission{Type: "a.x", Payload: body}, invocation.Emission{Type: "b.x", Payload: body})
		emit(t, env.Ledger, on, invocation.Emission{Type: "a.y", Payload: body})
	}
	last := emit(t, env.Ledger, on)
	end := invocation.Seq(last.Seq*invocation.SeqsPerTransition) + invocation.SeqsPerTransition - 1
	for name, tc := range map[string]struct {
		types []string
		want  int
	}{
		"no filter":          {nil, 9},
		"everything":         {[]string{"*"}, 9},
		"one extension":      {[]string{"a.*"}, 6},
		"an exact type":      {[]string{"b.x"}, 3},
		"two types":          {[]string{"b.x", "a.y"}, 6},
		"none that happened": {[]string{"c.*"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := page(t, env.Ledger, ledger.EventQuery{Lock: on, Types: tc.types, Limit: 100})
			if len(p.Events) != tc.want || p.Last != end || p.More {
				t.Errorf("got %d events up to %d, more %v; want %d up to %d", len(p.Events), p.Last, p.More, tc.want, end)
			}
			// One at a time it comes to the same, and ends where it did.
			var n int
			after := invocation.Seq(0)
			for more := true; more; {
				p := page(t, env.Ledger, ledger.EventQuery{Lock: on, After: after, Types: tc.types, Limit: 1})
				n += len(p.Events)
				after, more = p.Last, p.More
			}
			if n != tc.want || after != end {
				t.Errorf("got %d events one by one up to %d, want %d up to %d", n, after, tc.want, end)
			}
		})
	}
}

func TestEventsCarryWhatTheyCameFrom(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	root := emit(t, env.Ledger, on, numbered(0, 2)...)
	caused := ledgertest.Emitting(on, numbered(2, 3)...)
	decide := caused.Decide
	caused.Decide = func(s ledger.Snapshot) (ledger.Transition, error) {
		tr, err := decide(s)
		tr.Chain = invocation.Chain{Causation: "cccccccccccccccccccccccc", Correlation: "dddddddddddddddddddddddd", Depth: 4, Starter: invocation.Starter{Extension: "s"}}
		return tr, err
	}
	if _, err := env.Ledger.Change(t.Context(), caused); err != nil {
		t.Fatal(err)
	}
	events := page(t, env.Ledger, ledger.EventQuery{Lock: on, Limit: 10}).Events
	if len(events) != 3 {
		t.Fatalf("got %d events, want 3", len(events))
	}
	for i, ev := range events[:2] {
		if ev.Chain.Correlation != ev.ID || ev.Chain.Depth != 0 || ev.Chain.Causation != "" || ev.Lock != on || ev.Type != "emitter.n" || ev.Source.Extension != "emitter" {
			t.Errorf("got the root event %d %+v, want its own id as correlation", i, ev)
		}
	}
	if c := events[2].Chain; c.Correlation != "dddddddddddddddddddddddd" || c.Causation != "cccccccccccccccccccccccc" || c.Depth != 4 || c.Starter.Extension != "s" {
		t.Errorf("got the chain %+v", c)
	}
	for i, ev := range root.Committed() {
		found, err := env.Ledger.Event(t.Context(), on, ev.ID)
		if err != nil || found.ID != events[i].ID || found.Seq != ev.Seq || string(found.Payload) != string(ev.Payload) || !found.CreatedAt.Equal(ev.CreatedAt) {
			t.Errorf("got %+v, %v; want %+v", found, err, ev)
		}
	}
}

func TestEventByIDNotFound(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, _ ledgertest.Env) {
		t.Helper()
		on, other := ledgertest.NewLock(t, one.Ledger).Lock, ledgertest.NewLock(t, one.Ledger).Lock
		e := emit(t, one.Ledger, on, numbered(0, 2)...)
		theirs := emit(t, one.Ledger, other, numbered(0, 1)...)
		first := invocation.Seq(e.Seq * invocation.SeqsPerTransition)
		for name, id := range map[string]invocation.ID{
			"another lock's event":           theirs.Committed()[0].ID,
			"our mark, another lock's place": invocation.EventID(on, invocation.Seq(theirs.Seq*invocation.SeqsPerTransition)),
			"no such position":               invocation.EventID(on, first+2),
			"a place before the first":       invocation.EventID(on, 3),
			"a place that is still to come":  invocation.EventID(on, first+1600),
			"the last place there could be":  invocation.EventID(on, invocation.Seq(1<<64-1)),
			"an invocation's id":             invocation.InvocationID(on, "caller", "key"),
			"no id":                          "x",
		} {
			if got, err := one.Ledger.Event(t.Context(), on, id); invocation.CodeOf(err) != invocation.ResourceNotFound {
				t.Errorf("%s: got %+v, %v; want not found", name, got, err)
			}
		}
	})
}

// What the server dropped is told by Oldest and Truncated. A cursor of zero
// asks for all that is served, and is cut only once something has gone.
func TestTruncatedAndOldest(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	ledgertest.NewLock(t, env.Ledger) // so that the log does not begin with ours
	created := ledgertest.NewLock(t, env.Ledger)
	on := created.Lock
	var entries []ledger.Entry
	for range 4 {
		entries = append(entries, emit(t, env.Ledger, on, numbered(0, 1)...))
		ledgertest.NewLock(t, env.Ledger) // others write in between
	}
	seqOf := func(e ledger.Entry) invocation.Seq { return invocation.Seq(e.Seq * invocation.SeqsPerTransition) }
	check := func(name string, after, oldest invocation.Seq, truncated bool, events int) {
		t.Helper()
		p := page(t, env.Ledger, ledger.EventQuery{Lock: on, After: after, Limit: 10})
		if p.Oldest != oldest || p.Truncated != truncated || len(p.Events) != events {
			t.Errorf("%s: got oldest %d, truncated %v, %d events; want %d, %v, %d", name, p.Oldest, p.Truncated, len(p.Events), oldest, truncated, events)
		}
	}
	check("whole, from the beginning", 0, seqOf(created), false, 4)
	check("whole, before the oldest", 1, seqOf(created), true, 4)
	check("whole, from just before the oldest", seqOf(created)-1, seqOf(created), false, 4)
	check("whole, later", seqOf(entries[1]), seqOf(created), false, 2)

	s, err := env.Conn.JS.Stream(t.Context(), ledger.LockStream(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(ledger.LockSubject(on)), jetstream.WithPurgeKeep(2)); err != nil {
		t.Fatal(err)
	}
	check("cut, from the beginning", 0, seqOf(entries[2]), true, 2)
	check("cut, from a place that is gone", seqOf(entries[0]), seqOf(entries[2]), true, 2)
	check("cut, from what is there", seqOf(entries[2]), seqOf(entries[2]), false, 1)
	check("cut, at the end", seqOf(entries[3]), seqOf(entries[2]), false, 0)
}

// Transitions that are older than thirty days are not served, also where they
// are still stored.
func TestEventsAreServedForThirtyDays(t *testing.T) {
	t.Parallel()
	l := still(t, brokertest.Start(t), small())
	on := ledgertest.NewLock(t, l).Lock
	e := emit(t, l, on, numbered(0, 3)...)
	first := invocation.Seq(e.Seq * invocation.SeqsPerTransition)
	l.Advance(invocation.Retention - time.Minute)
	if p := page(t, l, ledger.EventQuery{Lock: on, Limit: 10}); len(p.Events) != 3 {
		t.Errorf("got %d events a minute before, want 3", len(p.Events))
	}
	l.Advance(2 * time.Minute)
	end := first + invocation.SeqsPerTransition - 1
	p := page(t, l, ledger.EventQuery{Lock: on, Limit: 10})
	if len(p.Events) != 0 || !p.Truncated || p.Last != end {
		t.Errorf("got %+v a minute after, want nothing, truncated, up to %d", p, end)
	}
	if p := page(t, l, ledger.EventQuery{Lock: on, After: end, Limit: 10}); len(p.Events) != 0 || p.Truncated || p.Last != end {
		t.Errorf("got %+v for a reader who had them all, want nothing", p)
	}
	if s, err := l.Lock(t.Context(), on); err != nil || s.Seq != e.Seq {
		t.Errorf("got %+v, %v; want the lock's state all the same", s, err)
	}
}

// A scan is bounded in transitions and in bytes, and says that it was cut.
func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		transitions int
		payload     string
	}{
		"by transitions": {600, ""},
		"by bytes":       {40, strings.Repeat("x", invocation.MaxPayload-16)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := ledgertest.New(t, small())
			on := ledgertest.NewLock(t, env.Ledger).Lock
			events := slices.Repeat([]invocation.Emission{{Type: "emitter.n", Payload: json.RawMessage(`{"x":"` + tc.payload + `"}`)}}, 16)
			var last ledger.Entry
			for range tc.transitions {
				last = emit(t, env.Ledger, on, events...)
			}
			p := page(t, env.Ledger, ledger.EventQuery{Lock: on, Types: []string{"none.x"}, Limit: 10})
			end := invocation.Seq(last.Seq*invocation.SeqsPerTransition) + invocation.SeqsPerTransition - 1
			if !p.More || p.Last >= end || p.Last == 0 {
				t.Fatalf("got %+v, want a scan that was cut before %d", p, end)
			}
			if p = page(t, env.Ledger, ledger.EventQuery{Lock: on, After: p.Last, Types: []string{"none.x"}, Limit: 10}); tc.payload == "" && (p.More || p.Last != end) {
				t.Errorf("got %+v, want the rest up to %d", p, end)
			}
		})
	}
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := ledgertest.NewLock(t, env.Ledger).Lock
	for i := range 10 {
		c := ledgertest.Emitting(on)
		decide := c.Decide
		c.Decide = func(s ledger.Snapshot) (ledger.Transition, error) {
			tr, err := decide(s)
			if i%2 == 0 {
				tr.History = []invocation.HistoryLine{{Type: "n_" + strconv.Itoa(i), Actor: invocation.ActorSystem}}
			}
			return tr, err
		}
		if _, err := env.Ledger.Change(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	ids := map[invocation.ID]bool{}
	for after, rounds := uint64(0), 0; ; rounds++ {
		entries, next, err := env.Ledger.History(t.Context(), on, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for i, line := range e.History {
				lines = append(lines, line.Type)
				ids[e.HistoryID(i)] = true
			}
		}
		if next == 0 {
			if rounds != 3 {
				t.Errorf("got %d pages, want 4", rounds+1)
			}
			break
		}
		after = next
	}
	if want := "lock_created n_0 n_2 n_4 n_6 n_8"; strings.Join(lines, " ") != want || len(ids) != 6 {
		t.Errorf("got %v with %d ids, want %s", lines, len(ids), want)
	}
}
