package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// LogHandler returns a handler that adds to each record what its context
// knows: trace_id and span_id, correlation_id, chain_depth, invocation_id and
// event_id. Within an open group they stand in that group.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ next slog.Handler }

// Enabled asks the next handler.
func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle adds the ids and hands the record on.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	sc, chain := trace.SpanContextFromContext(ctx), chainFrom(ctx)
	if !sc.IsValid() && chain == nil {
		return h.next.Handle(ctx, r)
	}
	r = r.Clone()
	if sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	if chain != nil {
		r.AddAttrs(slog.String("correlation_id", chain.CorrelationID), slog.Int("chain_depth", chain.Depth))
		if chain.InvocationID != "" {
			r.AddAttrs(slog.String("invocation_id", chain.InvocationID))
		}
		if chain.EventID != "" {
			r.AddAttrs(slog.String("event_id", chain.EventID))
		}
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler whose next one has attrs.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.next.WithAttrs(attrs)}
}

// WithGroup returns a handler whose next one has the group open.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.next.WithGroup(name)} }
