package intake

import (
	"context"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// An Emission asks to put an event on the caller's lock.
type Emission struct {
	Caller  Caller
	Type    invocation.CapabilityID
	Payload []byte // a JSON object
	// Causation is the named cause, empty to have it inferred.
	Causation invocation.ID
	// Key makes a repeat within 24 hours return the first event; empty has no
	// such protection.
	Key string
}

// Emit puts an event of the caller's own on its lock (contract section 3). It
// returns UnknownEvent for a type that its manifest does not declare,
// InvalidInput, PayloadTooLarge, Unavailable, RateLimited, InvalidCausation,
// DepthExceeded, and IdempotencyConflict for another event under the same key.
func (in *Intake) Emit(ctx context.Context, e Emission) (invocation.Event, error) {
	if err := in.checkEmission(ctx, e); err != nil {
		return invocation.Event{}, err
	}
	s := e.Caller.Session
	snap, err := in.ledger.Lock(ctx, s.Lock)
	if err != nil {
		return invocation.Event{}, err
	}
	if snap.State.Status != lock.Active {
		return invocation.Event{}, invocation.Refuse(invocation.Unavailable).With("reason", string(lock.LockNotActive))
	}
	if err := in.ledger.Room(s.Lock); err != nil {
		return invocation.Event{}, err
	}
	if err := in.ledger.Charge(ctx, ledger.Charge{Bucket: invocation.BucketEvents, Key: pairKey(s.Slug, s.Lock)}); err != nil {
		return invocation.Event{}, err
	}
	change := ledger.Change{Lock: s.Lock, From: snap}
	if e.Key != "" {
		made, found, err := in.repeated(ctx, e)
		if err != nil || found {
			return made, err
		}
	}
	chain, err := in.chainOf(ctx, s, e.Causation, "")
	if err != nil {
		return invocation.Event{}, err
	}
	if e.Key != "" {
		if change, err = in.reserve(ctx, e, change); err != nil {
			return invocation.Event{}, err
		}
	}
	change.Decide = in.emits(e, chain)
	entry, err := in.ledger.Change(context.WithoutCancel(ctx), change)
	if err != nil {
		return invocation.Event{}, err
	}
	return entry.Committed()[0], nil
}

func (in *Intake) checkEmission(ctx context.Context, e Emission) error {
	if e.Key != "" {
		if problems := CheckKey(e.Key); problems != nil {
			return &invocation.Error{Code: invocation.InvalidInput, Problems: problems}
		}
	}
	_, compiled, err := in.catalog.Offered(ctx, e.Caller.Session.Slug)
	if err != nil {
		return err
	}
	if compiled == nil {
		return invocation.Refuse(invocation.UnknownEvent)
	}
	declared, found := compiled.Event(e.Type)
	if !found {
		return invocation.Refuse(invocation.UnknownEvent)
	}
	if len(e.Payload) > invocation.MaxPayload {
		return invocation.Refuse(invocation.PayloadTooLarge)
	}
	if problems := declared.Payload.Validate(e.Payload); len(problems) > 0 {
		for i := range problems {
			problems[i].InstancePath = "/payload" + problems[i].InstancePath
		}
		return &invocation.Error{Code: invocation.InvalidInput, Problems: problems}
	}
	return nil
}

// emits decides the transition of an emission: the event, and the lock as it is.
func (in *Intake) emits(e Emission, chain invocation.Chain) func(ledger.Snapshot) (ledger.Transition, error) {
	return func(s ledger.Snapshot) (ledger.Transition, error) {
		if s.State.Status != lock.Active {
			return ledger.Transition{}, invocation.Refuse(invocation.Unavailable).With("reason", string(lock.LockNotActive))
		}
		return ledger.Transition{
			State:  s.State,
			Events: []invocation.Emission{{Type: e.Type, Payload: e.Payload}},
			Source: invocation.Source{Extension: e.Caller.Extension.Slug, Partner: e.Caller.Extension.ID, Actor: invocation.ActorExtension},
			Chain:  chain,
			At:     in.ledger.Now(),
		}, nil
	}
}

func emissionID(e Emission) invocation.ID {
	return invocation.EmissionID(e.Caller.Session.Lock, e.Caller.Session.Slug, e.Key)
}

// repeated returns the event that was emitted before under the same key.
func (in *Intake) repeated(ctx context.Context, e Emission) (invocation.Event, bool, error) {
	lockID := e.Caller.Session.Lock
	r, found, err := in.ledger.Reserved(ctx, lockID, emissionID(e))
	if err != nil || !found {
		return invocation.Event{}, false, err
	}
	if err := sameEmission(e, r); err != nil {
		return invocation.Event{}, false, err
	}
	entry, found, err := in.ledger.Made(ctx, lockID, emissionID(e), r.After)
	if err != nil || !found {
		return invocation.Event{}, false, err
	}
	return entry.Committed()[0], true, nil
}

// reserve stores the key, so that the event is emitted once.
func (in *Intake) reserve(ctx context.Context, e Emission, c ledger.Change) (ledger.Change, error) {
	body, err := emissionBody(e)
	if err != nil {
		return c, err
	}
	c.Once = emissionID(e)
	r, err := in.ledger.Reserve(ctx, c.Lock, c.Once, ledger.Reservation{Body: body, After: c.From.Seq})
	if err != nil {
		return c, err
	}
	c.After = r.After
	return c, sameEmission(e, r)
}

// sameEmission refuses another event under a key that is taken, and names what
// tells them apart.
func sameEmission(e Emission, r ledger.Reservation) error {
	body, err := emissionBody(e)
	if err != nil || body == r.Body {
		return err
	}
	field := "payload"
	if !strings.HasPrefix(r.Body, string(e.Type)+" ") {
		field = "type"
	}
	return invocation.Refuse(invocation.IdempotencyConflict).With("field", field)
}

// emissionBody returns what is compared of two emissions under one key.
func emissionBody(e Emission) (string, error) {
	canonical, err := strictjson.Canonical(e.Payload)
	if err != nil {
		return "", err
	}
	return string(e.Type) + " " + string(canonical), nil
}
