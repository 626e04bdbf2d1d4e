package webhookworker_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// An endpoint gets the events of a lock in the order of the lock's log, one
// after the other, while those of other locks go out beside them.
func TestAnEndpointGetsALocksEventsInOrder(t *testing.T) {
	t.Parallel()
	const events, locks = 40, 5
	w := newWorld(t)
	var mu sync.Mutex
	running, most := map[invocation.LockID]int{}, 0
	r := newReceiver(t, func(_ http.ResponseWriter, c call, i int) {
		lock := invocation.LockID(parse(t, c.body).Data.LockID)
		mu.Lock()
		running[lock]++
		if running[lock] > 1 {
			t.Errorf("two deliveries of lock %s at a time", lock)
		}
		total := 0
		for _, n := range running {
			total += n
		}
		most = max(most, total)
		mu.Unlock()
		<-time.NewTimer(time.Duration(i%3) * time.Millisecond).C // the later ones may be the faster ones
		mu.Lock()
		running[lock]--
		mu.Unlock()
	})
	w.extension("reader", r.url, "*")
	w.work(w.Platform, webhookworker.Config{})
	var ids []invocation.LockID
	for range locks {
		ids = append(ids, w.lock(0, "reader"))
	}
	want := make(map[string][]string)
	for i := range events * locks {
		id := ids[i%locks]
		want[string(id)] = append(want[string(id)], string(w.emit(id, "lock", "lock.time-changed").ID))
	}
	w.eventually("everything is delivered", func() bool { return len(r.got()) == events*locks })
	got := make(map[string][]string)
	for _, c := range r.got() {
		lock := parse(t, c.body).Data.LockID
		got[lock] = append(got[lock], c.id())
	}
	for id, order := range want {
		if !slices.Equal(got[id], order) {
			t.Errorf("lock %s: got %v, want %v", id, got[id], order)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if most < 2 {
		t.Errorf("got at most %d deliveries at a time, want those of several locks side by side", most)
	}
}

// An endpoint that wants a bound gets no more in a second, from all workers
// together, and still everything.
func TestAnEndpointIsSentNoMoreThanItWants(t *testing.T) {
	t.Parallel()
	const events, perSecond = 12, 5 // three windows at least, so one whole second
	w := newWorld(t)
	var mu sync.Mutex
	var hits []time.Time
	r := newReceiver(t, func(http.ResponseWriter, call, int) {
		mu.Lock()
		defer mu.Unlock()
		hits = append(hits, time.Now())
	})
	w.extension("reader", r.url, "*")
	_, err := w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.MaxPerSecond = perSecond
		return nil
	})
	w.must(err)
	var locks []invocation.LockID
	for range events {
		locks = append(locks, w.lock(0, "reader"))
	}
	for range 2 {
		w.work(w.Platform, webhookworker.Config{})
	}
	want := make(map[string]bool)
	for _, id := range locks {
		want[string(w.emit(id, "lock", "lock.time-changed").ID)] = true
	}
	w.eventually("everything is delivered", func() bool {
		for _, c := range r.got() {
			delete(want, c.id())
		}
		return len(want) == 0
	})
	mu.Lock()
	defer mu.Unlock()
	if took := hits[len(hits)-1].Sub(hits[0]); took < time.Second {
		t.Errorf("%d deliveries came within %s, want %d in a second at most", events, took, perSecond)
	}
}
