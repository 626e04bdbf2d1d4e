package ledger

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Link is one member of a chain, as the index knows it: enough to find the
// fact itself (design section 3, chain index).
type Link struct {
	Kind LinkKind          `json:"k"`
	ID   invocation.ID     `json:"id"`
	Lock invocation.LockID `json:"lock"`
	// Extension is the receiver of a delivery; empty otherwise.
	Extension invocation.Slug `json:"ext,omitzero"`
	// Status and At tell how a delivery's attempt went and when.
	Status string `json:"st,omitzero"`
	Try    int    `json:"try,omitzero"`
	At     int64  `json:"at,omitzero"` // milliseconds
}

// A LinkKind says what a link names.
type LinkKind string

// The kinds of link.
const (
	EventLink      LinkKind = "event"
	InvocationLink LinkKind = "invocation"
	DeliveryLink   LinkKind = "delivery"
)

// A PendingWrite is a write whose answer has not been waited for. The zero
// value is one that was not needed.
type PendingWrite struct{ futures []jetstream.PubAckFuture }

// Wait returns once the write is stored, or why it is not.
func (w PendingWrite) Wait(ctx context.Context) error {
	var errs []error
	for _, f := range w.futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			errs = append(errs, err)
		case <-ctx.Done():
			return unavailable(context.Cause(ctx))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return unavailable(err)
	}
	return nil
}

// Index notes members of a chain in one write, a single one once within two
// minutes. The write is on its way when Index returns; what rests on it waits
// for it.
func (l *Ledger) Index(correlation invocation.ID, links ...Link) (PendingWrite, error) {
	data, err := encode(links)
	if err != nil {
		return PendingWrite{}, err
	}
	m := &nats.Msg{Subject: chainSubject(correlation), Data: data}
	opts := []jetstream.PublishOpt{jetstream.WithStallWait(5 * time.Second)}
	if len(links) == 1 {
		opts = append(opts, jetstream.WithMsgID(links[0].messageID()))
	}
	f, err := l.js.PublishMsgAsync(m, opts...)
	if err != nil {
		return PendingWrite{}, unavailable(err)
	}
	return PendingWrite{[]jetstream.PubAckFuture{f}}, nil
}

func (k Link) messageID() string {
	parts := []string{string(k.Kind), string(k.ID)}
	if k.Kind == DeliveryLink {
		parts = append(parts, string(k.Extension), strconv.Itoa(k.Try), k.Status)
	}
	return join(parts...)
}

// IndexInvocation is Index for an invocation. One that begins its chain needs
// no note, since the chain has its id; that saves the commonest call a write.
func (l *Ledger) IndexInvocation(inv invocation.Invocation) (PendingWrite, error) {
	if inv.Chain.Correlation == inv.ID {
		return PendingWrite{}, nil
	}
	return l.Index(inv.Chain.Correlation, Link{Kind: InvocationLink, ID: inv.ID, Lock: inv.Lock})
}

// maxLinks bounds how much of a chain is read.
const maxLinks = 1000

// Chain returns the members of a chain in the order they were noted, about a
// thousand at most, each once; the call that began it, if one did, comes first.
func (l *Ledger) Chain(ctx context.Context, correlation invocation.ID) ([]Link, error) {
	out, err := l.rootCall(ctx, correlation)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for _, link := range out {
		seen[link.messageID()] = true
	}
	for seq := uint64(1); len(out) < maxLinks; {
		m, err := l.streams[chainStream].GetMsg(ctx, seq, jetstream.WithGetMsgSubject(chainSubject(correlation)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return out, nil
		}
		if err != nil {
			return nil, unavailable(err)
		}
		var links []Link
		if err := decode(m.Data, &links); err != nil {
			return nil, err
		}
		for _, link := range links {
			if id := link.messageID(); !seen[id] {
				seen[id] = true
				out = append(out, link)
			}
		}
		seq = m.Sequence + 1
	}
	return out, nil
}

// rootCall looks for the invocation with a chain's own id. Its partition is not
// known from the id, so each is asked.
func (l *Ledger) rootCall(ctx context.Context, id invocation.ID) ([]Link, error) {
	for p := range l.cfg.Partitions {
		for _, subject := range []string{stateName(p, id), requestName(p, id)} {
			m, err := l.newest(ctx, invStream(p), subject)
			if err != nil {
				return nil, err
			}
			if m == nil {
				continue
			}
			var rec struct {
				Lock    invocation.LockID `json:"lock"`
				Request *requestRecord    `json:"req"`
			}
			if err := decode(m.Data, &rec); err != nil {
				return nil, err
			}
			if rec.Request != nil {
				rec.Lock = rec.Request.Lock
			}
			if rec.Lock != "" {
				return []Link{{Kind: InvocationLink, ID: id, Lock: rec.Lock}}, nil
			}
		}
	}
	return nil, nil
}
