package timers

import (
	"context"
	"errors"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
)

// InFlight is how many locks of a partition are looked at at a time.
const InFlight = 64

// A Handler handles the messages of due timers.
type Handler struct{ ledger *ledger.Ledger }

// New returns a handler for all partitions.
func New(l *ledger.Ledger) *Handler { return &Handler{l} }

// errNotDue ends the looking.
var errNotDue = errors.New("nothing is due")

// Handle has everything happen on a lock that is due, and schedules what is
// next.
func (h *Handler) Handle(ctx context.Context, m broker.Delivery) error {
	id, err := ledger.ParseTimer(m)
	if err != nil {
		return err
	}
	for {
		_, err := h.ledger.Change(ctx, ledger.Change{Lock: id, Decide: h.decide})
		switch {
		case errors.Is(err, errNotDue):
			return h.next(ctx, id)
		case err != nil:
			return err
		}
	}
}

func (h *Handler) decide(s ledger.Snapshot) (ledger.Transition, error) {
	now := h.ledger.Now()
	c, of, due := lock.Due(s.State, now)
	if !due {
		return ledger.Transition{}, errNotDue
	}
	return ledger.Transition{
		State: c.State, Events: c.Events, History: c.History, At: now,
		Source: invocation.Source{Extension: of, Actor: invocation.ActorSystem},
	}, nil
}

// next schedules the lock's next timer. Where a schedule came early, by a clock
// that runs ahead, this is the same one again.
func (h *Handler) next(ctx context.Context, id invocation.LockID) error {
	snap, err := h.ledger.Lock(ctx, id)
	if invocation.CodeOf(err) == invocation.ResourceNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if at, found := snap.State.NextTimer(); found {
		return h.ledger.ScheduleTimer(ctx, id, at)
	}
	return nil
}
