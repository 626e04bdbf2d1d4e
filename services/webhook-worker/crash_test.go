package webhookworker_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/announce"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/deliver"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/fanout"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

// take takes the next message of a consumer, as a worker does that then dies:
// nobody acknowledges it, and it comes again.
func (w *world) take(stream, consumer string) broker.Delivery {
	w.t.Helper()
	c, err := w.Conn.JS.Consumer(w.t.Context(), stream, consumer)
	w.must(err)
	m, err := c.Next(jetstream.FetchMaxWait(patience))
	w.must(err)
	md, err := m.Metadata()
	w.must(err)
	return broker.Delivery{
		Subject: m.Subject(), Header: m.Headers(), Data: m.Data(),
		Sequence: md.Sequence.Stream, Attempt: md.NumDelivered, Stored: md.Timestamp,
	}
}

func TestAnEventSurvivesTheFanOutsDeath(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(w *world, m broker.Delivery){
		"before anything was enqueued": func(*world, broker.Delivery) {},
		"between enqueue and ack": func(w *world, m broker.Delivery) {
			w.must(fanout.New(w.Platform, outbox.New(w.Platform)).Handle(w.t.Context(), m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := newMortalWorld(t), newReceiver(t, nil)
			w.extension("reader", r.url, "lock.time-changed")
			id := w.lock(0, "reader")
			w.take(ledger.LockStream(0), ledger.FanOutConsumer) // the lock's making
			event := w.emit(id, "lock", "lock.time-changed")
			die(w, w.take(ledger.LockStream(0), ledger.FanOutConsumer))
			w.work(w.Platform, webhookworker.Config{})
			w.settled()
			if calls := r.got(); len(calls) != 1 || calls[0].id() != string(event.ID) {
				t.Errorf("got %d calls, want the event once", len(calls))
			}
		})
	}
}

func TestADeliverySurvivesItsWorkersDeath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, call, int)
		calls  int // at least so many
	}{
		"after the receiver acknowledged": {nil, 2},
		"after a retry was scheduled":     {fails(1, 500), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := newMortalWorld(t), newReceiver(t, tc.answer)
			w.extension("reader", r.url, "lock.time-changed")
			id := w.lock(0, "reader")
			box := outbox.New(w.Platform)
			w.take(ledger.LockStream(0), ledger.FanOutConsumer) // the lock's making
			event := w.emit(id, "lock", "lock.time-changed")
			w.must(fanout.New(w.Platform, box).Handle(t.Context(), w.take(ledger.LockStream(0), ledger.FanOutConsumer)))
			first := deliver.New(w.Platform, box, deliver.Config{Schedule: quick(), Circuit: deliver.Circuit(webhookworker.Config{}.WithDefaults().Circuit), Slots: 1})
			w.must(first.Handle(t.Context(), w.take(ledger.DeliveryStream(0), ledger.DeliverConsumer)))
			w.work(w.Platform, webhookworker.Config{})
			w.settled()
			calls := r.got()
			if len(calls) < tc.calls {
				t.Fatalf("got %d calls, want at least %d", len(calls), tc.calls)
			}
			for _, c := range calls {
				if c.id() != string(event.ID) {
					t.Errorf("got %s, want %s", c.id(), event.ID)
				}
			}
		})
	}
}

func TestAnnouncingTwiceTellsALockOnce(t *testing.T) {
	t.Parallel()
	w := newMortalWorld(t)
	w.extension("reader", "")
	id := w.lock(0, "reader")
	w.must(announce.New(w.Platform).Handle(t.Context(), w.take(ledger.ManifestStream, ledger.AnnounceConsumer)))
	if got := w.changes(id); got != 1 {
		t.Fatalf("got %d events after the first time, want 1", got)
	}
	w.work(w.Platform, webhookworker.Config{})
	w.settled()
	if got := w.changes(id); got != 1 {
		t.Errorf("got %d events after a second time, want 1", got)
	}
}

func TestAWorkerThatIsStoppedFinishesItsPosts(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 8), make(chan struct{})
	w, r := newWorld(t), newReceiver(t, func(http.ResponseWriter, call, int) {
		begun <- struct{}{}
		<-release
	})
	w.extension("reader", r.url, "*")
	worker := w.work(w.Platform, webhookworker.Config{Slots: 1, Line: 8})
	id := w.lock(0, "reader")
	events := map[string]int{}
	for range 3 {
		events[string(w.emit(id, "lock", "lock.time-changed").ID)] = 0
	}
	w.idle(ledger.LockStream(0), ledger.FanOutConsumer)
	<-begun
	worker.cancel()
	close(release) // what the receiver answers from here on comes after the stop
	if err := worker.stop(); err != nil {
		t.Errorf("got %v, want a clean stop", err)
	}
	w.work(w.open(nil), webhookworker.Config{})
	w.settled()
	for _, c := range r.got() {
		events[c.id()]++
	}
	for id, n := range events {
		if n != 1 { // twice: the POST under way was cut off
			t.Errorf("got event %s %d times, want once", id, n)
		}
	}
	if len(events) != 3 {
		t.Errorf("got %d events, want 3", len(events))
	}
}

// A POST that is cut off by the end of the grace says nothing about its
// receiver: with a single attempt to spend, it is made again.
func TestAPostThatIsCutOffIsNoAttempt(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 8), make(chan struct{})
	w, r := newWorld(t), newReceiver(t, func(_ http.ResponseWriter, _ call, n int) {
		begun <- struct{}{}
		if n == 1 {
			<-release
		}
	})
	w.extension("reader", r.url, "*")
	once := []time.Duration{}
	worker := w.work(w.Platform, webhookworker.Config{Retries: once, Grace: 10 * time.Millisecond})
	event := w.emit(w.lock(0, "reader"), "lock", "lock.time-changed")
	<-begun
	if err := worker.stop(); err == nil {
		t.Error("got a clean stop, want to hear of the POST that was cut off")
	}
	close(release)
	w.work(w.open(nil), webhookworker.Config{Retries: once})
	w.settled()
	if got := len(r.got()); got != 2 || w.dead(event) != nil {
		t.Errorf("got %d calls, dead %v: want the attempt made again", got, w.dead(event))
	}
}

func TestAWorkerThatIsStoppedHandsBackWhatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.extension("reader", "http://127.0.0.1:1/", "lock.time-changed")
	id := w.lock(0, "reader")
	box := outbox.New(w.Platform)
	w.take(ledger.LockStream(0), ledger.FanOutConsumer) // the lock's making
	w.emit(id, "lock", "lock.time-changed")
	w.must(fanout.New(w.Platform, box).Handle(t.Context(), w.take(ledger.LockStream(0), ledger.FanOutConsumer)))
	m := w.take(ledger.DeliveryStream(0), ledger.DeliverConsumer)
	for name, cfg := range map[string]deliver.Config{
		"a full lane": {Schedule: quick()},
		"a stop":      {Schedule: quick(), Slots: 1},
	} {
		h := deliver.New(w.Platform, box, cfg)
		if cfg.Slots > 0 {
			h.Stop()
		}
		err := h.Handle(t.Context(), m)
		got := broker.Judge(err, broker.MaxStrikes) // however often
		if got.Action != broker.HandBack || (cfg.Slots == 0) != (got.After >= 2*time.Second) {
			t.Errorf("%s: got verdict %+v of %v, want a hand-back, of a full lane for two seconds", name, got, err)
		}
	}
}

// changes counts the capabilities-changed events of a lock.
func (w *world) changes(id invocation.LockID) int {
	w.t.Helper()
	page, err := w.Ledger.Events(w.t.Context(), ledger.EventQuery{Lock: id, Types: []string{"lock.capabilities-changed"}, Limit: 100})
	w.must(err)
	return len(page.Events)
}
