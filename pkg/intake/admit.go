package intake

import (
	"context"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
)

// A Call asks to run a command or a query.
type Call struct {
	Caller  Caller
	Command invocation.CapabilityID
	Input   []byte // a JSON object; empty stands for {}
	Key     string // idempotency key
	Actor   invocation.Actor
	// Causation is the named cause, empty to have it inferred.
	Causation invocation.ID
	Via       invocation.Door
}

// admission is a call on its way through the checks, and what they found out.
type admission struct {
	Call
	id         invocation.ID
	lock       ledger.Snapshot
	target     registry.Extension
	capability *manifest.Capability
	revision   int
	chain      invocation.Chain
}

// admit runs every check of contract section 6 in its order; credential,
// session and the body's shape (1 to 3) came before. A refusal leaves nothing
// behind but its count. Step 10, the look-up of a repeated call, needs no read
// of its own: recording refuses a repeat, and a cause that is refused looks
// for the repeated call first.
func (in *Intake) admit(ctx context.Context, c Call) (*admission, error) {
	a := &admission{Call: c}
	for _, check := range []func(context.Context, *admission) error{
		in.checkBody,         //  3 400, 413
		in.findCapability,    //  4 404
		in.checkInvocable,    //  5 403
		in.checkActor,        //  6 400
		in.checkInput,        //  7 400
		in.checkAvailability, //  8 409
		in.charge,            //  9 429
		in.findCause,         // 11 400, 12 409
	} {
		if err := check(ctx, a); err != nil {
			return a, err
		}
	}
	return a, nil
}

// checkBody is what is left to ask of the body's shape once it was read. The
// door that read it bounds it too; here the bound keeps a record within what
// the store takes in one message (S-22).
func (in *Intake) checkBody(_ context.Context, a *admission) error {
	if len(a.Input) > invocation.MaxBody {
		return invocation.Refuse(invocation.PayloadTooLarge)
	}
	if problems := CheckKey(a.Key); problems != nil {
		return &invocation.Error{Code: invocation.InvalidInput, Problems: problems}
	}
	a.id = invocation.InvocationID(a.Caller.Session.Lock, a.Caller.Session.Slug, a.Key)
	return nil
}

// CheckKey returns what is wrong with an idempotency key: it has 1 to 200 code
// points, of any kind (contract section 6, SEC-72).
func CheckKey(key string) []invocation.Problem {
	switch n := utf8.RuneCountInString(key); {
	case n == 0:
		return []invocation.Problem{{InstancePath: "/idempotencyKey", Message: "must NOT have fewer than 1 characters"}}
	case n > invocation.MaxKeyLength:
		return []invocation.Problem{{InstancePath: "/idempotencyKey", Message: "must NOT have more than 200 characters"}}
	}
	return nil
}

func (in *Intake) findCapability(ctx context.Context, a *admission) error {
	if !invocation.ValidCapability(string(a.Command)) {
		return invocation.Refuse(invocation.UnknownCapability)
	}
	snap, err := in.ledger.Lock(ctx, a.Caller.Session.Lock)
	if err != nil {
		return err
	}
	a.lock = snap
	slug := a.Command.Slug()
	if !snap.State.Installed(slug) {
		return invocation.Refuse(invocation.UnknownCapability)
	}
	target, compiled, err := in.offered(ctx, slug)
	if err != nil {
		return err
	}
	if compiled == nil {
		return invocation.Refuse(invocation.UnknownCapability)
	}
	capability, found := compiled.Callable(a.Command)
	if !found {
		return invocation.Refuse(invocation.UnknownCapability)
	}
	a.target, a.revision, a.capability = target, target.Revision, capability
	return nil
}

// offered returns what an installed extension offers: nil if it has published
// nothing, or is a built-in that this release does not know.
func (in *Intake) offered(ctx context.Context, slug invocation.Slug) (registry.Extension, *manifest.Compiled, error) {
	e, compiled, err := in.catalog.Offered(ctx, slug)
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return registry.Extension{}, nil, nil
	}
	return e, compiled, err
}

func (in *Intake) checkInvocable(_ context.Context, a *admission) error {
	if !a.capability.Invocable(invocation.ActorExtension) {
		return invocation.Refuse(invocation.NotInvocable)
	}
	return nil
}

func (in *Intake) checkActor(_ context.Context, a *admission) error {
	switch a.Actor {
	case "":
		a.Actor = invocation.ActorExtension
	case invocation.ActorExtension, invocation.ActorWearer:
	case invocation.ActorKeyholder:
		if a.lock.State.Keyholder == nil {
			return invocation.Refusef(invocation.InvalidActor, "the lock has no keyholder")
		}
	case invocation.ActorSystem:
		return invocation.Refuse(invocation.InvalidActor)
	default:
		return invocation.Refuse(invocation.InvalidActor)
	}
	return nil
}

func (in *Intake) checkInput(_ context.Context, a *admission) error {
	if len(a.Input) == 0 {
		a.Input = []byte("{}")
	}
	if problems := a.capability.Input.Validate(a.Input); len(problems) > 0 {
		return &invocation.Error{Code: invocation.InvalidInput, Problems: problems}
	}
	return nil
}

func (in *Intake) checkAvailability(_ context.Context, a *admission) error {
	if r := in.available(a.lock.State, a.target, a.Command); r != "" {
		return invocation.Refuse(invocation.Unavailable).With("reason", string(r))
	}
	return nil
}

// available returns why a capability of an extension cannot be called on a
// lock right now, or nothing.
func (in *Intake) available(s lock.State, target registry.Extension, id invocation.CapabilityID) lock.Reason {
	if r := lock.Available(s, id, in.ledger.Now()); r != "" {
		return r
	}
	switch {
	case target.ID == "": // a built-in: the lock has had its say
		return ""
	case !target.Listens():
		return lock.ExtensionDisabled
	case target.WebhookURL == "":
		return lock.EndpointNotConfigured
	}
	return ""
}

func (in *Intake) charge(ctx context.Context, a *admission) error {
	if err := in.ledger.Room(a.Caller.Session.Lock); err != nil {
		return err
	}
	if a.Via == invocation.MCP {
		return in.chargeMCP(ctx, a.Caller.Session)
	}
	s := a.Caller.Session
	return in.ledger.Charge(ctx,
		ledger.Charge{Bucket: invocation.BucketExtension, Key: pairKey(s.Slug, s.Lock)},
		ledger.Charge{Bucket: invocation.BucketLock, Key: string(s.Lock)})
}

// pairKey names an extension on a lock in the limits.
func pairKey(slug invocation.Slug, lock invocation.LockID) string {
	return string(slug) + "-" + string(lock)
}
