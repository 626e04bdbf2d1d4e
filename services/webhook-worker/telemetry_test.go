package webhookworker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

func TestAnEventsWayIsOneTrace(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	w := newObservedWorld(t, tel)
	r := newReceiver(t, fails(1, http.StatusInternalServerError))
	w.extension("reader", r.url, "*")
	worker := w.work(w.Platform, webhookworker.Config{})
	event := w.emit(w.lock(0, "reader"), "lock", "lock.time-changed")
	w.settled()
	w.must(worker.stop())
	var way []string
	for _, s := range spans.Ended() {
		if s.Attrs["chain.correlation_id"] == string(event.ID) {
			way = append(way, s.Kind+" "+s.Name)
			if s.Attrs["event.id"] != string(event.ID) {
				t.Errorf("%s: got event %q, want %s", s.Name, s.Attrs["event.id"], event.ID)
			}
		}
	}
	for _, want := range []string{
		"consumer process lock.p", "producer publish dlv.p", "consumer process dlv.p", "client POST", "producer publish tmr.p",
	} {
		if !strings.Contains(strings.Join(way, "\n"), want) {
			t.Errorf("got %q, want %s among them", way, want)
		}
	}
	spans.CheckChains(t)
	for i, c := range r.got() {
		if c.header.Get("Traceparent") == "" || c.header.Get("Tracestate") != "" {
			t.Errorf("attempt %d: got headers %v", i+1, c.header)
		}
	}
}

func TestDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	tel, _ := telemetrytest.New(t)
	w := newObservedWorld(t, tel)
	r := newReceiver(t, fails(1, http.StatusInternalServerError))
	e := w.extension("reader", r.url, "*")
	w.work(w.Platform, webhookworker.Config{})
	w.emit(w.lock(0, "reader"), "lock", "lock.time-changed")
	w.settled()
	answer := httptest.NewRecorder()
	tel.MetricsHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	page, err := io.ReadAll(answer.Body)
	w.must(err)
	for _, want := range [][]string{
		{"webhook_delivery_settled_total{", `outcome="delivered"`, `purpose="event"`, string(e.ID), "} 1"},
		{"webhook_attempt_duration_seconds_count{", `purpose="event"`, `status_class="5xx"`, "} 1"},
		{"webhook_attempt_duration_seconds_count{", `purpose="event"`, `status_class="2xx"`, "} 1"},
		{"pipeline_worker_inflight{", `worker="deliver"`},
		{"pipeline_worker_inflight{", `worker="fan-out"`},
	} {
		if !hasLine(string(page), want) {
			t.Errorf("got no line with %q", want)
		}
	}
}

// hasLine reports whether one line holds all of the parts.
func hasLine(page string, parts []string) bool {
	for line := range strings.Lines(page) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}
