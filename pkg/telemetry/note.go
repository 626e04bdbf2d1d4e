package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// notes is what the one log line of a request or a message will say beyond
// what its wrapper knows itself.
type notes struct {
	mu    sync.Mutex
	attrs []slog.Attr
}

type notesKey struct{}

func withNotes(ctx context.Context, n *notes) context.Context {
	return context.WithValue(ctx, notesKey{}, n)
}

func (n *notes) add(attrs ...slog.Attr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attrs = append(n.attrs, attrs...)
}

func (n *notes) all() []slog.Attr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.attrs
}

// Note adds attrs to the log line of the request or message that ctx belongs
// to; elsewhere it does nothing. Keys are in snake_case. No payloads, secrets,
// query strings.
func Note(ctx context.Context, attrs ...slog.Attr) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.add(attrs...)
	}
}

// NoteError notes the code of a refusal, on the span too, and in the log its
// private cause, which the answer must not show.
func NoteError(ctx context.Context, err error) {
	refusal := invocation.AsError(err)
	Note(ctx, slog.String("code", string(refusal.Code)))
	if errors.Unwrap(refusal) != nil {
		Note(ctx, slog.String("err", errorText(refusal)))
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(keyErrorType, string(refusal.Code)))
}

// NoteChain notes the chain that a request turned out to belong to.
func NoteChain(ctx context.Context, chain Chain) {
	if chain.CorrelationID == "" {
		return
	}
	Note(ctx, slog.String("correlation_id", chain.CorrelationID))
	if chain.InvocationID != "" {
		Note(ctx, slog.String("invocation_id", chain.InvocationID))
	}
	if chain.EventID != "" {
		Note(ctx, slog.String("event_id", chain.EventID))
	}
}

// NoteOutcome notes how an invocation or a delivery ended, on the span too.
// The outcome is one of a closed set.
func NoteOutcome(ctx context.Context, outcome string) {
	Note(ctx, slog.String("outcome", outcome))
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(keyOutcome, outcome))
}
