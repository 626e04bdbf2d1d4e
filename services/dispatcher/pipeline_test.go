package dispatcher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
)

// gate returns a channel that open closes. A target that waits for it must be
// let go when its test fails.
func gate() (closed chan struct{}, open func()) {
	closed = make(chan struct{})
	return closed, sync.OnceFunc(func() { close(closed) })
}

// What an answer caused stands in the lock's log before the caller is woken,
// with its source and its place in the chain (contract section 8).
func TestCausedEventsStandBeforeTheCallerIsWoken(t *testing.T) {
	t.Parallel()
	x := newTarget(t, answers(200, `{"status":"completed","result":{},"events":[{"type":"probe.done","payload":{"n":1.0}},{"type":"probe.counted","payload":{"n":2}}]}`))
	s := newStand(t, platform.Config{}, x.URL)
	s.dispatch(t, dispatcher.Config{})
	l := s.lock(t)
	cause := platformtest.Event(t, s.p, l.ID, "caller", invocation.Chain{
		Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: 7, Starter: invocation.Starter{Extension: "other"},
	})
	for i := range 20 {
		c := s.call(t, l, "probe.echo", fmt.Sprint(i))
		c.Actor, c.Causation = invocation.ActorWearer, cause.ID
		inv := s.invoke(t, c)
		events := platformtest.Events(t, s.p, l.ID)[1:] // at once
		check(t, inv, invocation.Completed, "")
		if len(events) != 2*(i+1) {
			t.Fatalf("got %d events when call %d was answered, want %d", len(events), i, 2*(i+1))
		}
		e, err := s.p.Registry.Extension(t.Context(), "probe")
		if err != nil {
			t.Fatal(err)
		}
		for j, want := range []struct {
			kind    invocation.CapabilityID
			payload string
		}{{"probe.done", `{"n":1.0}`}, {"probe.counted", `{"n":2}`}} {
			got := events[2*i+j]
			if got.Type != want.kind || string(got.Payload) != want.payload ||
				got.Source != (invocation.Source{Extension: "probe", Partner: e.ID, Invocation: inv.ID, Actor: invocation.ActorWearer}) ||
				got.Chain != (invocation.Chain{Causation: inv.ID, Correlation: cause.Chain.Correlation, Depth: 9, Starter: cause.Chain.Starter}) {
				t.Errorf("got %+v", got)
			}
		}
	}
}

// Events of an admitted call are recorded also when the lock has ended since
// (contract section 6).
func TestEventsOfAnAdmittedCallAreAlwaysRecorded(t *testing.T) {
	t.Parallel()
	var s *stand
	var l platformtest.Lock
	x := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		platformtest.Finish(t, s.p, l.ID)
		answers(200, `{"status":"completed","result":{},"events":[{"type":"probe.done","payload":{}}]}`)(w, r)
	})
	s = newStand(t, platform.Config{}, x.URL)
	l = s.lock(t)
	s.dispatch(t, dispatcher.Config{})
	inv := s.invoke(t, s.call(t, l, "probe.echo", "k"))
	check(t, inv, invocation.Completed, "")
	if n := len(platformtest.Events(t, s.p, l.ID)); n != 1 {
		t.Errorf("got %d events, want one", n)
	}
	if snap, err := s.p.Ledger.Lock(t.Context(), l.ID); err != nil || snap.State.Status != lock.Finished {
		t.Errorf("got the lock %s, %v; want it finished", snap.State.Status, err)
	}
}

// applied returns the transitions that an invocation made.
func (s *stand) applied(tb testing.TB, inv invocation.Invocation) []ledger.Entry {
	tb.Helper()
	entries, _, err := s.p.Ledger.History(tb.Context(), inv.Lock, 0, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	var out []ledger.Entry
	for _, e := range entries {
		if e.Applied == inv.ID {
			out = append(out, e)
		}
	}
	return out
}

// end returns when a lock ends.
func (s *stand) end(tb testing.TB, id invocation.LockID) time.Time {
	tb.Helper()
	snap, err := s.p.Ledger.Lock(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	return snap.State.EndDate
}

func TestBuiltInsRunOnce(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, "https://probe.example/")
	for range 2 {
		s.dispatch(t, dispatcher.Config{})
	}
	l := s.lock(t)
	before := s.end(t, l.ID)
	c := s.call(t, l, "lock.add-time", "k")
	c.Input, c.Actor = []byte(`{"duration":3600}`), invocation.ActorKeyholder
	inv := s.invoke(t, c)
	check(t, inv, invocation.Completed, "")
	if string(inv.Result) != "{}" || !s.end(t, l.ID).Equal(before.Add(time.Hour)) {
		t.Errorf("got the result %s and the end moved by %s, want {} and an hour", inv.Result, s.end(t, l.ID).Sub(before))
	}
	entries := s.applied(t, inv)
	if len(entries) != 1 || len(entries[0].History) != 1 || entries[0].History[0].Actor != invocation.ActorKeyholder || entries[0].History[0].Extension != "caller" {
		t.Fatalf("got %+v, want one transition with one line that names who acted", entries)
	}
	events := entries[0].Committed()
	if len(events) != 1 || events[0].Type != "lock.time-changed" || string(events[0].Payload) != `{"duration":3600}` ||
		events[0].Source != (invocation.Source{Extension: "lock", Invocation: inv.ID, Actor: invocation.ActorKeyholder}) || events[0].Chain != inv.Caused() {
		t.Errorf("got %+v", events)
	}
	// Many at once on one lock: each moves the end, once.
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			c := s.call(t, l, "lock.add-time", fmt.Sprint("many", i))
			c.Input = []byte(`{"duration":60}`)
			check(t, s.invoke(t, c), invocation.Completed, "")
		})
	}
	wg.Wait()
	if got := s.end(t, l.ID).Sub(before); got != time.Hour+40*time.Minute {
		t.Errorf("got the end moved by %s, want 1h40m", got)
	}
}

// A command that the lock refuses by now is rejected, and changes nothing.
func TestBuiltInsRefuse(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, "https://probe.example/")
	l := s.lock(t)
	snap, err := s.p.Ledger.Lock(t.Context(), l.ID)
	if err != nil {
		t.Fatal(err)
	}
	limit := snap.State.EndDate.Add(time.Minute)
	snap.State.MaxDate = &limit
	platformtest.Transit(t, s.p, l.ID, ledger.Transition{State: snap.State})
	c := s.call(t, l, "lock.add-time", "beyond")
	c.Input = []byte(`{"duration":61}`)
	freeze := s.call(t, l, "lock.freeze", "freeze")
	beyond, first := s.record(t, c), s.record(t, freeze)
	freeze.Key = "again"
	second := s.record(t, freeze) // both were admitted: the lock was not frozen yet
	s.dispatch(t, dispatcher.Config{})
	check(t, s.settled(t, beyond), invocation.Rejected, lock.BeyondMaxDate)
	first, second = s.settled(t, first), s.settled(t, second)
	if first.Status == second.Status || first.Status != invocation.Completed && second.Status != invocation.Completed {
		t.Errorf("got %s and %s, want one completed and one rejected", first.Status, second.Status)
	}
	for _, inv := range []invocation.Invocation{beyond, first, second} {
		now := s.settled(t, inv)
		if n := len(s.applied(t, now)); (n == 1) != (now.Status == invocation.Completed) || n > 1 {
			t.Errorf("got %d transitions by a call that is %s", n, now.Status)
		}
		if now.Status == invocation.Rejected && (now.Error.Message == "" || now.Result != nil) {
			t.Errorf("got %+v", now)
		}
	}
}

// A target that hangs, with more calls than it has slots and places to wait,
// delays nobody else, and gets every call once in the end (design section 3).
func TestAHangingTargetDelaysNobody(t *testing.T) {
	t.Parallel()
	release, open := gate()
	hangs := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answers(200, completedEmpty)(w, r)
	})
	defer open()
	good := newTarget(t, answers(200, completedEmpty))
	cfg := platform.Config{}
	cfg.Egress.Timeout = within
	s := newStand(t, cfg, good.URL)
	s.target(t, "hangs", hangs.URL)
	l := s.lock(t, "hangs")
	s.dispatch(t, dispatcher.Config{Slots: 2, Line: 3})
	var stuck []invocation.Invocation
	for i := range 12 {
		stuck = append(stuck, s.record(t, s.call(t, l, "hangs.echo", fmt.Sprint("stuck", i))))
	}
	brokertest.Eventually(t, within, "the target hangs", func() bool { return hangs.total() == 2 })
	for i := range 20 {
		check(t, s.invoke(t, s.call(t, l, "probe.echo", fmt.Sprint(i))), invocation.Completed, "")
	}
	c := s.call(t, l, "lock.add-time", "add")
	c.Input = []byte(`{"duration":60}`)
	check(t, s.invoke(t, c), invocation.Completed, "")
	if n := hangs.total(); n != 2 {
		t.Errorf("got %d requests at the target that hangs, want its two slots", n)
	}
	open()
	for _, inv := range stuck {
		check(t, s.settled(t, inv), invocation.Completed, "")
		if n := hangs.hitsOf(inv.ID); n != 1 {
			t.Errorf("got %d requests for one call, want one", n)
		}
	}
	if n := s.dead(t); n != 0 {
		t.Errorf("got %d messages given up: a hand-back is no failure", n)
	}
}

// A dispatcher that is stopped lets the calls under way finish and hands back
// those that wait; nothing is interrupted.
func TestDraining(t *testing.T) {
	t.Parallel()
	release, open := gate()
	x := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answers(200, completedEmpty)(w, r)
	})
	defer open()
	s := newStand(t, platform.Config{}, x.URL)
	l := s.lock(t)
	stop := s.dispatch(t, dispatcher.Config{Slots: 2, Line: 10})
	var calls []invocation.Invocation
	for i := range 8 {
		calls = append(calls, s.record(t, s.call(t, l, "probe.echo", fmt.Sprint(i))))
	}
	brokertest.Eventually(t, within, "the slots are taken", func() bool { return x.total() == 2 })
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	s.dispatch(t, dispatcher.Config{Slots: 4, Line: 10})
	brokertest.Eventually(t, within, "the other takes over those that waited", func() bool { return x.total() == 6 })
	select {
	case err := <-stopped:
		t.Errorf("the first has stopped with its calls under way: %v", err)
	default:
	}
	open()
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	for _, inv := range calls {
		check(t, s.settled(t, inv), invocation.Completed, "")
		if n := x.hitsOf(inv.ID); n != 1 {
			t.Errorf("got %d requests for one call, want one", n)
		}
	}
}

// Requests that the server delivers again and again while their target takes
// its time reach it once (S-20, SEC-114).
func TestRedeliveredRequestsReachTheTargetOnce(t *testing.T) {
	t.Parallel()
	release, open := gate()
	x := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answers(200, `{"status":"completed","result":{},"events":[{"type":"probe.done","payload":{}}]}`)(w, r)
	})
	defer open()
	cfg := platform.Config{Ledger: ledger.Config{AckWait: time.Second}}
	cfg.Egress.Timeout = within
	s := newStand(t, cfg, x.URL)
	l := s.lock(t)
	// These never tell the server that they are still at work.
	silent := s.With(func(c *platform.Config) { c.Ledger.AckWait = time.Hour })
	for range 2 {
		started(t, silent.Open(t), dispatcher.Config{})
	}
	var calls []invocation.Invocation
	for i := range 30 {
		calls = append(calls, s.record(t, s.call(t, l, "probe.echo", fmt.Sprint(i))))
	}
	consumer, err := s.p.Conn.JS.Consumer(t.Context(), ledger.InvocationStream(0), ledger.DispatchConsumer)
	if err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, within, "all are delivered twice", func() bool {
		info, err := consumer.Info(t.Context())
		return err == nil && info.Delivered.Consumer >= 60 && x.total() == 30
	})
	open()
	for _, inv := range calls {
		check(t, s.settled(t, inv), invocation.Completed, "")
		if n := x.hitsOf(inv.ID); n != 1 {
			t.Errorf("got %d requests for one call, want one", n)
		}
	}
	brokertest.Eventually(t, within, "each event stands", func() bool { return len(platformtest.Events(t, s.p, l.ID)) >= 30 })
	brokertest.Eventually(t, within, "the queue is empty", func() bool { return s.done(t) })
	if n := len(platformtest.Events(t, s.p, l.ID)); n != 30 {
		t.Errorf("got %d events, want each once", n)
	}
}

// A second worker that gets hold of the request while the first calls settles
// nothing over its head, and what is settled first stands.
func TestTheFirstSettlementStands(t *testing.T) {
	t.Parallel()
	called := make(chan struct{})
	release, open := gate()
	defer open()
	s := newStand(t, platform.Config{}, "https://probe.example/")
	s.calling(t, func(context.Context, invocation.Invocation) invocation.Outcome {
		close(called)
		<-release
		return invocation.Completes(nil, invocation.Emission{Type: "probe.done", Payload: json.RawMessage("{}")})
	})
	l := s.lock(t)
	inv := s.record(t, s.call(t, l, "probe.echo", "k"))
	<-called
	standing, err := s.p.Ledger.Standing(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	other := inv.Settle(invocation.LeavesUnknown(invocation.DispatchInterrupted), s.p.Ledger.Now())
	if err := s.p.Ledger.Settle(t.Context(), standing.Claim, other, nil); err != nil {
		t.Fatal(err)
	}
	woken, done, err := s.p.Ledger.AwaitAnywhere(inv.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	open()
	for what, got := range map[string]invocation.Invocation{"the wake-up": <-woken, "the record": s.settled(t, inv)} {
		if check(t, got, invocation.Unknown, invocation.DispatchInterrupted); !got.SettledAt.Equal(other.SettledAt) {
			t.Errorf("%s: got %+v, want what was settled first", what, got)
		}
	}
	brokertest.Eventually(t, within, "the request is done", func() bool { return s.done(t) })
	if n := len(platformtest.Events(t, s.p, l.ID)); n != 0 {
		t.Errorf("got %d events of an answer that came too late", n)
	}
}
