package faults

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A told counts what the listeners have acknowledged. Its methods may be called
// concurrently.
type told struct {
	mu    sync.Mutex
	times map[hearing]int
	busy  int // requests under way
	cut   int // requests whose sender was gone before the answer
}

// A hearing is an event for one of the listeners.
type hearing struct {
	listener *e2etest.Partner
	event    string
}

// listen is a listener's webhook. A delivery that was cut off does not count.
func (w *world) listen(number int) func(http.ResponseWriter, *http.Request, e2etest.Hook) {
	return func(rw http.ResponseWriter, r *http.Request, h e2etest.Hook) {
		w.told.begin()
		work(r)
		w.told.end(hearing{w.listeners[number], h.Data.LockEvent.EventID}, r.Context().Err() != nil)
		rw.WriteHeader(http.StatusNoContent)
	}
}

func (t *told) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy++
}

// end notes what was heard; a history line has no event.
func (t *told) end(h hearing, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	switch {
	case cut:
		t.cut++
	case h.event != "":
		if t.times == nil {
			t.times = make(map[hearing]int)
		}
		t.times[h]++
	}
}

// underWay reports whether a listener is being told of something.
func (t *told) underWay() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy > 0
}

// all reports whether each of these was acknowledged.
func (t *told) all(owed []hearing) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range owed {
		if t.times[h] == 0 {
			return false
		}
	}
	return true
}

// owed returns who is to hear which of a lock's events: each listener all but
// the installations before its own, of which each is one event.
func (w *world) owed(events []e2etest.Event) (owed []hearing) {
	for i, x := range w.listeners {
		for _, e := range events[i:] {
			owed = append(owed, hearing{x, e.EventID})
		}
	}
	return owed
}

// rounds returns how often the faults of the test below come.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("LATCHWIRE_ROUNDS")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("LATCHWIRE_ROUNDS is %q, want a number from 1", text)
	}
	return n
}

// One or both webhook workers are killed in the midst of a delivery, then NATS,
// again and again while calls are made. Every listener is told of every event at
// least once, and what it is told twice it can tell by the webhook-id.
func TestEveryListenerIsToldWhateverDies(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	c := newCluster(t, size{edges: 2, dispatchers: 1, workers: 2})
	w := newHeardWorld(t, c, 16, 2)
	l := w.begin(t, true)
	n := rounds(t)
	for i := range n {
		victims := c.workers[:1+i%2]
		l.more(t)
		e2etest.Eventually(t, "a listener is being told", w.told.underWay)
		for _, p := range victims {
			p.end(t, syscall.SIGKILL)
		}
		l.more(t)
		gone := time.Now()
		c.nats.end(t, syscall.SIGKILL)
		c.nats.start(t)
		c.waitNATS(t)
		for _, p := range victims {
			p.start(t)
		}
		for _, p := range c.services() {
			waitReadiness(t, p, http.StatusOK)
		}
		w.outage = max(w.outage, time.Since(gone))
	}
	l.more(t)
	l.check(t)
	t.Logf("%d rounds, NATS away for at most %s; %s; %d requests were not the first of their webhook-id",
		n, w.outage.Round(time.Millisecond), w.told.summary(), w.checkCopies(t))
}

// summary says in figures what the listeners were told.
func (t *told) summary() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	again := 0
	for _, times := range t.times {
		again += times - 1
	}
	return fmt.Sprintf("%d events acknowledged by a listener each, %d of them once more; %d requests cut off", len(t.times), again, t.cut)
}

// checkCopies wants one webhook-id for whatever a listener was told more than
// once, which nothing else has, and the same body but for the time and the id
// of the request. It returns how many requests were not the first.
func (w *world) checkCopies(t *testing.T) (copies int) {
	t.Helper()
	for _, x := range w.listeners {
		bodies, ids := make(map[string]string), make(map[string]string)
		for _, h := range x.Received(func(h e2etest.Hook) bool { return h.Event != "" }) { // else cut off
			id, body := h.Header.Get("Webhook-Id"), timeless(t, h.Body)
			first, known := bodies[id]
			if known {
				copies++
			} else {
				bodies[id] = body
			}
			if id == "" || known && body != first {
				t.Errorf("webhook-id %q: got %s, and before %s", id, body, first)
			}
			event := h.Hook.Data.LockEvent.EventID // none of a history line
			if other, known := ids[event]; known && event != "" && other != id {
				t.Errorf("event %s: got the webhook-ids %q and %q", event, other, id)
			}
			ids[event] = id
		}
	}
	return copies
}

// timeless returns a webhook's body without what is new at each attempt.
func timeless(t *testing.T, body []byte) string {
	t.Helper()
	var sent struct{ SentAt, RequestID string }
	e2etest.Decode(t, body, &sent)
	text := string(body)
	for _, member := range []string{`"sentAt":"` + sent.SentAt + `"`, `"requestId":"` + sent.RequestID + `"`} {
		if !strings.Contains(text, member) {
			t.Errorf("got no %s in %s", member, body)
		}
		text = strings.Replace(text, member, "", 1)
	}
	return text
}
