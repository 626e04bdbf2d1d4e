package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// The main job: a call over HTTP goes through the queue to a webhook that runs
// it once, the event it caused reaches a third extension, which calls on, and
// the whole chain can be read afterwards.
func TestACallItsEventAndWhatFollowsAreOneChain(t *testing.T) {
	t.Parallel()
	var target, listener *e2etest.Partner
	var lock string
	target = pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}, Events: []string{"done"}}, func(w http.ResponseWriter, _ *http.Request, h e2etest.Hook) {
		e2etest.Complete(w, `{"ok":true}`, fmt.Sprintf(`{"type":"%s.done","payload":{"input":%s}}`, target.Slug, h.Data.Invocation.Input))
	})
	listener = pipeline.NewPartner(t, e2etest.Offers{Subscriptions: []string{target.Slug + ".*"}}, func(w http.ResponseWriter, _ *http.Request, h e2etest.Hook) {
		if h.Event == "lock_event.created" {
			// No cause is named: the event that is being delivered is inferred.
			a := listener.Call(t, lock, "lock.add-time", map[string]any{"input": map[string]any{"duration": 60}, "idempotencyKey": h.Data.LockEvent.EventID})
			if inv := a.Invocation(t); !inv.CausationInferred || inv.Depth != 2 {
				t.Errorf("the listener's call: got inferred %t, depth %d, want true, 2", inv.CausationInferred, inv.Depth)
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock = pipeline.NewLock(t, caller, target, listener)

	inv := caller.Call(t, lock, target.Slug+".do", map[string]any{"input": map[string]any{"n": 9007199254740993}, "idempotencyKey": e2etest.Key()}).Invocation(t)
	if inv.Status != "completed" || inv.Depth != 0 || inv.CausationID != nil || inv.CorrelationID != inv.InvocationID {
		t.Fatalf("got %+v, want a completed root", inv)
	}

	var page e2etest.EventPage
	e2etest.Eventually(t, "the listener's call stands in the lock's events", func() bool {
		caller.Read(t, lock, "/events?types=lock.time-changed,"+target.Slug+".*", &page)
		return len(page.Events) == 2
	})
	done, changed := page.Events[0], page.Events[1]
	if done.Type != target.Slug+".done" || done.Depth != 1 || done.CorrelationID != inv.CorrelationID || *done.CausationID != inv.InvocationID || *done.Source.InvocationID != inv.InvocationID {
		t.Errorf("the caused event: got %+v", done)
	}
	if string(done.Payload) != `{"input":{"n":9007199254740993}}` {
		t.Errorf("its payload: got %s, want every digit as sent", done.Payload)
	}
	if changed.Depth != 3 || changed.CorrelationID != inv.CorrelationID {
		t.Errorf("what the listener caused: got depth %d in %s, want 3 in %s", changed.Depth, changed.CorrelationID, inv.CorrelationID)
	}
	if hits := target.Received(func(h e2etest.Hook) bool { return h.Event == "extension.command_invoked" }); len(hits) != 1 {
		t.Errorf("the target was called %d times, want once", len(hits))
	}
	readChain(t, inv.CorrelationID)
}

// readChain wants two invocations, two events and a delivery in the chain.
func readChain(t *testing.T, correlation string) {
	t.Helper()
	kinds := make(map[string]int)
	e2etest.Eventually(t, "the chain can be read whole", func() bool {
		var chain struct {
			CorrelationID string `json:"correlationId"`
			Nodes         []struct {
				Kind string `json:"kind"`
			} `json:"nodes"`
		}
		pipeline.Operate(t, e2etest.Request{Method: http.MethodGet, Path: "/api/admin/chains/" + correlation}, &chain)
		clear(kinds)
		for _, n := range chain.Nodes {
			kinds[n.Kind]++
		}
		return kinds["invocation"] == 2 && kinds["event"] == 2 && kinds["delivery"] >= 1
	})
}

func TestARefusalOfTheTargetIsRejected(t *testing.T) {
	t.Parallel()
	target := pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}}, func(w http.ResponseWriter, _ *http.Request, _ e2etest.Hook) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"status":"rejected","error":{"code":"not-today","message":"come back tomorrow"}}`)
	})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller, target)
	body := map[string]any{"idempotencyKey": e2etest.Key()}
	inv := caller.Call(t, lock, target.Slug+".do", body).Invocation(t)
	if inv.Status != "rejected" || inv.Error == nil || inv.Error.Code != "not-today" || string(inv.Result) != "null" {
		t.Fatalf("got %+v, want rejected with the target's code", inv)
	}
	again := caller.Call(t, lock, target.Slug+".do", body)
	if got := again.Invocation(t); got.InvocationID != inv.InvocationID || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same key: got %s replayed %q, want %s", got.InvocationID, again.Header.Get("Idempotency-Replayed"), inv.InvocationID)
	}
	stored := pipeline.Send(t, e2etest.Request{
		Base: pipeline.Base(1), Token: caller.Token, Method: http.MethodGet, Path: caller.Path(lock, "/invocations/"+inv.InvocationID),
	}).Invocation(t)
	if a, b := mustJSON(t, stored), mustJSON(t, inv); a != b {
		t.Errorf("read again: got %s, want %s", a, b)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
