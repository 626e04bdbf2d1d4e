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
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

// InFlight is how many deliveries of a partition are held at a time: room for
// some hundred endpoints whose slots and lines are all taken.
const InFlight = 8192

// The waits of a delivery whose endpoint has no place left (design section 3).
const (
	firstHandBack = 2 * time.Second
	mostHandBack  = 30 * time.Second
)

// A Config sizes a [Handler]; every field must be set.
type Config struct {
	Schedule Schedule
	// Slots is how many POSTs an endpoint gets at a time, Line how many
	// deliveries wait behind them.
	Slots, Line int
}

// A Handler handles the messages of the delivery queues.
type Handler struct {
	platform *platform.Platform
	box      *outbox.Box
	schedule Schedule
	lanes    *broker.Lanes // by extension
}

// New returns a handler for all partitions.
func New(p *platform.Platform, box *outbox.Box, cfg Config) *Handler {
	return &Handler{platform: p, box: box, schedule: cfg.Schedule, lanes: broker.NewLanes(cfg.Slots, cfg.Line)}
}

// Stop begins to drain: what waits for a slot is handed back, what is being
// sent goes on.
func (h *Handler) Stop() { h.lanes.Stop() }

// Handle makes one attempt to deliver. When it returns nil, the delivery is
// done with or stored for later.
func (h *Handler) Handle(ctx context.Context, m broker.Delivery) error {
	d, err := ledger.ParseDelivery(m)
	if err != nil {
		return err
	}
	leave, err := h.lanes.Enter(ctx, string(d.Extension))
	if errors.Is(err, broker.ErrLaneFull) {
		return broker.Retry(err, m.Backoff(firstHandBack, mostHandBack))
	}
	if err != nil {
		return broker.Retry(err, 0)
	}
	defer leave()
	to, found, err := h.receiver(ctx, d)
	if err != nil || !found {
		return err
	}
	return h.attempt(ctx, d, to)
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
	ours := s.Slug == d.Extension && s.Lock == d.Lock
	return e, ours && !e.Disabled && e.WebhookURL != "", nil
}

// attempt sends the delivery once and does what the answer asks for.
func (h *Handler) attempt(ctx context.Context, d ledger.Delivery, to registry.Extension) error {
	o, err := h.send(ctx, d, to)
	if err != nil {
		return err
	}
	step := h.schedule.Next(d.Attempt, o, h.platform.Ledger.Now())
	if err := ctx.Err(); err != nil && step.Fate != Delivered {
		// The worker is being stopped, which says nothing about the receiver.
		return broker.Retry(err, 0)
	}
	if err := h.conclude(ctx, conclusion{d, to, o, step}); err != nil {
		return err
	}
	h.note(ctx, d, step.Fate)
	return nil
}

// A conclusion is an attempt, how it went and what is to follow.
type conclusion struct {
	delivery ledger.Delivery
	to       registry.Extension
	outcome  Outcome
	step     Step
}

// conclude stores what follows from an attempt, so that the message can be
// acknowledged.
func (h *Handler) conclude(ctx context.Context, c conclusion) error {
	switch c.step.Fate {
	case Delivered:
	case Again:
		c.delivery.Attempt++
		return h.box.Schedule(ctx, c.delivery, c.step.At)
	case Dead:
		if err := h.platform.Ledger.KeepDead(ctx, c.delivery, c.outcome.reason()); err != nil {
			return err
		}
	case Gone:
		// Kept first: a worker that finds the endpoint disabled drops.
		if err := h.platform.Ledger.KeepDead(ctx, c.delivery, c.outcome.reason()); err != nil {
			return err
		}
		if err := h.disable(ctx, c.to); err != nil {
			return err
		}
	}
	h.box.Ended(ctx, outcomeOf(c.step.Fate), c.to.ID)
	return nil
}

// disable takes an endpoint out of use, unless its owner has moved it since.
func (h *Handler) disable(ctx context.Context, gone registry.Extension) error {
	_, err := h.platform.Registry.UpdateExtension(ctx, gone.Slug, func(e *registry.Extension) error {
		e.Disabled = e.Disabled || e.WebhookURL == gone.WebhookURL
		return nil
	})
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return nil
	}
	return err
}
