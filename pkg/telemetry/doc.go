// Package telemetry wraps work in spans, measurements and log lines. It is the
// only place that knows OpenTelemetry: what it wraps has the same signature
// before and after, and no type of OpenTelemetry appears in what others call.
//
// # One trace per chain
//
// All that follows from one first cause lands in one trace, whose id is a hash
// of the chain's correlation id ([ChainTraceID]). A partner that drops our
// traceparent, replaces or forges it can't split the chain: whoever works for
// a chain says so with [WithChain], and every span started from that context
// is a child in the chain's trace, or another root in it when the caller's
// context belongs elsewhere. Contexts from elsewhere are linked, in both
// directions where the other span is ours.
//
// The server span of a request belongs to the caller's trace (or its own):
// when it begins nobody knows the chain yet. Neither the caller's sampled flag
// nor its tracestate nor its baggage has any effect on us (SEC-120).
//
// # Off is free
//
// [Setup] turns tracing on when the standard variables of OpenTelemetry ask
// for it. A nil [*Providers] and one without tracing do nothing, and cost
// nothing worth measuring: starting and ending a span allocates nothing then.
// Metrics are always collected and served by [Providers.MetricsHandler].
//
// # What never leaves
//
// Spans, metrics and log lines carry ids, routes and closed sets of codes.
// They carry no query strings, headers, bodies, nor the text of errors in
// spans (SEC-117). Labels of metrics are bounded: a value outside its set
// counts as _OTHER.
//
// All functions and methods are safe for concurrent use.
package telemetry
