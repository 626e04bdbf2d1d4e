package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A world is what lives on a cluster: locks, a partner that calls, one that is
// called, and some that are told of every event.
type world struct {
	c              *cluster
	caller, target *e2etest.Partner
	listeners      []*e2etest.Partner
	locks          []string
	ends           map[string]time.Time // of the locks, before any call
	// hold, when set before any call, keeps the target's answers back until it
	// is closed.
	hold chan struct{}
	// outage is how long NATS was away, which no call can settle in.
	outage time.Duration
	told   told
}

// answerTakes is how long an answer to a webhook takes: long enough for a
// process to die in the midst of it.
const answerTakes = 30 * time.Millisecond

// newWorld makes a world in which one listens.
func newWorld(t *testing.T, c *cluster, locks int) *world {
	t.Helper()
	return newHeardWorld(t, c, locks, 1)
}

// newHeardWorld makes a world in which several listen.
func newHeardWorld(t *testing.T, c *cluster, locks, listeners int) *world {
	t.Helper()
	w := &world{c: c, ends: make(map[string]time.Time)}
	w.target = c.NewPartner(t, e2etest.Offers{Commands: []string{"do"}, Events: []string{"done"}}, w.do)
	w.caller = c.NewPartner(t, e2etest.Offers{}, nil)
	for i := range listeners {
		w.listeners = append(w.listeners, c.NewPartner(t, e2etest.Offers{Subscriptions: []string{"*"}}, w.listen(i)))
	}
	for range locks {
		id := c.NewLock(t, append(slices.Clone(w.listeners), w.caller, w.target)...) // who comes first is told of the others
		w.locks = append(w.locks, id)
		w.ends[id] = w.endDate(t, id)
	}
	return w
}

// do is the target's command: it causes one event.
func (w *world) do(rw http.ResponseWriter, r *http.Request, _ e2etest.Hook) {
	work(r)
	if w.hold != nil {
		<-w.hold
	}
	e2etest.Complete(rw, `{}`, fmt.Sprintf(`{"type":"%s.done","payload":{}}`, w.target.Slug))
}

// work takes as long as an answer takes, unless its caller is gone.
func work(r *http.Request) {
	takes := time.NewTimer(answerTakes)
	defer takes.Stop()
	select {
	case <-takes.C:
	case <-r.Context().Done():
	}
}

// isCall selects the webhooks that call the target.
func isCall(h e2etest.Hook) bool { return h.Event == "extension.command_invoked" }

// addedTime is how long each call of lock.add-time prolongs its lock.
const addedTime = 7 * time.Second

// A call is one with a key of its own.
type call struct {
	lock, key string
	builtIn   bool // lock.add-time, else the target's command
	id        string
}

func (w *world) newCall(lock int, builtIn bool) call {
	return call{lock: w.locks[lock%len(w.locks)], key: e2etest.Key(), builtIn: builtIn}
}

// request makes the call by one edge.
func (w *world) request(edge string, c call) e2etest.Request {
	command, input := w.target.Slug+".do", map[string]any{}
	if c.builtIn {
		command, input = "lock.add-time", map[string]any{"duration": int(addedTime / time.Second)}
	}
	return e2etest.Request{
		Base: edge, Token: w.caller.Token, Method: http.MethodPost, Path: w.caller.Path(c.lock, "/actions/"+command),
		Body: map[string]any{"input": input, "idempotencyKey": c.key},
	}
}

// read returns the call's invocation as it stands.
func (w *world) read(t *testing.T, c call) e2etest.Invocation {
	t.Helper()
	return w.c.Send(t, e2etest.Request{
		Token: w.caller.Token, Method: http.MethodGet, Path: w.caller.Path(c.lock, "/invocations/"+c.id),
	}).Invocation(t)
}

// settled waits until the call has settled.
func (w *world) settled(t *testing.T, c call) (inv e2etest.Invocation) {
	t.Helper()
	e2etest.Within(t, settleLimit, c.id+" settles", func() bool {
		inv = w.read(t, c)
		return inv.Status != "pending"
	})
	return inv
}

func (w *world) endDate(t *testing.T, lock string) time.Time {
	t.Helper()
	var l struct {
		EndDate time.Time `json:"endDate"`
	}
	w.c.Operate(t, e2etest.Request{Method: http.MethodGet, Path: "/api/admin/locks/" + lock}, &l)
	return l.EndDate
}

// events returns all events of a lock in their order.
func (w *world) events(t *testing.T, lock string) (all []e2etest.Event) {
	t.Helper()
	for after := uint64(0); ; {
		var page e2etest.EventPage
		w.caller.Read(t, lock, fmt.Sprintf("/events?limit=100&afterSeq=%d", after), &page)
		all = append(all, page.Events...)
		if after = page.LastSeq; !page.HasMore {
			return all
		}
	}
}

// check wants of all calls that were accepted what the package promises, and
// returns how many ended in each status. It comes when no call is made any more.
func (w *world) check(t *testing.T, calls []call) map[string]int {
	t.Helper()
	invs := w.allSettled(t, calls)
	hits := make(map[string]int)
	for _, h := range w.target.Received(isCall) {
		hits[h.Hook.Data.Invocation.InvocationID]++
	}
	statuses, completed := make(map[string]int), make(map[string]bool)
	for i, c := range calls {
		inv, n := invs[i], hits[c.id]
		delete(hits, c.id)
		statuses[inv.Status]++
		switch {
		case inv.Status == "completed":
			completed[c.id] = true
		case inv.Status != "unknown" || c.builtIn:
			t.Errorf("%s, built-in %t: got %s (%+v)", c.id, c.builtIn, inv.Status, inv.Error)
		}
		if n > 1 || inv.Status == "completed" && (n == 1) == c.builtIn {
			t.Errorf("%s, built-in %t and %s: its target was called %d times", c.id, c.builtIn, inv.Status, n)
		}
		if took := inv.SettledAt.Sub(inv.CreatedAt); took > settleLimit+w.outage {
			t.Errorf("%s settled after %s, want at most %s", c.id, took, settleLimit+w.outage)
		}
	}
	if len(hits) > 0 {
		t.Errorf("the target was called for invocations that nobody knows: %v", hits)
	}
	w.checkLocks(t, completed)
	return statuses
}

// allSettled waits until all calls have settled.
func (w *world) allSettled(t *testing.T, calls []call) []e2etest.Invocation {
	t.Helper()
	invs := make([]e2etest.Invocation, len(calls))
	var wg sync.WaitGroup
	const readers = 8
	for r := range readers {
		wg.Go(func() {
			for i := r; i < len(calls); i += readers {
				invs[i] = w.tryRead(t, calls[i])
			}
		})
	}
	wg.Wait()
	for i, c := range calls {
		if invs[i].SettledAt == nil {
			invs[i] = w.settled(t, c)
		}
	}
	return invs
}

// tryRead is read outside the test's own goroutine, once.
func (w *world) tryRead(t *testing.T, c call) (inv e2etest.Invocation) {
	t.Helper()
	a, err := w.c.Try(t.Context(), e2etest.Request{
		Token: w.caller.Token, Method: http.MethodGet, Path: w.caller.Path(c.lock, "/invocations/"+c.id),
	})
	if err == nil {
		_ = json.Unmarshal(a.Body, &inv) // what has not settled is read again
	}
	return inv
}

// checkLocks wants one event of every call that completed and none of any
// other, the locks' ends moved by just what was added, and every listener told
// of every event.
func (w *world) checkLocks(t *testing.T, completed map[string]bool) {
	t.Helper()
	var owed []hearing
	caused := make(map[string]int)
	for lock, end := range w.ends {
		events := w.events(t, lock)
		owed = append(owed, w.owed(events)...)
		for _, e := range events {
			if e.Type == "lock.time-changed" {
				end = end.Add(addedTime)
			}
			if e.Source.InvocationID != nil {
				caused[*e.Source.InvocationID]++
			}
		}
		if got := w.endDate(t, lock); !got.Equal(end) {
			t.Errorf("lock %s ends %s, want %s by its events", lock, got, end)
		}
	}
	for id, n := range caused {
		if n != 1 || !completed[id] {
			t.Errorf("%s, completed %t, has %d events", id, completed[id], n)
		}
	}
	for id := range completed {
		if caused[id] == 0 {
			t.Errorf("%s completed and has no event", id)
		}
	}
	if len(w.c.workers) == 0 {
		return
	}
	e2etest.Eventually(t, "every listener is told of every event", func() bool { return w.told.all(owed) })
}

// skipIfShort skips a test that takes long, because processes have to die and
// what they held has to run out.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED by -short: a test with real processes that takes up to a minute")
	}
}
