package ledger_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// newDelivery returns a first try to deliver an event.
func newDelivery(on invocation.LockID, seq invocation.Seq) ledger.Delivery {
	e := eventAt(on, seq)
	e.CreatedAt = invocation.Instant(time.Now())
	return ledger.NewEventDelivery(e, invocation.Party{Slug: "a", Session: "ses_a"}, json.RawMessage(`{"big":9007199254740993,"<":"&"}`))
}

// fetch takes deliveries off the queue until the time is up or n came.
func fetch(t *testing.T, c *broker.Conn, n int, wait time.Duration) []jetstream.Msg {
	t.Helper()
	cons, err := c.JS.Consumer(t.Context(), ledger.DeliveryStream(0), ledger.DeliverConsumer)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cons.Fetch(n, jetstream.FetchMaxWait(wait))
	if err != nil {
		t.Fatal(err)
	}
	var all []jetstream.Msg
	for m := range batch.Messages() {
		all = append(all, m)
		if err := m.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// asDelivered turns a fetched message into what a handler sees.
func asDelivered(m jetstream.Msg) broker.Delivery {
	return broker.Delivery{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()}
}

func enqueue(t *testing.T, l *ledger.Ledger, trace map[string][]string, all ...ledger.Delivery) error {
	t.Helper()
	w, err := l.Enqueue(trace, all...)
	return errors.Join(err, w.Wait(t.Context()))
}

func TestEnqueueStoresEachAttemptOnce(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := invocation.NewLockID(0)
	first, second := newDelivery(on, 16), newDelivery(on, 32)
	again := first
	again.Attempt = 2
	elsewhere := first
	elsewhere.Lock = invocation.NewLockID(0)
	trace := map[string][]string{"traceparent": {"00-x"}, "Nats-TTL": {"1s"}}
	for range 3 {
		if err := enqueue(t, env.Ledger, trace, first, second, again, elsewhere); err != nil {
			t.Fatal(err)
		}
	}
	got := fetch(t, env.Conn, 10, time.Second)
	if len(got) != 4 {
		t.Fatalf("got %d deliveries, want 4", len(got))
	}
	for i, want := range []ledger.Delivery{first, second, again, elsewhere} {
		d, err := ledger.ParseDelivery(asDelivered(got[i]))
		if err != nil || !sameDelivery(d, want) {
			t.Errorf("got %+v, %v; want %+v", d, err, want)
		}
		if h := got[i].Headers(); h.Get("traceparent") != "00-x" || h.Get("Nats-TTL") != "" {
			t.Errorf("got the headers %v, want the trace alone", h)
		}
	}
	if e := first.Event(); e.ID != eventAt(on, 16).ID || e.Lock != on || e.Chain.Correlation != "dddddddddddddddddddddddd" {
		t.Errorf("got the event %+v of a delivery", e)
	}
	if err := enqueue(t, env.Ledger, nil); err != nil {
		t.Errorf("none at all: %v", err)
	}
}

func sameDelivery(a, b ledger.Delivery) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y) && string(a.Body) == string(b.Body)
}

func TestParseDeliveryRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	d := newDelivery(invocation.NewLockID(0), 16)
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		subject string
		data    []byte
		ok      bool
	}{
		"fitting":         {ledger.DeliverySubject(d), data, true},
		"another subject": {ledger.DeliverySubject(newDelivery(d.Lock, 32)), data, false},
		"a schedule's":    {ledger.ScheduleSubject(d), data, false},
		"no JSON":         {ledger.DeliverySubject(d), []byte("x"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ledger.ParseDelivery(broker.Delivery{Subject: tc.subject, Data: tc.data}); (err == nil) != tc.ok {
				t.Errorf("got %v, want fine %v", err, tc.ok)
			}
		})
	}
}

// A schedule fires with less than a second's precision and never early.
func TestScheduleFires(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on := invocation.NewLockID(0)
		now := one.Ledger.Now()
		due := map[string]time.Time{}
		for i, wait := range []time.Duration{-time.Hour, 350 * time.Millisecond, 1725 * time.Millisecond} {
			d := newDelivery(on, invocation.Seq(16*(i+1)))
			due[d.ID] = now.Add(wait)
			if err := one.Ledger.Schedule(t.Context(), map[string][]string{"traceparent": {"00-x"}}, d, now.Add(wait)); err != nil {
				t.Fatal(err)
			}
		}
		for len(due) > 0 {
			got := fetch(t, other.Conn, 1, within)
			if len(got) == 0 {
				t.Fatalf("got nothing more, want %d", len(due))
			}
			d, err := ledger.ParseDelivery(asDelivered(got[0]))
			if err != nil {
				t.Fatal(err)
			}
			if early := due[d.ID].Sub(other.Ledger.Now()); early > 20*time.Millisecond {
				t.Errorf("got %s %v early", d.ID, early)
			}
			if due[d.ID].IsZero() || got[0].Headers().Get("traceparent") != "00-x" {
				t.Errorf("got %s with %v, want each once with its trace", d.ID, got[0].Headers())
			}
			delete(due, d.ID)
		}
	})
}

func TestScheduleIsReplaced(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	d := newDelivery(invocation.NewLockID(0), 16)
	later := d
	later.Attempt = 2
	now := env.Ledger.Now()
	if err := env.Ledger.Schedule(t.Context(), nil, d, now.Add(500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := env.Ledger.Schedule(t.Context(), nil, later, now.Add(1500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	got := fetch(t, env.Conn, 2, 4*time.Second)
	if len(got) != 1 {
		t.Fatalf("got %d deliveries, want the second alone", len(got))
	}
	if d, err := ledger.ParseDelivery(asDelivered(got[0])); err != nil || d.Attempt != 2 {
		t.Errorf("got attempt %d, %v; want 2", d.Attempt, err)
	}
}

func TestScheduleSurvivesARestart(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	env := ledgertest.On(t, brokertest.ConnectURL(t, n.URL), small())
	soon, late := newDelivery(invocation.NewLockID(0), 16), newDelivery(invocation.NewLockID(0), 32)
	for d, wait := range map[string]time.Duration{soon.ID: time.Second, late.ID: 4 * time.Second} {
		what := soon
		if d == late.ID {
			what = late
		}
		if err := env.Ledger.Schedule(t.Context(), nil, what, env.Ledger.Now().Add(wait)); err != nil {
			t.Fatal(err)
		}
	}
	n.Stop()
	n.Start(t)
	brokertest.Eventually(t, within, "JetStream is back", func() bool {
		_, err := env.Conn.JS.Consumer(t.Context(), ledger.DeliveryStream(0), ledger.DeliverConsumer)
		return err == nil
	})
	var ids []string
	brokertest.Eventually(t, within, "both come", func() bool {
		for _, m := range fetch(t, env.Conn, 2, 500*time.Millisecond) {
			d, err := ledger.ParseDelivery(asDelivered(m))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, d.ID)
		}
		return len(ids) >= 2
	})
	if ids[0] != soon.ID || ids[1] != late.ID {
		t.Errorf("got %v, want the sooner one first", ids)
	}
}

func TestDeadDeliveriesAreKept(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := invocation.NewLockID(0)
	var all []ledger.Delivery
	for i := range 5 {
		d := newDelivery(on, invocation.Seq(16*(i+1)))
		if i%2 == 1 {
			d.Extension = "b-c"
		}
		d.Attempt = 5
		all = append(all, d)
		for range 2 { // keeping again is no second one
			if err := env.Ledger.KeepDead(t.Context(), d, "no answer "+strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, more, err := env.Ledger.Dead(t.Context(), ledger.DeadQuery{Extension: "a", Limit: 2})
	if err != nil || !more || len(found) != 2 || !sameDelivery(found[0].Delivery, all[0]) || found[1].Reason != "no answer 2" {
		t.Fatalf("got %+v, more %v, %v", found, more, err)
	}
	found, more, err = env.Ledger.Dead(t.Context(), ledger.DeadQuery{Extension: "a", Limit: 2, After: found[1].Seq})
	if err != nil || more || len(found) != 1 || found[0].Delivery.ID != all[4].ID {
		t.Errorf("got %+v, more %v, %v; want the last", found, more, err)
	}
	corpse, err := env.Ledger.DeadByID(t.Context(), ledger.DeadID(all[1]))
	if err != nil || !sameDelivery(corpse.Delivery, all[1]) || corpse.DiedAt == 0 {
		t.Errorf("got %+v, %v; want the second", corpse, err)
	}
	for _, id := range []string{"", "a", "*", "a-" + all[1].ID, "b-c-*", "b-c-" + all[1].ID + ".x"} {
		_, err := env.Ledger.DeadByID(t.Context(), id)
		wantCode(t, err, invocation.ResourceNotFound)
	}
	for range 2 { // reviving what was revived is at least once, too
		if err := env.Ledger.Revive(t.Context(), corpse); err != nil {
			t.Fatal(err)
		}
	}
	_, err = env.Ledger.DeadByID(t.Context(), ledger.DeadID(all[1]))
	wantCode(t, err, invocation.ResourceNotFound)
	got := fetch(t, env.Conn, 1, within)
	if d, err := ledger.ParseDelivery(asDelivered(got[0])); err != nil || d.ID != all[1].ID || d.Attempt != 1 {
		t.Errorf("got %+v, %v; want it again from its first try", d, err)
	}
}
