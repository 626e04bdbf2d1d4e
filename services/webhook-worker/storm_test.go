package webhookworker_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// A storm is as many deliveries as fail at one instant.
const storm = 200

// What fails at one instant does not come back at one: the second attempts are
// stored for times that are spread, so that no tenth of a second has more than
// 15 % of them.
func TestWhatFailsTogetherDoesNotComeBackTogether(t *testing.T) {
	t.Parallel()
	const window, most = 100 * time.Millisecond, storm * 15 / 100
	w := newWorld(t)
	failing := make(chan struct{})
	fail := sync.OnceFunc(func() { close(failing) })
	defer fail()
	r := newReceiver(t, func(rw http.ResponseWriter, _ call, _ int) {
		<-failing
		rw.WriteHeader(http.StatusInternalServerError)
	})
	w.extension("reader", r.url, "lock.time-changed")
	var ids []invocation.LockID
	for i := range storm { // one lock's deliveries would go out one after the other
		ids = append(ids, w.lock(i%2, "reader"))
	}
	for _, id := range ids {
		w.emit(id, "lock", "lock.time-changed")
	}
	contract := webhookworker.Config{}.WithDefaults()
	w.work(w.Platform, webhookworker.Config{Retries: contract.Retries, Slots: storm})
	w.eventually("every delivery is under way", func() bool { return len(r.got()) == storm })
	failed := time.Now()
	fail()
	var times []time.Time
	w.eventually("every second attempt is stored", func() bool {
		times = w.scheduled()
		return len(times) == storm
	})
	wait := contract.Retries[0]
	if first, last := times[0].Sub(failed), time.Until(times[storm-1]); first < wait*9/10 || last > wait*11/10 {
		t.Errorf("got second attempts after %s to %s, want %s and a tenth more or less", first, last, wait)
	}
	crowd := crowded(times, window)
	t.Logf("%d second attempts over %s, at most %d in %s", storm, times[storm-1].Sub(times[0]), crowd, window)
	if crowd > most {
		t.Errorf("got %d second attempts within %s, want at most %d", crowd, window, most)
	}
	if got := len(r.got()); got != storm {
		t.Errorf("got %d calls, want each delivery tried once", got)
	}
}

// scheduled returns the times that second attempts are stored for, in order.
func (w *world) scheduled() (times []time.Time) {
	w.t.Helper()
	for p := range w.config().Ledger.Partitions {
		s, err := w.Conn.JS.Stream(w.t.Context(), ledger.DeliveryStream(p))
		w.must(err)
		for seq := uint64(1); ; seq++ {
			m, err := s.GetMsg(w.t.Context(), seq, jetstream.WithGetMsgSubject("tmr.>"))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			w.must(err)
			var d ledger.Delivery
			w.must(json.Unmarshal(m.Data, &d))
			if d.Attempt != 2 {
				w.t.Errorf("got attempt %d of %s scheduled, want the second", d.Attempt, d.ID)
			}
			at, err := time.Parse("@at "+time.RFC3339Nano, m.Header.Get(jetstream.ScheduleHeader))
			w.must(err)
			times, seq = append(times, at), m.Sequence
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// crowded returns the most of the times, which are in order, that lie within
// one window wherever it begins.
func crowded(times []time.Time, window time.Duration) (most int) {
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
