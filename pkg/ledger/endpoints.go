package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// What is kept back for an endpoint lies in a stream of its own, under a subject
// that no consumer reads, until the endpoint answers: so it costs nothing while
// it waits, in memory or in work. A message on the endpoint's check subject has
// some replica look at it.

// CheckEndpoint has an endpoint looked at soon, by any replica.
func (l *Ledger) CheckEndpoint(ctx context.Context, slug invocation.Slug) error {
	_, err := l.put(ctx, nats.NewMsg(endpointCheckSubject(slug)))
	return err
}

// CheckEndpointAt has an endpoint looked at at a time, across restarts. It
// replaces what was scheduled for the endpoint before.
func (l *Ledger) CheckEndpointAt(ctx context.Context, slug invocation.Slug, at time.Time) error {
	return l.putAt(ctx, nats.NewMsg(endpointTimerSubject(slug)), endpointCheckSubject(slug), at)
}

// ParseEndpointCheck returns the extension whose endpoint is to be looked at.
func ParseEndpointCheck(d broker.Delivery) (invocation.Slug, error) {
	slug := lastToken(d.Subject)
	if !invocation.ValidSlug(slug) || endpointCheckSubject(invocation.Slug(slug)) != d.Subject {
		return "", fmt.Errorf("%q is no endpoint's subject", d.Subject)
	}
	if len(d.Data) > 0 { // it says nothing but its subject
		return "", errMisfit
	}
	return invocation.Slug(slug), nil
}

// KeepBack stores a delivery until its endpoint answers, for as long as events
// are kept (contract section 8).
func (l *Ledger) KeepBack(ctx context.Context, d Delivery) error {
	d.Released = false
	m, err := deliveryMessage(keptSubject(d), d, nil)
	if err != nil {
		return err
	}
	left := max(time.Minute, invocation.Retention-l.Now().Sub(time.UnixMilli(d.FirstAt)))
	m.Header.Set(jetstream.MsgTTLHeader, strconv.Itoa(int(left.Seconds()))+"s")
	_, err = l.put(ctx, m)
	return err
}

// A Kept delivery and its place in the stream.
type Kept struct {
	Delivery
	Seq uint64
}

// KeptBack returns the deliveries that were kept back first for an endpoint, up
// to some hundred, in the order in which they were first due: one that was let
// go and is kept back again comes before what is newer.
func (l *Ledger) KeptBack(ctx context.Context, slug invocation.Slug, limit int) ([]Kept, error) {
	raw, err := l.messages(ctx, endpointStream, keptSubjects(slug), 0, maxKeptBatch)
	if err != nil {
		return nil, err
	}
	out := make([]Kept, 0, len(raw))
	for _, m := range raw {
		k := Kept{Seq: m.Sequence}
		err := decode(m.Data, &k.Delivery)
		if err == nil && (!k.names() || keptSubject(k.Delivery) != m.Subject) {
			err = errMisfit
		}
		if err != nil {
			if err := l.buryKept(ctx, m, err); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, k)
	}
	if len(raw) > 0 && len(out) == 0 { // none of them was one, which says nothing of the rest
		return l.KeptBack(ctx, slug, limit)
	}
	slices.SortStableFunc(out, func(a, b Kept) int { return a.Compare(b.Delivery) })
	return out[:min(len(out), limit)], nil
}

const maxKeptBatch = 256

// buryKept takes away what is no delivery, lest all that is kept behind it wait
// for ever.
func (l *Ledger) buryKept(ctx context.Context, m *jetstream.RawStreamMsg, why error) error {
	l.log.LogAttrs(ctx, slog.LevelError, "message buried",
		slog.String("subject", m.Subject), slog.Uint64("sequence", m.Sequence), slog.Any("error", why))
	d := broker.Delivery{Subject: m.Subject, Data: m.Data, Sequence: m.Sequence, Stored: m.Time}
	if err := l.Bury(ctx, endpointStream, d, why); err != nil {
		return err
	}
	return l.remove(ctx, endpointStream, m.Sequence)
}

// DropKept removes a delivery from those that are kept back.
func (l *Ledger) DropKept(ctx context.Context, k Kept) error {
	return l.remove(ctx, endpointStream, k.Seq)
}

// LetGo puts the oldest of what is kept back for an endpoint on its queue again,
// in order, and returns how many that were; none are left if it is none. Queued
// first and then taken away, nothing is lost, and what two replicas let go at a
// time is queued once.
func (l *Ledger) LetGo(ctx context.Context, slug invocation.Slug) (n int, err error) {
	batch, err := l.KeptBack(ctx, slug, maxKeptBatch)
	if err != nil {
		return 0, err
	}
	for _, k := range batch {
		k.Released = true
		m, err := deliveryMessage(deliverySubject(k.Delivery), k.Delivery, nil)
		if err != nil {
			return n, err
		}
		// The delivery's own id was used when it was queued first.
		id := join("kept", strconv.FormatUint(k.Seq, 10))
		if _, err := l.put(ctx, m, jetstream.WithMsgID(id)); err != nil {
			return n, err
		}
		if err := l.DropKept(ctx, k); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// remove deletes a message, which may be gone already.
func (l *Ledger) remove(ctx context.Context, stream string, seq uint64) error {
	err := l.streams[stream].DeleteMsg(ctx, seq)
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return unavailable(err)
	}
	return nil
}

// An Operation is something that an extension's owner is told about its
// endpoint, at the operational webhook.
type Operation struct {
	ID        invocation.ID   `json:"id"`
	Extension invocation.Slug `json:"ext"`
	// Kind is endpoint.disabled or endpoint.recovered.
	Kind   string `json:"kind"`
	Reason string `json:"why,omitempty"`
	// Since is when the endpoint began to fail, At when this happened, in
	// milliseconds; Since may be zero.
	Since int64 `json:"since,omitempty"`
	At    int64 `json:"at"`
}

// Tell puts an operation on its queue, once within two minutes.
func (l *Ledger) Tell(ctx context.Context, o Operation) error {
	data, err := encode(o)
	if err != nil {
		return err
	}
	_, err = l.put(ctx, &nats.Msg{Subject: operationSubject(o), Data: data, Header: nats.Header{}}, jetstream.WithMsgID(string(o.ID)))
	return err
}

// ParseOperation reads an operation as its queue delivered it.
func ParseOperation(d broker.Delivery) (Operation, error) {
	var o Operation
	if err := decode(d.Data, &o); err != nil {
		return Operation{}, err
	}
	if !invocation.ValidID(string(o.ID)) || !invocation.ValidSlug(string(o.Extension)) || operationSubject(o) != d.Subject {
		return Operation{}, errMisfit
	}
	return o, nil
}
