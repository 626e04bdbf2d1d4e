package webhookworker_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// fails answers the first n requests with a status and the others with 200.
func fails(n, status int) func(http.ResponseWriter, call, int) {
	return func(w http.ResponseWriter, _ call, i int) {
		if i <= n {
			w.WriteHeader(status)
		}
	}
}

// reader starts a world with a worker and one extension on one lock, whose
// receiver answers as told.
func reader(t *testing.T, answer func(http.ResponseWriter, call, int)) (*world, *receiver, invocation.LockID) {
	t.Helper()
	w, r := newWorld(t), newReceiver(t, answer)
	w.extension("reader", r.url, "*")
	w.work(w.Platform, webhookworker.Config{})
	return w, r, w.lock(0, "reader")
}

// dead returns the delivery of an event to the reader that was given up, or nil.
func (w *world) dead(e invocation.Event) *ledger.DeadDelivery {
	w.t.Helper()
	s, err := w.Conn.JS.Stream(w.t.Context(), "DEAD")
	w.must(err)
	m, err := s.GetLastMsgForSubject(w.t.Context(), "dead.delivery.reader."+string(e.ID))
	if err != nil {
		return nil
	}
	var d ledger.DeadDelivery
	w.must(json.Unmarshal(m.Data, &d))
	return &d
}

func TestEachAttemptIsSignedWithEveryLiveSecret(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t, fails(1, 500))
	w.extension("reader", r.url, "*")
	first, second, expired := egress.NewSecret().Reveal(), egress.NewSecret().Reveal(), egress.NewSecret().Reveal()
	_, err := w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.Secrets = []registry.SigningSecret{
			{ID: "expired", Secret: expired, ExpiresAt: time.Now().Add(-time.Minute)},
			{ID: "first", Secret: first, ExpiresAt: time.Now().Add(24 * time.Hour)},
			{ID: "second", Secret: second},
		}
		return nil
	})
	w.must(err)
	w.work(w.Platform, webhookworker.Config{})
	w.emit(w.lock(0, "reader"), "lock", "lock.time-changed")
	w.eventually("two attempts", func() bool { return len(r.got()) == 2 })
	for i, c := range r.got() {
		for name, secret := range map[string]string{"first": first, "second": second, "expired": expired} {
			hook, err := standardwebhooks.NewWebhook(secret)
			w.must(err)
			if err := hook.Verify(c.body, c.header); (err == nil) != (name != "expired") {
				t.Errorf("attempt %d: got %v for the %s secret", i+1, err, name)
			}
			if err := hook.Verify(append([]byte(" "), c.body...), c.header); err == nil {
				t.Errorf("attempt %d: another body verifies", i+1)
			}
		}
	}
	newest, _ := standardwebhooks.NewWebhook(second)
	c := r.got()[0]
	at := time.Unix(0, 0)
	w.must(json.Unmarshal([]byte(c.header.Get("Webhook-Timestamp")), new(json.Number)))
	seconds, err := json.Number(c.header.Get("Webhook-Timestamp")).Int64()
	w.must(err)
	want, err := newest.Sign(c.id(), at.Add(time.Duration(seconds)*time.Second), c.body)
	w.must(err)
	if got := c.header.Get("Webhook-Signature"); !strings.HasPrefix(got, want+" ") {
		t.Errorf("got signatures %q, want the newest secret's first", got)
	}
}

func TestADeliveryIsTriedUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	w, r, id := reader(t, fails(4, 503))
	event := w.emit(id, "lock", "lock.time-changed")
	w.eventually("five attempts", func() bool { return len(r.got()) == 5 })
	w.settled()
	calls := r.got()
	if len(calls) != 5 {
		t.Fatalf("got %d attempts, want 5", len(calls))
	}
	first := parse(t, calls[0].body)
	requests := map[string]bool{}
	for i, c := range calls {
		valid(t, "webhook-lock-event", c.body)
		now := parse(t, c.body)
		requests[now.RequestID] = true
		if c.id() != string(event.ID) {
			t.Errorf("attempt %d: got webhook-id %q, want %q", i+1, c.id(), event.ID)
		}
		if i > 0 && now.SentAt <= parse(t, calls[i-1].body).SentAt {
			t.Errorf("attempt %d: got sentAt %q, want a later one", i+1, now.SentAt)
		}
		same := strings.NewReplacer(now.SentAt, first.SentAt, now.RequestID, first.RequestID).Replace(string(c.body))
		if same != string(calls[0].body) {
			t.Errorf("attempt %d: got another body: %s", i+1, c.body)
		}
	}
	if len(requests) != 5 {
		t.Errorf("got %d request ids, want 5", len(requests))
	}
	if !strings.Contains(string(calls[0].body), `"duration":1.50`) {
		t.Errorf("got %s, want the number as it was written", calls[0].body)
	}
	if d := w.dead(event); d != nil {
		t.Errorf("got a dead delivery: %+v", d)
	}
}

func TestADeliveryIsKeptAfterItsLastAttempt(t *testing.T) {
	t.Parallel()
	w, r, id := reader(t, fails(1000, 500))
	event := w.emit(id, "lock", "lock.time-changed")
	w.eventually("it is dead", func() bool { return w.dead(event) != nil })
	w.settled()
	d := w.dead(event)
	if got := len(r.got()); got != 5 || d.Delivery.Attempt != 5 {
		t.Errorf("got %d calls and attempt %d, want 5", got, d.Delivery.Attempt)
	}
	if want := "the receiver answered with status 500"; d.Reason != want || d.DiedAt == 0 {
		t.Errorf("got reason %q at %d, want %q", d.Reason, d.DiedAt, want)
	}
	chain, err := w.Ledger.Chain(t.Context(), event.ID)
	w.must(err)
	if last := chain[len(chain)-1]; last.Status != "dead" || last.Try != 5 {
		t.Errorf("got last link %+v, want it dead", last)
	}
}

func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	w, r, id := reader(t, fails(1, http.StatusGone))
	event := w.emit(id, "lock", "lock.time-changed")
	w.settled()
	e, err := w.Registry.Extension(t.Context(), "reader")
	w.must(err)
	if e.Listens() || w.dead(event) == nil {
		t.Errorf("got listening %t, dead %v", e.Listens(), w.dead(event))
	}
	second := w.emit(id, "lock", "lock.time-changed")
	w.settled()
	if got := len(r.got()); got != 1 || w.dead(second) != nil {
		t.Errorf("got %d calls, want the endpoint left alone", got)
	}
}

func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	w, r, id := reader(t, func(rw http.ResponseWriter, _ call, n int) {
		if n == 1 {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
		}
	})
	w.emit(id, "lock", "lock.time-changed")
	w.eventually("a second attempt", func() bool { return len(r.got()) == 2 })
	if calls := r.got(); calls[1].at.Sub(calls[0].at) < 900*time.Millisecond {
		t.Errorf("got the second attempt %s later, want the second that was asked for", calls[1].at.Sub(calls[0].at))
	}
}

func TestARedirectIsAFailure(t *testing.T) {
	t.Parallel()
	elsewhere := newReceiver(t, nil)
	w, r, id := reader(t, func(rw http.ResponseWriter, _ call, n int) {
		if n == 1 {
			rw.Header().Set("Location", elsewhere.url)
			rw.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	w.emit(id, "lock", "lock.time-changed")
	w.settled()
	if got := len(r.got()); got != 2 {
		t.Errorf("got %d attempts, want 2", got)
	}
	if got := len(elsewhere.got()); got != 0 {
		t.Errorf("got %d calls elsewhere, want none", got)
	}
}

func TestAnEventCountsAsSentBeforeItsReceiverIsCalled(t *testing.T) {
	t.Parallel()
	type seen struct {
		sent  ledger.Sent
		found bool
		err   error
	}
	w, id, got := newWorld(t), make(chan invocation.LockID, 1), make(chan seen, 8)
	r := newReceiver(t, func(http.ResponseWriter, call, int) {
		lock := <-id
		id <- lock
		s, found, err := w.Ledger.LastSent(w.t.Context(), "reader", lock)
		got <- seen{s, found, err}
	})
	w.extension("reader", r.url, "lock.time-changed")
	w.work(w.Platform, webhookworker.Config{})
	id <- w.lock(0, "reader")
	lock := <-id
	id <- lock
	event := w.emit(lock, "lock", "lock.time-changed")
	s := <-got
	if s.err != nil || !s.found || s.sent.Cause != event.Cause() {
		t.Errorf("got %+v, want the cause %+v", s, event.Cause())
	}
}

func TestNobodyIsToldWhoHasGone(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(w *world, id invocation.LockID){
		"the session ended": func(w *world, id invocation.LockID) {
			w.must(w.Registry.DeleteSession(w.t.Context(), w.session(id, "reader")))
		},
		"the extension was disabled": func(w *world, _ invocation.LockID) { w.disable("reader") },
		"the URL was taken away": func(w *world, _ invocation.LockID) {
			_, err := w.Registry.UpdateExtension(w.t.Context(), "reader", func(e *registry.Extension) error {
				e.WebhookURL = ""
				return nil
			})
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			var id invocation.LockID
			ready := make(chan struct{})
			w, r, id := reader(t, func(rw http.ResponseWriter, _ call, _ int) {
				<-ready
				leave(w, id)
				rw.WriteHeader(http.StatusInternalServerError)
			})
			close(ready)
			event := w.emit(id, "lock", "lock.time-changed")
			w.settled()
			if got := len(r.got()); got != 1 || w.dead(event) != nil {
				t.Errorf("got %d attempts, dead %v: want one and no more", got, w.dead(event))
			}
		})
	}
}
