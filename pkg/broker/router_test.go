package broker_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
)

var errBoom = errors.New("boom")

// within is how long the tests wait for what must come; only a failure takes it.
const within = 30 * time.Second

// start returns a connection to a server with the work stream on it.
func start(t *testing.T, ackWait time.Duration) *broker.Conn {
	t.Helper()
	c := brokertest.Start(t)
	apply(t, c, workTopology(ackWait))
	return c
}

// settled waits until every message has been acknowledged.
func settled(t *testing.T, c *broker.Conn) {
	t.Helper()
	brokertest.Eventually(t, within, "every message is acknowledged", func() bool { return brokertest.Done(t, c, workStream, workConsumer) })
}

// idle is a handler that has nothing to do.
func idle(*message.Message) error { return nil }

func TestHandledMessagesAreAcknowledged(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	seen := newTally()
	startWorker(t, c, workerConfig{}, func(m *message.Message) error {
		d := broker.DeliveryOf(m)
		if "work."+string(d.Data) != d.Subject || string(m.Payload) != string(d.Data) || d.Attempt != 1 || d.Stored.IsZero() {
			t.Errorf("got the delivery %+v", d)
		}
		seen.add(d.Subject)
		return nil
	})
	publish(t, c, 0, 100)
	settled(t, c)
	if seen.names() != 100 || seen.other() != "" {
		t.Errorf("got %d handled, %s; want 100, each once", seen.names(), seen.other())
	}
}

func TestDeliveryOfForeignMessageIsZero(t *testing.T) {
	t.Parallel()
	if d := broker.DeliveryOf(message.NewMessage("x", nil)); d.Subject != "" || d.Sequence != 0 {
		t.Errorf("got %+v, want nothing", d)
	}
}

func TestRetryHandsBackAfterItsDelay(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	var mu sync.Mutex
	var at []time.Time
	startWorker(t, c, workerConfig{}, func(m *message.Message) error {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
		if d := broker.DeliveryOf(m); d.Attempt != uint64(len(at)) {
			t.Errorf("got attempt %d, want %d", d.Attempt, len(at))
		}
		if len(at) == 1 {
			return broker.Retry(errBoom, 700*time.Millisecond)
		}
		return nil
	})
	publish(t, c, 0, 1)
	settled(t, c)
	mu.Lock()
	defer mu.Unlock()
	if len(at) != 2 {
		t.Fatalf("got %d deliveries, want 2", len(at))
	}
	if waited := at[1].Sub(at[0]); waited < 690*time.Millisecond {
		t.Errorf("got it back after %v, want not before 700 ms", waited)
	}
}

func TestDropBuriesAtOnce(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	buried := make(chan broker.Delivery, 10)
	cfg := workerConfig{}
	cfg.subscription.Bury = func(_ context.Context, d broker.Delivery, why error) error {
		if !errors.Is(why, errBoom) {
			t.Errorf("got buried for %v, want boom", why)
		}
		if brokertest.Done(t, c, workStream, workConsumer) {
			t.Error("the message was acknowledged before it was buried")
		}
		buried <- d
		return nil
	}
	startWorker(t, c, cfg, func(*message.Message) error { return broker.Drop(errBoom) })
	publish(t, c, 0, 1)
	settled(t, c)
	d := <-buried
	if len(buried) != 0 || d.Subject != "work.0" || string(d.Data) != "0" || d.Sequence != 1 || d.Attempt != 1 {
		t.Errorf("got %+v buried and %d more, want work.0 once", d, len(buried))
	}
}

func TestDropWithoutBurialIsOnlyLogged(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	startWorker(t, c, workerConfig{}, func(*message.Message) error { return broker.Drop(errBoom) })
	publish(t, c, 0, 1)
	settled(t, c)
}

func TestMessageIsKeptUntilItIsBuried(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the next try comes after 16 seconds")
	}
	c := start(t, time.Minute)
	var tries atomic.Int64
	cfg := workerConfig{}
	cfg.subscription.Bury = func(context.Context, broker.Delivery, error) error {
		if tries.Add(1) == 1 {
			return errBoom
		}
		return nil
	}
	w := startWorker(t, c, cfg, func(*message.Message) error { return broker.Drop(errBoom) })
	publish(t, c, 0, 1)
	settled(t, c)
	if tries.Load() != 2 || w.sub.Struck() != 0 {
		t.Errorf("got %d tries to bury and %d messages still counted, want 2 and 0", tries.Load(), w.sub.Struck())
	}
}

// poisonous panics at message 3.
func poisonous(h message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		if string(m.Payload) == "3" {
			panic("poison")
		}
		return h(m)
	}
}

// A message that makes the handler panic is buried at its fifth delivery, and
// the worker goes on with the others (SEC-113).
func TestPanicsAreBuriedAndTheWorkerLives(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("five deliveries take more than 15 seconds")
	}
	for name, tc := range map[string]struct {
		middleware []message.HandlerMiddleware
		handler    message.NoPublishHandlerFunc
	}{
		"in the handler": {nil, func(m *message.Message) error {
			_, err := poisonous(func(*message.Message) ([]*message.Message, error) { return nil, nil })(m)
			return err
		}},
		"in a middleware": {[]message.HandlerMiddleware{poisonous}, idle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, time.Minute)
			seen, buried := newTally(), newTally()
			cfg := workerConfig{middleware: append([]message.HandlerMiddleware{func(h message.HandlerFunc) message.HandlerFunc {
				return func(m *message.Message) ([]*message.Message, error) {
					seen.add(string(m.Payload))
					return h(m)
				}
			}}, tc.middleware...)}
			cfg.subscription.Bury = func(_ context.Context, d broker.Delivery, _ error) error {
				buried.add(string(d.Data))
				return nil
			}
			w := startWorker(t, c, cfg, tc.handler)
			publish(t, c, 0, 10)
			settled(t, c)
			publish(t, c, 10, 20)
			settled(t, c)
			if seen.of("3") != broker.MaxStrikes || buried.of("3") != 1 || buried.names() != 1 || seen.names() != 20 {
				t.Errorf("got the poison %d times, buried %v, %d handled; want %d times, buried once, 20",
					seen.of("3"), buried.seen, seen.names(), broker.MaxStrikes)
			}
			if n := w.sub.Struck(); n != 0 {
				t.Errorf("got %d messages still counted, want 0", n)
			}
		})
	}
}

func TestHandBacksAreNoStrikes(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	var calls, failures atomic.Int64
	cfg := workerConfig{}
	cfg.subscription.Bury = func(context.Context, broker.Delivery, error) error {
		t.Error("the message was buried")
		return nil
	}
	startWorker(t, c, cfg, func(*message.Message) error {
		switch n := calls.Add(1); {
		case n > 22:
			return nil
		case n%11 == 0: // two failures among twenty hand-backs
			failures.Add(1)
			return errBoom
		}
		return broker.Retry(errBoom, time.Millisecond)
	})
	publish(t, c, 0, 1)
	settled(t, c)
	if calls.Load() != 23 || failures.Load() != 2 {
		t.Errorf("got %d calls and %d failures, want 23 and 2", calls.Load(), failures.Load())
	}
}

func TestHeartbeatsKeepASlowHandlersMessage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		heartbeat time.Duration
		more      bool
	}{
		"in time":                     {300 * time.Millisecond, false},
		"without them it comes again": {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, 2*time.Second)
			var calls atomic.Int64
			startWorker(t, c, workerConfig{subscription: broker.Subscription{Heartbeat: tc.heartbeat}}, func(m *message.Message) error {
				calls.Add(1)
				slow := time.NewTimer(5 * time.Second)
				defer slow.Stop()
				<-slow.C
				return nil
			})
			publish(t, c, 0, 1)
			settled(t, c)
			if got := calls.Load() > 1; got != tc.more {
				t.Errorf("got %d deliveries, want more than one: %v", calls.Load(), tc.more)
			}
		})
	}
}

func TestInFlightIsBounded(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	var running, most atomic.Int64
	gate := make(chan struct{})
	startWorker(t, c, workerConfig{subscription: broker.Subscription{InFlight: 4}}, func(*message.Message) error {
		now := running.Add(1)
		defer running.Add(-1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		<-gate
		return nil
	})
	publish(t, c, 0, 40)
	brokertest.Eventually(t, within, "four handlers run", func() bool { return running.Load() == 4 })
	close(gate)
	settled(t, c)
	if most.Load() != 4 {
		t.Errorf("got %d at a time, want 4", most.Load())
	}
}
