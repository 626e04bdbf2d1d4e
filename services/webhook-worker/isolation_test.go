package webhookworker_test

import (
	"net/http"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// A hanging endpoint with far more deliveries than have a place must delay a
// healthy one on the same lock by nothing: all of the healthy one's arrive while
// not a single one of the other's has ended (SEC-19).
func TestAHangingEndpointDelaysNoOther(t *testing.T) {
	t.Parallel()
	const events, slots, line = 60, 2, 3
	w := newWorld(t)
	release := make(chan struct{})
	defer close(release)
	hanging := newReceiver(t, func(http.ResponseWriter, call, int) { <-release })
	healthy := newReceiver(t, nil)
	w.extension("hanging", hanging.url, "*")
	w.extension("healthy", healthy.url, "late.*")
	w.work(w.Platform, webhookworker.Config{Slots: slots, Line: line, Pool: 1})
	var ids []invocation.LockID // one lock's deliveries go out one after the other
	for range slots + line + 3 {
		ids = append(ids, w.lock(0, "hanging", "healthy"))
	}
	for i := range events {
		w.emit(ids[i%len(ids)], "lock", "lock.time-changed")
	}
	w.eventually("the slots are taken", func() bool { return len(hanging.got()) == slots })
	want := make(map[string]bool)
	for i := range events {
		want[string(w.emit(ids[i%len(ids)], "late", "late.done").ID)] = true
	}
	w.eventually("the healthy endpoint got everything", func() bool { return len(healthy.got()) == events })
	if got := len(hanging.got()); got != slots {
		t.Errorf("got %d calls of the hanging endpoint, want its %d slots taken all along", got, slots)
	}
	for _, c := range healthy.got() {
		if !want[c.id()] {
			t.Errorf("got %s twice or for nothing", c.id())
		}
		delete(want, c.id())
	}
}

// Many deliveries to one endpoint go out side by side, and none is lost.
func TestABacklogIsWorkedOff(t *testing.T) {
	t.Parallel()
	const events = 40
	w, r := newWorld(t), newReceiver(t, nil)
	w.extension("reader", r.url, "*")
	w.work(w.Platform, webhookworker.Config{Slots: 2, Line: 4, Pool: 1})
	ids := []invocation.LockID{w.lock(0, "reader"), w.lock(1, "reader"), w.lock(1, "reader")}
	want := make(map[string]bool)
	for i := range events {
		want[string(w.emit(ids[i%len(ids)], "lock", "lock.time-changed").ID)] = true
	}
	w.settled()
	for _, c := range r.got() {
		delete(want, c.id())
	}
	if len(want) != 0 {
		t.Errorf("got %d of %d events lost", len(want), events)
	}
}

// Two workers on the same queues share the work.
func TestTwoWorkersShareTheQueues(t *testing.T) {
	t.Parallel()
	const events = 30
	w, r := newWorld(t), newReceiver(t, nil)
	w.extension("reader", r.url, "*")
	w.work(w.Platform, webhookworker.Config{})
	w.work(w.open(nil), webhookworker.Config{})
	ids := []invocation.LockID{w.lock(0, "reader"), w.lock(1, "reader")}
	got := make(map[string]int)
	for i := range events {
		w.emit(ids[i%2], "lock", "lock.time-changed")
	}
	w.settled()
	for _, c := range r.got() {
		got[c.id()]++
	}
	if len(got) != events {
		t.Errorf("got %d events, want %d", len(got), events)
	}
}
