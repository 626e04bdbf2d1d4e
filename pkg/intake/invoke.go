package intake

import (
	"bytes"
	"context"
	"time"

	"github.com/latchwire/latchwire/pkg/crashpoint"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// An Answer is an invocation as far as it got.
type Answer struct {
	Invocation invocation.Invocation
	// Replayed says that the call was recorded before, under the same key.
	Replayed bool
}

// Invoke admits a call, records it and waits for it to settle, at most as long
// as the contract says; what has not settled by then comes back pending. A
// repeat under the same key gets the recorded invocation, whatever it came to,
// and waits for it likewise.
//
// It returns every refusal of contract section 6, and ServiceUnavailable when
// the store is out of reach; then nothing was recorded, or the same key finds it.
func (in *Intake) Invoke(ctx context.Context, c Call) (Answer, error) {
	a, err := in.admit(ctx, c)
	if err != nil {
		return in.refused(ctx, a, err)
	}
	settled, stop := in.ledger.Await(a.id)
	defer stop()
	// From here on the call goes on without its caller (S-19).
	stored, created, err := in.cfg.Record(context.WithoutCancel(ctx), a.request(in.ledger.Now()))
	if err != nil {
		return Answer{}, err
	}
	crashpoint.Here(crashpoint.AfterRecord)
	if !created {
		return in.replay(ctx, a, stored)
	}
	return Answer{Invocation: in.wait(ctx, stored, settled)}, nil
}

// request returns the admitted call as it is recorded.
func (a *admission) request(now time.Time) ledger.Request {
	s := a.Caller.Session
	session, _ := a.lock.State.SessionOf(a.target.Slug)
	return ledger.Request{
		LockSeq: a.lock.Seq,
		Invocation: invocation.Invocation{
			ID: a.id, Lock: s.Lock, Caller: a.Caller.Party(), Target: a.target.Party(session),
			Command: a.Command, Capability: a.capability.Kind, Revision: a.revision,
			Input: a.Input, Actor: a.Actor, Via: a.Via, Chain: a.chain,
			Status: invocation.Pending, CreatedAt: invocation.Instant(now),
		},
	}
}

// refused answers a call whose cause was refused with the invocation that its
// key recorded before, if there is one: the look-up comes before the cause.
func (in *Intake) refused(ctx context.Context, a *admission, refusal error) (Answer, error) {
	switch invocation.CodeOf(refusal) { //nolint:exhaustive // only these come after the look-up
	case invocation.InvalidCausation, invocation.DepthExceeded:
		stored, err := in.ledger.Invocation(ctx, a.Caller.Session.Lock, a.id)
		switch {
		case err == nil:
			return in.replay(ctx, a, stored)
		case invocation.CodeOf(err) != invocation.InvocationNotFound:
			return Answer{}, err // whether it is a repeat nobody knows
		}
		if a.Via == invocation.MCP && invocation.CodeOf(refusal) == invocation.DepthExceeded {
			if err := in.chargeStarter(ctx, a); err != nil {
				return Answer{}, err
			}
		}
	}
	return Answer{}, refusal
}

// replay answers a repeated call, unless it is not the same call.
func (in *Intake) replay(ctx context.Context, a *admission, stored invocation.Invocation) (Answer, error) {
	if field := differs(a, stored); field != "" {
		return Answer{}, invocation.Refuse(invocation.IdempotencyConflict).With("field", field)
	}
	if stored.Status.Settled() {
		return Answer{Invocation: stored, Replayed: true}, nil
	}
	settled, stop, err := in.ledger.AwaitAnywhere(a.id)
	if err != nil {
		return Answer{}, err
	}
	defer stop()
	if stored, err = in.ledger.Invocation(ctx, stored.Lock, stored.ID); err != nil {
		return Answer{}, err
	}
	return Answer{Invocation: in.wait(ctx, stored, settled), Replayed: true}, nil
}

// differs names what tells two calls under one key apart, or nothing. Inputs
// are compared as JSON values; the cause is not compared (contract section 6).
func differs(a *admission, stored invocation.Invocation) string {
	switch {
	case stored.Command != a.Command:
		return "command"
	case stored.Actor != a.Actor:
		return "actor"
	case !sameJSON(stored.Input, a.Input):
		return "input"
	}
	return ""
}

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ca, errA := strictjson.Canonical(a)
	cb, errB := strictjson.Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}

// wait returns the invocation once it has settled, or as it stands when the
// time is up or the caller is gone.
func (in *Intake) wait(ctx context.Context, inv invocation.Invocation, settled <-chan invocation.Invocation) invocation.Invocation {
	if inv.Status.Settled() {
		return inv
	}
	limit := time.NewTimer(in.cfg.Wait)
	defer limit.Stop()
	select {
	case s := <-settled:
		if s.ID == inv.ID && s.Lock == inv.Lock {
			return s
		}
	case <-limit.C:
	case <-ctx.Done():
		return inv
	}
	// The wake-up was lost or says nothing: the record is the truth.
	if now, err := in.ledger.Invocation(ctx, inv.Lock, inv.ID); err == nil {
		return now
	}
	return inv
}
