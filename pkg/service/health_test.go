package service_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
)

func ask(t *testing.T, h http.Handler) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestReadinessFollowsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		h := &service.Health{Log: service.NewLogger(&log, service.LogConfig{})}
		var broken error
		h.Add("nats", func(context.Context) error { return broken })
		h.Add("topology", func(context.Context) error { return nil })
		step := func(when string, wantCode int, want string) {
			t.Helper()
			if code, body := ask(t, h.Ready()); code != wantCode || body != want {
				t.Errorf("%s: got %d %s, want %d %s", when, code, body, wantCode, want)
			}
			if code, body := ask(t, h.Live()); code != 200 || body != `{"status":"ok"}` {
				t.Errorf("%s: got %d %s, want alive", when, code, body)
			}
		}
		step("before the start", 503, `{"status":"starting"}`)
		done := make(chan error, 1)
		begin := time.Now()
		go func() { done <- service.Run(ctx, time.Minute, h.Part(5*time.Second)) }()
		synctest.Wait()
		step("started", 200, `{"status":"ok"}`)
		broken = errors.New("dial tcp 10.0.0.1:4222: refused")
		step("within a second the last round answers", 200, `{"status":"ok"}`)
		time.Sleep(time.Second)
		step("broken", 503, `{"status":"unavailable","failing":["nats"]}`)
		time.Sleep(time.Second)
		step("still broken", 503, `{"status":"unavailable","failing":["nats"]}`)
		broken = nil
		time.Sleep(time.Second)
		step("well again", 200, `{"status":"ok"}`)
		cancel()
		synctest.Wait()
		step("draining", 503, `{"status":"draining"}`)
		if err := <-done; err != nil || time.Since(begin) != 8*time.Second {
			t.Errorf("got %v after %v, want the delay waited for", err, time.Since(begin))
		}
		if got := log.String(); strings.Count(got, "check failing") != 1 || strings.Count(got, "check passing") != 1 || !strings.Contains(got, "10.0.0.1") {
			t.Errorf("got log %s, want one line each way", got)
		}
	})
}

func TestAHangingCheckFailsAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h service.Health
		h.Add("stuck", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		h.Add("fine", func(context.Context) error { return nil })
		if err := h.Part(0).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel() // the prober left: the round still judges by itself
		w := httptest.NewRecorder()
		begin := time.Now()
		h.Ready().ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", nil))
		if took := time.Since(begin); took != 2*time.Second || !strings.Contains(w.Body.String(), `["stuck"]`) {
			t.Errorf("got %s after %v", w.Body, took)
		}
	})
}
