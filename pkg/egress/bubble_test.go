package egress

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// The contract's 10 seconds, to the second, for targets that never finish.
func TestWholeExchangeHasOneDeadline(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   answer
		want Kind
		took time.Duration
	}{
		"SEC-08 hangs":                   {waits(""), KindTimeout, 10 * time.Second},
		"SEC-09 header trickles":         {every(100*time.Millisecond, "HTTP/1.1 200 OK\r\n", "A: b\r\n"), KindTimeout, 10 * time.Second},
		"SEC-09 body trickles":           {every(50*time.Millisecond, "HTTP/1.1 200 OK\r\n\r\n", " "), KindTimeout, 10 * time.Second},
		"S-32 body of 1 GB trickles":     {every(time.Second, chunkedAnswer, "1\r\n \r\n"), KindTimeout, 10 * time.Second},
		"SEC-12 slow early hints":        {every(time.Second, "", "HTTP/1.1 103 E\r\n\r\n"), KindTimeout, 10 * time.Second},
		"SEC-13 101 trickles":            {every(time.Second, "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "x"), KindSwitch, 0},
		"SEC-13 101 and open connection": {waits("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), KindSwitch, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := &pipeNet{do: tc.do}
				c := network.client(Config{})
				defer network.end(c)
				begin := time.Now()
				_, err := c.Post(t.Context(), Request{URL: "http://target/", Body: []byte("{}")})
				if got := fault(t, err); got.Kind != tc.want || !got.Sent {
					t.Errorf("got %s (%v), sent %v, want %s", got.Kind, got.Unwrap(), got.Sent, tc.want)
				}
				if took := time.Since(begin); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

func TestAnswerJustInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &pipeNet{do: delays(9999 * time.Millisecond)}
		c := network.client(Config{})
		defer network.end(c)
		if resp, err := c.Post(t.Context(), Request{URL: "http://target/", Body: []byte("{}")}); err != nil || string(resp.Body) != "{}" {
			t.Errorf("got %q, %v", resp.Body, err)
		}
	})
}

func TestCallerMayGiveUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before bool
		sent   bool
	}{"while the target works": {sent: true}, "before the call": {before: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := &pipeNet{do: waits("")}
				c := network.client(Config{})
				defer network.end(c)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.before {
					cancel()
				}
				time.AfterFunc(time.Second, cancel)
				_, err := c.Post(ctx, Request{URL: "http://target/", Body: []byte("{}")})
				if got := fault(t, err); got.Kind != KindCanceled || got.Sent != tc.sent {
					t.Errorf("got %s (%v), sent %v, want sent %v", got.Kind, got.Unwrap(), got.Sent, tc.sent)
				}
			})
		})
	}
}

// With all connections busy a call waits no longer than its deadline, and has
// not been sent.
func TestWaitForAConnectionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &pipeNet{do: waits("")}
		c := network.client(Config{MaxConnsPerHost: 1, Timeout: time.Second})
		defer network.end(c)
		first, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for first.Err() == nil {
				_, _ = c.Post(first, Request{URL: "http://target/", Body: []byte("{}")})
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := c.Post(ctx, Request{URL: "http://target/", Body: []byte("{}")})
		if got := fault(t, err); got.Kind != KindTimeout || got.Sent {
			t.Errorf("got %s, sent %v, want %s, not sent", got.Kind, got.Sent, KindTimeout)
		}
		stop()
		<-done
	})
}

// A target that never reads has been sent something; one that never accepts
// has not.
func TestTargetThatNeverReads(t *testing.T) {
	t.Parallel()
	target := listenDeaf(t)
	c := open(t, Config{Policy: loopback(), Timeout: 500 * time.Millisecond})
	_, err := c.Post(t.Context(), Request{URL: target, Body: bytes.Repeat([]byte("a"), 32<<20)})
	if got := fault(t, err); got.Kind != KindTimeout || !got.Sent {
		t.Errorf("got %s, sent %v", got.Kind, got.Sent)
	}
}

func TestCloseLetsGoAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &pipeNet{do: keeps(okAnswer)}
		c := network.client(Config{})
		if _, err := c.Post(t.Context(), Request{URL: "http://target/", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		network.end(c)
		if took := time.Since(begin); took != 0 {
			t.Errorf("got the connection closed %v later", took)
		}
	})
}

// Node closes idle connections after 5 seconds. Ours are gone by then, so that
// no request meets one that is just being closed.
func TestIdleConnectionsAreGoneInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &pipeNet{do: keeps(okAnswer)}
		c := network.client(Config{})
		defer network.end(c)
		const calls = 1000
		for i := range calls {
			resp, err := c.Post(t.Context(), Request{URL: "http://target/", Body: []byte("{}")})
			if err != nil || resp.Status != http.StatusOK {
				t.Fatalf("SEC-17: got %d, %v at call %d", resp.Status, err, i)
			}
			time.Sleep(4900*time.Millisecond + time.Duration(i%3)*100*time.Millisecond)
		}
		if network.hits.Load() != calls || network.conns.Load() != calls {
			t.Errorf("SEC-17: got %d hits, %d connections, want %d of each", network.hits.Load(), network.conns.Load(), calls)
		}
		for range 10 {
			if _, err := c.Post(t.Context(), Request{URL: "http://target/", Body: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2900 * time.Millisecond)
		}
		if got := network.conns.Load(); got != calls+1 {
			t.Errorf("got %d connections for calls that follow closely, want one", got-calls)
		}
	})
}
