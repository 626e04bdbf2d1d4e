package intake

import (
	"context"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
)

// Invocation returns one of the caller's own invocations on the lock of its
// session; everything else is the same InvocationNotFound (contract section 3,
// SEC-67).
func (in *Intake) Invocation(ctx context.Context, c Caller, id invocation.ID) (invocation.Invocation, error) {
	if !invocation.ValidID(string(id)) {
		return invocation.Invocation{}, invocation.Refuse(invocation.InvocationNotFound)
	}
	inv, err := in.ledger.Invocation(ctx, c.Session.Lock, id)
	if err != nil {
		return invocation.Invocation{}, err
	}
	if inv.Caller.Slug != c.Session.Slug {
		return invocation.Invocation{}, invocation.Refuse(invocation.InvocationNotFound)
	}
	return inv, nil
}

// Watch tells when the caller's lock has moved.
func (in *Intake) Watch(c Caller) (*ledger.Watch, error) { return in.ledger.Watch(c.Session.Lock) }

// EndOfEvents returns the cursor after which the next event of the caller's lock
// comes.
func (in *Intake) EndOfEvents(ctx context.Context, c Caller) (invocation.Seq, error) {
	return in.ledger.EndOfEvents(ctx, c.Session.Lock)
}

// Events returns the events of the caller's lock after a cursor (contract
// section 3).
func (in *Intake) Events(ctx context.Context, c Caller, q ledger.EventQuery) (ledger.EventPage, error) {
	q.Lock = c.Session.Lock
	return in.ledger.Events(ctx, q)
}
