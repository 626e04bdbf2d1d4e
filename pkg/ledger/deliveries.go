package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	// Released says that the delivery was kept back and goes before what is.
	Released bool `json:"rel,omitempty"`
	// Tries are the attempts that failed, oldest first.
	Tries []Try `json:"tries,omitempty"`
	// Event is the event's own id and chain, for what is noted when the POST
	// starts; empty for a history line.
	Chain chainRecord `json:"chain,omitzero"`
}

// Compare orders deliveries as they were first due; the ids of a lock's events
// grow with their seq.
func (d Delivery) Compare(other Delivery) int {
	return cmp.Or(cmp.Compare(d.FirstAt, other.FirstAt), cmp.Compare(d.ID, other.ID))
}

// A Try is an attempt that failed.
type Try struct {
	At int64 `json:"at"` // milliseconds
	// Status of the answer; 0 when there was none.
	Status   int   `json:"st,omitempty"`
	Duration int64 `json:"ms"` // milliseconds
	// Error is the class of what went wrong where there was no whole answer: a
	// kind of package egress.
	Error string `json:"err,omitempty"`
	// Answer is the beginning of the receiver's answer, cleaned: [MaxAnswer] of
	// the last one, less of those before.
	Answer string `json:"body,omitempty"`
}

// MaxAnswer is how much of a receiver's answer is kept, in bytes.
const (
	MaxAnswer   = 16 << 10
	olderAnswer = 512
)

// Failed returns the delivery after an attempt that failed.
func (d Delivery) Failed(t Try) Delivery {
	d.Tries = slices.Clone(d.Tries)
	for i := range d.Tries {
		d.Tries[i].Answer = clip(d.Tries[i].Answer, olderAnswer)
	}
	t.Answer = clip(t.Answer, MaxAnswer)
	d.Tries = append(d.Tries, t)
	return d
}

// clip cuts a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
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

// Enqueue puts deliveries on their queue in this order, each once within two
// minutes. They are on their way when it returns. Trace context travels along.
func (l *Ledger) Enqueue(trace map[string][]string, deliveries ...Delivery) (PendingWrite, error) {
	var w PendingWrite
	for _, d := range deliveries {
		m, err := deliveryMessage(deliverySubject(d), d, trace)
		if err != nil {
			return w, err
		}
		f, err := l.js.PublishMsgAsync(m, jetstream.WithMsgID(d.messageID()), jetstream.WithStallWait(5*time.Second))
		if err != nil {
			return w, unavailable(err)
		}
		w.futures = append(w.futures, f)
	}
	return w, nil
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
	return l.putAt(ctx, m, deliverySubject(d), at)
}

// KeepDead stores a delivery that was given up, with the reason.
func (l *Ledger) KeepDead(ctx context.Context, d Delivery, reason string) error {
	data, err := encode(DeadDelivery{Delivery: d, Reason: reason, DiedAt: l.Now().UnixMilli()})
	if err != nil {
		return err
	}
	_, err = l.put(ctx, &nats.Msg{Subject: deadDeliverySubject(string(d.Extension), d.ID), Data: data})
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

// againHeader marks what is no first attempt.
const againHeader = "Latchwire-Attempt"

// PlaceOf returns what a delivery's subject and header say of its place among
// others: whose it is, on which lock, and whether it was tried before. It is
// cheap, and empty for what is no delivery.
func PlaceOf(m broker.Delivery) (ext invocation.Slug, lock invocation.LockID, again bool) {
	parts := strings.Split(m.Subject, ".")
	if len(parts) != 5 {
		return "", "", true
	}
	return invocation.Slug(parts[2]), invocation.LockID(parts[3]), len(m.Header[againHeader]) > 0
}

// ParseDelivery reads a delivery as its queue delivered it.
func ParseDelivery(d broker.Delivery) (Delivery, error) {
	var out Delivery
	if err := decode(d.Data, &out); err != nil {
		return Delivery{}, err
	}
	if !out.names() || deliverySubject(out) != d.Subject {
		return Delivery{}, errMisfit
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
	if d.Attempt > 1 {
		m.Header.Set(againHeader, strconv.Itoa(d.Attempt))
	}
	return m, nil
}
