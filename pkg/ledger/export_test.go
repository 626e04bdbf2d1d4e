package ledger

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Advance moves the ledger's clock. Run measures it anew every ten seconds, so
// tests that call it open the ledger without Run.
func (l *Ledger) Advance(d time.Duration) { l.clock.offset.Add(int64(d)) }

// SetLocalClock replaces this machine's clock and measures it.
func (l *Ledger) SetLocalClock(ctx context.Context, local func() time.Time) error {
	l.clock.local = local
	return l.clock.measure(ctx, l.js)
}

// WrapJetStream replaces the ledger's JetStream by what wrap makes of it.
func (l *Ledger) WrapJetStream(wrap func(jetstream.JetStream) jetstream.JetStream) {
	l.js = wrap(l.js)
}

// Waiting returns how many settlements are waited for.
func (l *Ledger) Waiting() int {
	l.waiters.mu.Lock()
	defer l.waiters.mu.Unlock()
	return len(l.waiters.byID)
}

// Held returns how many keys are locked or waited for.
func (l *Ledger) Held() int {
	l.locks.mu.Lock()
	defer l.locks.mu.Unlock()
	return len(l.locks.held)
}

// Find looks for a transition as Change does.
func (l *Ledger) Find(ctx context.Context, id invocation.LockID, since, until uint64, applied invocation.ID) (Entry, bool, error) {
	return l.find(ctx, id, since, until, applied)
}

// Impose blocks an extension as Block does, without its history line.
func (l *Ledger) Impose(ctx context.Context, b Block, lasts time.Duration) (Block, error) {
	return l.impose(ctx, b, lasts)
}

// The subjects, for tests that look at what is stored.
var (
	RequestSubject  = requestSubject
	StateSubject    = stateSubject
	LockSubject     = lockSubject
	DeliverySubject = deliverySubject
	ScheduleSubject = scheduleSubject
	LimitSubject    = limitSubject
)
