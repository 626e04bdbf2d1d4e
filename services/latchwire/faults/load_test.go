package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A load is a crowd of clients that call without a pause, half of them the
// target and half the lock itself, by all edges in turn. What gets no answer
// is tried again by the next edge, under the same key.
type load struct {
	w *world
	// refusable says that 503 may be answered, which is tried again as well.
	refusable bool

	stop context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex
	accepted []call
	refused  int      // answers of 503
	wrong    []string // answers that should not be
}

const clients = 16

// begin lets the clients begin. They end with the test at the latest.
func (w *world) begin(t *testing.T, refusable bool) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{w: w, refusable: refusable, stop: stop}
	for i := range clients {
		l.wg.Go(func() { l.client(ctx, t, i) })
	}
	t.Cleanup(func() { l.end() })
	return l
}

// end lets every client finish its call and returns what was accepted.
func (l *load) end() []call {
	l.stop()
	l.wg.Wait()
	return l.accepted
}

// client makes one call after the other until ctx is done.
func (l *load) client(ctx context.Context, t *testing.T, number int) {
	t.Helper()
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		lock := number/2 + n*clients/2 // of each sort of client there are half as many as locks
		l.call(t, l.w.newCall(lock, number%2 == 0), number+n)
		<-pace.C
	}
}

// call makes one call, and gives up after a time in which any fault is over.
func (l *load) call(t *testing.T, c call, edge int) {
	t.Helper()
	limit := time.NewTimer(settleLimit + 15*time.Second)
	defer limit.Stop()
	for ; ; edge++ {
		// Not the clients' context: a call that has begun is finished.
		a, err := l.w.c.Try(t.Context(), l.w.request(l.w.c.Base(edge), c))
		if err == nil && l.took(c, a) {
			return
		}
		again := time.NewTimer(50 * time.Millisecond)
		select {
		case <-again.C:
		case <-limit.C:
			l.note(fmt.Sprintf("%s was never accepted; last: %v %d", c.key, err, a.Status))
			return
		}
	}
}

// took takes an answer and reports whether it is the call's last.
func (l *load) took(c call, a e2etest.Answer) bool {
	var inv e2etest.Invocation
	if a.Status == http.StatusServiceUnavailable && l.refusable {
		if problem := refusal(a); problem != "" {
			l.note(problem)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused++
		return false
	}
	if err := json.Unmarshal(a.Body, &inv); err != nil || a.Status != http.StatusOK || inv.InvocationID == "" {
		l.note(fmt.Sprintf("%s: got HTTP %d %s", c.key, a.Status, a.Body))
		return true
	}
	c.id = inv.InvocationID
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted = append(l.accepted, c)
	return true
}

// refusal says what is wrong with an answer of 503 (contract section 9).
func refusal(a e2etest.Answer) string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(a.Body, &p) // what is missing is wrong
	if a.Status != http.StatusServiceUnavailable || p.Code != "service-unavailable" || a.Header.Get("Retry-After") == "" {
		return fmt.Sprintf("got HTTP %d %s, Retry-After %q, want 503 service-unavailable with a Retry-After", a.Status, a.Body, a.Header.Get("Retry-After"))
	}
	return ""
}

func (l *load) note(wrong string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, wrong)
}

// more waits until several more calls were accepted.
func (l *load) more(t *testing.T) {
	t.Helper()
	n := several + l.count()
	e2etest.Eventually(t, "calls are accepted", func() bool { return l.count() >= n })
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// check ends the load and wants of every call, and of more that were made
// beside it, what the package promises, and no answer but 200, or 503 where it
// may be refused.
func (l *load) check(t *testing.T, more ...call) (statuses map[string]int) {
	t.Helper()
	calls := append(l.end(), more...)
	for _, wrong := range l.wrong[:min(len(l.wrong), 10)] {
		t.Error(wrong)
	}
	statuses = l.w.check(t, calls)
	t.Logf("%d calls: %v; %d answers of 503", len(calls), statuses, l.refused)
	return statuses
}
