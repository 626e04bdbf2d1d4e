package ledger

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Watch tells that a lock's log has grown. It is a hint: one that gets lost
// on the way is not sent again.
type Watch struct {
	sub     *nats.Subscription
	reached atomic.Uint64 // the newest transition it was told of
	moved   chan struct{}
}

// Watch begins to watch a lock. What was stored before may not be told; the
// caller ends it by Close.
func (l *Ledger) Watch(id invocation.LockID) (*Watch, error) {
	w := &Watch{moved: make(chan struct{}, 1)}
	sub, err := l.conn.NC.Subscribe(movedSubject(id), w.told)
	if err != nil {
		return nil, unavailable(err)
	}
	w.sub = sub
	return w, nil
}

func (w *Watch) told(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return // nobody else may publish there; a poll finds what there is
	}
	for old := w.reached.Load(); seq > old && !w.reached.CompareAndSwap(old, seq); old = w.reached.Load() {
	}
	select {
	case w.moved <- struct{}{}:
	default: // it is to be read anyway
	}
}

// Moved has a value when the log has grown since it was last received from.
func (w *Watch) Moved() <-chan struct{} { return w.moved }

// Ahead reports whether the log is known to go on after a cursor: where the
// replica that answers lags, it may serve that only later.
func (w *Watch) Ahead(of invocation.Seq) bool { return firstSeqOf(w.reached.Load()) > of }

// Close ends the watch.
func (w *Watch) Close() { _ = w.sub.Unsubscribe() } // fails only where it has ended already

// EndOfEvents returns the cursor after which a lock's next event comes.
func (l *Ledger) EndOfEvents(ctx context.Context, id invocation.LockID) (invocation.Seq, error) {
	m, err := l.newest(ctx, lockStream(id.Partition()), lockSubject(id))
	if err != nil || m == nil {
		return 0, err
	}
	return lastSeqOf(m.Sequence), nil
}
