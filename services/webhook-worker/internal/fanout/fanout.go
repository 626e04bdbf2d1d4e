package fanout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

// InFlight is how many transitions of a partition are held at a time, most of
// them waiting for another of their lock.
const InFlight = 1024

// A Handler handles the messages of the locks' logs.
type Handler struct {
	platform *platform.Platform
	box      *outbox.Box
	locks    *broker.Lanes // one slot for each lock
}

// New returns a handler for all partitions.
func New(p *platform.Platform, box *outbox.Box) *Handler {
	// A lock lies in one partition, so its line has room for all that is held.
	return &Handler{platform: p, box: box, locks: broker.NewLanes(1, InFlight)}
}

// Arrived notes a transition's place among those of its lock, Left gives it up:
// deliveries are queued in the order of the log.
func (h *Handler) Arrived(m broker.Delivery) { h.locks.Expect(turnOf(m)) }

// Left gives up the place of a transition.
func (h *Handler) Left(m broker.Delivery) { h.locks.Forget(turnOf(m)) }

func turnOf(m broker.Delivery) broker.Turn {
	return broker.Turn{Key: m.Subject, Order: m.Subject, Seq: m.Sequence}
}

// Handle derives what follows from one transition. When it returns nil, all of
// it is stored.
func (h *Handler) Handle(ctx context.Context, m broker.Delivery) error {
	entry, err := ledger.ParseEntry(m)
	if err != nil {
		return err
	}
	if len(entry.Events) == 0 && len(entry.History) == 0 {
		return nil
	}
	stored, broken, err := h.inTurn(ctx, m, entry)
	if err != nil {
		return err
	}
	// The next transition of the lock is worked on meanwhile.
	errs := []error{h.schedule(ctx, entry)}
	for _, wait := range stored {
		errs = append(errs, wait())
	}
	return errors.Join(append(errs, broken)...)
}

// inTurn sends off what follows from a transition after all that followed from
// those before it, so that it is queued in the order of the log. What is broken
// is an extension whose manifest can't be read: it must not cost the others
// anything.
func (h *Handler) inTurn(ctx context.Context, m broker.Delivery, entry ledger.Entry) (stored []func() error, broken, err error) {
	leave, err := h.locks.Enter(ctx, turnOf(m))
	if err != nil {
		return nil, nil, broker.Retry(err, time.Second)
	}
	defer leave()
	to, broken := h.receivers(ctx, entry.State)
	if invocation.CodeOf(broken) == invocation.ServiceUnavailable {
		return nil, nil, broken
	}
	told, err := eventsFor(entry, to)
	if err != nil {
		return nil, nil, err
	}
	lines, err := historyFor(entry, to)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range entry.Committed() {
		stored = append(stored, h.index(ctx, e), h.box.Enqueue(outbox.InChain(ctx, e), told[i]...))
	}
	return append(stored, h.box.Enqueue(ctx, lines...)), broken, nil
}

// schedule sees to it that what is next on the lock happens. Where the log has
// moved on, the newest state counts: transitions may be worked on out of order.
func (h *Handler) schedule(ctx context.Context, entry ledger.Entry) error {
	if _, found := entry.State.NextTimer(); !found {
		return nil
	}
	snap, err := h.platform.Ledger.Lock(ctx, entry.Lock)
	if err != nil {
		return err
	}
	if at, found := snap.State.NextTimer(); found {
		return h.platform.Ledger.ScheduleTimer(ctx, entry.Lock, at)
	}
	return nil
}

// index begins to note an event in its chain.
func (h *Handler) index(ctx context.Context, e invocation.Event) (stored func() error) {
	link, err := h.platform.Ledger.Index(e.Chain.Correlation, ledger.Link{Kind: ledger.EventLink, ID: e.ID, Lock: e.Lock})
	return func() error { return errors.Join(err, link.Wait(ctx)) }
}

// eventsFor returns, for each event of a transition, its deliveries to all who
// subscribed to it.
func eventsFor(entry ledger.Entry, to []receiver) ([][]ledger.Delivery, error) {
	events := entry.Committed()
	all := make([][]ledger.Delivery, len(events))
	for i, e := range events {
		body, err := wire.Encode(wire.NewEvent(e))
		if err != nil {
			return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
		}
		for _, r := range to {
			if r.wants(e) {
				all[i] = append(all[i], ledger.NewEventDelivery(e, r.party, body))
			}
		}
	}
	return all, nil
}

// historyFor returns the deliveries of the history lines to every partner on
// the lock.
func historyFor(entry ledger.Entry, to []receiver) (all []ledger.Delivery, err error) {
	for i := range entry.History {
		body, err := wire.Encode(wire.NewHistoryLine(entry, i))
		if err != nil {
			return nil, fmt.Errorf("encode history line %d of transition %d: %w", i, entry.Seq, err)
		}
		for _, r := range to {
			all = append(all, ledger.NewHistoryDelivery(entry, i, r.party, json.RawMessage(body)))
		}
	}
	return all, nil
}

// A receiver is a partner extension on the lock that can be reached.
type receiver struct {
	party         invocation.Party
	subscriptions []string // "*", "slug.*" or exact ids
}

// wants reports whether an event is delivered to the receiver: it subscribed
// to it and is not who caused it (contract section 8).
func (r receiver) wants(e invocation.Event) bool {
	return r.party.Slug != e.Source.Extension && invocation.MatchesAny(r.subscriptions, e.Type)
}

// receivers returns who is on the lock after a transition and has a webhook
// that is in use, and what went wrong with those that could not be asked.
func (h *Handler) receivers(ctx context.Context, s lock.State) ([]receiver, error) {
	var (
		to     []receiver
		broken []error
	)
	for _, installed := range s.Extensions {
		if h.platform.Catalog.BuiltIn(installed.Slug) {
			continue
		}
		e, manifest, err := h.platform.Catalog.Offered(ctx, installed.Slug)
		code := invocation.CodeOf(err)
		switch known := e.Slug != ""; {
		case code == invocation.ServiceUnavailable:
			return nil, err
		case !known && code == invocation.ExtensionNotFound:
			// nobody to tell
		case known && (e.WebhookURL == "" || e.Disabled):
			// it asked to be told nothing; for one that was suspended it is kept back
		case err != nil:
			broken = append(broken, err)
		case manifest == nil: // none was published: it subscribed to nothing
			to = append(to, receiver{party: e.Party(installed.Session)})
		default:
			to = append(to, receiver{e.Party(installed.Session), manifest.Document().Subscriptions})
		}
	}
	return to, errors.Join(broken...)
}
