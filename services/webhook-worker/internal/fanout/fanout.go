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
	leave, err := h.locks.Enter(ctx, string(entry.Lock))
	if err != nil {
		return broker.Retry(err, time.Second)
	}
	defer leave()
	return h.follow(ctx, entry)
}

func (h *Handler) follow(ctx context.Context, entry ledger.Entry) error {
	if err := h.schedule(ctx, entry); err != nil {
		return err
	}
	events := entry.Committed()
	links, err := h.index(events)
	if err != nil {
		return err
	}
	// An extension whose manifest can't be read must not cost the others
	// anything, so its error comes last.
	to, broken := h.receivers(ctx, entry.State)
	if invocation.CodeOf(broken) == invocation.ServiceUnavailable {
		return broken
	}
	for _, e := range events {
		if err := h.tell(ctx, e, to); err != nil {
			return err
		}
	}
	if err := h.showHistory(ctx, entry, to); err != nil {
		return err
	}
	for _, link := range links {
		if err := link.Wait(ctx); err != nil {
			return err
		}
	}
	return broken
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

// index begins to note the events in their chains.
func (h *Handler) index(events []invocation.Event) ([]ledger.PendingWrite, error) {
	links := make([]ledger.PendingWrite, 0, len(events))
	for _, e := range events {
		link, err := h.platform.Ledger.Index(e.Chain.Correlation, ledger.Link{Kind: ledger.EventLink, ID: e.ID, Lock: e.Lock})
		if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return links, nil
}

// tell enqueues an event for everybody who subscribed to it.
func (h *Handler) tell(ctx context.Context, e invocation.Event, to []receiver) error {
	body, err := wire.Encode(wire.NewEvent(e))
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	var all []ledger.Delivery
	for _, r := range to {
		if r.wants(e) {
			all = append(all, ledger.NewEventDelivery(e, r.party, body))
		}
	}
	return h.box.Enqueue(outbox.InChain(ctx, e), all...)
}

// showHistory enqueues the history lines for every partner on the lock.
func (h *Handler) showHistory(ctx context.Context, entry ledger.Entry, to []receiver) error {
	var all []ledger.Delivery
	for i := range entry.History {
		body, err := wire.Encode(wire.NewHistoryLine(entry, i))
		if err != nil {
			return fmt.Errorf("encode history line %d of transition %d: %w", i, entry.Seq, err)
		}
		for _, r := range to {
			all = append(all, ledger.NewHistoryDelivery(entry, i, r.party, json.RawMessage(body)))
		}
	}
	return h.box.Enqueue(ctx, all...)
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
		case known && (e.Disabled || e.WebhookURL == ""):
			// it asked to be told nothing
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
