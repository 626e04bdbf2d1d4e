package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushTimeout is what the last spans get to leave at the end.
const flushTimeout = 5 * time.Second

// Providers is what a process observes itself with. A nil one observes nothing.
type Providers struct {
	tracer   trace.Tracer // nil when tracing is off
	provider *sdktrace.TracerProvider
	metrics  *Metrics
}

// Setup returns the providers that the standard variables ask for: tracing
// over OTLP/HTTP when OTEL_TRACES_EXPORTER is otlp, or when it is absent and an
// OTLP endpoint is given; else tracing is off. OTEL_SDK_DISABLED and
// OTEL_TRACES_SAMPLER are honoured; the variables for headers, certificates,
// timeouts, limits and batches are read by the exporter from the process's
// environment. Its error names every wrong variable. [Providers.Shutdown] must
// be called at the end.
func Setup(ctx context.Context, cfg Config) (*Providers, error) {
	cfg = cfg.withDefaults()
	plan, err := planOf(cfg.LookupEnv)
	if err != nil {
		return nil, err
	}
	if !plan.on {
		return New(ctx, cfg)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(plan.endpoint))
	if err != nil {
		return nil, fmt.Errorf("can't export spans: %w", err)
	}
	batches := sdktrace.NewBatchSpanProcessor(&reporting{SpanExporter: exporter, log: cfg.Log})
	p, err := New(ctx, cfg, batches)
	if err != nil {
		return nil, errors.Join(err, batches.Shutdown(ctx))
	}
	return p, nil
}

// New returns providers that give ended spans to processors; without any,
// tracing is off. The sampler is the one that the standard variables name.
// Tests use package telemetrytest.
func New(ctx context.Context, cfg Config, processors ...sdktrace.SpanProcessor) (*Providers, error) {
	cfg = cfg.withDefaults()
	plan, err := planOf(cfg.LookupEnv)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.namespace", "latchwire"),
		attribute.String("service.name", cfg.Name),
		attribute.String("service.version", cfg.Version),
		attribute.String("service.instance.id", randomID().String()),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	metrics, err := newMetrics(about)
	if err != nil {
		return nil, err
	}
	p := &Providers{metrics: metrics}
	if len(processors) == 0 {
		return p, nil
	}
	opts := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}), sdktrace.WithSampler(sampler(plan.ratio)),
		sdktrace.WithSpanProcessor(stamp{}),
	}
	for _, sp := range processors {
		opts = append(opts, sdktrace.WithSpanProcessor(sp))
	}
	p.provider = sdktrace.NewTracerProvider(opts...)
	p.tracer = p.provider.Tracer(scopeName, trace.WithSchemaURL(schemaURL))
	return p, nil
}

// sampler decides by the trace id alone wherever a context comes from outside
// the process, so that a partner's flag can neither force nor suppress our
// recording, and all services decide alike for one trace (SEC-120).
func sampler(ratio float64) sdktrace.Sampler {
	byID := sdktrace.TraceIDRatioBased(ratio)
	return sdktrace.ParentBased(byID, sdktrace.WithRemoteParentSampled(byID), sdktrace.WithRemoteParentNotSampled(byID))
}

func (p *Providers) tracing() bool { return p != nil && p.tracer != nil }

// Metrics returns the instruments; on nil providers, ones that count nothing.
func (p *Providers) Metrics() *Metrics {
	if p == nil {
		return nil
	}
	return p.metrics
}

// MetricsHandler serves all metrics to Prometheus (GET /metrics).
func (p *Providers) MetricsHandler() http.Handler {
	if p == nil {
		return http.NotFoundHandler()
	}
	return p.metrics.handler
}

// Run waits until ctx is done and then shuts down: the shape of a process's
// part. It belongs first, so that it stops last and sees all the others' spans.
func (p *Providers) Run(ctx context.Context) error {
	<-ctx.Done()
	return p.Shutdown(ctx)
}

// Shutdown exports what is left, within five seconds, and ends observing. It
// does so even when ctx is done, as it is when a process stops.
func (p *Providers) Shutdown(ctx context.Context) error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	var err error
	if p.provider != nil {
		err = p.provider.Shutdown(ctx)
	}
	return errors.Join(err, p.metrics.provider.Shutdown(ctx))
}

// reporting logs failed exports, at the first, second, fourth, eighth, … of
// them: a collector that is away must not fill the log.
type reporting struct {
	sdktrace.SpanExporter
	log      *slog.Logger
	failures atomic.Uint64
}

// ExportSpans exports spans and keeps the failure to itself, because the
// library would report it to a global handler.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		if n := r.failures.Add(1); n&(n-1) == 0 {
			r.log.LogAttrs(ctx, slog.LevelWarn, "spans not exported", slog.Uint64("failures", n), slog.String("err", errorText(err)))
		}
	}
	return nil
}
