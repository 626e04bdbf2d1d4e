package webhookworker_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

func TestEventsReachThoseWhoSubscribed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all, exact, others, self, off, away := newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil),
		newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
	w.extension("all", all.url, "*")
	w.extension("exact", exact.url, "self.done")
	w.extension("others", others.url, "dice.*", "self.undone")
	w.extension("self", self.url, "*")
	w.extension("off", off.url, "*")
	w.extension("silent", "", "*")
	w.extension("away", away.url, "*")
	w.disable("off")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(1, "all", "exact", "others", "self", "off", "silent")
	event := w.emit(id, "self", "self.done")
	w.eventually("both got the event", func() bool { return len(all.got()) > 0 && len(exact.got()) > 0 })
	w.settled()

	for name, r := range map[invocation.Slug]*receiver{"all": all, "exact": exact} {
		calls := r.got()
		if len(calls) != 1 {
			t.Fatalf("%s: got %d calls, want 1", name, len(calls))
		}
		c := calls[0]
		valid(t, "webhook-lock-event", c.body)
		if c.event() != "lock_event.created" || c.id() != string(event.ID) || c.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got headers %v", name, c.header)
		}
		if user, password, _ := (&http.Request{Header: c.header}).BasicAuth(); user != "user-"+string(name) || password != "password" {
			t.Errorf("%s: got credentials %q %q", name, user, password)
		}
		body := parse(t, c.body)
		if body.Data.SessionID != string(w.session(id, name)) || body.Data.LockID != string(id) || body.Event != c.event() {
			t.Errorf("%s: got %s", name, c.body)
		}
		sameJSON(t, body.Data.LockEvent, wire.NewEvent(event))
	}
	for name, r := range map[string]*receiver{"others": others, "self": self, "off": off, "away": away} {
		if got := r.got(); len(got) != 0 {
			t.Errorf("%s: got %d calls, want none: %s", name, len(got), got[0].body)
		}
	}
}

func TestHistoryLinesReachEveryPartner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := newReceiver(t, nil), newReceiver(t, nil)
	w.register("one", one.url) // it has no manifest, and needs none for this
	w.extension("two", two.url, "*")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "one", "two")
	entry := w.change(id, func(s lock.State) ledger.Transition {
		return ledger.Transition{
			State: s, At: time.Now(), Source: invocation.Source{Extension: "lock", Invocation: "65f0c0ffee65f0c0ffee65f0", Actor: "wearer"},
			Refused: &invocation.Failure{Code: "beyond-max-date", Message: "no"},
			History: []invocation.HistoryLine{
				{Type: "time_changed", Extension: "one", Actor: "wearer", Payload: json.RawMessage(`{"duration":60}`)},
				{Type: "extension_blocked", Actor: "system"},
			},
		}
	})
	w.eventually("both got both lines", func() bool { return len(one.got()) == 2 && len(two.got()) == 2 })
	w.settled()

	for name, r := range map[invocation.Slug]*receiver{"one": one, "two": two} {
		lines := make(map[string]call)
		for _, c := range r.events("action_log.created") {
			lines[c.id()] = c
		}
		for i := range entry.History {
			c, found := lines[string(entry.HistoryID(i))]
			if !found {
				t.Fatalf("%s: got no line %s", name, entry.HistoryID(i))
			}
			valid(t, "webhook-action-log", c.body)
			body := parse(t, c.body)
			if body.Data.SessionID != string(w.session(id, name)) || body.Data.LockEvent != nil {
				t.Errorf("%s: got %s", name, c.body)
			}
			sameJSON(t, body.Data.ActionLog, wire.NewHistoryLine(entry, i))
		}
		if _, sent, err := w.Ledger.LastSent(t.Context(), name, id); sent || err != nil {
			t.Errorf("%s: got sent %t, %v: a history line is no cause", name, sent, err)
		}
	}
}

func TestAnEventAndItsDeliveriesAreInItsChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, func(rw http.ResponseWriter, _ call, n int) {
		if n == 1 {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	w.extension("reader", r.url, "*")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "reader")
	event := w.emit(id, "lock", "lock.time-changed")
	want := []ledger.Link{
		{Kind: ledger.EventLink, ID: event.ID, Lock: id},
		{Kind: ledger.DeliveryLink, ID: event.ID, Lock: id, Extension: "reader", Status: "pending", Try: 1},
		{Kind: ledger.DeliveryLink, ID: event.ID, Lock: id, Extension: "reader", Status: "delivered", Try: 2},
	}
	var got []ledger.Link
	w.eventually("the chain is whole", func() bool {
		var err error
		got, err = w.Ledger.Chain(t.Context(), event.ID)
		w.must(err)
		return len(got) == len(want)
	})
	for i, link := range got {
		if (link.At == 0) != (link.Kind == ledger.EventLink) {
			t.Errorf("got time %d of link %d", link.At, i)
		}
		link.At = 0
		if link != want[i] {
			t.Errorf("got link %+v, want %+v", link, want[i])
		}
	}
}

func TestAnExtensionThatCannotBeReadCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	w.extension("reader", r.url, "*")
	w.extension("broken", r.url, "*")
	e, err := w.Registry.Extension(t.Context(), "broken")
	w.must(err)
	_, err = w.Registry.PublishManifest(t.Context(), e, registry.Manifest{Document: json.RawMessage(`[]`), At: time.Now()})
	w.must(err)
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "reader", "broken")
	event := w.emit(id, "lock", "lock.time-changed")
	w.eventually("the reader got the event", func() bool { return len(r.got()) == 1 })
	if got := parse(t, r.got()[0].body); got.Data.SessionID != string(w.session(id, "reader")) {
		t.Errorf("got session %s, want the reader's; event %s", got.Data.SessionID, event.ID)
	}
}

// disable switches an extension off, as an operator does.
func (w *world) disable(slug invocation.Slug) {
	w.t.Helper()
	_, err := w.Registry.UpdateExtension(w.t.Context(), slug, func(e *registry.Extension) error {
		e.Disabled = true
		return nil
	})
	w.must(err)
}

// session returns the session of an extension on a lock.
func (w *world) session(id invocation.LockID, slug invocation.Slug) invocation.SessionID {
	w.t.Helper()
	s, err := w.Ledger.Lock(w.t.Context(), id)
	w.must(err)
	session, _ := s.State.SessionOf(slug)
	return session
}

// sameJSON compares what was sent with the wire form of what happened.
func sameJSON(t *testing.T, got json.RawMessage, want any) {
	t.Helper()
	raw, err := wire.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %s, want %s", got, raw)
	}
}
