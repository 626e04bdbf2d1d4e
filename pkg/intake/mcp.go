package intake

import (
	"context"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// blockTime is how long an extension that went over its limit on a lock may
// not call there by MCP (contract section 9).
const blockTime = time.Minute

// Request counts one request to the MCP endpoint of an extension, over all its
// sessions. It returns RateLimited (contract section 9).
func (in *Intake) Request(ctx context.Context, c Caller) error {
	return in.ledger.Charge(ctx, ledger.Charge{Bucket: invocation.BucketMCPRequests, Key: string(c.Session.Slug)})
}

// chargeMCP counts a call by MCP. Going over the extension's limit blocks it on
// the lock for a minute, which the lock's history shows; then a new window
// begins (contract section 9).
func (in *Intake) chargeMCP(ctx context.Context, s registry.Session) error {
	block, err := in.ledger.LastBlock(ctx, mcpBlock(s.Slug, s.Lock))
	if err != nil {
		return err
	}
	if block.Left(in.ledger.Now()) == 0 {
		err := in.ledger.Charge(ctx,
			in.ledger.After(block, mcpCharge(s.Slug, s.Lock)), ledger.Charge{Bucket: invocation.BucketMCPLock, Key: string(s.Lock)})
		if !over(err, invocation.BucketMCPExtension) {
			return err
		}
	}
	block, err = in.ledger.Block(context.WithoutCancel(ctx), block, blockTime)
	if err != nil {
		return err
	}
	return invocation.Refuse(invocation.RateLimited).With("bucket", string(block.Bucket)).After(block.Left(in.ledger.Now()))
}

// over reports whether this bucket refused a call.
func over(err error, b invocation.Bucket) bool {
	return invocation.CodeOf(err) == invocation.RateLimited && invocation.AsError(err).Facts["bucket"] == string(b)
}

func mcpBlock(slug invocation.Slug, lock invocation.LockID) ledger.Block {
	return ledger.Block{Bucket: invocation.BucketMCPExtension, Extension: slug, Lock: lock}
}

func mcpCharge(slug invocation.Slug, lock invocation.LockID) ledger.Charge {
	return ledger.Charge{Bucket: invocation.BucketMCPExtension, Key: pairKey(slug, lock)}
}

// chargeStarter moves the count of a call that was refused for its depth from
// its caller to the extension that started the chain. Where none did, the
// lock's count alone stays (contract section 9).
func (in *Intake) chargeStarter(ctx context.Context, a *admission) error {
	s, starter := a.Caller.Session, a.chain.Starter.Extension
	if starter == s.Slug {
		return nil
	}
	from, err := in.mcpCharges(ctx, s.Slug, s.Lock)
	if err != nil {
		return err
	}
	to, err := in.mcpCharges(ctx, starter, s.Lock)
	if err != nil {
		return err
	}
	in.ledger.Move(from, to)
	return nil
}

// mcpCharges returns where a call of an extension is counted now; nowhere
// without an extension.
func (in *Intake) mcpCharges(ctx context.Context, slug invocation.Slug, lock invocation.LockID) ([]ledger.Charge, error) {
	if slug == "" {
		return nil, nil
	}
	block, err := in.ledger.LastBlock(ctx, mcpBlock(slug, lock))
	return []ledger.Charge{in.ledger.After(block, mcpCharge(slug, lock))}, err
}
