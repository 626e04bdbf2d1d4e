package webhookworker_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
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
