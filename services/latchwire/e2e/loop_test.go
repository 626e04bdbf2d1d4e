package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// Two extensions that call each other for as long as they are let get as far as
// the greatest depth, and no further (SEC-83).
func TestALoopEndsAtTheGreatestDepth(t *testing.T) {
	t.Parallel()
	var pair [2]*e2etest.Partner
	var lock string
	var refused atomic.Value
	for i := range pair {
		pair[i] = pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}}, func(w http.ResponseWriter, _ *http.Request, h e2etest.Hook) {
			if h.Event == "extension.command_invoked" {
				next := pair[1-i]
				a := pair[i].Call(t, lock, next.Slug+".do", map[string]any{
					"idempotencyKey": e2etest.Key(), "causationId": h.Data.Invocation.InvocationID,
				})
				if a.Status != http.StatusOK {
					refused.Store(a)
				}
			}
			e2etest.Complete(w, `{}`)
		})
	}
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock = pipeline.NewLock(t, caller, pair[0], pair[1])
	root := caller.Call(t, lock, pair[0].Slug+".do", map[string]any{"idempotencyKey": e2etest.Key()}).Invocation(t)
	if root.Status != "completed" {
		t.Errorf("got %+v, want the first call completed", root)
	}
	a, _ := refused.Load().(e2etest.Answer)
	if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), `"depth-exceeded"`) {
		t.Errorf("got %d %s, want the last call refused for its depth", a.Status, a.Body)
	}
	depths := make(map[int]int)
	for _, x := range pair {
		for _, hit := range x.Received(func(h e2etest.Hook) bool { return h.Event == "extension.command_invoked" }) {
			depths[hit.Hook.Data.Invocation.Depth]++
			if hit.Hook.Data.Invocation.CorrelationID != root.InvocationID {
				t.Errorf("got %+v, want it in the chain of %s", hit.Hook.Data.Invocation, root.InvocationID)
			}
		}
	}
	for depth := range 9 {
		if depths[depth] != 1 {
			t.Errorf("got %d calls of depth %d, want one", depths[depth], depth)
		}
	}
	if len(depths) != 9 {
		t.Errorf("got calls of the depths %v, want 0 to 8", depths)
	}
}

// A caller's credential stays with us: neither the target nor a listener gets to
// see it, wherever it may stand (SEC-102).
func TestNobodyIsSentACallersCredential(t *testing.T) {
	t.Parallel()
	var target *e2etest.Partner
	target = pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}, Events: []string{"done"}},
		func(w http.ResponseWriter, _ *http.Request, _ e2etest.Hook) {
			e2etest.Complete(w, `{}`, `{"type":"`+target.Slug+`.done","payload":{}}`)
		})
	listener := pipeline.NewPartner(t, e2etest.Offers{Subscriptions: []string{target.Slug + ".*"}}, func(http.ResponseWriter, *http.Request, e2etest.Hook) {})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller, target, listener)
	inv := caller.Call(t, lock, target.Slug+".do", map[string]any{"idempotencyKey": e2etest.Key()}).Invocation(t)
	if inv.Status != "completed" {
		t.Fatalf("got %+v", inv)
	}
	e2etest.Eventually(t, "the event is delivered", func() bool {
		return len(listener.Received(func(h e2etest.Hook) bool { return h.Event == "lock_event.created" })) == 1
	})
	all := func(e2etest.Hook) bool { return true }
	for _, hit := range append(target.Received(all), listener.Received(all)...) {
		for name, values := range hit.Header {
			if name == "Authorization" || name == "Cookie" || strings.Contains(strings.Join(values, " "), caller.Token) {
				t.Errorf("%s was sent with %s: %q", hit.Hook.Event, name, values)
			}
		}
		if strings.Contains(string(hit.Body), caller.Token) {
			t.Errorf("%s holds the caller's token: %s", hit.Hook.Event, hit.Body)
		}
	}
}
