package service_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
)

// serving runs a server part on a free port until stop is called.
func serving(t *testing.T, cfg service.HTTPConfig, h http.HandlerFunc) (addr string, stop func() error) {
	t.Helper()
	bound := make(chan net.Addr, 1)
	cfg.Addr = "127.0.0.1:0"
	cfg.OnListen = func(a net.Addr) { bound <- a }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx, time.Minute, service.HTTPServer(cfg, h)) }()
	select {
	case a := <-bound:
		addr = a.String()
	case err := <-done:
		t.Fatal(err)
	}
	return addr, func() error { cancel(); return <-done }
}

func get(ctx context.Context, addr string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr, nil)
	if err != nil {
		return "", err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestATakenPortIsNamed(t *testing.T) {
	t.Parallel()
	addr, stop := serving(t, service.HTTPConfig{}, func(http.ResponseWriter, *http.Request) {})
	err := service.Run(t.Context(), time.Second, service.HTTPServer(service.HTTPConfig{Addr: addr}, nil))
	want := "http: start: address " + addr + " is already in use: choose another with --http-addr"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	err = service.Run(t.Context(), time.Second, service.HTTPServer(service.HTTPConfig{Name: "ops", Flag: "--ops-addr", Addr: "nonsense"}, nil))
	if err == nil || !strings.Contains(err.Error(), "ops: start: can't listen on the address of --ops-addr") {
		t.Errorf("got %v, want the flag named", err)
	}
}

func TestRequestsInFlightFinishOnStop(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	addr, stop := serving(t, service.HTTPConfig{}, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		if r.Context().Err() != nil {
			t.Error("a draining request lost its context")
		}
		_, _ = io.WriteString(w, "done")
	})
	answer := make(chan string, 1)
	go func() {
		body, err := get(t.Context(), addr)
		if err != nil {
			body = err.Error()
		}
		answer <- body
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // the listener closes before the drain
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(release)
	if got := <-answer; got != "done" {
		t.Errorf("got %q, want the answer", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestRequestsThatTakeTooLongAreCut(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan struct{})
	addr, stop := serving(t, service.HTTPConfig{DrainTimeout: time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(left)
	})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	// While a body is expected, the end of the connection alone does not reach
	// the request's context.
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
	<-entered
	if err := stop(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off after 1ms") {
		t.Errorf("got %v, want the cut named", err)
	}
	<-left
}

// Whoever sends headers slowly, or too many, is cut off (SEC-40).
func TestSlowAndLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout       time.Duration
		request, want string
	}{
		"headers that never end": {20 * time.Millisecond, "GET / HTTP/1.1\r\nHost: x\r\n", ""},
		"headers over 16 KiB":    {0, "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 24<<10) + "\r\n\r\n", "HTTP/1.1 431"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, stop := serving(t, service.HTTPConfig{ReadHeaderTimeout: tc.timeout, ReadTimeout: time.Hour}, func(http.ResponseWriter, *http.Request) {
				t.Error("the handler ran")
			})
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, tc.request)
			line, err := bufio.NewReader(c).ReadString('\n')
			if errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(line, tc.want) || tc.want == "" && line != "" && !strings.HasPrefix(line, "HTTP/1.1 408") {
				t.Errorf("got %q, %v, want %q", line, err, tc.want)
			}
			_ = c.Close()
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHTTPDefaults(t *testing.T) {
	t.Parallel()
	c := service.HTTPConfig{}.WithDefaults()
	got := []any{c.ReadHeaderTimeout, c.ReadTimeout, c.WriteTimeout, c.IdleTimeout, c.DrainTimeout, c.MaxHeaderBytes}
	want := []any{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 15 * time.Second, 16384}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}
