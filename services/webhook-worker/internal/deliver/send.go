package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
)

// lockEventData is what a lock_event.created is about (contract section 8).
type lockEventData struct {
	SessionID invocation.SessionID `json:"sessionId"`
	Extension wire.Extension       `json:"extension"`
	LockID    invocation.LockID    `json:"lockId"`
	LockEvent json.RawMessage      `json:"lockEvent"`
}

// actionLogData is what an action_log.created is about (contract section 8).
type actionLogData struct {
	SessionID invocation.SessionID `json:"sessionId"`
	ActionLog json.RawMessage      `json:"actionLog"`
}

// dataOf returns the webhook's data, which is the same at each attempt.
func dataOf(d ledger.Delivery) (any, error) {
	switch d.Kind {
	case wire.LockEventCreated:
		return lockEventData{
			SessionID: d.Session, Extension: wire.Extension{Slug: d.Extension}, LockID: d.Lock, LockEvent: d.Body,
		}, nil
	case wire.ActionLogCreated:
		return actionLogData{SessionID: d.Session, ActionLog: d.Body}, nil
	}
	return nil, fmt.Errorf("delivery %s is a %q, which this worker does not know", d.ID, d.Kind)
}

// send makes the POST. An error means that it was not made.
func (h *Handler) send(ctx context.Context, d ledger.Delivery, to registry.Extension) (Outcome, error) {
	r, err := requestOf(d, to, h.platform.Ledger.Now())
	if err != nil {
		return Outcome{}, err
	}
	if d.Kind == wire.LockEventCreated {
		if err := h.platform.Ledger.MarkSent(ctx, d.Extension, d.Event()); err != nil {
			return Outcome{}, err
		}
	}
	at, begin := h.platform.Ledger.Now(), time.Now()
	resp, err := h.box.Post(ctx, r, to.ID, d.Attempt)
	return Outcome{
		Status: resp.Status, Header: resp.Header, Body: resp.Body, Err: err,
		Begin: at, Took: time.Since(begin), Chance: rand.Float64(),
	}, nil
}

// requestOf builds the request of one attempt, with its own time, request id
// and signatures, and the delivery's id (SEC-24).
func requestOf(d ledger.Delivery, to registry.Extension, now time.Time) (egress.Request, error) {
	data, err := dataOf(d)
	if err != nil {
		return egress.Request{}, err
	}
	return platform.Webhook{ID: d.ID, Event: d.Kind, Data: data}.Request(to, now)
}

// note adds the attempt to its chain. It is a convenience for whoever looks at
// the chain and no reason to send a delivery twice, so a link that is lost is
// lost; a history line is in no chain.
func (h *Handler) note(ctx context.Context, d ledger.Delivery, fate Fate) {
	if d.Kind != wire.LockEventCreated {
		return
	}
	e := d.Event()
	err := h.platform.Ledger.Note(ctx, e.Chain.Correlation, ledger.Link{
		Kind: ledger.DeliveryLink, ID: e.ID, Lock: d.Lock, Extension: d.Extension,
		Status: statusOf(fate), Try: d.Attempt, At: h.platform.Ledger.Now().UnixMilli(),
	})
	if err != nil {
		telemetry.NoteError(ctx, err)
	}
}

// statusOf names the fate as the chain shows it: a delivery that is tried again
// is pending.
func statusOf(f Fate) string {
	switch f {
	case Delivered:
		return "delivered"
	case Again:
		return "pending"
	case Dead, Gone:
		return "dead"
	case Untried:
	}
	return ""
}

// outcomeOf names the fate of a delivery that ended, as it is counted.
func outcomeOf(f Fate) string {
	switch f {
	case Delivered:
		return telemetry.OutcomeDelivered
	case Dead:
		return telemetry.OutcomeDead
	case Gone:
		return telemetry.OutcomeDisabled
	case Untried, Again: // has not ended
	}
	return ""
}
