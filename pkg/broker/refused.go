package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"
)

// ErrRefused says that NATS does not let this service publish or subscribe
// where it tried to: the permissions of its nkey lack a subject.
var ErrRefused = errors.New("refused by the permissions in NATS")

// heard is told every error that belongs to no call. A refused publish shows
// nowhere else: to its caller it is an answer that never comes (SEC-110).
func (c *Conn) heard(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		c.log.Warn("nats reported an error", slog.Any("error", err))
		return
	}
	operation, subject := refusedOperation(err)
	c.log.Error("nats refused what this service may not do: its permissions lack the subject",
		slog.String("operation", operation), slog.String("subject", subject), slog.Uint64("refusals", c.refusals.Add(1)))
	if cancel := c.onRefusal.Load(); cancel != nil {
		(*cancel)(fmt.Errorf("%w: %s to %s", ErrRefused, operation, subject))
	}
}

// refusedOperation reads the server's words, such as Permissions Violation for
// Publish to "work.1".
func refusedOperation(err error) (operation, subject string) {
	_, rest, _ := strings.Cut(err.Error(), " for ")
	operation, rest, _ = strings.Cut(rest, ` to "`)
	subject, _, _ = strings.Cut(rest, `"`)
	return strings.ToLower(operation), subject
}

// Refusals returns how often NATS has refused something on this connection.
func (c *Conn) Refusals() uint64 { return c.refusals.Load() }

// UntilRefused returns a context that is done with [ErrRefused] as its cause
// once NATS refuses something, so that a start fails at once and says why,
// rather than after the wait for an answer. One at a time, until stop is called.
func (c *Conn) UntilRefused(ctx context.Context) (until context.Context, stop func()) {
	until, cancel := context.WithCancelCause(ctx)
	c.onRefusal.Store(&cancel)
	return until, func() {
		c.onRefusal.Store(nil)
		cancel(nil)
	}
}

// Refusal returns why NATS refused something in the time of a context of
// [Conn.UntilRefused], or else err.
func Refusal(until context.Context, err error) error {
	if cause := context.Cause(until); err != nil && errors.Is(cause, ErrRefused) {
		return cause
	}
	return err
}
