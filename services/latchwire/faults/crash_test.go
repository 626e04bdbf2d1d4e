package faults

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/crashpoint"
	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A process dies at each place where a call can be torn apart, and another
// finishes the call without calling the target a second time (SEC-77, SEC-114,
// S-21).
func TestCrashAtEachPoint(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	for _, place := range crashpoint.Places() {
		if place != crashpoint.AfterApply {
			t.Run("a partner's call "+place, func(t *testing.T) {
				t.Parallel()
				crashAt(t, place, false)
			})
		}
		if place != crashpoint.AfterPost {
			t.Run("a built-in "+place, func(t *testing.T) {
				t.Parallel()
				crashAt(t, place, true)
			})
		}
	}
}

// crashExit is how a process ends that died at a crash point.
const crashExit = 137

// statusAfter returns how a call settles whose process died at a place. Only of
// a partner's call that was claimed and not settled nobody can tell whether it
// ran.
func statusAfter(place string, builtIn bool) string {
	if !builtIn && (place == crashpoint.AfterClaim || place == crashpoint.AfterPost) {
		return "unknown"
	}
	return "completed"
}

func crashAt(t *testing.T, place string, builtIn bool) {
	t.Helper()
	inEdge := place == crashpoint.AfterRecord
	n := size{edges: 1}
	if inEdge {
		n.dispatchers = 1
	}
	c := newCluster(t, n)
	w := newWorld(t, c, 1)
	service, edge := "dispatcher", c.Base(0)
	if inEdge {
		service = "edge-api"
	}
	victim := c.add(t, service, "LATCHWIRE_CRASH_AT="+place)
	victim.waitReady(t)
	if inEdge {
		edge = "http://" + victim.addr
	}

	made := w.newCall(0, builtIn)
	first := make(chan e2etest.Answer, 1)
	go func() {
		a, _ := c.Try(t.Context(), w.request(edge, made)) // of an edge that dies there is none
		first <- a
	}()
	if code := victim.exitCode(t); code != crashExit {
		t.Fatalf("the process ended with %d, want it to die at the crash point", code)
	}
	if !inEdge { // another replica, or the same one without the fault
		c.add(t, service)
	}
	again := c.Send(t, w.request(c.Base(0), made))
	made.id = again.Invocation(t).InvocationID
	if again.Header.Get("Idempotency-Replayed") != "true" {
		t.Error("the caller's retry made an invocation of its own")
	}
	if a := <-first; !inEdge && a.Invocation(t).InvocationID != made.id {
		t.Errorf("the caller's retry got %s, want what it got first: %s", made.id, a.Body)
	}

	inv := w.settled(t, made)
	if want := statusAfter(place, builtIn); inv.Status != want {
		t.Errorf("got %s (%+v), want %s", inv.Status, inv.Error, want)
	}
	if inv.Status == "unknown" && inv.Error.Code != "dispatch-interrupted" {
		t.Errorf("got the error %+v, want dispatch-interrupted", inv.Error)
	}
	w.check(t, []call{made})
	if hits := len(w.target.Received(isCall)); (hits > 0) != (!builtIn && place != crashpoint.AfterClaim) {
		t.Errorf("the target was called %d times by a process that died %s", hits, place)
	}
}
