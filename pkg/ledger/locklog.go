package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

// A Snapshot is a lock's state and the transition that led to it.
type Snapshot struct {
	State lock.State
	// Seq is the stream sequence of the lock's last transition: what the next
	// one is compared with. Zero means that the lock does not exist.
	Seq uint64
}

// A Transition is one atomic step of a lock: the state after it, and what it
// caused (design section 3).
type Transition struct {
	State   lock.State
	Events  []invocation.Emission // at most invocation.SeqsPerTransition
	History []invocation.HistoryLine
	Source  invocation.Source
	// Chain is the place of every event of the transition. An empty
	// correlation id makes each event a root with its own id.
	Chain invocation.Chain
	// Applied is the id of the invocation or keyed emission that made the
	// transition, which makes applying it twice impossible; empty if none did.
	Applied invocation.ID
	// Refused is set when a built-in refused the invocation and left the state
	// as it was: written only where a second worker might decide otherwise.
	Refused *invocation.Failure
	At      time.Time
}

// An Entry is a transition as it stands in the log.
type Entry struct {
	Transition
	Lock invocation.LockID
	Seq  uint64
	// Prev is the Seq of the lock's transition before this one; zero for the first.
	Prev uint64
}

// Committed returns the entry's events with the ids and places that the commit
// gave them.
func (e Entry) Committed() []invocation.Event {
	events := make([]invocation.Event, 0, len(e.Events))
	for i, em := range e.Events {
		seq := invocation.Seq(e.Seq*invocation.SeqsPerTransition) + invocation.Seq(i)
		id := invocation.EventID(e.Lock, seq)
		chain := e.Chain
		if chain.Correlation == "" {
			chain.Correlation = id
		}
		events = append(events, invocation.Event{
			ID: id, Seq: seq, Lock: e.Lock, Type: em.Type, Payload: em.Payload,
			Source: e.Source, Chain: chain, CreatedAt: invocation.Instant(e.At),
		})
	}
	return events
}

type transitionRecord struct {
	Version int              `json:"v"`
	State   lock.State       `json:"state"`
	Events  []emissionRecord `json:"ev,omitempty"`
	History []historyRecord  `json:"hist,omitempty"`
	Source  sourceRecord     `json:"src"`
	Chain   chainRecord      `json:"chain"`
	Applied invocation.ID    `json:"by,omitzero"`
	Refused *failureRecord   `json:"no,omitzero"`
	At      int64            `json:"at"` // milliseconds
	Prev    uint64           `json:"prev,omitzero"`
}

type historyRecord struct {
	Type      string           `json:"t"`
	Extension invocation.Slug  `json:"s,omitzero"`
	Actor     invocation.Actor `json:"a"`
	Payload   json.RawMessage  `json:"p,omitzero"`
}

type sourceRecord struct {
	Extension  invocation.Slug        `json:"s,omitzero"`
	Partner    invocation.ExtensionID `json:"x,omitzero"`
	Invocation invocation.ID          `json:"i,omitzero"`
	Actor      invocation.Actor       `json:"a"`
}

func newTransitionRecord(t Transition, prev uint64) transitionRecord {
	rec := transitionRecord{
		Version: recordVersion, State: t.State, Events: newEmissions(t.Events), Source: sourceRecord(t.Source),
		Chain: newChain(t.Chain), Applied: t.Applied, At: t.At.UnixMilli(), Prev: prev,
	}
	if t.Refused != nil {
		f := failureRecord(*t.Refused)
		rec.Refused = &f
	}
	for _, h := range t.History {
		rec.History = append(rec.History, historyRecord(h))
	}
	return rec
}

func parseEntry(lockID invocation.LockID, seq uint64, data []byte) (Entry, error) {
	var rec transitionRecord
	if err := decode(data, &rec); err != nil {
		return Entry{}, err
	}
	if rec.Version != recordVersion {
		return Entry{}, fmt.Errorf("transition %d is of version %d", seq, rec.Version)
	}
	if !rec.fits(lockID) {
		return Entry{}, errMisfit
	}
	t := Transition{
		State: rec.State, Events: emissions(rec.Events), Source: invocation.Source(rec.Source),
		Chain: rec.Chain.chain(""), Applied: rec.Applied, At: fromMillis(rec.At),
	}
	if rec.Refused != nil {
		f := invocation.Failure(*rec.Refused)
		t.Refused = &f
	}
	for _, h := range rec.History {
		t.History = append(t.History, invocation.HistoryLine(h))
	}
	return Entry{Transition: t, Lock: lockID, Seq: seq, Prev: rec.Prev}, nil
}

// ParseEntry reads a transition as the log's consumer delivered it.
func ParseEntry(d broker.Delivery) (Entry, error) {
	lockID := invocation.LockID(lastToken(d.Subject))
	if !invocation.ValidID(string(lockID)) || lockSubject(lockID) != d.Subject {
		return Entry{}, fmt.Errorf("%q is no lock's subject", d.Subject)
	}
	return parseEntry(lockID, d.Sequence, d.Data)
}

// Lock returns a lock's state, perhaps as a replica that lags knows it: enough
// to admit a call by, since changing the state compares with the newest. It
// returns ResourceNotFound for a lock that does not exist.
func (l *Ledger) Lock(ctx context.Context, id invocation.LockID) (Snapshot, error) {
	m, err := l.peek(ctx, lockStream(id.Partition()), lockSubject(id))
	if err != nil {
		return Snapshot{}, err
	}
	if m == nil {
		s, err := l.newestLock(ctx, id)
		if err == nil && s.Seq == 0 {
			err = invocation.Refuse(invocation.ResourceNotFound)
		}
		return s, err
	}
	return l.snapshot(id, m)
}

// newestLock reads from the leader; the zero Snapshot is a lock that does not exist.
func (l *Ledger) newestLock(ctx context.Context, id invocation.LockID) (Snapshot, error) {
	m, err := l.newest(ctx, lockStream(id.Partition()), lockSubject(id))
	if err != nil || m == nil {
		return Snapshot{}, err
	}
	return l.snapshot(id, m)
}

// snapshot decodes a lock's last message, unless it is the one that was decoded
// last: between two changes of a lock, its state is read by every call.
func (l *Ledger) snapshot(id invocation.LockID, m *jetstream.RawStreamMsg) (Snapshot, error) {
	if s, found := l.decoded.get(id); found && s.Seq == m.Sequence {
		return s, nil
	}
	e, err := parseEntry(id, m.Sequence, m.Data)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{State: e.State, Seq: e.Seq}
	l.decoded.put(id, s)
	return s, nil
}

// append writes a transition if the lock's last one is still expected.
func (l *Ledger) append(ctx context.Context, id invocation.LockID, expected uint64, t Transition) (Entry, error) {
	if len(t.Events) > invocation.SeqsPerTransition {
		return Entry{}, fmt.Errorf("a transition with %d events", len(t.Events))
	}
	data, err := encode(newTransitionRecord(t, expected))
	if err != nil {
		return Entry{}, err
	}
	m := &nats.Msg{Subject: lockSubject(id), Data: data}
	seq, err := l.put(ctx, m, jetstream.WithExpectLastSequencePerSubject(expected))
	if errors.Is(err, errPerhapsOurs) {
		seq, err = l.ours(ctx, id, expected, data)
	}
	if err != nil {
		return Entry{}, err
	}
	return Entry{Transition: t, Lock: id, Seq: seq, Prev: expected}, nil
}

// ours returns the sequence of the transition that followed the expected one,
// or errConflict if it holds other data.
func (l *Ledger) ours(ctx context.Context, id invocation.LockID, expected uint64, data []byte) (uint64, error) {
	ask := broker.StoredRequest{Sequence: expected + 1, NextBySubject: lockSubject(id)}
	m, err := l.askLeader(ctx, lockStream(id.Partition()), ask)
	switch {
	case err != nil:
		return 0, err
	case m == nil || !bytes.Equal(m.Data, data):
		return 0, errConflict
	}
	return m.Sequence, nil
}

// A Change asks for a transition of a lock.
type Change struct {
	Lock invocation.LockID
	// From is a snapshot that the caller has just read, so that the first try
	// needs no read of its own; zero reads one. It need not be the newest.
	From Snapshot
	// Once is the id that the transition is made for at most once; empty makes
	// it as often as it is asked for.
	Once invocation.ID
	// After is the lock's last transition that surely came before anybody
	// tried to make one for Once.
	After uint64
	// Decide computes the transition from the lock's state. It is asked again
	// when somebody else got in first. It may refuse with an error, which
	// counts when the state is the newest.
	Decide func(Snapshot) (Transition, error)
}

// Change makes a transition, recomputed as often as others get in first. If
// one was made for the same id before, that one is returned. The error is
// Decide's own, or ServiceUnavailable.
func (l *Ledger) Change(ctx context.Context, c Change) (Entry, error) {
	unlock, err := l.locks.lock(ctx, string(c.Lock))
	if err != nil {
		return Entry{}, unavailable(err)
	}
	defer unlock()
	given := c.From.Seq != 0 // perhaps as a replica knows it
	for try := 1; ; try++ {
		if c.From.Seq == 0 {
			if c.From, err = l.newestLock(ctx, c.Lock); err != nil {
				return Entry{}, err
			}
		}
		if c.Once != "" && c.From.Seq > c.After {
			made, found, err := l.find(ctx, c.Lock, c.After, c.From.Seq, c.Once)
			if err != nil || found {
				return made, err
			}
			c.After = c.From.Seq
		}
		t, err := c.Decide(c.From)
		if err != nil && given { // a refusal needs the newest state
			given, c.From = false, Snapshot{}
			continue
		}
		if err != nil {
			return Entry{}, err
		}
		t.Applied = c.Once
		e, err := l.append(ctx, c.Lock, c.From.Seq, t)
		if !errors.Is(err, errConflict) {
			return e, err
		}
		if err := pause(ctx, broker.Backoff(try, time.Millisecond, 50*time.Millisecond)); err != nil {
			return Entry{}, unavailable(err)
		}
		given, c.From = false, Snapshot{}
	}
}

// find looks for the transition made for an id among those after since and up
// to until, which stands. What a replica that lags does not have yet is read
// from the leader: to overlook one would be to make it twice.
func (l *Ledger) find(ctx context.Context, id invocation.LockID, since, until uint64, applied invocation.ID) (Entry, bool, error) {
	for since < until {
		entries, _, err := l.entries(ctx, id, since, 256)
		if err != nil {
			return Entry{}, false, err
		}
		if len(entries) == 0 {
			next, err := l.next(ctx, id, since)
			if err != nil || next.Seq == 0 { // all that stood there is gone
				return Entry{}, false, err
			}
			entries = append(entries, next)
		}
		if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Applied == applied }); i >= 0 {
			return entries[i], true, nil
		}
		since = entries[len(entries)-1].Seq
	}
	return Entry{}, false, nil
}

// next returns a lock's first transition after a stream sequence, from the
// leader, or the zero Entry.
func (l *Ledger) next(ctx context.Context, id invocation.LockID, after uint64) (Entry, error) {
	m, err := l.askLeader(ctx, lockStream(id.Partition()), broker.StoredRequest{Sequence: after + 1, NextBySubject: lockSubject(id)})
	if err != nil || m == nil {
		return Entry{}, err
	}
	return parseEntry(id, m.Sequence, m.Data)
}
