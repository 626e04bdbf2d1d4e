package dispatcher_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/services/dispatcher"
)

// A slowLine passes bytes on between a worker and NATS. From the moment the
// worker has written the text, what NATS answers is held back for a while, as
// if the worker had stood still.
type slowLine struct {
	net.Listener
	text  []byte
	delay time.Duration
	held  chan struct{} // closed when the text was seen
	once  sync.Once
	busy  sync.WaitGroup
}

func newSlowLine(t *testing.T, to, text string, delay time.Duration) *slowLine {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &slowLine{Listener: l, text: []byte(text), delay: delay, held: make(chan struct{})}
	s.busy.Go(func() {
		for {
			worker, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(to, "nats://"))
			if err != nil {
				_ = worker.Close()
				return
			}
			s.busy.Go(func() { s.forth(server, worker) })
			s.busy.Go(func() { s.back(worker, server) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.busy.Wait()
	})
	return s
}

func (s *slowLine) forth(server, worker net.Conn) {
	defer server.Close() // the other side is gone
	b := make([]byte, 64<<10)
	for {
		n, err := worker.Read(b)
		if err != nil {
			return
		}
		if bytes.Contains(b[:n], s.text) {
			s.once.Do(func() { close(s.held) })
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
	}
}

func (s *slowLine) back(worker, server net.Conn) {
	defer worker.Close() // the other side is gone
	b := make([]byte, 64<<10)
	var waited bool
	for {
		n, err := server.Read(b)
		if err != nil {
			return
		}
		select {
		case <-s.held:
			if !waited {
				waited = true
				pass(s.delay)
			}
		default:
		}
		if _, err := io.Copy(worker, bytes.NewReader(b[:n])); err != nil {
			return
		}
	}
}

// A worker that stood still between its claim and the call does not call: by
// then the others may take it for dead (SEC-115).
func TestAWorkerThatStoodStillDoesNotCall(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	s := newStand(t, platform.Config{Broker: broker.Config{URL: node.URL}}, "https://probe.example/")
	line := newSlowLine(t, node.URL, "PUB inv.0.st.", 7*time.Second)
	var calls atomic.Int64
	part, err := dispatcher.NewCalling(s.With(func(c *platform.Config) {
		c.Broker.URL = "nats://" + line.Addr().String()
	}).Open(t), dispatcher.Config{}, func(context.Context, invocation.Invocation) invocation.Outcome {
		calls.Add(1)
		return invocation.Completes(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	platformtest.Run(t, part)
	inv := s.settled(t, s.record(t, s.call(t, s.lock(t), "probe.echo", "k")))
	check(t, inv, invocation.Unknown, invocation.DispatchInterrupted)
	if n := calls.Load(); n != 0 {
		t.Errorf("got %d calls, want none", n)
	}
}
