package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
)

const (
	workStream   = "WORK"
	workConsumer = "worker"
)

// workTopology is one stream with one durable consumer.
func workTopology(ackWait time.Duration) broker.Topology {
	return broker.Topology{
		Streams: []jetstream.StreamConfig{{Name: workStream, Subjects: []string{"work.*"}, MaxMsgsPerSubject: -1, AllowDirect: true}},
		Consumers: []broker.Consumer{{Stream: workStream, Config: jetstream.ConsumerConfig{
			Durable: workConsumer, FilterSubject: "work.*", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: ackWait, MaxAckPending: -1, MaxDeliver: -1,
		}}},
	}
}

func apply(tb testing.TB, c *broker.Conn, topology broker.Topology) {
	tb.Helper()
	if err := topology.Apply(tb.Context(), c.JS); err != nil {
		tb.Fatalf("apply the topology: %v", err)
	}
}

// publish stores messages work.0, work.1 and so on.
func publish(tb testing.TB, c *broker.Conn, from, to int) {
	tb.Helper()
	for i := from; i < to; i++ {
		if _, err := c.JS.Publish(tb.Context(), "work."+strconv.Itoa(i), []byte(strconv.Itoa(i))); err != nil {
			tb.Fatalf("publish %d: %v", i, err)
		}
	}
}

// A worker is a router with one handler, running.
type worker struct {
	sub  *broker.Subscriber
	stop func() error // stops it and returns what Run returned; once

	running <-chan struct{}
}

type workerConfig struct {
	subscription broker.Subscription
	grace        time.Duration
	middleware   []message.HandlerMiddleware
}

// startWorker runs a handler on the work stream until the test ends or stop is called.
func startWorker(tb testing.TB, c *broker.Conn, cfg workerConfig, h message.NoPublishHandlerFunc) worker {
	tb.Helper()
	cfg.subscription.Stream, cfg.subscription.Durable = workStream, workConsumer
	log := slog.New(slog.DiscardHandler)
	router, err := broker.NewRouter(log, cfg.grace)
	if err != nil {
		tb.Fatalf("make a router: %v", err)
	}
	sub := broker.NewSubscriber(c, cfg.subscription, log)
	router.Handle("work", sub, h, cfg.middleware...)
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	var once sync.Once
	var result error
	stop := func() error {
		once.Do(func() { cancel(); result = <-ended })
		return result
	}
	tb.Cleanup(func() { _ = stop() }) // tests that care look at its error themselves
	<-router.Running()
	return worker{sub: sub, stop: stop, running: router.Running()}
}

// stopped stops the worker and fails the test if that went wrong.
func stopped(tb testing.TB, w worker) {
	tb.Helper()
	if err := w.stop(); err != nil {
		tb.Errorf("stop the worker: %v", err)
	}
}

// A tally counts what was seen, by name.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func newTally() *tally { return &tally{seen: make(map[string]int)} }

func (c *tally) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[name]++
}

func (c *tally) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[name]
}

func (c *tally) names() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// other reports the first name that was not seen exactly once, or "".
func (c *tally) other() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, count := range c.seen {
		if count != 1 {
			return fmt.Sprintf("%s was seen %d times", name, count)
		}
	}
	return ""
}
