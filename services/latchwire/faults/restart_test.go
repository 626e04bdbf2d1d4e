package faults

import (
	"syscall"
	"testing"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// several is how many calls pass before and after each fault, so that some are
// under way in every stage when it comes.
const several = 100

// Each process is asked to end and started again while calls are made, as a
// rolling update does. Nobody notices: each call is accepted and completes.
func TestSIGTERMUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	c := newCluster(t, size{edges: 2, dispatchers: 2, workers: 1})
	w := newWorld(t, c, 16)
	l := w.begin(t, false)
	for _, p := range c.services() {
		l.more(t)
		p.end(t, syscall.SIGTERM)
		l.more(t)
		p.start(t)
		p.waitReady(t)
	}
	if statuses := l.check(t); statuses["unknown"] > 0 {
		t.Errorf("got %d calls that nobody can tell of, want none", statuses["unknown"])
	}
}

// Each process is killed and started again while calls are made.
func TestSIGKILLOfAnyProcess(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	c := newCluster(t, size{edges: 2, dispatchers: 2, workers: 1})
	w := newWorld(t, c, 16)
	l := w.begin(t, false)
	for _, p := range c.services() {
		l.more(t)
		p.end(t, syscall.SIGKILL)
		l.more(t)
		p.start(t)
		p.waitReady(t)
	}
	l.check(t)
}

// A dispatcher stands still in the midst of a call, for longer than its claim
// is respected. When it goes on, the call has been settled by another, and
// stays so (SEC-115).
func TestAWorkerThatStoodStillComesTooLate(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	c := newCluster(t, size{edges: 1, dispatchers: 1})
	w := newWorld(t, c, 1)
	stopped := make(chan struct{})
	w.hold = stopped
	slow, made := c.dispatchers[0], w.newCall(0, false)
	answered := make(chan e2etest.Answer, 1)
	go func() {
		a, _ := c.Try(t.Context(), w.request(c.Base(0), made)) // the test misses the answer
		answered <- a
	}()
	e2etest.Eventually(t, "the target is called", func() bool { return len(w.target.Received(isCall)) > 0 })
	slow.signal(t, syscall.SIGSTOP)
	close(stopped) // the target answers, and nobody reads it
	other := c.add(t, "dispatcher")
	other.waitReady(t)

	made.id = (<-answered).Invocation(t).InvocationID
	if inv := w.settled(t, made); inv.Status != "unknown" || inv.Error.Code != "dispatch-interrupted" {
		t.Errorf("got %s (%+v), want unknown by the other worker", inv.Status, inv.Error)
	}
	slow.signal(t, syscall.SIGCONT)
	other.end(t, syscall.SIGTERM) // what comes now is for the worker that stood still
	next := w.newCall(0, false)
	next.id = c.Send(t, w.request(c.Base(0), next)).Invocation(t).InvocationID
	if inv := w.settled(t, next); inv.Status != "completed" {
		t.Errorf("the next call: got %s (%+v), want completed", inv.Status, inv.Error)
	}
	slow.end(t, syscall.SIGTERM) // it has finished all it held
	if statuses := w.check(t, []call{made, next}); statuses["unknown"] != 1 {
		t.Errorf("got %v, want the settlement to stay", statuses)
	}
}
