package egress

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// delays answers after a while. It is for bubbles.
func delays(d time.Duration) answer {
	return func(c net.Conn, r *http.Request, n int64) bool {
		time.Sleep(d)
		return keeps(okAnswer)(c, r, n)
	}
}

// listenDeaf returns the URL of a target that accepts and never reads.
func listenDeaf(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		<-t.Context().Done()
		_ = c.Close()
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return "http://" + ln.Addr().String() + "/"
}

// A brokenConn takes its first write and then only as many bytes as it is told
// to: what a connection looks like whose other end has gone.
type brokenConn struct {
	net.Conn
	writes atomic.Int64
	takes  int
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.writes.Add(1) == 1 {
		return c.Conn.Write(b)
	}
	n := min(c.takes, len(b))
	if n > 0 {
		if _, err := c.Conn.Write(b[:n]); err != nil {
			return 0, err
		}
	}
	return n, syscall.EPIPE
}

// A kept-alive connection that takes nothing is replaced once; one that took a
// byte is not.
func TestDeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		takes int
		body  string
		ok    bool
		conns int64
	}{
		"SEC-17 nothing taken":          {takes: 0, body: "{}", ok: true, conns: 2},
		"SEC-17 nothing taken, no body": {takes: 0, body: "", ok: true, conns: 2},
		"SEC-17 one byte taken":         {takes: 1, body: "{}", conns: 1},
		"SEC-17 one byte, no body":      {takes: 1, body: "", conns: 1},
		"SEC-17 half the header taken":  {takes: 60, body: "{}", conns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := listen(t, "127.0.0.1:0", keeps(okAnswer))
			var dials atomic.Int64
			c := newClient(Config{Policy: loopback()}, func(g *guard) dialFunc {
				dial := guardedDial(nil)(g)
				return func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := dial(ctx, network, address)
					if dials.Add(1) == 1 && err == nil {
						conn = &brokenConn{Conn: conn, takes: tc.takes}
					}
					return conn, err
				}
			})
			t.Cleanup(c.Close)
			r := Request{URL: target.url, Body: []byte(tc.body)}
			if _, err := c.Post(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			resp, err := c.Post(t.Context(), r)
			if tc.ok && (err != nil || resp.Status != http.StatusOK || target.hits.Load() != 2) {
				t.Errorf("got %d, %v, %d hits, want an answer", resp.Status, err, target.hits.Load())
			}
			if !tc.ok {
				if got := fault(t, err); got.Kind != KindLost || !got.Sent || target.hits.Load() != 1 {
					t.Errorf("got %s (%v), sent %v, %d hits, want %s and sent", got.Kind, got.Unwrap(), got.Sent, target.hits.Load(), KindLost)
				}
			}
			if dials.Load() != tc.conns {
				t.Errorf("got %d connections, want %d", dials.Load(), tc.conns)
			}
		})
	}
}

// A connection that is dead from the start is no reason to try again.
func TestFreshConnectionIsNotReplaced(t *testing.T) {
	t.Parallel()
	target := listen(t, "127.0.0.1:0", keeps(okAnswer))
	var dials atomic.Int64
	c := newClient(Config{Policy: loopback()}, func(g *guard) dialFunc {
		dial := guardedDial(nil)(g)
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			dead := &brokenConn{Conn: conn}
			dead.writes.Store(1)
			return dead, nil
		}
	})
	t.Cleanup(c.Close)
	_, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}")})
	if got := fault(t, err); got.Kind != KindLost || got.Sent || dials.Load() != 1 || target.hits.Load() != 0 {
		t.Errorf("got %s, sent %v, %d connections, %d hits", got.Kind, got.Sent, dials.Load(), target.hits.Load())
	}
}

// A target that closes its connections at once, without saying so, costs no
// second hit, and its clients always learn that the request was sent.
func TestTargetThatHangsUp(t *testing.T) {
	t.Parallel()
	target := listen(t, "127.0.0.1:0", says(okAnswer))
	c := open(t, Config{Policy: loopback()})
	const calls = 300
	var answered, lost int64
	for range calls {
		_, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}")})
		if err == nil {
			answered++
			continue
		}
		if got := fault(t, err); got.Kind != KindLost || !got.Sent {
			t.Errorf("SEC-17: got %s (%v), sent %v", got.Kind, got.Unwrap(), got.Sent)
		}
		lost++
	}
	if hits := target.hits.Load(); hits < answered || hits > answered+lost {
		t.Errorf("SEC-17: got %d hits for %d answers and %d losses", hits, answered, lost)
	}
}
