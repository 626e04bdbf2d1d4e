package registry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

// within is how long the tests wait for what must come; only a failure takes it.
const within = 30 * time.Second

func small() ledger.Config { return ledger.Config{Partitions: 1} }

// open opens a registry and runs it until stop is called.
func open(t *testing.T, c *broker.Conn) (r *registry.Registry, stop func()) {
	t.Helper()
	r, err := registry.Open(t.Context(), c, sealed.Keys{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("open the registry: %v", err)
	}
	return r, run(t, r)
}

// run runs a registry until stop is called.
func run(t *testing.T, r *registry.Registry) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func wantCode(tb testing.TB, err error, want invocation.Code) {
	tb.Helper()
	if err == nil || invocation.CodeOf(err) != want {
		tb.Errorf("got %v, want %s", err, want)
	}
}

// issue stores a new developer token and returns its secret.
func issue(tb testing.TB, r *registry.Registry) (registry.Token, string) {
	tb.Helper()
	tok, secret := registry.NewToken(registry.Token{Kind: registry.DeveloperToken, Extension: "a"}, time.Now())
	if err := r.StoreToken(tb.Context(), tok); err != nil {
		tb.Fatalf("store a token: %v", err)
	}
	return tok, secret
}

// warm reads a token until it comes from the cache.
func warm(t *testing.T, env ledgertest.Env, r *registry.Registry, secret string) {
	t.Helper()
	brokertest.Eventually(t, within, "the token is read from the cache", func() bool {
		before := env.Conn.NC.Stats().OutMsgs
		for range 50 {
			if _, err := r.Token(t.Context(), secret, time.Now()); err != nil {
				return false // the server may be on its way back
			}
		}
		return env.Conn.NC.Stats().OutMsgs-before < 40
	})
}

// reads returns how many messages the connection sent while read was called n
// times. The watch sends a few of its own.
func reads(t *testing.T, env ledgertest.Env, n int, read func() error) uint64 {
	t.Helper()
	before := env.Conn.NC.Stats().OutMsgs
	for range n {
		if err := read(); err != nil {
			t.Fatalf("read: %v", err)
		}
	}
	return env.Conn.NC.Stats().OutMsgs - before
}

// A wire is a TCP proxy in front of a server that can be cut.
type wire struct {
	target string
	at     string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{target: u.Host, at: "nats://" + l.Addr().String(), conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		w.set(true)
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		running.Wait()
	})
	return w
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	far, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer far.Close()
	w.mu.Lock()
	if w.cut {
		w.mu.Unlock()
		return
	}
	w.conns[c], w.conns[far] = true, true
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(far, c); _ = far.Close() })
	both.Go(func() { _, _ = io.Copy(c, far); _ = c.Close() })
	both.Wait()
}

// set cuts the wire or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for c := range w.conns {
			_ = c.Close()
		}
		clear(w.conns)
	}
}
