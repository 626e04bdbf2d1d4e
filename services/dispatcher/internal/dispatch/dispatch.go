package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/crashpoint"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
)

// settleTime is what a claim allows beyond the call itself, for its settlement.
const settleTime = 5 * time.Second

// Targets is how targets are called.
type Targets struct {
	// Webhook calls a partner's target once and says what it came to. When its
	// context ends, nobody can tell any more.
	Webhook func(context.Context, invocation.Invocation) invocation.Outcome
	// CallTimeout is what Webhook takes at most; zero means the contract's 10 s.
	CallTimeout time.Duration
	// Settled is told of every settlement that this worker recorded, and when
	// the call began; zero if there was none. It may be nil.
	Settled func(ctx context.Context, inv invocation.Invocation, began time.Time)
}

// A Dispatcher handles requests. Its methods may be called concurrently.
type Dispatcher struct {
	ledger  *ledger.Ledger
	lanes   *broker.Lanes
	targets Targets
}

// New returns a dispatcher. Partners' targets pass through the lanes, each in
// its own; built-ins need none.
func New(l *ledger.Ledger, lanes *broker.Lanes, t Targets) *Dispatcher {
	t.CallTimeout = cmp.Or(t.CallTimeout, invocation.CallTimeout)
	if t.Settled == nil {
		t.Settled = func(context.Context, invocation.Invocation, time.Time) {}
	}
	return &Dispatcher{ledger: l, lanes: lanes, targets: t}
}

// errHeld says that another worker's claim has not run out yet.
var errHeld = errors.New("another worker has the request")

// Expected reports whether a hand-back is part of normal work.
func Expected(err error) bool {
	return errors.Is(err, broker.ErrLaneFull) || errors.Is(err, broker.ErrStopping) || errors.Is(err, errHeld)
}

// Handle carries one request to its settlement.
func (d *Dispatcher) Handle(m *message.Message) error {
	delivery := broker.DeliveryOf(m)
	req, err := RequestOf(m)
	if err != nil {
		return err
	}
	if builtIn(req.Invocation) {
		return broker.WhileAway(d.run(m.Context(), req, d.applyBuiltIn), backoff(delivery))
	}
	leave, err := d.lanes.Enter(m.Context(), broker.Turn{Key: string(req.Invocation.Target.Slug)})
	switch {
	case errors.Is(err, broker.ErrLaneFull):
		return broker.Retry(err, backoff(delivery))
	case err != nil:
		return broker.Retry(err, 0)
	}
	defer leave()
	return broker.WhileAway(d.run(m.Context(), req, d.callPartner), backoff(delivery))
}

// backoff is how long a request waits that was handed back.
func backoff(delivery broker.Delivery) time.Duration {
	return delivery.Backoff(2*time.Second, 30*time.Second)
}

func builtIn(inv invocation.Invocation) bool { return inv.Target.Partner == "" }

// run is what every request goes through: the chain's index is written beside
// the work and has to stand before the request is acknowledged.
func (d *Dispatcher) run(ctx context.Context, req ledger.Request, work func(context.Context, ledger.Request) error) error {
	indexed, err := d.ledger.IndexInvocation(req.Invocation)
	if err != nil {
		return err
	}
	if o, over := invocation.Expired(req.Recorded, d.ledger.Now()); over {
		err = d.expire(ctx, req, o)
	} else {
		err = work(ctx, req)
	}
	if err != nil {
		return err
	}
	return indexed.Wait(ctx)
}

// expire settles a request that nobody claimed in time, unless somebody did.
func (d *Dispatcher) expire(ctx context.Context, req ledger.Request, o invocation.Outcome) error {
	standing, err := d.ledger.Standing(ctx, req.Invocation)
	if err != nil {
		return err
	}
	switch {
	case standing.Settled != nil:
		return d.finish(ctx, req, *standing.Settled, standing.Events)
	case standing.Claimed() && builtIn(req.Invocation):
		return d.applyBuiltIn(ctx, req)
	case standing.Claimed():
		return d.abandon(ctx, req, standing)
	}
	return d.settle(ctx, req, ledger.Claim{}, o, time.Time{})
}

// callPartner claims the request, calls the partner's target and settles.
func (d *Dispatcher) callPartner(ctx context.Context, req ledger.Request) error {
	inv := req.Invocation
	deadline := d.ledger.Now().Add(d.targets.CallTimeout + settleTime)
	standing, err := d.ledger.Claim(ctx, inv, deadline, req.LockSeq)
	if err != nil {
		return err
	}
	switch {
	case standing.Settled != nil:
		return d.finish(ctx, req, *standing.Settled, standing.Events)
	case !standing.Mine:
		return d.abandon(ctx, req, standing)
	}
	crashpoint.Here(crashpoint.AfterClaim)
	began := d.ledger.Now()
	if began.After(deadline.Add(-d.targets.CallTimeout)) {
		// This process stood still since it asked for the claim: the time that
		// others grant it is no longer enough for a call.
		return d.settle(ctx, req, standing.Claim, invocation.LeavesUnknown(invocation.DispatchInterrupted), time.Time{})
	}
	o := d.targets.Webhook(ctx, inv)
	return d.settle(ctx, req, standing.Claim, o, began)
}

// abandon settles a request whose owner's time is up: whether it called the
// target nobody can tell. Before, it hands the request back until then.
func (d *Dispatcher) abandon(ctx context.Context, req ledger.Request, s ledger.Standing) error {
	if left := s.Claim.Deadline.Sub(d.ledger.Now()); left > 0 {
		return broker.Retry(errHeld, left)
	}
	return d.settle(ctx, req, s.Claim, invocation.LeavesUnknown(invocation.DispatchInterrupted), time.Time{})
}

// settle records the outcome against the claim. Where another worker got in
// first, what it recorded stands, and is finished.
func (d *Dispatcher) settle(ctx context.Context, req ledger.Request, c ledger.Claim, o invocation.Outcome, began time.Time) error {
	ctx = context.WithoutCancel(ctx) // the call has been made: its outcome must be kept
	inv := req.Invocation.Settle(o, d.ledger.Now())
	err := d.ledger.Settle(ctx, c, inv, o.Events)
	if errors.Is(err, ledger.ErrSuperseded) {
		standing, err := d.ledger.Standing(ctx, inv)
		if err != nil {
			return err
		}
		if standing.Settled == nil {
			return broker.Retry(errHeld, settleTime)
		}
		return d.finish(ctx, req, *standing.Settled, standing.Events)
	}
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	d.targets.Settled(ctx, inv, began)
	crashpoint.Here(crashpoint.AfterSettle)
	return d.finish(ctx, req, inv, o.Events)
}

// finish makes what a settlement caused stand in the lock's log, once however
// often it is tried, and wakes the caller.
func (d *Dispatcher) finish(ctx context.Context, req ledger.Request, inv invocation.Invocation, events []invocation.Emission) error {
	if len(events) > 0 {
		if err := d.record(ctx, req, inv, events); err != nil {
			return fmt.Errorf("record the caused events: %w", err)
		}
	}
	if err := d.ledger.Wake(inv, req.Reply); err != nil {
		return err
	}
	crashpoint.Here(crashpoint.BeforeAck)
	return nil
}

// record puts the events of a partner's answer into the lock's log. The lock
// stays as it is, whether or not it is still active: events of an admitted call
// are always recorded (contract section 6).
func (d *Dispatcher) record(ctx context.Context, req ledger.Request, inv invocation.Invocation, events []invocation.Emission) error {
	_, err := d.ledger.Change(ctx, ledger.Change{
		Lock: inv.Lock, Once: inv.ID, After: req.LockSeq,
		Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
			return ledger.Transition{
				State: s.State, Events: events, Chain: inv.Caused(), At: d.ledger.Now(),
				Source: invocation.Source{
					Extension: inv.Target.Slug, Partner: inv.Target.Partner, Invocation: inv.ID, Actor: inv.Actor,
				},
			}, nil
		},
	})
	return err
}

// GiveUp settles the invocation of a request that no worker can handle, so that
// nothing stays pending. What cannot even be read is left to its reader.
func (d *Dispatcher) GiveUp(ctx context.Context, delivery broker.Delivery) error {
	req, err := ledger.ParseRequest(delivery)
	if err != nil {
		return nil //nolint:nilerr // it names no invocation that could be settled
	}
	standing, err := d.ledger.Standing(ctx, req.Invocation)
	if err != nil || standing.Settled != nil {
		return err
	}
	return d.settle(ctx, req, standing.Claim, invocation.LeavesUnknown(invocation.DispatchInterrupted), time.Time{})
}

// selfSource is where the events of a built-in command come from.
func selfSource(inv invocation.Invocation) invocation.Source {
	return invocation.Source{Extension: inv.Command.Slug(), Invocation: inv.ID, Actor: inv.Actor}
}

// actOf returns the command that an invocation of a built-in runs.
func actOf(inv invocation.Invocation) lock.Act {
	return lock.Act{Command: inv.Command, Input: inv.Input, Caller: inv.Caller.Slug, Actor: inv.Actor}
}
