package telemetry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Metrics counts and times what the services do, under names that Prometheus
// reads with underscores: invocation.settled is invocation_settled_total. A
// nil one counts nothing. Labels come from closed sets; ids, addresses and
// messages are never labels.
type Metrics struct {
	provider *sdkmetric.MeterProvider
	handler  http.Handler

	requests   metric.Float64Histogram
	accepted   metric.Int64Counter
	settled    metric.Int64Counter
	durations  metric.Float64Histogram
	queues     metric.Float64Histogram
	attempts   metric.Float64Histogram
	deliveries metric.Int64Counter
	inflight   metric.Int64UpDownCounter
}

// The bucket bounds in seconds, from the conventions for HTTP and from what an
// invocation and a webhook may take.
func requestBuckets() []float64 {
	return []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}
}

func queueBuckets() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 300, 900}
}

func invocationBuckets() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
}

func attemptBuckets() []float64 {
	return []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30}
}

func newMetrics(about *resource.Resource) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	exporter, err := promexporter.New(promexporter.WithRegisterer(registry), promexporter.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return nil, err
	}
	m := &Metrics{
		provider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(about)),
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			EnableOpenMetrics: true, MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError,
		}),
	}
	if err := m.create(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Metrics) create() error {
	meter := m.provider.Meter(scopeName, metric.WithSchemaURL(schemaURL))
	var errs [8]error
	seconds := func(name, about string, bounds []float64) (metric.Float64Histogram, error) {
		return meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
	}
	m.requests, errs[0] = seconds("http.server.request.duration", "How long requests took.", requestBuckets())
	m.accepted, errs[1] = meter.Int64Counter("invocation.accepted", metric.WithUnit("{invocation}"), metric.WithDescription("Calls by how admission ended."))
	m.settled, errs[2] = meter.Int64Counter("invocation.settled", metric.WithUnit("{invocation}"), metric.WithDescription("Invocations by how they settled."))
	m.durations, errs[3] = seconds("invocation.duration", "From accepted to settled.", invocationBuckets())
	m.queues, errs[4] = seconds("invocation.queue.duration", "From accepted to the call of the target.", queueBuckets())
	m.attempts, errs[5] = seconds("webhook.attempt.duration", "How long requests to partners took.", attemptBuckets())
	m.deliveries, errs[6] = meter.Int64Counter("webhook.delivery.settled", metric.WithUnit("{delivery}"), metric.WithDescription("Deliveries by how they ended."))
	m.inflight, errs[7] = meter.Int64UpDownCounter("pipeline.worker.inflight", metric.WithUnit("{message}"), metric.WithDescription("Messages being handled."))
	return errors.Join(errs[:]...)
}

type requestFacts struct {
	method, route string
	status        int
}

func (m *Metrics) request(ctx context.Context, r requestFacts, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.Record(ctx, took.Seconds(), metric.WithAttributes(
		attribute.String(keyMethod, r.method), attribute.String(keyRoute, r.route), attribute.Int(keyStatusCode, r.status)))
}

// Accepted counts a call at the door: where it came in and how admission ended,
// [ResultAccepted], [ResultDuplicate] or [ResultRejected], and for a rejected
// one the code of the refusal.
func (m *Metrics) Accepted(ctx context.Context, source, result, reason string) {
	if m == nil {
		return
	}
	m.accepted.Add(ctx, 1, metric.WithAttributes(
		attribute.String("source", oneOf(source, sources())),
		attribute.String("result", oneOf(result, results())),
		attribute.String("reason", oneOf(reason, reasons()))))
}

// A Settlement is what is counted of a settled invocation.
type Settlement struct {
	// Source is where the call came in: [SourceEdge] or [SourceMCP].
	Source string
	// Status is the contract's: completed, rejected, failed or unknown.
	Status string
	// ErrorCode is the contract's code for what happened (contract section 7);
	// a rejection's code is the partner's own and counts as "rejected".
	ErrorCode string
	// Took is the time from accepted to settled, Queued the time from accepted
	// to the call of the target; zero when there was no call.
	Took, Queued time.Duration
}

// Settled counts a settled invocation and measures its times.
func (m *Metrics) Settled(ctx context.Context, s Settlement) {
	if m == nil {
		return
	}
	outcome := attribute.String("outcome", oneOf(s.Status, statuses()))
	m.settled.Add(ctx, 1, metric.WithAttributes(outcome, attribute.String(keyErrorType, settledError(s))))
	m.durations.Record(ctx, s.Took.Seconds(), metric.WithAttributes(outcome))
	if s.Queued > 0 {
		m.queues.Record(ctx, s.Queued.Seconds(), metric.WithAttributes(attribute.String("source", oneOf(s.Source, sources()))))
	}
}

// An Attempt is what is measured of one request to a partner.
type Attempt struct {
	// Purpose is one of the Purpose constants.
	Purpose string
	// Status is the answer's HTTP status, 0 when there was none.
	Status int
	// Err is what went wrong, if anything.
	Err error
	// Took is the time of the whole request.
	Took time.Duration
}

// Attempted measures one request to a partner.
func (m *Metrics) Attempted(ctx context.Context, a Attempt) {
	if m == nil {
		return
	}
	kind := ""
	switch {
	case a.Err != nil:
		kind = errorType(a.Err)
	case a.Status >= 400:
		kind = statusType(a.Status)
	}
	m.attempts.Record(ctx, a.Took.Seconds(), metric.WithAttributes(
		attribute.String("purpose", oneOf(a.Purpose, purposes())),
		attribute.String("status_class", statusClass(a.Status)),
		attribute.String(keyErrorType, kind)))
}

// Delivered counts a delivery that ended: [OutcomeDelivered], [OutcomeDead] or
// [OutcomeDisabled]. It is the one metric with the partner's id, of which the
// library keeps 2,000 apart.
func (m *Metrics) Delivered(ctx context.Context, purpose, outcome, extensionID string) {
	if m == nil {
		return
	}
	m.deliveries.Add(ctx, 1, metric.WithAttributes(
		attribute.String("purpose", oneOf(purpose, purposes())),
		attribute.String("outcome", oneOf(outcome, outcomes())),
		attribute.String(keyExtensionID, extensionID)))
}

// Inflight adds delta to the number of messages that a worker handles.
func (m *Metrics) Inflight(ctx context.Context, worker string, delta int) {
	if m == nil {
		return
	}
	m.inflight.Add(ctx, int64(delta), metric.WithAttributes(attribute.String("worker", oneOf(worker, workers()))))
}
