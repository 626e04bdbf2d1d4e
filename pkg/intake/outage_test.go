package intake_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
)

// Without NATS every call is refused with service-unavailable and leaves
// nothing; when NATS is back the same process admits again (contract section 9,
// SEC-88).
func TestWithoutTheBrokerNothingIsAdmitted(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	s := newStand(t, platform.Config{
		Broker: broker.Config{URL: node.URL, Timeout: time.Second},
		Ledger: ledger.Config{Patience: 500 * time.Millisecond},
	}, intake.Config{Wait: short})
	l := s.lock(t)
	event := intake.Emission{Caller: s.on(t, l, "probe"), Type: "probe.done", Payload: []byte("{}"), Key: "e"}
	before := s.invoke(t, s.echo(t, l, "before"))
	calls, caller := []intake.Call{s.echo(t, l, "before"), s.echo(t, l, "while away")}, s.on(t, l, "caller")

	node.Stop()
	for _, c := range calls {
		_, err := s.in.Invoke(t.Context(), c)
		if e := refusal(t, err, invocation.ServiceUnavailable); e.RetryAfter <= 0 || e.Error() != "service-unavailable" {
			t.Errorf("got %q, retry after %s; want no internals and when to try again", e.Error(), e.RetryAfter)
		}
	}
	_, err := s.in.Emit(t.Context(), event)
	_ = refusal(t, err, invocation.ServiceUnavailable)
	_, err = s.in.Invocation(t.Context(), caller, before.Invocation.ID)
	_ = refusal(t, err, invocation.ServiceUnavailable)

	node.Start(t)
	brokertest.Eventually(t, 30*time.Second, "NATS is back", func() bool { return s.p.Conn.Check(t.Context()) == nil })
	s.mustNotStand(t, calls[1])
	if a := s.invoke(t, calls[1]); a.Replayed {
		t.Error("the refused call was recorded")
	}
	if a := s.invoke(t, calls[0]); !a.Replayed || a.Invocation.ID != before.Invocation.ID {
		t.Errorf("got %+v, want the call from before", a)
	}
	if _, err := s.in.Emit(t.Context(), event); err != nil {
		t.Errorf("emit: %v", err)
	}
}

// NATS may go away between the limits and the record.
func TestTheBrokerGoesAwayWhileACallIsRecorded(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	s := newStand(t, platform.Config{
		Broker: broker.Config{URL: node.URL, Timeout: time.Second},
		Ledger: ledger.Config{Patience: 500 * time.Millisecond},
	}, intake.Config{Wait: short})
	l := s.lock(t)
	in := door(s.p, intake.Config{Wait: short, Record: func(ctx context.Context, r ledger.Request) (invocation.Invocation, bool, error) {
		node.Stop()
		return s.p.Ledger.Record(ctx, r)
	}})
	c := s.echo(t, l, "k")
	_, err := in.Invoke(t.Context(), c)
	_ = refusal(t, err, invocation.ServiceUnavailable)
	node.Start(t)
	brokertest.Eventually(t, 30*time.Second, "NATS is back", func() bool { return s.p.Conn.Check(t.Context()) == nil })
	var a intake.Answer
	brokertest.Eventually(t, 30*time.Second, "calls are admitted again", func() bool {
		a, err = s.in.Invoke(t.Context(), c)
		return err == nil
	})
	if a.Replayed || a.Invocation.Status != invocation.Pending {
		t.Errorf("got %+v, want a first call", a)
	}
}

// A partition that is nearly full takes nothing new, so that what was admitted
// still finds a place to settle; a refused call has cost nothing (design
// section 8).
func TestANearlyFullStoreAdmitsNothing(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, platform.Config{Ledger: ledger.Config{
			Partitions: 1, MaxBytes: 1 << 20, Limits: invocation.Limits{Extension: invocation.Limit{Max: 1, Window: 24 * time.Hour}},
		}}, intake.Config{Wait: short})
		l := s.lock(t)
		stream, err := s.p.Conn.JS.Stream(t.Context(), ledger.InvocationStream(0))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			if _, err := s.p.Conn.JS.Publish(t.Context(), "inv.0.em."+strconv.Itoa(i), make([]byte, 100_000)); err != nil {
				t.Fatal(err)
			}
		}
		pass(3 * time.Second)
		c := s.echo(t, l, "k")
		_, err = s.in.Invoke(t.Context(), c)
		if e := refusal(t, err, invocation.ServiceUnavailable); e.RetryAfter <= 0 {
			t.Error("got no time to try again")
		}
		_, err = s.in.Emit(t.Context(), intake.Emission{Caller: s.on(t, l, "probe"), Type: "probe.done", Payload: []byte("{}")})
		_ = refusal(t, err, invocation.ServiceUnavailable)
		if err := stream.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		if a := s.invoke(t, c); a.Replayed {
			t.Error("the refused call was recorded")
		}
	})
}
