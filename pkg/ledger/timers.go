package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// ScheduleTimer has a lock looked at when the next of its timers is due, by any
// replica and across restarts. It replaces what was scheduled for the lock
// before: a lock has one schedule, and what is due its state says.
func (l *Ledger) ScheduleTimer(ctx context.Context, lock invocation.LockID, at time.Time) error {
	return l.putAt(ctx, nats.NewMsg(timerSubject(lock)), dueSubject(lock), at)
}

// putAt stores a message that the server publishes on the target at a time. It
// replaces what was scheduled on the message's subject before.
func (l *Ledger) putAt(ctx context.Context, m *nats.Msg, target string, at time.Time) error {
	// The client's helper cuts to whole seconds and so fires early.
	m.Header.Set(jetstream.ScheduleHeader, "@at "+at.UTC().Format(time.RFC3339Nano))
	m.Header.Set(jetstream.ScheduleTargetHeader, target)
	_, err := l.put(ctx, m)
	return err
}

// ParseTimer returns the lock that is to be looked at.
func ParseTimer(d broker.Delivery) (invocation.LockID, error) {
	lock := invocation.LockID(lastToken(d.Subject))
	if !invocation.ValidID(string(lock)) || dueSubject(lock) != d.Subject {
		return "", fmt.Errorf("%q is no timer's subject", d.Subject)
	}
	if len(d.Data) > 0 { // it says nothing but its subject
		return "", errMisfit
	}
	return lock, nil
}
