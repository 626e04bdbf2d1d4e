package telemetry

import (
	"context"
	"encoding/hex"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceparent is the one header that carries a trace (W3C Trace Context). Its
// companions tracestate and baggage are neither read nor written.
const traceparent = "traceparent"

// Traceparent returns the header's value for the span of ctx, or "" when there
// is none.
func Traceparent(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return ""
	}
	return format(sc.TraceID(), sc.SpanID(), sc.TraceFlags())
}

func format(traceID [16]byte, spanID [8]byte, flags trace.TraceFlags) string {
	b := make([]byte, 0, len("00-")+32+1+16+len("-00"))
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, traceID[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, spanID[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, []byte{byte(flags & (trace.FlagsSampled | trace.FlagsRandom))})
	return string(b)
}

// Inject writes the trace of ctx into the headers of a NATS message, in lower
// case. Without a trace it writes nothing. A nats.Header can be passed as it is.
func Inject(ctx context.Context, headers map[string][]string) {
	if value := Traceparent(ctx); value != "" {
		drop(headers, traceparent)
		headers[traceparent] = []string{value}
	}
}

// Extract returns ctx with the trace that headers carry, in whatever case the
// name is written: those of a NATS message, of an HTTP request, or of the
// _meta object of an MCP call. A header that stands there twice counts as none.
func Extract(ctx context.Context, headers map[string][]string) context.Context {
	return remote(ctx, find(headers))
}

// InjectPartner writes the traceparent of a request to a partner, and takes
// away what else might carry a trace. A request for a chain has one even when
// tracing is off (contract section 7): it then names the chain's trace with a
// span that nobody recorded, and says so by its flags.
func InjectPartner(ctx context.Context, h http.Header) {
	h.Del("tracestate")
	h.Del("baggage")
	value := Traceparent(ctx)
	if c := chainFrom(ctx); value == "" && c != nil {
		value = format(ChainTraceID(c.CorrelationID), randomID(), 0)
	}
	if value != "" {
		h.Set(traceparent, value)
	}
}

func drop(headers map[string][]string, name string) {
	for k := range headers {
		if strings.EqualFold(k, name) {
			delete(headers, k)
		}
	}
}

func find(headers map[string][]string) (value string) {
	found := 0
	for k, v := range headers {
		if len(v) > 0 && strings.EqualFold(k, traceparent) {
			found += len(v)
			value = v[0]
		}
	}
	if found != 1 {
		return ""
	}
	return value
}

// findOne is find for headers with one value each: a message's metadata.
func findOne(metadata map[string]string) (value string) {
	found := 0
	for k, v := range metadata {
		if strings.EqualFold(k, traceparent) {
			found++
			value = v
		}
	}
	if found != 1 {
		return ""
	}
	return value
}

// remote returns ctx with the span that value names, or ctx when it names none.
func remote(ctx context.Context, value string) context.Context {
	if sc := parse(ctx, value); sc.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}

// parse returns the span that value names, invalid when it names none. What
// ctx itself carries has no part in it.
func parse(ctx context.Context, value string) trace.SpanContext {
	if value == "" {
		return trace.SpanContext{}
	}
	empty := trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(empty, only(value)))
}

// only is a carrier that holds a traceparent and nothing else.
type only string

// Get returns the traceparent.
func (c only) Get(key string) string {
	if key == traceparent {
		return string(c)
	}
	return ""
}

// Set does nothing.
func (only) Set(string, string) {}

// Keys returns the one key.
func (only) Keys() []string { return []string{traceparent} }
