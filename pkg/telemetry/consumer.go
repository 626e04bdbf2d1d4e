package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// A ConsumerConfig says how the messages of one subscription are observed.
type ConsumerConfig struct {
	// Destination is the template of the subject, such as inv.p.req: a span's
	// name, so never the subject with its ids.
	Destination string
	// Group is the durable consumer's name.
	Group string
	// Log gets one line for each message. Nil discards it.
	Log *slog.Logger
	// Describe tells what is known of a message before it is handled. Nil knows
	// nothing, and the span joins whatever trace the message came with.
	Describe func(*message.Message) Delivery
	// Judge names what a handler's error makes of the message, out of a closed
	// set, and how loud that is: at warn and above the span is an error too. A
	// hand-back that is part of normal work is less. Nil knows "ack" at info
	// for no error and "retry" at warn for any.
	Judge func(error) (verdict string, level slog.Level)
}

// A Delivery is what is known of a message before it is handled.
type Delivery struct {
	// Chain is the chain that the message belongs to, if any.
	Chain Chain
	// Count is how often the message was delivered, this time included.
	Count uint64
	// Queued is how long it waited since it was stored.
	Queued time.Duration
}

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Describe == nil {
		c.Describe = func(*message.Message) Delivery { return Delivery{} }
	}
	if c.Judge == nil {
		c.Judge = func(err error) (string, slog.Level) {
			if err != nil {
				return "retry", slog.LevelWarn
			}
			return "ack", slog.LevelInfo
		}
	}
	return c
}

// Consumer returns the middleware that observes the handling of messages: a
// CONSUMER span whose parent is the span that sent the message, which it also
// links to, and one wide log line, which [Note] and its like fill on the way.
// The messages that a handler returns get the span's context. Put it outside
// what recovers panics.
func (p *Providers) Consumer(cfg ConsumerConfig) message.HandlerMiddleware {
	cfg = cfg.withDefaults()
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			h := p.receive(cfg, m)
			defer h.panicked()
			out, err := next(m)
			for _, o := range out {
				if value := Traceparent(m.Context()); value != "" {
					o.Metadata.Set(traceparent, value)
				}
			}
			h.end(err)
			return out, err
		}
	}
}

// handling is the record of one message being handled.
type handling struct {
	cfg      ConsumerConfig
	m        *message.Message
	delivery Delivery
	begin    time.Time
	notes    notes
	span     trace.Span // nil when tracing is off
	ended    bool
}

func (p *Providers) receive(cfg ConsumerConfig, m *message.Message) *handling {
	h := &handling{cfg: cfg, m: m, delivery: cfg.Describe(m), begin: time.Now()}
	ctx := withNotes(WithChain(m.Context(), h.delivery.Chain), &h.notes)
	if p.tracing() {
		ctx, h.span = p.process(ctx, h)
	}
	m.SetContext(ctx)
	return h
}

func (p *Providers) process(ctx context.Context, h *handling) (context.Context, trace.Span) {
	attrs := make([]attribute.KeyValue, 0, 10)
	attrs = append(attrs,
		attribute.String(keySystem, "nats"),
		attribute.String(keyOperationName, "process"),
		attribute.String(keyOperationType, "process"),
		attribute.String(keyTemplate, h.cfg.Destination),
		attribute.String(keyGroup, h.cfg.Group),
		attribute.String(keyMessageID, h.m.UUID),
		attribute.Int(keyBodySize, len(h.m.Payload)))
	if c := h.delivery.Chain; c.CorrelationID != "" {
		attrs = append(attrs, attribute.String(keyConversationID, c.CorrelationID))
	}
	if n := h.delivery.Count; n > 0 {
		attrs = append(attrs, attribute.Int64(keyDeliveryCount, int64(n))) //nolint:gosec // deliveries are few
	}
	if q := h.delivery.Queued; q > 0 {
		attrs = append(attrs, attribute.Int64(keyQueueTime, q.Milliseconds()))
	}
	opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attrs...)}
	creation := parse(ctx, findOne(h.m.Metadata))
	// A span of this process that happens to be in the context is not what
	// sent the message.
	ctx = trace.ContextWithRemoteSpanContext(ctx, creation)
	if creation.IsValid() && !foreign(ctx, creation) {
		opts = append(opts, trace.WithLinks(link(creation, linkCreation)))
	}
	return p.start(ctx, "process "+h.cfg.Destination, opts...)
}

// foreign says whether ctx works for a chain in whose trace sc is not.
func foreign(ctx context.Context, sc trace.SpanContext) bool {
	c := chainFrom(ctx)
	return c != nil && sc.TraceID() != ChainTraceID(c.CorrelationID)
}

func (h *handling) end(err error) {
	h.ended = true
	verdict, level := h.cfg.Judge(err)
	h.finish(err, level)
	h.log(verdict, level, err)
}

// panicked ends the record while a panic passes through.
func (h *handling) panicked() {
	if h.ended {
		return
	}
	if h.span != nil {
		Span{h.span}.fail("panic")
		h.span.End()
	}
	h.log("panic", slog.LevelError, nil)
}

func (h *handling) finish(err error, level slog.Level) {
	if h.span == nil {
		return
	}
	if err != nil {
		kind := errorType(err)
		h.span.SetAttributes(attribute.String(keyErrorType, kind))
		if level >= slog.LevelWarn {
			h.span.SetStatus(codes.Error, kind)
		}
	}
	h.span.End()
}

func (h *handling) log(verdict string, level slog.Level, err error) {
	ctx := h.m.Context()
	if !h.cfg.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("destination", h.cfg.Destination), slog.String("consumer", h.cfg.Group), slog.String("verdict", verdict),
		slog.Float64("duration_ms", milliseconds(time.Since(h.begin))), slog.Uint64("delivery_count", h.delivery.Count),
		slog.Float64("queued_ms", milliseconds(h.delivery.Queued)),
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", errorText(err)))
	}
	h.cfg.Log.LogAttrs(ctx, level, "message", append(attrs, h.notes.all()...)...)
}
