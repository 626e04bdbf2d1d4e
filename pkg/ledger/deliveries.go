package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Delivery is a webhook call to make, at least once: an event, or a history
// line, for one extension on one lock.
type Delivery struct {
	// ID tells the delivery apart on its lock and endpoint: the event's id, or
	// a history line's.
	ID        string               `json:"id"`
	Extension invocation.Slug      `json:"ext"`
	Session   invocation.SessionID `json:"ses"`
	Lock      invocation.LockID    `json:"lock"`
	// Kind is the contract's name of the webhook event: lock_event.created or
	// action_log.created.
	Kind string `json:"kind"`
	// Body is the webhook's lockEvent or actionLog, as it is sent.
	Body json.RawMessage `json:"body"`
	// Attempt counts the tries, this one included.
	Attempt int   `json:"try"`
	FirstAt int64 `json:"first"` // milliseconds
	// Event is the event's own id and chain, for what is noted when the POST
	// starts; empty for a history line.
	Chain chainRecord `json:"chain,omitzero"`
}

// Event returns as much of the delivered event as its chain needs.
func (d Delivery) Event() invocation.Event {
	return invocation.Event{ID: invocation.ID(d.ID), Lock: d.Lock, Chain: d.Chain.chain(invocation.ID(d.ID))}
}

// NewEventDelivery returns the first try to deliver an event.
func NewEventDelivery(e invocation.Event, to lockParty, body json.RawMessage) Delivery {
	return Delivery{
		ID: string(e.ID), Extension: to.Slug, Session: to.Session, Lock: e.Lock, Kind: "lock_event.created",
		Body: body, Attempt: 1, FirstAt: e.CreatedAt.UnixMilli(), Chain: newChain(e.Chain),
	}
}

// lockParty is who gets a delivery.
type lockParty = invocation.Party

// Enqueue puts deliveries on their queue, each once within two minutes, and
// waits until all are stored. Trace context travels along.
func (l *Ledger) Enqueue(ctx context.Context, trace map[string][]string, deliveries ...Delivery) error {
	futures := make([]jetstream.PubAckFuture, 0, len(deliveries))
	for _, d := range deliveries {
		m, err := deliveryMessage(deliverySubject(d), d, trace)
		if err != nil {
			return err
		}
		f, err := l.js.PublishMsgAsync(m, jetstream.WithMsgID(d.messageID()), jetstream.WithStallWait(5*time.Second))
		if err != nil {
			return unavailable(err)
		}
		futures = append(futures, f)
	}
	var errs []error
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			errs = append(errs, err)
		case <-ctx.Done():
			errs = append(errs, context.Cause(ctx))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return unavailable(err)
	}
	return nil
}

func (d Delivery) messageID() string {
	return join(string(d.Extension), string(d.Lock), d.ID, strconv.Itoa(d.Attempt))
}

// Schedule puts a delivery on its queue at a later time, by any replica and
// across restarts. A schedule of the same delivery is replaced.
func (l *Ledger) Schedule(ctx context.Context, trace map[string][]string, d Delivery, at time.Time) error {
	m, err := deliveryMessage(scheduleSubject(d), d, trace)
	if err != nil {
		return err
	}
	// The client's helper cuts to whole seconds and so fires early.
	m.Header.Set(jetstream.ScheduleHeader, "@at "+at.UTC().Format(time.RFC3339Nano))
	m.Header.Set(jetstream.ScheduleTargetHeader, deliverySubject(d))
	_, err = l.put(ctx, m)
	return err
}

// KeepDead stores a delivery that was given up, with the reason.
func (l *Ledger) KeepDead(ctx context.Context, d Delivery, reason string) error {
	data, err := encode(DeadDelivery{Delivery: d, Reason: reason, DiedAt: l.Now().UnixMilli()})
	if err != nil {
		return err
	}
	_, err = l.put(ctx, &nats.Msg{Subject: deadDeliverySubject(DeadID(d)), Data: data})
	return err
}

// A DeadDelivery is a delivery that was given up.
type DeadDelivery struct {
	Delivery Delivery `json:"d"`
	Reason   string   `json:"why"`
	DiedAt   int64    `json:"at"` // milliseconds
}

// DeadID names a dead delivery: extension and event.
func DeadID(d Delivery) string { return string(d.Extension) + "-" + d.ID }

// ParseDelivery reads a delivery as its queue delivered it.
func ParseDelivery(d broker.Delivery) (Delivery, error) {
	var out Delivery
	if err := decode(d.Data, &out); err != nil {
		return Delivery{}, err
	}
	if deliverySubject(out) != d.Subject {
		return Delivery{}, errors.New("the delivery does not fit its subject")
	}
	return out, nil
}

func deliveryMessage(subject string, d Delivery, trace map[string][]string) (*nats.Msg, error) {
	data, err := encode(d)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(subject)
	m.Data = data
	maps.Copy(m.Header, traceOf(trace))
	return m, nil
}
