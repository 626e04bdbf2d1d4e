package webhookworker_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// touchy holds an endpoint after three failures and probes it soon.
func touchy() webhookworker.Config {
	return webhookworker.Config{Circuit: webhookworker.Circuit{
		Failures: 3, After: time.Nanosecond, FirstProbe: 100 * time.Millisecond, MostProbe: 200 * time.Millisecond, Suspend: time.Hour,
	}}
}

// endpoint returns how the reader's endpoint fares, as the worker knows it.
func (w *world) endpoint() registry.Extension {
	w.t.Helper()
	e, err := w.Registry.Extension(w.t.Context(), "reader")
	w.must(err)
	return e
}

// kept returns how many deliveries are kept back for the reader.
func (w *world) kept() int {
	w.t.Helper()
	all, err := w.Ledger.KeptBack(w.t.Context(), "reader", 256)
	w.must(err)
	return len(all)
}

// history returns the types of a lock's history lines.
func (w *world) history(id invocation.LockID) []string {
	w.t.Helper()
	entries, _, err := w.Ledger.History(w.t.Context(), id, 0, 256)
	w.must(err)
	var types []string
	for _, e := range entries {
		for _, line := range e.History {
			types = append(types, line.Type)
		}
	}
	return types
}

// A switchable receiver answers with a status that the test sets.
func switchable(t *testing.T, status int32) (*receiver, *atomic.Int32) {
	t.Helper()
	var now atomic.Int32
	now.Store(status)
	return newReceiver(t, func(w http.ResponseWriter, _ call, _ int) { w.WriteHeader(int(now.Load())) }), &now
}

// An endpoint that goes on failing is left alone but for probes: what is for it
// is kept back and nothing of it dies. Once a probe succeeds, all of it goes out.
func TestAnEndpointThatFailsIsOnlyProbed(t *testing.T) {
	t.Parallel()
	const events = 20
	w := newWorld(t)
	r, status := switchable(t, 500)
	w.extension("reader", r.url, "lock.time-changed")
	w.work(w.Platform, touchy())
	id := w.lock(0, "reader")
	want := make(map[string]bool)
	for range events {
		want[string(w.emit(id, "lock", "lock.time-changed").ID)] = true
	}
	w.eventually("the endpoint is held", func() bool { return w.endpoint().Endpoint.Probes > 0 })
	w.eventually("the queue is empty", func() bool { return w.kept() > 0 && w.queued() == 0 })
	before := len(r.got())
	w.eventually("it is probed again", func() bool { return len(r.got()) > before })
	if e := w.endpoint(); !e.Listens() || e.Endpoint.FailingSince.IsZero() || e.Endpoint.ProbeAt.IsZero() {
		t.Errorf("got %+v, want it held, not disabled", e.Endpoint)
	}
	status.Store(200)
	w.eventually("everything is delivered", func() bool {
		acknowledged := make(map[string]bool)
		for _, c := range r.got() {
			acknowledged[c.id()] = true
		}
		return len(acknowledged) == events && w.kept() == 0 && w.queued() == 0
	})
	if e := w.endpoint().Endpoint; e != (registry.Endpoint{}) {
		t.Errorf("got %+v, want nothing held against it", e)
	}
	for _, line := range w.history(id) {
		if strings.HasPrefix(line, "endpoint_") {
			t.Errorf("got the line %s, though the endpoint was never disabled", line)
		}
	}
}

// queued returns how many deliveries are on the queues, those for later included.
func (w *world) queued() (n uint64) {
	w.t.Helper()
	for _, name := range []string{"DELIVERY_0", "DELIVERY_1"} {
		s, err := w.Conn.JS.Stream(w.t.Context(), name)
		w.must(err)
		n += s.CachedInfo().State.Msgs
	}
	return n
}

// An endpoint that fails for too long is disabled; its locks and its owner are
// told. Once it is enabled it catches up from where it stopped, and they are
// told again.
func TestAnEndpointThatFailsForTooLongIsDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, status := switchable(t, 500)
	owner := newReceiver(t, fails(1, 500))
	w.extension("reader", r.url, "lock.time-changed")
	_, err := w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.OperationalURL = owner.url
		return nil
	})
	w.must(err)
	cfg := touchy()
	cfg.Circuit.Suspend = 300 * time.Millisecond
	w.work(w.Platform, cfg)
	id := w.lock(0, "reader")
	for range 10 {
		w.emit(id, "lock", "lock.time-changed")
	}
	w.eventually("it is disabled and told", func() bool {
		e := w.endpoint()
		return !e.Listens() && e.Endpoint.Suspended == registry.SuspendedFailing && e.Endpoint.Untold == ""
	})
	w.eventually("the owner is told", func() bool { return len(owner.got()) == 2 })
	late := w.emit(id, "lock", "lock.time-changed")
	status.Store(200)
	w.eventually("what comes is kept back", func() bool { return w.queued() == 0 && w.kept() > 0 })
	silent := len(r.got())

	_, err = w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.Enable(time.Now())
		return nil
	})
	w.must(err)
	w.must(w.Ledger.CheckEndpoint(t.Context(), "reader"))
	w.eventually("it has caught up", func() bool {
		heard := slices.ContainsFunc(r.got()[silent:], func(c call) bool { return c.id() == string(late.ID) })
		return heard && w.kept() == 0 && w.queued() == 0
	})
	w.eventually("the owner is told again", func() bool { return len(owner.got()) == 3 })
	for i, want := range []string{"endpoint.disabled", "endpoint.disabled", "endpoint.recovered"} {
		c := owner.got()[i]
		valid(t, "webhook-operation", c.body)
		if got := parse(t, c.body).Event; got != want || c.header.Get("Webhook-Signature") == "" {
			t.Errorf("got %s, want %s, signed", c.body, want)
		}
	}
	var told []string
	for _, line := range w.history(id) {
		if strings.HasPrefix(line, "endpoint_") {
			told = append(told, line)
		}
	}
	if strings.Join(told, " ") != "endpoint_disabled endpoint_recovered" {
		t.Errorf("got the lines %v", told)
	}
}

// 410 disables an endpoint at once. What comes meanwhile is not lost.
func TestAnEndpointThatIsGoneIsDisabledAndCatchesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, status := switchable(t, http.StatusGone)
	w.extension("reader", r.url, "lock.time-changed")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "reader")
	gone := w.emit(id, "lock", "lock.time-changed")
	w.eventually("it is disabled", func() bool { return w.endpoint().Endpoint.Suspended == registry.SuspendedGone })
	if d := w.dead(gone); d == nil || len(d.Delivery.Tries) != 1 || d.Delivery.Tries[0].Status != http.StatusGone {
		t.Errorf("got %+v, want the delivery that found it out kept, with its attempt", d)
	}
	missed := w.emit(id, "lock", "lock.time-changed")
	w.eventually("it is kept back", func() bool { return w.kept() > 0 && w.queued() == 0 })
	status.Store(204)
	_, err := w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.Enable(time.Now())
		return nil
	})
	w.must(err)
	w.must(w.Ledger.CheckEndpoint(t.Context(), "reader"))
	w.eventually("it catches up", func() bool {
		return slices.ContainsFunc(r.got(), func(c call) bool { return c.id() == string(missed.ID) })
	})
}

// 429 and 503 slow the whole endpoint, not only the delivery that met them, and
// what waits for that uses up no attempt.
func TestAnEndpointThatAsksForPatienceGetsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, func(w http.ResponseWriter, _ call, i int) {
		if i == 1 {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	w.extension("reader", r.url, "lock.time-changed")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "reader")
	first := w.emit(id, "lock", "lock.time-changed")
	w.eventually("it is shown until when nothing is sent", func() bool { return !w.endpoint().Endpoint.ProbeAt.IsZero() })
	second := w.emit(id, "lock", "lock.time-changed")
	w.eventually("both are taken", func() bool { return len(r.got()) >= 3 })
	calls := r.got()
	for _, c := range calls[1:] {
		if wait := c.at.Sub(calls[0].at); wait < 1900*time.Millisecond {
			t.Errorf("got %s after %s, want nothing within the two seconds", c.id(), wait)
		}
	}
	if ids := map[string]bool{calls[1].id(): true, calls[2].id(): true}; !ids[string(first.ID)] || !ids[string(second.ID)] {
		t.Errorf("got %v, want both", ids)
	}
}

// enable takes the reader's endpoint into use again, as its owner does.
func (w *world) enable() {
	w.t.Helper()
	_, err := w.Registry.UpdateExtension(w.t.Context(), "reader", func(e *registry.Extension) error {
		e.Enable(time.Now())
		return nil
	})
	w.must(err)
	w.must(w.Ledger.CheckEndpoint(w.t.Context(), "reader"))
}

// An endpoint that stops again while it is caught up with is left alone, at no
// cost. Once it goes on, everything arrives, what was kept in the order of the
// log.
func TestCatchingUpStopsWithTheEndpointAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	const events = 40
	w := newWorld(t)
	var good atomic.Int64 // how many are still taken
	var took taken
	r := newReceiver(t, func(rw http.ResponseWriter, c call, _ int) {
		if good.Add(-1) < 0 {
			rw.WriteHeader(http.StatusGone)
			return
		}
		took.add(c)
	})
	w.extension("reader", r.url, "lock.time-changed")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "reader")
	w.emit(id, "lock", "lock.time-changed") // finds out
	suspended := func() bool { return !w.endpoint().Listens() && w.endpoint().Endpoint.Untold == "" }
	w.eventually("it is disabled", suspended)
	var want []string
	emit := func(n int) {
		for range n {
			want = append(want, string(w.emit(id, "lock", "lock.time-changed").ID))
		}
	}
	emit(events)
	w.eventually("all of it is kept", func() bool { return w.kept() >= events && w.queued() == 0 })
	heard := len(r.got())
	good.Store(events / 4)
	w.enable()
	w.eventually("it is disabled again", func() bool { return len(r.got()) > heard+events/4 && suspended() })
	w.eventually("the rest is kept", func() bool { return w.kept() > 0 && w.queued() == 0 })
	before := w.written("ENDPOINTS")
	emit(1)
	kept := w.kept()
	w.eventually("what is new is kept, too", func() bool { return w.kept() > kept || w.queued() == 0 })
	if n := w.written("ENDPOINTS") - before; n > 10 {
		t.Errorf("got %d writes for one delivery that was kept: the others are moved in circles", n)
	}
	good.Store(1000)
	w.enable()
	emit(events)
	w.eventually("all of it has arrived", func() bool { return len(took.of(want)) >= len(want)-1 && w.kept() == 0 && w.queued() == 0 })
	missed := want[:events+1] // what happens while it catches up may come among that
	if got := took.of(missed); !slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(missed, a) - slices.Index(missed, b) }) {
		t.Errorf("got the order %v, want %v", got, missed)
	}
}

// written returns how many messages a stream has ever taken.
func (w *world) written(name string) uint64 {
	w.t.Helper()
	s, err := w.Conn.JS.Stream(w.t.Context(), name)
	w.must(err)
	return s.CachedInfo().State.LastSeq
}

// taken is what a receiver has acknowledged. Its methods may be called
// concurrently.
type taken struct {
	mu  sync.Mutex
	ids []string
}

func (t *taken) add(c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids = append(t.ids, c.id())
}

// of returns which of the events were taken, each once, in the order in which
// they first were.
func (t *taken) of(events []string) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range t.ids {
		if slices.Contains(events, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// A probe uses up no attempt of what is kept back, however often it fails, and
// what one receiver chokes on does not keep its endpoint from being found well.
func TestProbesCostNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ill atomic.Bool
	ill.Store(true)
	var bad atomic.Pointer[string]
	var took taken
	r := newReceiver(t, func(rw http.ResponseWriter, c call, _ int) {
		if poison := bad.Load(); ill.Load() || poison != nil && c.id() == *poison {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		took.add(c)
	})
	w.extension("reader", r.url, "lock.time-changed")
	cfg := touchy()
	cfg.Retries = []time.Duration{50 * time.Millisecond}
	w.work(w.Platform, cfg)
	for range 3 { // hold it
		w.emit(w.lock(0, "reader"), "lock", "lock.time-changed")
	}
	w.eventually("it is held", func() bool { return w.endpoint().Endpoint.Waits() })
	id := w.lock(0, "reader")
	poison := string(w.emit(id, "lock", "lock.time-changed").ID)
	bad.Store(&poison)
	var want []string
	for range 5 {
		want = append(want, string(w.emit(id, "lock", "lock.time-changed").ID))
	}
	w.eventually("it is probed more often than a delivery is tried", func() bool { return w.endpoint().Endpoint.Probes > 5 })
	ill.Store(false)
	w.eventually("all that can be taken arrives", func() bool { return len(took.of(want)) == len(want) })
}
