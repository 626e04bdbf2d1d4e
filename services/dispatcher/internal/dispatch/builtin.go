package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/crashpoint"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
)

// applyBuiltIn runs a command of the lock itself. Its effect, its events and
// its history are one transition of the lock's log that names the invocation,
// so it happens exactly once whoever tries, and is never unknown.
//
// The claim holds the lock's last transition before anybody tried. A worker
// that takes another's claim over looks for the transition after that; where
// there is none it writes one in every case, for a refusal as well: that moves
// the log on, so the other worker, should it still be there, fails to apply
// what was decided against.
func (d *Dispatcher) applyBuiltIn(ctx context.Context, req ledger.Request) error {
	ctx = context.WithoutCancel(ctx) // it takes moments, and half of it is no use
	inv := req.Invocation
	snap, err := d.ledger.Lock(ctx, inv.Lock)
	if err != nil {
		return err
	}
	deadline := d.ledger.Now().Add(settleTime)
	standing, err := d.ledger.Claim(ctx, inv, deadline, snap.Seq)
	if err != nil {
		return err
	}
	change := ledger.Change{Lock: inv.Lock, From: snap}
	takenOver := false
	if standing.Settled == nil && !standing.Mine {
		takenOver = true
		change.From = ledger.Snapshot{}
		if standing, err = d.ledger.TakeOver(ctx, inv, standing.Claim, deadline); err != nil {
			return err
		}
	}
	switch {
	case standing.Settled != nil:
		return d.finish(ctx, req, *standing.Settled, standing.Events)
	case !standing.Mine:
		return broker.Retry(errHeld, time.Second)
	}
	crashpoint.Here(crashpoint.AfterClaim)
	began := d.ledger.Now()
	if inv.Capability == invocation.Query {
		return d.settle(ctx, req, standing.Claim, answer(snap.State, inv), began)
	}
	change.Once, change.After = inv.ID, standing.Claim.LockSeq
	change.Decide = d.decide(inv, takenOver)
	o, err := d.outcome(ctx, change)
	if err != nil {
		return err
	}
	crashpoint.Here(crashpoint.AfterApply)
	return d.settle(ctx, req, standing.Claim, o, began)
}

// answer answers a query, which changes nothing and may be asked again.
func answer(s lock.State, inv invocation.Invocation) invocation.Outcome {
	result, refusal := lock.Ask(s, inv.Command)
	if refusal != nil {
		return refusal.Outcome()
	}
	return invocation.Completes(result)
}

// refusedError carries a refusal out of the change that it prevented.
type refusedError struct{ refusal *lock.Refusal }

func (e refusedError) Error() string { return e.refusal.Code }

// decide computes the transition that a command makes of the lock as it is. A
// refusal is an error, or a transition of its own where it must be written.
func (d *Dispatcher) decide(inv invocation.Invocation, write bool) func(ledger.Snapshot) (ledger.Transition, error) {
	return func(s ledger.Snapshot) (ledger.Transition, error) {
		now := d.ledger.Now()
		t := ledger.Transition{State: s.State, Source: selfSource(inv), Chain: inv.Caused(), At: now}
		c, refusal := lock.Apply(s.State, actOf(inv), now)
		switch {
		case refusal == nil:
			t.State, t.Events, t.History = c.State, c.Events, c.History
			return t, nil
		case write:
			t.Refused = refusal.Outcome().Failure
			return t, nil
		}
		return ledger.Transition{}, refusedError{refusal}
	}
}

// outcome makes the transition, or finds the one that was made, and says what
// it came to.
func (d *Dispatcher) outcome(ctx context.Context, c ledger.Change) (invocation.Outcome, error) {
	entry, err := d.ledger.Change(ctx, c)
	if refused, ok := errors.AsType[refusedError](err); ok {
		return refused.refusal.Outcome(), nil
	}
	if err != nil {
		return invocation.Outcome{}, err
	}
	if entry.Refused != nil {
		return invocation.Rejects(entry.Refused.Code, entry.Refused.Message), nil
	}
	return invocation.Completes(nil), nil
}
