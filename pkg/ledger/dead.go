package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A DeadQuery asks for dead deliveries, the first to die first.
type DeadQuery struct {
	// Extension is whose deliveries; empty selects all.
	Extension invocation.Slug
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
	for {
		batch, err := l.deadBatch(ctx, q.After)
		if err != nil || len(batch) == 0 {
			return found, false, err
		}
		for _, c := range batch {
			q.After = c.Seq
			if q.Extension != "" && c.Delivery.Extension != q.Extension {
				continue
			}
			if len(found) == q.Limit {
				return found, true, nil
			}
			found = append(found, c)
		}
	}
}

func (l *Ledger) deadBatch(ctx context.Context, after uint64) ([]Corpse, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	messages, err := jetstreamext.GetBatch(ctx, l.js, deadStream, 256,
		jetstreamext.GetBatchSeq(after+1), jetstreamext.GetBatchSubject(deadDeliverySubject("*")))
	if err != nil {
		return nil, unavailable(err)
	}
	var out []Corpse
	for m, err := range messages {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, unavailable(err)
		}
		c, err := parseCorpse(m)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func parseCorpse(m *jetstream.RawStreamMsg) (Corpse, error) {
	c := Corpse{Seq: m.Sequence}
	return c, decode(m.Data, &c.DeadDelivery)
}

// DeadByID returns a dead delivery by the id that [DeadID] gave it, or
// ResourceNotFound.
func (l *Ledger) DeadByID(ctx context.Context, id string) (Corpse, error) {
	if !validDeadID(id) {
		return Corpse{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	m, err := l.newest(ctx, deadStream, deadDeliverySubject(id))
	if err != nil {
		return Corpse{}, err
	}
	if m == nil {
		return Corpse{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	return parseCorpse(m)
}

// validDeadID reports whether id has the form of a dead delivery's: a slug and
// an id, which is all that may reach a subject.
func validDeadID(id string) bool {
	cut := len(id) - 25
	return cut > 0 && id[cut] == '-' && invocation.ValidSlug(id[:cut]) && invocation.ValidID(id[cut+1:])
}

// Revive puts a dead delivery on its queue again with a fresh set of attempts
// (contract section 8). Queued first and then taken from the dead, it is never
// lost, and perhaps sent twice.
func (l *Ledger) Revive(ctx context.Context, c Corpse) error {
	d := c.Delivery
	d.Attempt = 1
	m, err := deliveryMessage(deliverySubject(d), d, nil)
	if err != nil {
		return err
	}
	// Without a message id: the queue would drop the second of two revivals
	// within its two minutes, and this is no repetition.
	if _, err := l.put(ctx, m); err != nil {
		return err
	}
	err = l.streams[deadStream].DeleteMsg(ctx, c.Seq)
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return unavailable(err)
	}
	return nil
}
