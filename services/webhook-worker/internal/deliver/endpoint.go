package deliver

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// lookAgain is how long after a delivery was kept back its endpoint is looked
// at, at the latest: it may have been let go in the same moment.
const lookAgain = 30 * time.Second

// checks remembers which endpoints are going to be looked at, so that not each
// delivery that is kept back schedules it anew.
type checks struct {
	mu   sync.Mutex
	next map[invocation.Slug]time.Time
}

// due reports whether a look at this time is to be scheduled: none is before it.
func (c *checks) due(slug invocation.Slug, at, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if next := c.next[slug]; next.After(now) && !at.Before(next) {
		return false
	}
	c.next[slug] = at
	return true
}

// keepBack stores a delivery until its endpoint answers.
func (h *Handler) keepBack(ctx context.Context, d ledger.Delivery, to registry.Extension) error {
	if err := h.platform.Ledger.KeepBack(ctx, d); err != nil {
		return err
	}
	now := h.platform.Ledger.Now()
	at := now.Add(lookAgain)
	if probe := to.Endpoint.ProbeAt; !probe.IsZero() && probe.Before(at) {
		at = probe
	}
	if !h.checks.due(to.Slug, at, now) {
		return nil
	}
	return h.platform.Ledger.CheckEndpointAt(ctx, to.Slug, at)
}

// hold stops deliveries to an endpoint and has it probed.
func (h *Handler) hold(ctx context.Context, slug invocation.Slug, since, now time.Time) error {
	probe := now.Add(h.circuit.probeWait(0))
	if _, err := h.update(ctx, slug, func(e *registry.Extension) { e.Hold(since, probe) }); err != nil {
		return err
	}
	h.health.forget(slug)
	return h.platform.Ledger.CheckEndpointAt(ctx, slug, probe)
}

// update changes an extension, unless there is none any more.
func (h *Handler) update(ctx context.Context, slug invocation.Slug, change func(*registry.Extension)) (registry.Extension, error) {
	e, err := h.platform.Registry.UpdateExtension(ctx, slug, func(e *registry.Extension) error {
		change(e)
		return nil
	})
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return registry.Extension{}, nil
	}
	return e, err
}

// pauseAt returns when a delivery comes back whose endpoint asked to be left
// alone: after that, and not all at once.
func pauseAt(until, now time.Time) time.Time {
	spread := max(time.Second, until.Sub(now)/10)
	return until.Add(rand.N(spread))
}

// Check looks at an endpoint: it tells what is to be told of it, probes it when
// that is due, and lets go what was kept back once it answers. When it returns
// nil, what comes next is stored.
func (h *Handler) Check(ctx context.Context, m broker.Delivery) error {
	slug, err := ledger.ParseEndpointCheck(m)
	if err != nil {
		return err
	}
	e, err := h.platform.Registry.Newest(ctx, slug)
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if e.Endpoint.Untold != "" {
		if err := h.notices.Tell(ctx, e); err != nil {
			return err
		}
	}
	now := h.platform.Ledger.Now()
	switch {
	case !e.Listens():
		return nil
	case !e.Endpoint.Waits():
		_, err := h.platform.Ledger.LetGo(ctx, slug)
		return err
	case now.Before(e.Endpoint.ProbeAt):
		return h.platform.Ledger.CheckEndpointAt(ctx, slug, e.Endpoint.ProbeAt)
	}
	return h.probe(ctx, e)
}

// probe sends the oldest delivery that is kept back. Without one, the next that
// is kept back has the endpoint looked at again.
func (h *Handler) probe(ctx context.Context, e registry.Extension) error {
	for {
		oldest, err := h.platform.Ledger.KeptBack(ctx, e.Slug, 1)
		if err != nil || len(oldest) == 0 {
			return err
		}
		k := oldest[0]
		to, found, err := h.receiver(ctx, k.Delivery)
		if err != nil {
			return err
		}
		if found {
			return h.probeWith(ctx, k, to)
		}
		if err := h.platform.Ledger.DropKept(ctx, k); err != nil {
			return err
		}
	}
}

func (h *Handler) probeWith(ctx context.Context, k ledger.Kept, to registry.Extension) error {
	o, err := h.send(ctx, k.Delivery, to)
	if err != nil {
		return err
	}
	now := h.platform.Ledger.Now()
	step := h.schedule.Next(k.Attempt, o, now)
	if err := ctx.Err(); err != nil && step.Fate != Delivered {
		return broker.Retry(err, 0)
	}
	c := conclusion{k.Delivery, to, o, step}
	if step.Fate == Again { // it stays where it is, one attempt older
		next := c.failed()
		if err := h.platform.Ledger.KeepBack(ctx, next); err != nil {
			return err
		}
	} else if err := h.conclude(ctx, c); err != nil {
		return err
	}
	if err := h.platform.Ledger.DropKept(ctx, k); err != nil {
		return err
	}
	h.note(ctx, k.Delivery, step.Fate)
	return h.probed(ctx, to.Slug, step.Fate, now)
}

// probed stores what a probe found out.
func (h *Handler) probed(ctx context.Context, slug invocation.Slug, fate Fate, now time.Time) error {
	e, err := h.update(ctx, slug, func(e *registry.Extension) {
		switch {
		case fate == Delivered:
			e.Recover(now)
		case fate == Gone: // conclude has suspended it
		case h.circuit.overdue(e.Endpoint.FailingSince, now):
			e.Suspend(registry.SuspendedFailing, now)
		default:
			e.ProbeFailed(now, now.Add(h.circuit.probeWait(e.Endpoint.Probes+1)))
		}
	})
	if err != nil {
		return err
	}
	if !e.Listens() || !e.Endpoint.Waits() {
		return h.platform.Ledger.CheckEndpoint(ctx, slug) // to tell it, and to let go
	}
	return h.platform.Ledger.CheckEndpointAt(ctx, slug, e.Endpoint.ProbeAt)
}
