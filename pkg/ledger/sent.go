package ledger

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Sent event is one whose delivery to an extension has begun: it may be
// named as a cause, and the newest is inferred as one (contract section 6).
type Sent struct {
	Cause invocation.Cause
	At    time.Time // by the server's clock
}

type sentRecord struct {
	Version int         `json:"v"`
	Chain   chainRecord `json:"chain"`
}

// MarkSent notes that the delivery of an event to an extension begins now. It
// is called before the POST starts, since receivers call back before they
// answer.
func (l *Ledger) MarkSent(ctx context.Context, to invocation.Slug, e invocation.Event) error {
	data, err := encode(sentRecord{Version: recordVersion, Chain: newChain(e.Chain)})
	if err != nil {
		return err
	}
	_, err = l.put(ctx, &nats.Msg{Subject: sentSubject(to, e.Lock, e.ID), Data: data})
	return err
}

// LastSent returns the event most recently sent to an extension on a lock, and
// whether there is one.
func (l *Ledger) LastSent(ctx context.Context, to invocation.Slug, lock invocation.LockID) (Sent, bool, error) {
	return l.sent(ctx, lastSentSubject(to, lock))
}

// WasSent returns the event if it was sent to an extension on a lock.
func (l *Ledger) WasSent(ctx context.Context, to invocation.Slug, lock invocation.LockID, event invocation.ID) (Sent, bool, error) {
	return l.sent(ctx, sentSubject(to, lock, event))
}

func (l *Ledger) sent(ctx context.Context, subject string) (Sent, bool, error) {
	m, err := l.newest(ctx, sentStream, subject)
	if err != nil || m == nil {
		return Sent{}, false, err
	}
	s, err := parseSent(m)
	if err != nil || l.Now().Sub(s.At) > invocation.CausationWindow {
		return Sent{}, false, err
	}
	return s, true, nil
}

func parseSent(m *jetstream.RawStreamMsg) (Sent, error) {
	var rec sentRecord
	if err := decode(m.Data, &rec); err != nil {
		return Sent{}, err
	}
	id := invocation.ID(lastToken(m.Subject))
	c := rec.Chain.chain(id)
	return Sent{
		Cause: invocation.Cause{ID: id, Correlation: c.Correlation, Depth: c.Depth, Starter: c.Starter},
		At:    m.Time,
	}, nil
}
