package outbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

// The templates of the subjects, as spans name them.
const (
	deliveries = "dlv.p"
	timers     = "tmr.p"
)

// A Box sends for the handlers. Its methods may be called concurrently.
type Box struct{ platform *platform.Platform }

// New returns a box on the platform.
func New(p *platform.Platform) *Box { return &Box{platform: p} }

// ChainOf returns what telemetry knows of an event's chain.
func ChainOf(e invocation.Event) telemetry.Chain {
	return telemetry.Chain{CorrelationID: string(e.Chain.Correlation), Depth: e.Chain.Depth, EventID: string(e.ID)}
}

// InChain returns a context for work on an event: its spans and log lines
// belong to its chain.
func InChain(ctx context.Context, e invocation.Event) context.Context {
	return telemetry.WithChain(ctx, ChainOf(e))
}

// Enqueue stores deliveries on their queue, in this order and each at least
// once. They are on their way when it returns; stored waits until all are there,
// or says why not, and must be called once.
func (b *Box) Enqueue(ctx context.Context, all ...ledger.Delivery) (stored func() error) {
	if len(all) == 0 {
		return func() error { return nil }
	}
	ctx, span := b.platform.Telemetry.Publish(ctx, deliveries)
	pending, err := b.platform.Ledger.Enqueue(trace(ctx), all...)
	return func() error {
		err := errors.Join(err, pending.Wait(ctx))
		span.End(err)
		return err
	}
}

// Schedule stores a delivery to come back on its queue at a time.
func (b *Box) Schedule(ctx context.Context, d ledger.Delivery, at time.Time) error {
	ctx, span := b.platform.Telemetry.Publish(ctx, timers)
	err := b.platform.Ledger.Schedule(ctx, trace(ctx), d, at)
	span.End(err)
	return err
}

// Post makes one attempt to deliver.
func (b *Box) Post(ctx context.Context, r egress.Request, to invocation.ExtensionID, attempt int) (egress.Response, error) {
	begin := time.Now()
	call := telemetry.Call{Purpose: telemetry.PurposeEvent, ExtensionID: string(to), Attempt: attempt}
	resp, err := b.platform.Post(ctx, r, call)
	b.platform.Telemetry.Metrics().Attempted(ctx, telemetry.Attempt{
		Purpose: telemetry.PurposeEvent, Status: resp.Status, Err: err, Took: time.Since(begin),
	})
	telemetry.Note(ctx, slog.Int("attempt", attempt), slog.Int("status", resp.Status))
	return resp, err
}

// Ended counts a delivery that needs no further attempt: one of the outcomes
// of package telemetry.
func (b *Box) Ended(ctx context.Context, outcome string, to invocation.ExtensionID) {
	b.platform.Telemetry.Metrics().Delivered(ctx, telemetry.PurposeEvent, outcome, string(to))
	telemetry.NoteOutcome(ctx, outcome)
}

func trace(ctx context.Context) map[string][]string {
	headers := make(map[string][]string, 1)
	telemetry.Inject(ctx, headers)
	return headers
}
