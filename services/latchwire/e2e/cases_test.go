package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// echoing is a partner whose command "do" completes with its input, and one
// that calls it, on a lock.
func echoing(t *testing.T) (caller, target *e2etest.Partner, lock string) {
	t.Helper()
	target = pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}}, func(w http.ResponseWriter, _ *http.Request, h e2etest.Hook) {
		e2etest.Complete(w, string(h.Data.Invocation.Input))
	})
	caller = pipeline.NewPartner(t, e2etest.Offers{}, nil)
	return caller, target, pipeline.NewLock(t, caller, target)
}

func invoked(h e2etest.Hook) bool { return h.Event == "extension.command_invoked" }

// S-16: look-up then insert would run two of them, or answer some with a 500.
func TestSixtyFourSimultaneousCallsWithOneKeyAreOneInvocation(t *testing.T) {
	t.Parallel()
	caller, target, lock := echoing(t)
	body := map[string]any{"input": map[string]any{"n": 1}, "idempotencyKey": e2etest.Key()}
	answers := make([]e2etest.Answer, 64)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			a, err := pipeline.Try(t.Context(), e2etest.Request{
				Base: pipeline.Base(i), Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/actions/"+target.Slug+".do"), Body: body,
			})
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
	}
	wg.Wait()
	ids := make(map[string]int)
	for _, a := range answers {
		inv := a.Invocation(t)
		if inv.Status != "completed" {
			t.Errorf("got %s, want completed", inv.Status)
		}
		ids[inv.InvocationID]++
	}
	if len(ids) != 1 {
		t.Errorf("got invocations %v, want one", ids)
	}
	if hits := target.Received(invoked); len(hits) != 1 {
		t.Errorf("the target was called %d times, want once", len(hits))
	}
}

// S-03, S-17: numbers keep every digit, keys may hold anything.
func TestInputsAndKeysOfAnyKindPassThrough(t *testing.T) {
	t.Parallel()
	caller, target, lock := echoing(t)
	for _, key := range []string{"chat-6731b2c4e5:turn-12", "a b", "a..b", ".a.", "*", ">", "ключ", "50%", "a/b", `"q"`, "\r\n", "😀"} {
		body := map[string]any{
			"input":          json.RawMessage(`{"id":9007199254740993,"f":12345678901234567890,"e":1.50}`),
			"idempotencyKey": key + e2etest.Key(),
		}
		inv := caller.Call(t, lock, target.Slug+".do", body).Invocation(t)
		if want := `{"id":9007199254740993,"f":12345678901234567890,"e":1.50}`; inv.Status != "completed" || string(inv.Result) != want {
			t.Errorf("key %q: got %s with %s, want completed with %s", key, inv.Status, inv.Result, want)
		}
		if again := caller.Call(t, lock, target.Slug+".do", body).Invocation(t); again.InvocationID != inv.InvocationID {
			t.Errorf("key %q again: got %s, want %s", key, again.InvocationID, inv.InvocationID)
		}
	}
}

// S-18: the first answer is never returned for another call.
func TestAKeyHoldsForOneCommandInputAndActor(t *testing.T) {
	t.Parallel()
	caller, target, lock := echoing(t)
	key := e2etest.Key()
	first := map[string]any{"input": json.RawMessage(`{"a":1,"b":[2]}`), "idempotencyKey": key}
	caller.Call(t, lock, target.Slug+".do", first).Invocation(t)
	same := map[string]any{"input": json.RawMessage(`{ "b":[2.0], "a":1 }`), "idempotencyKey": key}
	if a := caller.Call(t, lock, target.Slug+".do", same); a.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same value in other words: got HTTP %d %s, want a replay", a.Status, a.Body)
	}
	for name, call := range map[string]struct {
		command, field string
		body           map[string]any
	}{
		"another command": {"lock.add-time", "command", map[string]any{"input": map[string]any{"duration": 60}, "idempotencyKey": key}},
		"another input":   {target.Slug + ".do", "input", map[string]any{"input": map[string]any{"a": 2}, "idempotencyKey": key}},
		"another actor":   {target.Slug + ".do", "actor", map[string]any{"input": json.RawMessage(`{"a":1,"b":[2]}`), "idempotencyKey": key, "actor": "wearer"}},
	} {
		a := caller.Call(t, lock, call.command, call.body)
		if a.Status != http.StatusConflict || a.Code(t) != "idempotency-conflict" || !bytes.Contains(a.Body, []byte(`"field":"`+call.field+`"`)) {
			t.Errorf("%s: got HTTP %d %s, want 409 naming %s", name, a.Status, a.Body, call.field)
		}
	}
	if hits := target.Received(invoked); len(hits) != 1 {
		t.Errorf("the target was called %d times, want once", len(hits))
	}
}

// S-35: three decimals, always.
func TestEveryTimeHasThreeDecimals(t *testing.T) {
	t.Parallel()
	caller, target, lock := echoing(t)
	times := regexp.MustCompile(`"(?:createdAt|settledAt|sentAt)":"([^"]*)"`)
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	check := func(b []byte) {
		for _, m := range times.FindAllSubmatch(b, -1) {
			if !form.Match(m[1]) {
				t.Errorf("got time %s", m[1])
			}
		}
	}
	for range 40 {
		check(caller.Call(t, lock, target.Slug+".do", map[string]any{"idempotencyKey": e2etest.Key()}).Body)
	}
	for _, h := range target.Received(invoked) {
		check(h.Body)
	}
}

// S-19: a caller that hangs up loses nothing.
func TestACallerThatHangsUpFindsItsInvocation(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}), make(chan struct{})
	target := pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}}, func(w http.ResponseWriter, _ *http.Request, h e2etest.Hook) {
		if invoked(h) {
			close(arrived)
			<-answer
		}
		e2etest.Complete(w, `{}`)
	})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller, target)
	body := map[string]any{"idempotencyKey": e2etest.Key()}
	path := caller.Path(lock, "/actions/"+target.Slug+".do")
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := pipeline.Try(ctx, e2etest.Request{Token: caller.Token, Method: http.MethodPost, Path: path, Body: body})
		gone <- err
	}()
	<-arrived
	hangUp()
	if err := <-gone; err == nil {
		t.Error("the first call was answered before it was given up")
	}
	close(answer)
	inv := caller.Call(t, lock, target.Slug+".do", body).Invocation(t)
	if inv.Status != "completed" || len(target.Received(invoked)) != 1 {
		t.Errorf("got %s after %d calls, want completed after one", inv.Status, len(target.Received(invoked)))
	}
}

// S-22: what is too big is refused at the door, or settles; nothing is lost.
func TestBigInputsAndResultsAreJudged(t *testing.T) {
	t.Parallel()
	size := 0
	target := pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}}, func(w http.ResponseWriter, _ *http.Request, _ e2etest.Hook) {
		e2etest.Complete(w, `{"x":"`+strings.Repeat("y", size)+`"}`)
	})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller, target)
	call := func(input string) e2etest.Answer {
		body := `{"input":` + input + `,"idempotencyKey":"` + e2etest.Key() + `"}`
		return pipeline.Send(t, e2etest.Request{
			Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/actions/"+target.Slug+".do"), Body: []byte(body),
		})
	}
	if a := call(`{"x":"` + strings.Repeat("y", 1_500_000) + `"}`); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("1.5 MB in: got HTTP %d, want 413", a.Status)
	}
	if inv := call(`{"x":"` + strings.Repeat("<", 200_000) + `"}`).Invocation(t); inv.Status != "completed" {
		t.Errorf("200,000 times <: got %s, want completed", inv.Status)
	}
	size = 200_000
	if inv := call(`{}`).Invocation(t); inv.Status != "completed" || len(inv.Result) < size {
		t.Errorf("a result of 200,000 bytes: got %s with %d bytes", inv.Status, len(inv.Result))
	}
	size = 2_000_000
	if inv := call(`{}`).Invocation(t); inv.Status != "unknown" || inv.Error.Code != "invalid-response" {
		t.Errorf("a result of 2 MB: got %s, want unknown", inv.Status)
	}
}

// A target that hangs delays nobody: while far more calls than it has slots and
// places to wait are there for it, calls to another target complete.
func TestAHangingTargetDelaysNobody(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hanging := pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"do"}}, func(w http.ResponseWriter, r *http.Request, _ e2etest.Hook) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		e2etest.Complete(w, `{}`)
	})
	caller, target, lock := echoing(t)
	other := pipeline.NewLock(t, caller, hanging)
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			_, _ = pipeline.Try(t.Context(), e2etest.Request{ // its end is of no interest
				Base: pipeline.Base(i), Token: caller.Token, Method: http.MethodPost, Path: caller.Path(other, "/actions/"+hanging.Slug+".do"),
				Body: map[string]any{"idempotencyKey": e2etest.Key()},
			})
		})
	}
	e2etest.Eventually(t, "the hanging target is busy", func() bool { return len(hanging.Received(invoked)) >= 32 })
	for range 20 {
		inv := caller.Call(t, lock, target.Slug+".do", map[string]any{"idempotencyKey": e2etest.Key()}).Invocation(t)
		if inv.Status != "completed" {
			t.Fatalf("beside a hanging target: got %s, want completed", inv.Status)
		}
	}
	close(release)
	wg.Wait()
}

// S-25: money is decimal.
func TestSchemasOfStrangersJudgeExactly(t *testing.T) {
	t.Parallel()
	caller, target, lock := echoing(t)
	manifest := fmt.Sprintf(`{"commands":[{"id":"%s.pay","title":"Pay","description":"d","kind":"control","invocableBy":["extension"],
		"inputSchema":{"type":"object","properties":{"price":{"type":"number","multipleOf":0.01}}},"outputSchema":{"type":"object"}}]}`, target.Slug)
	a := pipeline.Send(t, e2etest.Request{Token: target.Token, Method: http.MethodPut, Path: "/api/extensions/" + target.Slug + "/manifest", Body: []byte(manifest)})
	if a.Status != http.StatusOK {
		t.Fatalf("publish: got HTTP %d %s", a.Status, a.Body)
	}
	call := func(price string) e2etest.Answer {
		return caller.Call(t, lock, target.Slug+".pay", map[string]any{"input": json.RawMessage(`{"price":` + price + `}`), "idempotencyKey": e2etest.Key()})
	}
	// The revision in force reaches every replica in moments, not at once.
	e2etest.Eventually(t, "the new command is offered", func() bool { return call("1").Status == http.StatusOK })
	for _, price := range []string{"0.94", "20.29", "19.99", "1070468.14", "1e2", "0.01"} {
		if a := call(price); a.Status != http.StatusOK {
			t.Errorf("price %s: got HTTP %d %s, want 200", price, a.Status, a.Body)
		}
	}
	if a := call("0.945"); a.Status != http.StatusBadRequest || !bytes.Contains(a.Body, []byte(`"instancePath":"/price"`)) {
		t.Errorf("price 0.945: got HTTP %d %s, want 400 at /price", a.Status, a.Body)
	}
}

// A delivery that fails is tried again, signed anew, with the same id and body.
func TestADeliveryIsRetriedUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tries := 0
	listener := pipeline.NewPartner(t, e2etest.Offers{Subscriptions: []string{"lock.time-changed"}}, func(w http.ResponseWriter, _ *http.Request, h e2etest.Hook) {
		mu.Lock()
		defer mu.Unlock()
		if h.Event == "lock_event.created" {
			tries++
			if tries == 1 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
		}
		w.WriteHeader(http.StatusOK)
	})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller, listener)
	caller.Call(t, lock, "lock.add-time", map[string]any{"input": map[string]any{"duration": 60}, "idempotencyKey": e2etest.Key()}).Invocation(t)
	event := func(h e2etest.Hook) bool { return h.Event == "lock_event.created" }
	e2etest.Within(t, 2*time.Minute, "the second try", func() bool { return len(listener.Received(event)) == 2 })
	first, second := listener.Received(event)[0], listener.Received(event)[1]
	if a, b := first.Header.Get("Webhook-Id"), second.Header.Get("Webhook-Id"); a == "" || a != b {
		t.Errorf("webhook-id: got %q then %q, want the event's both times", a, b)
	}
	if a, b := mustJSON(t, first.Hook), mustJSON(t, second.Hook); a != b {
		t.Errorf("body: got %s then %s", a, b)
	}
}
