package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/latchwire/latchwire/pkg/telemetry"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestSpansAreExportedAtTheEnd(t *testing.T) {
	t.Parallel()
	got := make(chan []byte, 4)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("got a post to %s, %v", r.URL.Path, err)
		}
		got <- body
	}))
	defer sink.Close()
	tel, err := telemetry.Setup(t.Context(), telemetry.Config{
		Name: "edge-api", Version: "1.2.3", LookupEnv: env("OTEL_EXPORTER_OTLP_ENDPOINT", sink.URL),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, span := tel.Publish(telemetry.WithChain(ctx, telemetry.Chain{CorrelationID: "c"}), "inv.p.req")
	span.End(nil)
	cancel()
	if err := tel.Run(ctx); err != nil { // the part's end flushes
		t.Fatal(err)
	}
	body := <-got
	id, err := hex.DecodeString(telemetry.TraceIDOf("c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]byte{id, []byte("publish inv.p.req"), []byte("edge-api"), []byte("1.2.3"), []byte("latchwire")} {
		if !bytes.Contains(body, want) {
			t.Errorf("%q is missing in the export", want)
		}
	}
}

func TestFailedExportsAreLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer sink.Close()
	var log bytes.Buffer
	tel, err := telemetry.Setup(t.Context(), telemetry.Config{
		LookupEnv: env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", sink.URL), Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tel.Publish(t.Context(), "x")
	span.End(nil)
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Errorf("got %v: a collector that is away must not fail the stop", err)
	}
	if got := log.String(); !strings.Contains(got, "spans not exported") || !strings.Contains(got, `"failures":1`) {
		t.Errorf("got log %q", got)
	}
}

func TestAPartnersFlagNeitherForcesNorSuppresses(t *testing.T) {
	t.Parallel()
	const low, high = "0000000000000000", "ffffffffffffffff" // the bytes that decide, for any ratio between 0 and 1
	for name, tc := range map[string]struct {
		ratio, half, flag string
		want              bool
	}{
		"all, though the partner says no":        {"1", low, "00", true},
		"none, though the partner says yes":      {"0", low, "01", false},
		"a kept id, though the partner says no":  {"0.5", low, "00", true},
		"a dropped id, though it says yes":       {"0.5", high, "01", false},
		"a kept id, and the partner says yes":    {"0.5", low, "01", true},
		"a dropped id, and the partner says no.": {"0.5", high, "00", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := tracetest.NewSpanRecorder()
			tel, err := telemetry.New(t.Context(), telemetry.Config{
				LookupEnv: env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG", tc.ratio),
			}, rec)
			if err != nil {
				t.Fatal(err)
			}
			ctx := telemetry.Extract(t.Context(), map[string][]string{"traceparent": {"00-0123456789abcdef" + tc.half + "-00f067aa0ba902b7-" + tc.flag}})
			ctx, parent := tel.Publish(ctx, "x")
			_, child := tel.Publish(ctx, "y")
			child.End(nil)
			parent.End(nil)
			if got := len(rec.Ended()); got != map[bool]int{true: 2}[tc.want] {
				t.Errorf("got %d spans recorded, want %v", got, tc.want)
			}
			if got := strings.HasSuffix(telemetry.Traceparent(ctx), "-01"); got != tc.want {
				t.Errorf("got our own flag %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWithoutVariablesNothingIsTraced(t *testing.T) {
	t.Parallel()
	off, err := telemetry.Setup(t.Context(), telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tel := range map[string]*telemetry.Providers{"off": off, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everything(t, tel)
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
