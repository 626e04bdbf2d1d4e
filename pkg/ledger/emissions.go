package ledger

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Reservation is the stored key of an emitted event: what was emitted under
// it, and where in the lock's log to look for the event.
type Reservation struct {
	// Body is what was emitted, in canonical form, to tell a repeat from another
	// event under the same key.
	Body string `json:"b"`
	// After is the lock's last transition before the event was first tried.
	After uint64 `json:"ls"`
}

// Reserve stores the key of an emitted event, once within 24 hours (contract
// section 3), and returns the reservation that stands now: this one, or an
// earlier one for the same id. Whoever reserved, the event itself is then made
// by [Ledger.Change] with the same id, so that a crash in between costs nothing.
func (l *Ledger) Reserve(ctx context.Context, lock invocation.LockID, id invocation.ID, r Reservation) (Reservation, error) {
	data, err := encode(r)
	if err != nil {
		return Reservation{}, err
	}
	m := &nats.Msg{Subject: emissionSubject(lock, id), Data: data}
	_, err = l.put(ctx, m, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithMsgTTL(invocation.EmissionKeyTTL))
	if err == nil {
		return r, nil
	}
	if !errors.Is(err, errConflict) {
		return Reservation{}, err
	}
	stored, err := l.newest(ctx, invStream(lock.Partition()), emissionSubject(lock, id))
	if err != nil {
		return Reservation{}, err
	}
	if stored == nil { // it expired in this very moment
		return r, nil
	}
	var standing Reservation
	return standing, decode(stored.Data, &standing)
}

// Reserved returns the reservation of an emitted event's key, and whether there
// is one.
func (l *Ledger) Reserved(ctx context.Context, lock invocation.LockID, id invocation.ID) (Reservation, bool, error) {
	m, err := l.newest(ctx, invStream(lock.Partition()), emissionSubject(lock, id))
	if err != nil || m == nil {
		return Reservation{}, false, err
	}
	var r Reservation
	return r, true, decode(m.Data, &r)
}

// Made returns the transition that was made for an id after a place in the
// lock's log, and whether there is one.
func (l *Ledger) Made(ctx context.Context, lock invocation.LockID, id invocation.ID, after uint64) (Entry, bool, error) {
	now, err := l.newestLock(ctx, lock)
	if err != nil || now.Seq <= after {
		return Entry{}, false, err
	}
	return l.find(ctx, lock, after, now.Seq, id)
}
