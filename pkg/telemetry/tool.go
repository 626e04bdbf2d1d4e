package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// A ToolCall describes a call of an MCP tool.
type ToolCall struct {
	Tool, Version string
	// Traceparent is the caller's trace context from _meta, unchecked, or empty.
	Traceparent string
}

// Tool starts the span of a tool call: in the caller's trace where it names
// one, and linked to the span of the HTTP request that carried it.
func (p *Providers) Tool(ctx context.Context, c ToolCall) (context.Context, Span) {
	if !p.tracing() {
		return ctx, Span{}
	}
	opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String(keyMCPMethod, "tools/call"),
		attribute.String(keyTool, c.Tool),
		attribute.String(keyAIOperation, "execute_tool"),
		attribute.String(keyMCPVersion, c.Version))}
	if parent := parse(ctx, c.Traceparent); parent.IsValid() {
		opts = append(opts, trace.WithLinks(link(trace.SpanContextFromContext(ctx), linkAmbient)))
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	ctx, span := p.tracer.Start(ctx, "tools/call "+c.Tool, opts...) //nolint:spancheck // EndTool ends it
	return ctx, Span{span}                                          //nolint:spancheck // EndTool ends it
}

// EndTool ends the span of a tool call. Refused says that the caller got an
// error as a result, which is no fault of ours.
func (s Span) EndTool(refused bool, err error) {
	if s.span != nil && refused && err == nil {
		s.span.SetAttributes(attribute.String(keyErrorType, "tool_error"))
	}
	s.End(err)
}
