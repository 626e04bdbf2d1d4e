package broker_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
)

// Whatever a stopped worker had not begun comes to the next one at once, not
// after the ack wait.
func TestCloseHandsBackWhatItBuffered(t *testing.T) {
	t.Parallel()
	c := start(t, time.Hour)
	publish(t, c, 0, 300)
	begun := make(chan struct{}, 300)
	gate := make(chan struct{})
	w := startWorker(t, c, workerConfig{subscription: broker.Subscription{InFlight: 50}}, func(*message.Message) error {
		begun <- struct{}{}
		<-gate
		return nil
	})
	for range 50 {
		<-begun
	}
	ended := make(chan error, 1)
	go func() { ended <- w.stop() }()
	seen := newTally()
	startWorker(t, c, workerConfig{}, func(m *message.Message) error {
		seen.add(string(m.Payload))
		return nil
	})
	brokertest.Eventually(t, within, "the second worker gets what the first had not begun", func() bool { return seen.names() == 250 })
	close(gate)
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
	settled(t, c)
	if seen.names() != 250 || seen.other() != "" {
		t.Errorf("got %d handled by the second, %s; want 250, each once", seen.names(), seen.other())
	}
}

// Workers come and go under load; in the end everything was handled.
func TestNoMessageIsLostOverClose(t *testing.T) {
	t.Parallel()
	c := start(t, time.Hour)
	const n = 3000
	seen := newTally()
	handle := func(m *message.Message) error {
		seen.add(string(m.Payload))
		return nil
	}
	published := make(chan struct{})
	go func() {
		defer close(published)
		publish(t, c, 0, n)
	}()
	for generation := 1; ; generation++ {
		w := startWorker(t, c, workerConfig{}, handle)
		before := seen.names()
		brokertest.Eventually(t, within, "a worker handles some", func() bool { return seen.names() >= min(before+200, n) })
		stopped(t, w)
		if seen.names() == n {
			break
		}
	}
	<-published
	startWorker(t, c, workerConfig{}, handle)
	settled(t, c)
	if seen.names() != n || seen.other() != "" {
		t.Errorf("got %d handled, %s; want %d, each once", seen.names(), seen.other(), n)
	}
}

func TestStopWaitsForTheHandlers(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	begun, gate := make(chan struct{}), make(chan struct{})
	var done atomic.Bool
	w := startWorker(t, c, workerConfig{}, func(m *message.Message) error {
		close(begun)
		<-gate
		if err := m.Context().Err(); err != nil {
			t.Errorf("got a context that is done (%v) within the grace", err)
		}
		done.Store(true)
		return nil
	})
	publish(t, c, 0, 1)
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- w.stop() }()
	early := time.NewTimer(100 * time.Millisecond)
	defer early.Stop()
	select {
	case err := <-ended:
		t.Fatalf("got the router stopped (%v) while a handler ran", err)
	case <-early.C:
	}
	close(gate)
	if err := <-ended; err != nil || !done.Load() {
		t.Errorf("got %v and done %v, want no error after the handler is done", err, done.Load())
	}
	settled(t, c)
}

func TestStopAbortsAfterTheGrace(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	begun, aborted := make(chan struct{}), make(chan struct{})
	w := startWorker(t, c, workerConfig{grace: 200 * time.Millisecond}, func(m *message.Message) error {
		close(begun)
		<-m.Context().Done()
		close(aborted)
		return broker.Retry(m.Context().Err(), 0)
	})
	publish(t, c, 0, 1)
	<-begun
	if err := w.stop(); err == nil {
		t.Error("got no error from a stop that had to abort")
	}
	<-aborted
	// The message was handed back and is the next worker's.
	startWorker(t, c, workerConfig{}, idle)
	settled(t, c)
}

func TestRouterThatCannotStartSaysSo(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	log := slog.New(slog.DiscardHandler)
	r, err := broker.NewRouter(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Handle("good", broker.NewSubscriber(c, broker.Subscription{Stream: workStream, Durable: workConsumer}, log), idle)
	r.Handle("bad", broker.NewSubscriber(c, broker.Subscription{Stream: workStream, Durable: "nobody"}, log), idle)
	if err := r.Run(t.Context()); err == nil {
		t.Error("got no error for a consumer that does not exist")
	}
}

func TestRouterThatIsStoppedBeforeItStarts(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	log := slog.New(slog.DiscardHandler)
	for range 50 { // whether stopping overtakes starting is chance
		r, err := broker.NewRouter(log, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		r.Handle("work", broker.NewSubscriber(c, broker.Subscription{Stream: workStream, Durable: workConsumer}, log), idle)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Run(ctx); err != nil { // it would have waited for its grace
			t.Fatalf("got %v, want no error", err)
		}
	}
}
