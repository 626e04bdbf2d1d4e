package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// An EventQuery asks for a lock's events after a cursor (contract section 3).
type EventQuery struct {
	Lock  invocation.LockID
	After invocation.Seq // exclusive
	Types []string       // "*", "slug.*" or exact ids; none selects all
	Limit int            // of events returned
}

// An EventPage is a part of a lock's events, in ascending order.
type EventPage struct {
	Events []invocation.Event
	// More says that the scan was cut: there may be more after Last.
	More bool
	// Last is how far was examined, whatever the filter: the next cursor.
	Last invocation.Seq
	// Oldest is the first seq that is still served; zero if there is none.
	Oldest invocation.Seq
	// Truncated says that the cursor lies before what is still served.
	Truncated bool
}

// The bounds of one scan: transitions, and bytes, lest a page of large payloads
// outgrow what a connection buffers.
const (
	scanLimit = 512
	scanBytes = 4 << 20
)

// Events returns the events after a cursor. A reader that pages by Last never
// misses one, also while others are being written: a seq is assigned when its
// event is committed, and a replica that lags serves a prefix.
//
// A cursor of zero asks for everything that is served. It lies before what is
// served only if the lock's first transition is no longer among it.
func (l *Ledger) Events(ctx context.Context, q EventQuery) (EventPage, error) {
	page := EventPage{Last: q.After}
	oldest, err := l.oldestEntry(ctx, q.Lock)
	if err != nil {
		return EventPage{}, err
	}
	if oldest.Seq == 0 {
		return l.nothingServed(ctx, q)
	}
	page.Oldest = firstSeqOf(oldest.Seq)
	page.Truncated = q.After+1 < page.Oldest && (q.After > 0 || oldest.Prev != 0)
	// The transition of the cursor itself may hold events after it.
	after := max(uint64(q.After)/invocation.SeqsPerTransition, oldest.Seq) - 1
	size := max(q.Limit+1, 16) // as many as a page takes if each has an event
	for scanned := 0; scanned < scanLimit; size *= 2 {
		size = min(size, scanLimit-scanned)
		entries, more, err := l.entries(ctx, q.Lock, after, size)
		if err != nil {
			return EventPage{}, err
		}
		if page.take(q, entries); page.More || !more {
			return page, nil
		}
		if len(page.Events) == q.Limit || len(entries) < size {
			break // the page is full, or they are so large that the server cut them
		}
		scanned += len(entries)
		after = entries[len(entries)-1].Seq
	}
	page.More = true
	return page, nil
}

// take adds what the query selects of the entries, and cuts the page where its
// limit is passed.
func (p *EventPage) take(q EventQuery, entries []Entry) {
	for _, e := range entries {
		for _, ev := range e.Committed() {
			if ev.Seq <= q.After || len(q.Types) > 0 && !invocation.MatchesAny(q.Types, ev.Type) {
				continue
			}
			if len(p.Events) == q.Limit {
				p.More = true
				return
			}
			p.Events = append(p.Events, ev)
			p.Last = ev.Seq
		}
		p.Last = max(p.Last, lastSeqOf(e.Seq))
	}
}

// nothingServed is the page of a lock that does not exist, or whose every
// transition is older than the retention.
func (l *Ledger) nothingServed(ctx context.Context, q EventQuery) (EventPage, error) {
	m, err := l.peek(ctx, lockStream(q.Lock.Partition()), lockSubject(q.Lock))
	if err != nil {
		return EventPage{}, err
	}
	page := EventPage{Last: q.After}
	if m != nil {
		page.Truncated = q.After < lastSeqOf(m.Sequence)
		page.Last = max(q.After, lastSeqOf(m.Sequence))
	}
	return page, nil
}

// firstSeqOf returns the seq of the transition's first event.
func firstSeqOf(streamSeq uint64) invocation.Seq {
	return invocation.Seq(streamSeq * invocation.SeqsPerTransition)
}

// lastSeqOf returns the last seq that an event of the transition could have.
func lastSeqOf(streamSeq uint64) invocation.Seq {
	return firstSeqOf(streamSeq) + invocation.SeqsPerTransition - 1
}

// oldestEntry returns the lock's first transition that is still served, which
// is neither dropped by the server nor older than the retention, or the zero
// Entry.
func (l *Ledger) oldestEntry(ctx context.Context, id invocation.LockID) (Entry, error) {
	since := l.Now().Add(-invocation.Retention)
	first, _, err := l.batch(ctx, id, 1, jetstreamext.GetBatchStartTime(since))
	if err != nil || len(first) == 0 {
		return Entry{}, err
	}
	return first[0], nil
}

// entries returns up to limit transitions of a lock after a stream sequence, in
// order, and whether there are more. A replica that lags returns fewer at the
// end, never with a gap.
func (l *Ledger) entries(ctx context.Context, id invocation.LockID, after uint64, limit int) (found []Entry, more bool, err error) {
	return l.batch(ctx, id, limit, jetstreamext.GetBatchSeq(after+1))
}

func (l *Ledger) batch(ctx context.Context, id invocation.LockID, limit int, from jetstreamext.GetBatchOpt) (found []Entry, more bool, err error) {
	stream := lockStream(id.Partition())
	if _, there := l.streams[stream]; !there {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	messages, err := jetstreamext.GetBatch(ctx, l.js, stream, limit, from,
		jetstreamext.GetBatchSubject(lockSubject(id)), jetstreamext.GetBatchMaxBytes(scanBytes))
	if err != nil {
		return nil, false, unavailable(err)
	}
	for m, err := range messages {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, false, unavailable(err)
		}
		e, err := parseEntry(id, m.Sequence, m.Data)
		if err != nil {
			return nil, false, err
		}
		found = append(found, e)
		more = m.Header.Get("Nats-Num-Pending") != "0"
	}
	return found, more, nil
}

// Event returns one event of a lock by its id. It returns ResourceNotFound for
// an id that is no event of this lock.
func (l *Ledger) Event(ctx context.Context, lockID invocation.LockID, id invocation.ID) (invocation.Event, error) {
	seq, ours := invocation.EventSeq(lockID, id)
	if !ours || seq < invocation.SeqsPerTransition { // no transition has the sequence 0
		return invocation.Event{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	m, err := l.at(ctx, lockStream(lockID.Partition()), uint64(seq)/invocation.SeqsPerTransition)
	if err != nil {
		return invocation.Event{}, err
	}
	if m == nil || m.Subject != lockSubject(lockID) {
		return invocation.Event{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	e, err := parseEntry(lockID, m.Sequence, m.Data)
	if err != nil {
		return invocation.Event{}, err
	}
	events := e.Committed()
	if i := int(seq % invocation.SeqsPerTransition); i < len(events) {
		return events[i], nil
	}
	return invocation.Event{}, invocation.Refuse(invocation.ResourceNotFound)
}

// History returns the transitions of a lock after a stream sequence that have
// history lines, up to limit transitions, and the sequence to go on from.
func (l *Ledger) History(ctx context.Context, id invocation.LockID, after uint64, limit int) (entries []Entry, next uint64, err error) {
	all, more, err := l.entries(ctx, id, after, limit)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range all {
		next = e.Seq
		if len(e.History) > 0 {
			entries = append(entries, e)
		}
	}
	if !more {
		next = 0
	}
	return entries, next, nil
}
