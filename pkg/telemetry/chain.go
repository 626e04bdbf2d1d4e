package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A Chain says which chain some work belongs to and which record it is about.
// It comes from stored records, never from a caller (design section 6).
type Chain struct {
	// CorrelationID names the chain; with an empty one there is no chain.
	CorrelationID string
	// Depth is the record's distance from the chain's root (contract section 6).
	Depth int
	// InvocationID and EventID are the record worked on; either may be empty.
	InvocationID, EventID string
	// Cause is the traceparent stored with the record's cause, if any. A span
	// that must be another root in the chain's trace, because the caller dropped
	// our context, links to it.
	Cause string
}

// ChainTraceID returns the trace id of a chain: the first 16 bytes of the
// SHA-256 of "chain:" and its correlation id. The id is hashed because ratio
// samplers read bytes of it that must be random. In a shell:
//
//	printf 'chain:%s' "$ID" | sha256sum | cut -c1-32
func ChainTraceID(correlationID string) [16]byte {
	sum := sha256.Sum256([]byte("chain:" + correlationID))
	return [16]byte(sum[:16])
}

// TraceIDOf returns [ChainTraceID] in hex, as the X-Trace-Id answer header and
// trace viewers write it.
func TraceIDOf(correlationID string) string {
	id := ChainTraceID(correlationID)
	return hex.EncodeToString(id[:])
}

type chainKey struct{}

// WithChain returns a context for work on behalf of a chain: spans started
// from it are in the chain's trace and carry its ids, and so do log lines. A
// chain without correlation id leaves ctx as it is.
func WithChain(ctx context.Context, chain Chain) context.Context {
	if chain.CorrelationID == "" {
		return ctx
	}
	return context.WithValue(ctx, chainKey{}, &chain)
}

// chainFrom returns the context's chain, or nil.
func chainFrom(ctx context.Context) *Chain {
	c, _ := ctx.Value(chainKey{}).(*Chain)
	return c
}

// ids makes the ids of spans: a root started for a chain gets the chain's
// trace id, everything else random ones.
type ids struct{}

var _ sdktrace.IDGenerator = ids{}

// NewIDs returns the ids of a root span.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	if c := chainFrom(ctx); c != nil {
		id = ChainTraceID(c.CorrelationID)
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, randomID()
}

// NewSpanID returns the id of a child span.
func (ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return randomID() }

// randomID returns 8 random bytes that are not all zero. They name things in
// traces and logs and need not be secret.
func randomID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// stamp puts the chain's ids on every span that starts in its context, those
// of other libraries included. It takes the place of baggage, which would leak
// to partners through any default propagator.
type stamp struct{}

var _ sdktrace.SpanProcessor = stamp{}

// OnStart stamps a span.
func (stamp) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	c := chainFrom(ctx)
	if c == nil {
		return
	}
	span.SetAttributes(attribute.String(keyCorrelationID, c.CorrelationID), attribute.Int(keyDepth, c.Depth))
	if c.InvocationID != "" {
		span.SetAttributes(attribute.String(keyInvocationID, c.InvocationID))
	}
	if c.EventID != "" {
		span.SetAttributes(attribute.String(keyEventID, c.EventID))
	}
}

// OnEnd does nothing.
func (stamp) OnEnd(sdktrace.ReadOnlySpan) {}

// Shutdown does nothing.
func (stamp) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (stamp) ForceFlush(context.Context) error { return nil }
