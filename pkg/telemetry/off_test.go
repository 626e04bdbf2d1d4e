package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/telemetry"
)

// everything uses each wrapper once, which must do no harm when tracing is off.
func everything(t *testing.T, tel *telemetry.Providers) {
	t.Helper()
	ctx := spansOf(t.Context(), tel, &url.URL{Host: "x"})
	ctx = tel.Written(ctx, telemetry.Chain{CorrelationID: "c"}, "lock.p", telemetry.Interval{})
	if got := telemetry.Traceparent(ctx); got != "" {
		t.Errorf("got a trace %s", got)
	}
	rec := httptest.NewRecorder()
	tel.Server(telemetry.ServerConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		telemetry.NoteError(r.Context(), errors.New("x"))
		telemetry.NoteOutcome(r.Context(), "completed")
		w.WriteHeader(http.StatusTeapot)
	})).ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	if rec.Code != http.StatusTeapot || rec.Header().Get("X-Trace-Id") != "" || len(rec.Header().Get("X-Request-Id")) != 16 {
		t.Errorf("got %d %v", rec.Code, rec.Header())
	}
	m := message.NewMessage("1", nil)
	out, err := tel.Consumer(telemetry.ConsumerConfig{})(func(m *message.Message) ([]*message.Message, error) {
		return []*message.Message{m.Copy()}, errors.New("again")
	})(m)
	if len(out) != 1 || err == nil || len(out[0].Metadata) != 0 {
		t.Errorf("got %v, %v", out, err)
	}
	metrics := tel.Metrics()
	metrics.Accepted(ctx, "edge", "accepted", "")
	metrics.Settled(ctx, telemetry.Settlement{Queued: 1})
	metrics.Attempted(ctx, telemetry.Attempt{})
	metrics.Delivered(ctx, "event", "dead", "e")
	metrics.Inflight(ctx, "dispatch", 1)
	tel.MetricsHandler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil))
}

// spansOf starts and ends the spans of one hop.
func spansOf(ctx context.Context, tel *telemetry.Providers, to *url.URL) context.Context {
	ctx, publish := tel.Publish(ctx, "inv.p.req")
	publish.Stored("INV_0", 1, false)
	publish.End(nil)
	ctx, client := tel.Client(ctx, http.MethodPost, to, telemetry.Call{Purpose: telemetry.PurposeEvent, ExtensionID: "e", Attempt: 2})
	telemetry.Inject(ctx, nil)
	client.EndHTTP(500, context.DeadlineExceeded)
	return ctx
}

func TestSpansCostNoMemoryWhenTracingIsOff(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines
	off, err := telemetry.Setup(t.Context(), telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, to := t.Context(), &url.URL{Host: "x"}
	if got := testing.AllocsPerRun(1000, func() { spansOf(ctx, off, to) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func BenchmarkHopOff(b *testing.B) {
	off, err := telemetry.Setup(b.Context(), telemetry.Config{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, to := b.Context(), &url.URL{Host: "x"}
	b.ReportAllocs()
	for b.Loop() {
		spansOf(ctx, off, to)
	}
}

func BenchmarkServerOff(b *testing.B) {
	off, err := telemetry.Setup(b.Context(), telemetry.Config{})
	if err != nil {
		b.Fatal(err)
	}
	h := off.Server(telemetry.ServerConfig{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	req := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
	rec := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(rec, req)
	}
}

func BenchmarkConsumerOff(b *testing.B) {
	off, err := telemetry.Setup(b.Context(), telemetry.Config{})
	if err != nil {
		b.Fatal(err)
	}
	h := off.Consumer(telemetry.ConsumerConfig{})(func(*message.Message) ([]*message.Message, error) { return nil, nil })
	m := message.NewMessage("1", nil)
	b.ReportAllocs()
	for b.Loop() {
		m.SetContext(b.Context())
		_, _ = h(m)
	}
}

func BenchmarkMetrics(b *testing.B) {
	off, err := telemetry.Setup(b.Context(), telemetry.Config{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		off.Metrics().Settled(ctx, telemetry.Settlement{Source: "edge", Status: "completed", Took: time.Second, Queued: time.Millisecond})
	}
}
