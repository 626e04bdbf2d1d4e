package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// logged returns a logger as the services build it and what it wrote, a map
// for each line.
func logged(t *testing.T) (*slog.Logger, func() []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	return slog.New(telemetry.LogHandler(slog.NewJSONHandler(&out, nil))), func() []map[string]any {
		var lines []map[string]any
		for dec := json.NewDecoder(&out); ; {
			var line map[string]any
			if err := dec.Decode(&line); errors.Is(err, io.EOF) {
				return lines
			} else if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
}

func compare(t *testing.T, line, want map[string]any) {
	t.Helper()
	for k, v := range want {
		if line[k] != v {
			t.Errorf("got %s = %v, want %v", k, line[k], v)
		}
	}
}

func TestEachRequestIsOneLineAndOneSpan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		line    map[string]any
		status  string // of the span's error
	}{
		"an answer": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
			map[string]any{"level": "INFO", "status": 200.0, "bytes": 5.0, "method": "POST", "route": "/locks/{id}", "code": nil},
			"",
		},
		"nothing written is 200": {
			func(http.ResponseWriter, *http.Request) {},
			map[string]any{"status": 200.0, "bytes": 0.0, "panicked": nil},
			"",
		},
		"a flush sends the header": {
			func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				w.WriteHeader(500)
			},
			map[string]any{"status": 200.0},
			"",
		},
		"hints are no answer": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) },
			map[string]any{"status": 404.0, "level": "INFO"},
			"",
		},
		"a refusal's code, and no cause": {
			func(w http.ResponseWriter, r *http.Request) {
				telemetry.NoteError(r.Context(), invocation.Refuse(invocation.RateLimited))
				w.WriteHeader(429)
			},
			map[string]any{"status": 429.0, "code": "rate-limited", "err": nil, "level": "INFO"},
			"",
		},
		"an unclassified error's cause": {
			func(w http.ResponseWriter, r *http.Request) {
				telemetry.NoteError(r.Context(), errors.New("disk on fire"))
				w.WriteHeader(500)
			},
			map[string]any{"status": 500.0, "code": "server-error", "err": "server-error: disk on fire", "level": "ERROR"},
			"500",
		},
		"a chain": {
			func(_ http.ResponseWriter, r *http.Request) {
				telemetry.NoteChain(r.Context(), telemetry.Chain{CorrelationID: "c", InvocationID: "i", EventID: "e"})
				telemetry.NoteOutcome(r.Context(), "completed")
			},
			map[string]any{"correlation_id": "c", "invocation_id": "i", "event_id": "e", "outcome": "completed"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, spans := telemetrytest.New(t)
			log, lines := logged(t)
			h := tel.Server(telemetry.ServerConfig{Log: log, Route: func(*http.Request) string { return "/locks/{id}" }})(tc.handler)
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/locks/CANARY?key=CANARY", strings.NewReader("CANARY"))
			req.Header.Set("Authorization", "Bearer CANARY")
			req.Header.Set("X-Request-Id", "CANARY")
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			all := lines()
			if len(all) != 1 {
				t.Fatalf("got %d lines, want 1", len(all))
			}
			compare(t, all[0], tc.line)
			span := spans.Ended()[0]
			compare(t, all[0], map[string]any{
				"trace_id": span.TraceID, "span_id": span.SpanID, "msg": "request", "request_id": rec.Header().Get("X-Request-Id"),
			})
			if span.Name != "POST /locks/{id}" || span.Kind != "server" || span.Error != tc.status || rec.Header().Get("X-Trace-Id") != span.TraceID {
				t.Errorf("got span %+v and headers %v", span, rec.Header())
			}
			for k, v := range span.Attrs {
				if strings.Contains(v, "CANARY") {
					t.Errorf("the span shows %s = %s", k, v)
				}
			}
			if b, _ := json.Marshal(all); bytes.Contains(b, []byte("CANARY")) { //nolint:errchkjson // it came from JSON
				t.Errorf("the log shows %s", b)
			}
		})
	}
}

func TestAPanicIsRecordedAndGoesOn(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	log, lines := logged(t)
	h := tel.Server(telemetry.ServerConfig{Log: log})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("got panic %v, want it passed on", r)
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "BREW", "/", nil))
	}()
	compare(t, lines()[0], map[string]any{"status": 500.0, "panicked": true, "method": "_OTHER", "route": "", "level": "ERROR"})
	if s := spans.Ended()[0]; s.Name != "_OTHER" || s.Error != "500" {
		t.Errorf("got %+v", s)
	}
}

func TestSkippedRequestsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	log, lines := logged(t)
	h := tel.Server(telemetry.ServerConfig{Log: log, Skip: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
	if rec.Code != 204 || len(lines()) != 0 || len(spans.Ended()) != 0 || len(rec.Header()) != 0 {
		t.Errorf("got %d %v", rec.Code, rec.Header())
	}
}

func TestNotesOutsideOfARequestAreDropped(t *testing.T) {
	t.Parallel()
	telemetry.Note(context.WithoutCancel(t.Context()), slog.String("a", "b"))
	telemetry.NoteChain(t.Context(), telemetry.Chain{})
}

func TestLogLinesCarryTheirContext(t *testing.T) {
	t.Parallel()
	tel, _ := telemetrytest.New(t)
	log, lines := logged(t)
	chain := telemetry.WithChain(t.Context(), telemetry.Chain{CorrelationID: "c", Depth: 2, InvocationID: "i"})
	traced, span := tel.Publish(chain, "x")
	defer span.End(nil)
	log = log.With(slog.String("service", "edge"))
	log.InfoContext(t.Context(), "plain")
	log.InfoContext(chain, "chain")
	log.WarnContext(traced, "traced")
	log.DebugContext(traced, "below the level")
	log.WithGroup("g").InfoContext(chain, "grouped", slog.Int("n", 1))
	all := lines()
	if len(all) != 4 {
		t.Fatalf("got %d lines, want 4", len(all))
	}
	compare(t, all[0], map[string]any{"service": "edge", "trace_id": nil, "correlation_id": nil})
	compare(t, all[1], map[string]any{"correlation_id": "c", "chain_depth": 2.0, "invocation_id": "i", "event_id": nil, "trace_id": nil})
	compare(t, all[2], map[string]any{"trace_id": telemetry.TraceIDOf("c"), "correlation_id": "c"})
	if g, ok := all[3]["g"].(map[string]any); !ok || g["correlation_id"] != "c" || g["n"] != 1.0 {
		t.Errorf("got %v", all[3])
	}
}

func TestARecordHandledTwiceStaysWhole(t *testing.T) {
	t.Parallel()
	log, lines := logged(t)
	record := slog.NewRecord(time.Now(), slog.LevelInfo, "both", 0)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} { // more than a record holds in place
		record.AddAttrs(slog.Int(key, 1))
	}
	for _, id := range []string{"c1", "c2"} { // as a handler that fans out would
		ctx := telemetry.WithChain(t.Context(), telemetry.Chain{CorrelationID: id})
		if err := log.Handler().Handle(ctx, record); err != nil {
			t.Fatal(err)
		}
	}
	all := lines()
	compare(t, all[0], map[string]any{"correlation_id": "c1", "!BUG": nil})
	compare(t, all[1], map[string]any{"correlation_id": "c2", "!BUG": nil})
}
