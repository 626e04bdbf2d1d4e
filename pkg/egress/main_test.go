package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain runs everything with a proxy in the environment that leads nowhere
// (SEC-05): a client that took notice of it would fail every test.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// loopback allows what the tests' servers listen on.
func loopback() Policy {
	return Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// open returns a client that is closed with the test.
func open(tb testing.TB, cfg Config) *Client {
	tb.Helper()
	if err := cfg.Validate(); err != nil {
		tb.Fatal(err)
	}
	c := New(cfg)
	tb.Cleanup(c.Close)
	return c
}

// fault returns the CallError in err and fails the test if there is none.
func fault(tb testing.TB, err error) *CallError {
	tb.Helper()
	failed, ok := errors.AsType[*CallError](err)
	if !ok {
		tb.Fatalf("got error %v, want a CallError", err)
	}
	return failed
}

// A rawTarget is a target that says what it likes on the bare connection.
type rawTarget struct {
	url   string
	host  string
	hits  atomic.Int64 // requests read whole
	conns atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]bool
}

// An answer reacts to the nth request on a target, counted from 1; false ends
// the connection.
type answer func(c net.Conn, r *http.Request, n int64) bool

// says answers with fixed bytes and ends the connection.
func says(s string) answer {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		_, _ = io.WriteString(c, s)
		return false
	}
}

// keeps answers with fixed bytes and keeps the connection.
func keeps(s string) answer {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		_, err := io.WriteString(c, s)
		return err == nil
	}
}

// waits answers with fixed bytes and holds the connection until the client
// lets go of it.
func waits(s string) answer {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		_, _ = io.WriteString(c, s)
		_, _ = io.Copy(io.Discard, c)
		return false
	}
}

// repeats answers with a beginning and then one piece over and over.
func repeats(first, piece string) answer {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		_, err := io.WriteString(c, first)
		for err == nil {
			_, err = io.WriteString(c, piece)
		}
		return false
	}
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// listen starts a target on a loopback address that ends with the test.
func listen(tb testing.TB, address string, do answer) *rawTarget {
	tb.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	target := &rawTarget{url: "http://" + ln.Addr().String() + "/", host: ln.Addr().String(), open: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			target.conns.Add(1)
			target.mu.Lock()
			target.open[c] = true
			target.mu.Unlock()
			all.Go(func() { target.serve(c, do) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		target.mu.Lock()
		for c := range target.open {
			_ = c.Close()
		}
		target.mu.Unlock()
		all.Wait()
	})
	return target
}

func (s *rawTarget) serve(c net.Conn, do answer) {
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if !do(c, r, s.hits.Add(1)) {
			return
		}
	}
}

// A pipeNet is a network without addresses, for tests in a synctest bubble.
type pipeNet struct {
	do    answer
	hits  atomic.Int64
	conns atomic.Int64
	all   sync.WaitGroup
}

// client returns a client whose every connection leads to the network's one
// target.
func (p *pipeNet) client(cfg Config) *Client {
	cfg.Policy = loopback()
	return newClient(cfg, func(*guard) dialFunc {
		return func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			p.conns.Add(1)
			p.all.Go(func() { p.serve(far) })
			return near, nil
		}
	})
}

// end closes the client and waits for the target's side: a bubble's clock
// stands still once its test has returned.
func (p *pipeNet) end(c *Client) {
	c.Close()
	p.all.Wait()
}

func (p *pipeNet) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || !p.do(c, r, p.hits.Add(1)) {
			return
		}
	}
}

// every writes a piece in each interval until the client lets go. It is for
// bubbles.
func every(interval time.Duration, first, piece string) answer {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		_, err := io.WriteString(c, first)
		for err == nil {
			time.Sleep(interval)
			_, err = io.WriteString(c, piece)
		}
		return false
	}
}
