package deliver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// lookAgain is how long after a delivery was kept back its endpoint is looked
// at, at the latest: it may have been let go in the same moment.
const lookAgain = 2 * time.Second

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

// judge draws from an attempt what it says of the endpoint.
func (h *Handler) judge(ctx context.Context, to registry.Extension, o Outcome, now time.Time) error {
	hold, since := h.health.fared(to.Slug, o, h.schedule.shortest(), now)
	switch {
	case o.acknowledged() && (to.Endpoint.Resumed || !to.Endpoint.FailingSince.IsZero()):
		return h.changed(ctx, to.Slug, func(e *registry.Extension) { e.Recover(now) })
	case o.acknowledged():
		return nil
	case h.circuit.overdue(to.Endpoint.FailingSince, now):
		return h.changed(ctx, to.Slug, func(e *registry.Extension) { e.Suspend(registry.SuspendedFailing, now) })
	case hold > 0:
		h.health.forget(to.Slug)
		return h.changed(ctx, to.Slug, func(e *registry.Extension) { e.Hold(since, now.Add(hold)) })
	}
	return nil
}

// changed changes how an endpoint fares and has it looked at: now if there is
// something to tell or to let go, else when it is to be probed.
func (h *Handler) changed(ctx context.Context, slug invocation.Slug, change func(*registry.Extension)) error {
	e, err := h.update(ctx, slug, change)
	if err != nil {
		return err
	}
	if e.Listens() && e.Endpoint.Waits() {
		return h.platform.Ledger.CheckEndpointAt(ctx, slug, e.Endpoint.ProbeAt)
	}
	return h.platform.Ledger.CheckEndpoint(ctx, slug)
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
	case !e.Listens() || e.WebhookURL == "":
		return nil // what is kept back waits
	case !e.Endpoint.Waits():
		return h.letGo(ctx, e)
	case now.Before(e.Endpoint.ProbeAt):
		return h.platform.Ledger.CheckEndpointAt(ctx, slug, e.Endpoint.ProbeAt)
	}
	return h.probe(ctx, e)
}

// letGo sends what was kept back, until nothing is left of it or the endpoint is
// to be left alone again.
func (h *Handler) letGo(ctx context.Context, e registry.Extension) error {
	for e.Listens() && !e.Endpoint.Waits() {
		n, err := h.platform.Ledger.LetGo(ctx, e.Slug)
		switch {
		case err != nil:
			return err
		case n == 0 && !e.Endpoint.CatchingUp:
			return nil
		case n == 0: // once more: something may have come meanwhile
			e, err = h.update(ctx, e.Slug, (*registry.Extension).CaughtUp)
		default:
			e, err = h.platform.Registry.Newest(ctx, e.Slug)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// candidates is how many of what is kept back take turns as probes: the oldest
// may be what its receiver chokes on.
const candidates = 8

// probe sends one delivery that is kept back, which uses up no attempt of it.
// Without one the hold ends, and what comes next is tried as usual.
func (h *Handler) probe(ctx context.Context, e registry.Extension) error {
	for {
		kept, err := h.platform.Ledger.KeptBack(ctx, e.Slug, candidates)
		if err != nil {
			return err
		}
		if len(kept) == 0 {
			return h.changed(ctx, e.Slug, (*registry.Extension).Release)
		}
		k := kept[e.Endpoint.Probes%len(kept)]
		s, err := h.platform.Registry.Session(ctx, k.Session)
		gone := invocation.CodeOf(err) == invocation.SessionNotFound
		if err != nil && !gone {
			return err
		}
		if !gone && stands(s, k.Delivery) {
			return h.probeWith(ctx, k, e)
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
	if err := ctx.Err(); err != nil && !o.acknowledged() {
		return broker.Retry(err, 0)
	}
	if o.acknowledged() {
		h.box.Ended(ctx, outcomeOf(Delivered), to.ID)
		if err := h.platform.Ledger.DropKept(ctx, k); err != nil {
			return err
		}
		h.note(ctx, k.Delivery, Delivered)
	}
	return h.changed(ctx, to.Slug, func(e *registry.Extension) { h.probed(e, to, o, now) })
}

// probed notes what a probe has found out.
func (h *Handler) probed(e *registry.Extension, sent registry.Extension, o Outcome, now time.Time) {
	switch {
	case o.acknowledged():
		e.Recover(now)
	case o.Status == http.StatusGone && e.WebhookURL == sent.WebhookURL:
		e.Suspend(registry.SuspendedGone, now)
	case h.circuit.overdue(e.Endpoint.FailingSince, now):
		e.Suspend(registry.SuspendedFailing, now)
	default:
		failed := e.Endpoint.Probes + 1
		wait := o.pause(failed, h.schedule.shortest(), now)
		if wait == 0 {
			wait = h.circuit.probeWait(failed)
		}
		e.ProbeFailed(now, now.Add(wait))
	}
}
