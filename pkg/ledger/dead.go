package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A DeadQuery asks for dead deliveries, the first to die first.
type DeadQuery struct {
	// Extension is whose deliveries; empty selects all.
	Extension invocation.Slug
	// Match selects among those; nil takes all.
	Match func(Corpse) bool
	// After is the place to go on from: the last one's Seq.
	After uint64
	Limit int
}

// A Corpse is a dead delivery and its place among the dead.
type Corpse struct {
	DeadDelivery
	Seq uint64
}

// Dead returns the dead deliveries after a place, and whether there are more.
func (l *Ledger) Dead(ctx context.Context, q DeadQuery) (found []Corpse, more bool, err error) {
	s := span{stream: deadStream, subject: deadDeliveries(q.Extension), after: q.After, limit: q.Limit}
	return scan(ctx, l, s, parseCorpse, q.Match)
}

// A span is a part of a stream: up to so many messages after a place.
type span struct {
	stream, subject string
	after           uint64
	limit           int
}

// scanStep is how many messages are read at a time.
const scanStep = 256

// scan returns what a span of a stream holds, of that what matches, and whether
// there is more.
func scan[T any](
	ctx context.Context, l *Ledger, s span, parse func(*jetstream.RawStreamMsg) (T, error), match func(T) bool,
) (found []T, more bool, err error) {
	for {
		batch, err := l.messages(ctx, s.stream, s.subject, s.after, scanStep)
		if err != nil || len(batch) == 0 {
			return found, false, err
		}
		for _, m := range batch {
			s.after = m.Sequence
			v, err := parse(m)
			if err != nil {
				return nil, false, err
			}
			if match != nil && !match(v) {
				continue
			}
			if len(found) == s.limit {
				return found, true, nil
			}
			found = append(found, v)
		}
	}
}

// messages reads messages of a stream after a place, up to some hundred.
func (l *Ledger) messages(ctx context.Context, stream, subject string, after uint64, limit int) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all, err := jetstreamext.GetBatch(ctx, l.js, stream, limit, jetstreamext.GetBatchSeq(after+1), jetstreamext.GetBatchSubject(subject))
	if err != nil {
		return nil, unavailable(err)
	}
	var out []*jetstream.RawStreamMsg
	for m, err := range all {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, unavailable(err)
		}
		out = append(out, m)
	}
	return out, nil
}

// A DeadMessage is what no handler could deal with, as it stood.
type DeadMessage struct {
	Stream  string
	Subject string
	Reason  string
	At      time.Time
	Seq     uint64 // its place among the dead
}

// DeadMessages returns the messages that were buried after a place, oldest
// first, and whether there are more.
func (l *Ledger) DeadMessages(ctx context.Context, after uint64, limit int) (found []DeadMessage, more bool, err error) {
	return scan(ctx, l, span{stream: deadStream, subject: deadMessageSubjects, after: after, limit: limit}, parseDeadMessage, nil)
}

func parseDeadMessage(m *jetstream.RawStreamMsg) (DeadMessage, error) {
	parts := strings.Split(m.Subject, ".")
	return DeadMessage{
		Stream: parts[len(parts)-2], Subject: m.Header.Get(buriedSubject), Reason: m.Header.Get(buriedReason), At: m.Time, Seq: m.Sequence,
	}, nil
}

func parseCorpse(m *jetstream.RawStreamMsg) (Corpse, error) {
	c := Corpse{Seq: m.Sequence}
	return c, decode(m.Data, &c.DeadDelivery)
}

// DeadByID returns a dead delivery by the id that [DeadID] gave it, or
// ResourceNotFound.
func (l *Ledger) DeadByID(ctx context.Context, id string) (Corpse, error) {
	ext, delivery, valid := splitDeadID(id)
	if !valid {
		return Corpse{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	m, err := l.newest(ctx, deadStream, deadDeliverySubject(ext, delivery))
	if err != nil {
		return Corpse{}, err
	}
	if m == nil {
		return Corpse{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	return parseCorpse(m)
}

// splitDeadID returns the slug and the id of which a dead delivery's id is made,
// which is all that may reach a subject.
func splitDeadID(id string) (ext, delivery string, valid bool) {
	cut := len(id) - 25
	if cut <= 0 || id[cut] != '-' || !invocation.ValidSlug(id[:cut]) || !invocation.ValidID(id[cut+1:]) {
		return "", "", false
	}
	return id[:cut], id[cut+1:], true
}

// Revive puts a dead delivery on its queue again with a fresh set of attempts
// (contract section 8). Queued first and then taken from the dead, it is never
// lost, and perhaps sent twice.
func (l *Ledger) Revive(ctx context.Context, c Corpse) error {
	d := c.Delivery
	d.Attempt, d.Tries = 1, nil
	m, err := deliveryMessage(deliverySubject(d), d, nil)
	if err != nil {
		return err
	}
	// Without a message id: the queue would drop the second of two revivals
	// within its two minutes, and this is no repetition.
	if _, err := l.put(ctx, m); err != nil {
		return err
	}
	return l.remove(ctx, deadStream, c.Seq)
}
