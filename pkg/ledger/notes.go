package ledger

import (
	"context"
	"sync"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// notes gathers the links of a chain that come while others of it are being
// written, so that an event to many endpoints costs a few writes, not one each.
type notes struct {
	mu   sync.Mutex
	next map[invocation.ID]*noteBatch // of each chain that is being written to
}

type noteBatch struct {
	links []Link
	done  chan struct{} // closed once err is set
	err   error
}

func newNotes() *notes { return &notes{next: make(map[invocation.ID]*noteBatch)} }

func newNoteBatch() *noteBatch { return &noteBatch{done: make(chan struct{})} }

// Note is [Ledger.Index] for a link that may share its write with others of the
// chain. It returns once the link is stored, or why it is not.
func (l *Ledger) Note(ctx context.Context, correlation invocation.ID, link Link) error {
	l.notes.mu.Lock()
	if b := l.notes.next[correlation]; b != nil {
		b.links = append(b.links, link)
		l.notes.mu.Unlock()
		select {
		case <-b.done:
			return b.err
		case <-ctx.Done():
			return unavailable(context.Cause(ctx))
		}
	}
	l.notes.next[correlation] = newNoteBatch()
	l.notes.mu.Unlock()
	err := l.indexed(ctx, correlation, link)
	l.noteRest(context.WithoutCancel(ctx), correlation)
	return err
}

// noteRest writes what has come meanwhile, until nothing has.
func (l *Ledger) noteRest(ctx context.Context, correlation invocation.ID) {
	for {
		l.notes.mu.Lock()
		b := l.notes.next[correlation]
		if len(b.links) == 0 {
			delete(l.notes.next, correlation)
			l.notes.mu.Unlock()
			return
		}
		l.notes.next[correlation] = newNoteBatch()
		l.notes.mu.Unlock()
		b.err = l.indexed(ctx, correlation, b.links...)
		close(b.done)
	}
}

func (l *Ledger) indexed(ctx context.Context, correlation invocation.ID, links ...Link) error {
	w, err := l.Index(correlation, links...)
	if err != nil {
		return err
	}
	return w.Wait(ctx)
}
