package intake

import (
	"context"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

func (in *Intake) findCause(ctx context.Context, a *admission) (err error) {
	a.chain, err = in.chainOf(ctx, a.Caller.Session, a.Causation, a.id)
	return err
}

// chainOf returns the place in its chain of what an extension does on a lock:
// after the named cause, after the inferred one, or at the root with its own
// id. It returns InvalidCausation or DepthExceeded (contract section 6).
func (in *Intake) chainOf(ctx context.Context, by registry.Session, named, own invocation.ID) (invocation.Chain, error) {
	if named != "" {
		cause, err := in.namedCause(ctx, by, named)
		if err != nil {
			return invocation.Chain{}, err
		}
		return invocation.CausedBy(cause, false)
	}
	sent, found, err := in.ledger.LastSent(ctx, by.Slug, by.Lock)
	if err != nil {
		return invocation.Chain{}, err
	}
	if found && invocation.Infers(sent.At, in.ledger.Now()) {
		return invocation.CausedBy(sent.Cause, true)
	}
	return invocation.Root(own, invocation.Starter{Extension: by.Slug}), nil
}

// namedCause finds a cause that the extension may name: an event sent to it in
// the last seven days, an event it created, an invocation it made or received.
// Everything else is the same InvalidCausation, whether it exists or not.
func (in *Intake) namedCause(ctx context.Context, by registry.Session, id invocation.ID) (invocation.Cause, error) {
	refused := invocation.Refuse(invocation.InvalidCausation)
	if !invocation.ValidID(string(id)) {
		return invocation.Cause{}, refused
	}
	if _, isEvent := invocation.EventSeq(by.Lock, id); isEvent {
		sent, found, err := in.ledger.WasSent(ctx, by.Slug, by.Lock, id)
		if err != nil || found {
			return sent.Cause, err
		}
		event, err := in.ledger.Event(ctx, by.Lock, id)
		if err == nil && event.Source.Extension == by.Slug {
			return event.Cause(), nil
		}
		if err != nil && invocation.CodeOf(err) != invocation.ResourceNotFound {
			return invocation.Cause{}, err
		}
	}
	inv, err := in.ledger.Invocation(ctx, by.Lock, id)
	if err != nil {
		if invocation.CodeOf(err) == invocation.InvocationNotFound {
			err = refused
		}
		return invocation.Cause{}, err
	}
	if inv.Caller.Slug != by.Slug && inv.Target.Slug != by.Slug {
		return invocation.Cause{}, refused
	}
	return inv.Cause(), nil
}
