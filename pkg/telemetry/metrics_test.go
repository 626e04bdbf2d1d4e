package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// scrape returns what Prometheus gets.
func scrape(t *testing.T, tel *telemetry.Providers) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	rec := httptest.NewRecorder()
	tel.MetricsHandler().ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Fatalf("got status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// No value that is not of a closed set becomes a series (SEC-119).
func TestMetricsHaveTheirNamesAndLabels(t *testing.T) {
	t.Parallel()
	tel, _ := telemetrytest.New(t)
	ctx, span := tel.Publish(telemetry.WithChain(t.Context(), telemetry.Chain{CorrelationID: "c"}), "x")
	span.End(nil)
	m := tel.Metrics()
	m.Accepted(ctx, telemetry.SourceEdge, telemetry.ResultRejected, "rate-limited")
	m.Accepted(ctx, "CANARY", "CANARY", "CANARY")
	m.Settled(ctx, telemetry.Settlement{Source: telemetry.SourceMCP, Status: "failed", ErrorCode: "target-error", Took: time.Second, Queued: time.Millisecond})
	m.Settled(ctx, telemetry.Settlement{Status: "rejected", ErrorCode: "CANARY"})
	m.Settled(ctx, telemetry.Settlement{Status: "CANARY", ErrorCode: "CANARY"})
	m.Attempted(ctx, telemetry.Attempt{Purpose: telemetry.PurposeEvent, Status: 429, Took: time.Second})
	m.Attempted(ctx, telemetry.Attempt{Purpose: telemetry.PurposeInvocation, Err: context.DeadlineExceeded})
	m.Attempted(ctx, telemetry.Attempt{Purpose: "CANARY", Err: errors.New("CANARY"), Status: 600})
	m.Delivered(ctx, telemetry.PurposeEvent, telemetry.OutcomeDead, "ext1")
	m.Inflight(ctx, telemetry.WorkerDispatch, 3)
	m.Inflight(ctx, telemetry.WorkerDispatch, -1)
	tel.Server(telemetry.ServerConfig{Route: func(*http.Request) string { return "/locks/{id}" }})(http.NotFoundHandler()).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "CANARY", "/locks/CANARY", nil))
	got := scrape(t, tel)
	for _, want := range []string{
		`invocation_accepted_total{reason="rate-limited",result="rejected",source="edge"} 1.0`,
		`invocation_accepted_total{reason="_OTHER",result="_OTHER",source="_OTHER"} 1.0`,
		`invocation_settled_total{error_type="target-error",outcome="failed"} 1.0`,
		`invocation_settled_total{error_type="rejected",outcome="rejected"} 1.0`,
		`invocation_settled_total{error_type="_OTHER",outcome="_OTHER"} 1.0`,
		`invocation_duration_seconds_bucket{outcome="failed",le="1.0"} 1`,
		`invocation_queue_duration_seconds_bucket{source="mcp",le="0.005"} 1`,
		`invocation_queue_duration_seconds_count{source="mcp"} 1`,
		`webhook_attempt_duration_seconds_count{error_type="http_429",purpose="event",status_class="4xx"} 1`,
		`webhook_attempt_duration_seconds_count{error_type="timeout",purpose="invocation",status_class="none"} 1`,
		`webhook_delivery_settled_total{extension_id="ext1",outcome="dead",purpose="event"} 1.0`,
		`pipeline_worker_inflight{worker="dispatch"} 2.0`,
		`http_server_request_duration_seconds_count{http_request_method="_OTHER",http_response_status_code="404",http_route="/locks/{id}"} 1`,
		`service_name="test"`, "go_goroutines",
		" # {", `trace_id="` + telemetry.TraceIDOf("c") + `"`, // exemplars
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, unwanted := range []string{"CANARY", "otel_scope"} {
		if strings.Contains(got, unwanted) {
			t.Errorf("the metrics contain %s", unwanted)
		}
	}
}
