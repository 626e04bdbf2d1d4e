package deliver

import (
	"context"
	"errors"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/notice"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

const (
	// InFlight is how many deliveries of a partition are held at a time: room for
	// the pool, and for some dozen endpoints whose lines are all taken.
	InFlight = 8192
	// Pool is how many places to wait endpoints share beside their lines: a
	// third of them for one with a burst.
	Pool = 6144
)

// The waits of a delivery whose endpoint has no place left (design section 3).
const (
	firstHandBack = 2 * time.Second
	mostHandBack  = 30 * time.Second
)

// A Config sizes a [Handler]; every field must be set.
type Config struct {
	Schedule Schedule
	Circuit  Circuit
	// Notices tells how the endpoints fare.
	Notices *notice.Teller
	// Slots is how many POSTs an endpoint gets at a time, Line how many
	// deliveries wait behind them, Pool how many more of all endpoints.
	Slots, Line, Pool int
}

// A Handler handles the messages of the delivery queues and of the endpoints.
type Handler struct {
	platform *platform.Platform
	box      *outbox.Box
	schedule Schedule
	circuit  Circuit
	lanes    *broker.Lanes // by extension, in order for each lock
	health   *health
	checks   *checks
	notices  *notice.Teller
}

// New returns a handler for all partitions.
func New(p *platform.Platform, box *outbox.Box, cfg Config) *Handler {
	return &Handler{
		platform: p, box: box, schedule: cfg.Schedule, circuit: cfg.Circuit, lanes: broker.NewSharedLanes(cfg.Slots, cfg.Line, cfg.Pool),
		health: newHealth(cfg.Circuit), checks: &checks{next: make(map[invocation.Slug]time.Time)}, notices: cfg.Notices,
	}
}

// Stop begins to drain: what waits for a slot is handed back, what is being
// sent goes on.
func (h *Handler) Stop() { h.lanes.Stop() }

// Arrived notes a delivery's place among those of its endpoint and lock, Left
// gives it up.
func (h *Handler) Arrived(m broker.Delivery) { h.lanes.Expect(turnOf(m)) }

// Left gives up the place of a delivery.
func (h *Handler) Left(m broker.Delivery) { h.lanes.Forget(turnOf(m)) }

// turnOf returns a delivery's place: first attempts keep the order of their
// lock's log, which is that of the queue.
func turnOf(m broker.Delivery) broker.Turn {
	extension, lock, again := ledger.PlaceOf(m)
	t := broker.Turn{Key: string(extension), Seq: m.Sequence}
	if !again {
		t.Order = string(lock)
	}
	return t
}

// Handle makes one attempt to deliver. When it returns nil, the delivery is
// done with or stored for later.
func (h *Handler) Handle(ctx context.Context, m broker.Delivery) error {
	d, err := ledger.ParseDelivery(m)
	if err != nil {
		return err
	}
	fate, err := h.inTurn(ctx, m, d)
	if err == nil && fate != Untried {
		h.note(ctx, d, fate) // the next delivery is sent meanwhile
	}
	return err
}

// inTurn makes the attempt when a slot is free and the deliveries before it have
// been tried, and returns what became of the delivery.
func (h *Handler) inTurn(ctx context.Context, m broker.Delivery, d ledger.Delivery) (Fate, error) {
	leave, err := h.lanes.Enter(ctx, turnOf(m))
	if errors.Is(err, broker.ErrLaneFull) {
		return Untried, broker.Retry(err, m.Backoff(firstHandBack, mostHandBack))
	}
	if err != nil {
		return Untried, broker.Retry(err, 0)
	}
	defer leave()
	to, found, err := h.receiver(ctx, d)
	if err != nil || !found {
		return Untried, err
	}
	if to.Endpoint.Waits() || to.Endpoint.CatchingUp && !d.Released {
		return Untried, h.keepBack(ctx, d, to)
	}
	if err := h.pace(ctx, to); err != nil {
		return Untried, err
	}
	return h.attempt(ctx, d, to)
}

// pace waits until an endpoint that wants a bound may be sent one more. The
// wait takes a slot of that endpoint's own and keeps its order.
func (h *Handler) pace(ctx context.Context, to registry.Extension) error {
	for to.MaxPerSecond > 0 {
		wait, err := h.platform.Ledger.Pace(ctx, to.Slug, to.MaxPerSecond)
		if err != nil || wait == 0 {
			return err
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-h.lanes.Stopping():
			again.Stop()
			return broker.Retry(broker.ErrStopping, 0)
		case <-ctx.Done():
			again.Stop()
			return broker.Retry(context.Cause(ctx), 0)
		}
	}
	return nil
}

// receiver returns whom to tell, or false if there is nobody any more.
func (h *Handler) receiver(ctx context.Context, d ledger.Delivery) (registry.Extension, bool, error) {
	s, err := h.platform.Registry.Session(ctx, d.Session)
	if invocation.CodeOf(err) == invocation.SessionNotFound {
		return registry.Extension{}, false, nil
	}
	if err != nil {
		return registry.Extension{}, false, err
	}
	e, err := h.platform.Registry.Extension(ctx, d.Extension)
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return registry.Extension{}, false, nil
	}
	if err != nil {
		return registry.Extension{}, false, err
	}
	ours := stands(s, d)
	return e, ours && e.WebhookURL != "" && !e.Disabled, nil
}

// stands reports whether a session is the one that a delivery is for.
func stands(s registry.Session, d ledger.Delivery) bool {
	return s.Slug == d.Extension && s.Lock == d.Lock
}

// attempt sends the delivery once and does what the answer asks for.
func (h *Handler) attempt(ctx context.Context, d ledger.Delivery, to registry.Extension) (Fate, error) {
	o, err := h.send(ctx, d, to)
	if err != nil {
		return Untried, err
	}
	now := h.platform.Ledger.Now()
	step := h.schedule.Next(d.Attempt, o, now)
	if err := ctx.Err(); err != nil && step.Fate != Delivered {
		// The worker is being stopped, which says nothing about the receiver.
		return Untried, broker.Retry(err, 0)
	}
	if err := h.judge(ctx, to, o, now); err != nil {
		return Untried, err
	}
	return step.Fate, h.conclude(ctx, conclusion{d, to, o, step})
}

// A conclusion is an attempt, how it went and what is to follow.
type conclusion struct {
	delivery ledger.Delivery
	to       registry.Extension
	outcome  Outcome
	step     Step
}

// failed returns the delivery for its next attempt.
func (c conclusion) failed() ledger.Delivery {
	d := c.delivery.Failed(c.outcome.try())
	d.Attempt++
	return d
}

// conclude stores what follows from an attempt, so that the message can be
// acknowledged.
func (h *Handler) conclude(ctx context.Context, c conclusion) error {
	switch c.step.Fate {
	case Untried, Delivered:
	case Again:
		return h.box.Schedule(ctx, c.failed(), c.step.At)
	case Dead, Gone:
		// Kept first: a worker that finds the endpoint suspended keeps back.
		if err := h.platform.Ledger.KeepDead(ctx, c.delivery.Failed(c.outcome.try()), c.outcome.reason()); err != nil {
			return err
		}
	}
	if c.step.Fate == Gone {
		if err := h.suspend(ctx, c.to); err != nil {
			return err
		}
	}
	h.box.Ended(ctx, outcomeOf(c.step.Fate), c.to.ID)
	return nil
}

// suspend takes an endpoint that is gone out of use, unless its owner has moved
// it since, and has that told.
func (h *Handler) suspend(ctx context.Context, gone registry.Extension) error {
	now := invocation.Instant(h.platform.Ledger.Now())
	e, err := h.update(ctx, gone.Slug, func(e *registry.Extension) {
		if e.WebhookURL == gone.WebhookURL {
			e.Suspend(registry.SuspendedGone, now)
		}
	})
	if err != nil || e.Endpoint.Untold == "" {
		return err
	}
	return h.platform.Ledger.CheckEndpoint(ctx, gone.Slug)
}
