package tools

import (
	"context"
	"encoding/json"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
)

func (k *Kit) invokeAction(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error) {
	args, err := decode[struct {
		ID    invocation.CapabilityID `json:"id"`
		Input json.RawMessage         `json:"input"`
		Key   string                  `json:"idempotencyKey"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	return k.invoke(ctx, c, intake.Call{Command: args.ID, Input: args.Input, Key: args.Key})
}

// invoke runs a call for the caller: always as its extension, with the cause
// inferred, counted as a call by MCP (contract section 10).
func (k *Kit) invoke(ctx context.Context, c intake.Caller, call intake.Call) (any, error) {
	call.Caller, call.Via, call.Actor = c, invocation.MCP, invocation.ActorExtension
	if call.Key == "" {
		call.Key = invocation.NewKey()
	}
	answer, err := k.cfg.Invoke(ctx, call)
	if err != nil {
		return nil, err
	}
	return shown(ctx, answer.Invocation), nil
}

// shown returns an invocation as data. One that was rejected or has failed is an
// error to the model; of a pending or unknown one nobody can say that yet.
func shown(ctx context.Context, inv invocation.Invocation) any {
	telemetry.NoteChain(ctx, platform.ChainOf(inv))
	telemetry.NoteOutcome(ctx, string(inv.Status))
	data := wire.NewInvocation(inv)
	if inv.Status == invocation.Rejected || inv.Status == invocation.Failed {
		return failed{data}
	}
	return data
}

func (k *Kit) getInvocation(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error) {
	args, err := decode[struct {
		ID invocation.ID `json:"id"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	inv, err := k.cfg.Intake.Invocation(ctx, c, args.ID)
	if invocation.CodeOf(err) == invocation.InvocationNotFound {
		return nil, invocation.Refuse(notFound)
	}
	if err != nil {
		return nil, err
	}
	return shown(ctx, inv), nil
}

// defaultPage is how many events come where no limit is named.
const defaultPage = 20

func (k *Kit) readEvents(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error) {
	args, err := decode[struct {
		After json.RawMessage `json:"afterSeq"`
		Types []string        `json:"types"`
		Limit json.RawMessage `json:"limit"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	page, err := k.cfg.Intake.Events(ctx, c, ledger.EventQuery{
		After: invocation.Seq(whole(args.After, 0)), Types: args.Types, Limit: int(whole(args.Limit, defaultPage)),
	})
	if err != nil {
		return nil, err
	}
	return wire.NewEventsPage(page), nil
}

// whole returns a number that a schema has found to be an integer, however it is
// written: 20, 20.0 or 2e1.
func whole(number json.RawMessage, otherwise int64) int64 {
	n := json.Number(number)
	if i, err := n.Int64(); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return int64(f)
	}
	return otherwise
}

func (k *Kit) getFieldOptions(ctx context.Context, c intake.Caller, arguments json.RawMessage) (any, error) {
	args, err := decode[struct {
		ID     invocation.CapabilityID `json:"id"`
		Field  string                  `json:"field"`
		Search string                  `json:"search"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	options, err := k.cfg.Intake.Options(ctx, intake.FieldQuery{Caller: c, Command: args.ID, Field: args.Field, Search: args.Search})
	if err != nil {
		return nil, err
	}
	return wire.NewOptions(options), nil
}
