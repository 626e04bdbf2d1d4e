package intake

import (
	"context"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
)

// A FieldQuery asks for the choices of an input field.
type FieldQuery struct {
	Caller  Caller
	Command invocation.CapabilityID
	// Field is a JSON Pointer into the input, or the name of a top-level field.
	Field string
	// Search narrows the choices down; empty asks for the first ones.
	Search string
}

// An Asker puts a question to its target: [ledger.Ledger.Ask], perhaps wrapped.
type Asker func(context.Context, invocation.Question) (invocation.Options, error)

// Options returns the choices of an input field of a command or query on the
// caller's lock, available or not (contract section 3). It returns
// UnknownCapability, NotInvocable, InvalidField for a field that has no
// choices, InvalidInput for a search that is too long, RateLimited over both
// doors together, and OptionsUnavailable where the target has no answer.
func (in *Intake) Options(ctx context.Context, q FieldQuery) (invocation.Options, error) {
	a := &admission{Call: Call{Caller: q.Caller, Command: q.Command}}
	if err := in.findCapability(ctx, a); err != nil {
		return invocation.Options{}, err
	}
	if err := in.checkInvocable(ctx, a); err != nil {
		return invocation.Options{}, err
	}
	tokens, pointer, ok := invocation.ParseField(q.Field)
	if !ok || !a.capability.Input.HasOptions(tokens) {
		return invocation.Options{}, invocation.Refuse(invocation.InvalidField)
	}
	if utf8.RuneCountInString(q.Search) > invocation.MaxSearch {
		return invocation.Options{}, &invocation.Error{Code: invocation.InvalidInput, Problems: []invocation.Problem{
			{InstancePath: "/search", Message: "must NOT have more than 100 characters"},
		}}
	}
	s := q.Caller.Session
	if err := in.ledger.Charge(ctx, ledger.Charge{Bucket: invocation.BucketOptions, Key: pairKey(s.Slug, s.Lock)}); err != nil {
		return invocation.Options{}, err
	}
	if a.target.ID == "" {
		if options, found := lock.Options(a.lock.State, q.Command, pointer, q.Search); found {
			return options, nil
		}
	}
	if !askable(a.target) {
		return invocation.Options{}, invocation.Refuse(invocation.OptionsUnavailable)
	}
	session, _ := a.lock.State.SessionOf(a.target.Slug)
	return in.cfg.Ask(ctx, invocation.Question{
		Lock: s.Lock, Caller: q.Caller.Party(), Target: a.target.Party(session),
		Command: q.Command, Revision: a.revision, Field: pointer, Search: q.Search,
	})
}

// askable reports whether there is anybody to ask: a partner that is reachable.
func askable(target registry.Extension) bool {
	return target.ID != "" && target.Listens() && target.WebhookURL != ""
}
