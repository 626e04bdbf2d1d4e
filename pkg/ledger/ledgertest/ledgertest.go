package ledgertest

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
	"github.com/latchwire/latchwire/pkg/lock"
)

// An Env is a ledger and a registry on one connection, as a replica has them.
type Env struct {
	Conn     *broker.Conn
	Ledger   *ledger.Ledger
	Registry *registry.Registry
}

// New starts a server of its own, applies the topology and returns a replica.
func New(tb testing.TB, cfg ledger.Config) Env {
	tb.Helper()
	return On(tb, brokertest.Start(tb), cfg)
}

// Two is New with two replicas on the server, each with its own connection.
func Two(tb testing.TB, cfg ledger.Config) (one, other Env) {
	tb.Helper()
	s := brokertest.StartServer(tb)
	return On(tb, brokertest.Connect(tb, s), cfg), On(tb, brokertest.Connect(tb, s), cfg)
}

// On applies the topology over a connection and returns a replica that uses it.
func On(tb testing.TB, c *broker.Conn, cfg ledger.Config) Env {
	tb.Helper()
	if err := ledger.Topology(cfg).Apply(tb.Context(), c.JS); err != nil {
		tb.Fatalf("apply the topology: %v", err)
	}
	log := slog.New(slog.DiscardHandler)
	l, err := ledger.Open(tb.Context(), c, cfg, log)
	if err != nil {
		tb.Fatalf("open the ledger: %v", err)
	}
	r, err := registry.Open(tb.Context(), c, sealed.Keys{}, log)
	if err != nil {
		tb.Fatalf("open the registry: %v", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{l.Run, r.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				tb.Errorf("run: %v", err)
			}
		})
	}
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return Env{Conn: c, Ledger: l, Registry: r}
}

// NewLock makes a lock in partition 0 and returns its first transition.
func NewLock(tb testing.TB, l *ledger.Ledger) ledger.Entry {
	tb.Helper()
	return NewLockIn(tb, l, 0)
}

// NewLockIn is NewLock in another partition.
func NewLockIn(tb testing.TB, l *ledger.Ledger, partition int) ledger.Entry {
	tb.Helper()
	id := invocation.NewLockID(partition)
	e, err := l.Change(tb.Context(), ledger.Change{Lock: id, Decide: func(ledger.Snapshot) (ledger.Transition, error) {
		now := l.Now()
		made, err := lock.New(lock.Spec{ID: id, Wearer: lock.Person{ID: "w", Name: "Wearer"}, EndDate: now.Add(24 * time.Hour)}, now)
		if err != nil {
			return ledger.Transition{}, err
		}
		return ledger.Transition{State: made.State, History: made.History, At: now}, nil
	}})
	if err != nil {
		tb.Fatalf("make a lock: %v", err)
	}
	return e
}

// NewInvocation returns a root call on a lock that has not been recorded.
func NewInvocation(l *ledger.Ledger, on invocation.LockID, key string) invocation.Invocation {
	const caller, target = "caller", "target"
	id := invocation.InvocationID(on, caller, key)
	return invocation.Invocation{
		ID: id, Lock: on,
		Caller:  invocation.Party{Slug: caller, Partner: "aaaaaaaaaaaaaaaaaaaaaaaa", Session: "ses_caller"},
		Target:  invocation.Party{Slug: target, Partner: "bbbbbbbbbbbbbbbbbbbbbbbb", Session: "ses_target"},
		Command: target + ".run", Capability: invocation.Command, Revision: 1,
		Input: json.RawMessage(`{"n":1}`), Actor: invocation.ActorExtension, Via: invocation.REST,
		Chain:  invocation.Root(id, invocation.Starter{Extension: caller}),
		Status: invocation.Pending, CreatedAt: invocation.Instant(l.Now()),
	}
}

// Emitting returns a change of a lock that leaves its state and emits events.
func Emitting(on invocation.LockID, events ...invocation.Emission) ledger.Change {
	return ledger.Change{Lock: on, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
		return ledger.Transition{
			State: s.State, Events: events, At: time.Now(),
			Source: invocation.Source{Extension: "emitter", Actor: invocation.ActorExtension},
		}, nil
	}}
}
