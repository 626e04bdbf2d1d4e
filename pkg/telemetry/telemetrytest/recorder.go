package telemetrytest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/latchwire/latchwire/pkg/telemetry"
)

// chainAttr is on every span of a chain.
const chainAttr = "chain.correlation_id"

// New returns providers that record every span, and what they record into.
// They are shut down when the test ends.
func New(tb testing.TB) (*telemetry.Providers, *Recorder) {
	tb.Helper()
	r := &Recorder{spans: tracetest.NewSpanRecorder()}
	p, err := telemetry.New(tb.Context(), telemetry.Config{Name: "test"}, r.spans)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		// What it was given to may have shut it down.
		if err := p.Shutdown(tb.Context()); err != nil && !errors.Is(err, metric.ErrReaderShutdown) {
			tb.Errorf("telemetry did not shut down: %v", err)
		}
	})
	return p, r
}

// A Recorder holds the ended spans.
type Recorder struct {
	spans *tracetest.SpanRecorder
}

// A Span is an ended span with ids in hex.
type Span struct {
	Name string
	// Kind is server, client, producer, consumer or internal.
	Kind string
	// ParentID is empty for a root. ParentRemote says that the parent came
	// with a header, not from this process.
	TraceID, SpanID, ParentID string
	ParentRemote              bool
	// Sampled says that the span's own flag is set.
	Sampled bool
	// Error is the status's description, "" unless the status is an error.
	Error string
	// Attrs are the attributes, each as its text.
	Attrs map[string]string
	Links []Link
	// Events counts the span events, of which there are to be none.
	Events int
	// Start is when the span began.
	Start time.Time
}

// A Link points at another span.
type Link struct {
	TraceID, SpanID string
	// Type says why, such as caller, chain, cause or creation.
	Type string
}

// Ended returns all ended spans in the order of their ends.
func (r *Recorder) Ended() []Span {
	ended := r.spans.Ended()
	out := make([]Span, 0, len(ended))
	for _, s := range ended {
		out = append(out, plain(s))
	}
	return out
}

// Open returns the names of the spans that were started and never ended.
func (r *Recorder) Open() []string {
	names := map[string]string{}
	for _, s := range r.spans.Started() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	for _, s := range r.spans.Ended() {
		delete(names, s.SpanContext().SpanID().String())
	}
	return slices.Sorted(maps.Values(names))
}

func plain(s sdktrace.ReadOnlySpan) Span {
	out := Span{
		Name: s.Name(), Kind: s.SpanKind().String(),
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
		ParentRemote: s.Parent().IsRemote(), Sampled: s.SpanContext().IsSampled(),
		Error: s.Status().Description, Attrs: text(s.Attributes()), Events: len(s.Events()), Start: s.StartTime(),
	}
	if s.Parent().IsValid() {
		out.ParentID = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, Link{
			TraceID: l.SpanContext.TraceID().String(), SpanID: l.SpanContext.SpanID().String(), Type: text(l.Attributes)["link.type"],
		})
	}
	return out
}

func text(attrs []attribute.KeyValue) map[string]string {
	out := make(map[string]string, len(attrs))
	for _, a := range attrs {
		out[string(a.Key)] = a.Value.String()
	}
	return out
}
