package telemetry

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// A Span is a piece of work under way. Its zero value is one that nobody
// records. It is ended once, by one goroutine.
type Span struct {
	span trace.Span // nil when tracing is off
}

// End ends the span; err, if any, becomes its status as one of a closed set of
// types, never with its text.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.fail(errorType(err))
	}
	s.span.End()
}

// EndHTTP ends the span of a request: status is the answer's, 0 when there was
// none. An error takes precedence over the status; a status of 400 or more is
// an error on this span, whatever it means to the caller.
func (s Span) EndHTTP(status int, err error) {
	if s.span == nil {
		return
	}
	if status != 0 {
		s.span.SetAttributes(attribute.Int(keyStatusCode, status))
	}
	if err == nil && status >= 400 {
		s.fail(statusType(status))
	}
	s.End(err)
}

// Stored adds what the server acknowledged about a published message.
func (s Span) Stored(stream string, sequence uint64, duplicate bool) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attribute.String(keyStream, stream),
		attribute.Int64(keySequence, int64(sequence)), //nolint:gosec // a stream never holds 2^63 messages
		attribute.Bool(keyDuplicate, duplicate))
}

func (s Span) fail(kind string) {
	s.span.SetAttributes(attribute.String(keyErrorType, kind))
	s.span.SetStatus(codes.Error, kind)
}

// Publish starts the span of sending a message; destination is the subject's
// template, such as inv.p.req, never the subject with its ids. The message's
// headers get the returned context, by [Inject].
func (p *Providers) Publish(ctx context.Context, destination string) (context.Context, Span) {
	if !p.tracing() {
		return ctx, Span{}
	}
	ctx, span := p.start(ctx, "publish "+destination, trace.WithSpanKind(trace.SpanKindProducer), publishAttrs(destination))
	return ctx, Span{span}
}

// Written records a message that was sent when nobody knew its chain yet,
// because the chain's name is made of the write's answer: the first event of a
// chain. The span gets the times of the write, stands in the chain's trace, and
// is linked both ways with ctx's. The returned context works for the chain.
func (p *Providers) Written(ctx context.Context, chain Chain, destination string, took Interval) context.Context {
	ctx = WithChain(ctx, chain)
	if !p.tracing() {
		return ctx
	}
	ctx, span := p.start(ctx, "publish "+destination, trace.WithSpanKind(trace.SpanKindProducer),
		publishAttrs(destination), trace.WithTimestamp(took.Start))
	span.End(trace.WithTimestamp(took.End))
	return ctx
}

// An Interval is the time that some work took.
type Interval struct {
	Start, End time.Time
}

func publishAttrs(destination string) trace.SpanStartEventOption {
	return trace.WithAttributes(
		attribute.String(keySystem, "nats"),
		attribute.String(keyOperationName, "publish"),
		attribute.String(keyOperationType, "send"),
		attribute.String(keyTemplate, destination))
}

// A Call describes one request to a partner; every field may be left empty.
type Call struct {
	// Purpose is what the request is for: one of the Purpose constants.
	Purpose string
	// ExtensionID is the partner's id.
	ExtensionID string
	// Attempt counts from 1; from 2 on the span says that it is a repetition.
	Attempt int
}

// Client starts the span of one physical request to a partner: each attempt
// has its own. Of the address the span keeps neither user nor query nor
// fragment. The request's headers get the returned context, by
// [InjectPartner].
func (p *Providers) Client(ctx context.Context, method string, to *url.URL, call Call) (context.Context, Span) {
	if !p.tracing() {
		return ctx, Span{}
	}
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs,
		attribute.String(keyMethod, method),
		attribute.String(keyURL, plainURL(to)),
		attribute.String(keyServerAddress, to.Hostname()))
	if port, err := strconv.Atoi(to.Port()); err == nil {
		attrs = append(attrs, attribute.Int(keyServerPort, port))
	}
	if call.Purpose != "" {
		attrs = append(attrs, attribute.String(keyPurpose, call.Purpose))
	}
	if call.ExtensionID != "" {
		attrs = append(attrs, attribute.String(keyExtensionID, call.ExtensionID))
	}
	if call.Attempt > 0 {
		attrs = append(attrs, attribute.Int(keyAttempt, call.Attempt))
	}
	if call.Attempt > 1 {
		attrs = append(attrs, attribute.Int(keyResendCount, call.Attempt-1))
	}
	ctx, span := p.start(ctx, method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx, Span{span}
}

// plainURL is what may be written down of an address.
func plainURL(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return plain.String()
}

// start starts a span where it belongs: as a child of ctx's span, unless ctx
// works for a chain and that span is in another trace. Then it is another root
// in the chain's trace, and the two are linked in both directions.
func (p *Providers) start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	chain := chainFrom(ctx)
	here := trace.SpanContextFromContext(ctx)
	root := chain != nil && here.TraceID() != ChainTraceID(chain.CorrelationID)
	if root {
		opts = append(opts, trace.WithNewRoot())
		if here.IsValid() {
			opts = append(opts, trace.WithLinks(link(here, linkCaller)))
		}
		if cause := parse(ctx, chain.Cause); cause.IsValid() {
			opts = append(opts, trace.WithLinks(link(cause, linkCause)))
		}
	}
	caller := trace.SpanFromContext(ctx)
	ctx, span := p.tracer.Start(ctx, name, opts...)
	if root {
		caller.AddLink(link(span.SpanContext(), linkChain))
	}
	return ctx, span
}

func link(to trace.SpanContext, kind string) trace.Link {
	return trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String(keyLinkType, kind)}}
}
