package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
)

func TestConnectNeedsAServer(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for name, cfg := range map[string]broker.Config{
		"nobody listens":             {URL: "nats://127.0.0.1:1"},
		"the seed file is not there": {URL: "nats://127.0.0.1:1", Credentials: "/nowhere/seed.nk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c, err := broker.Connect(cfg, log); err == nil {
				c.Close()
				t.Error("got a connection, want an error")
			}
		})
	}
}

func TestServerThatCannotRunSaysWhyAtOnce(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	begun := time.Now()
	s, err := broker.StartServer(broker.ServerConfig{Dir: t.TempDir(), Port: n.Port()})
	if err == nil {
		s.Shutdown()
		t.Fatal("got two servers on one port")
	}
	if time.Since(begun) > 20*time.Second {
		t.Errorf("got %v only after %v", err, time.Since(begun))
	}
}

func TestServerWithoutPortHasNoURL(t *testing.T) {
	t.Parallel()
	if got := brokertest.StartServer(t).URL(); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

func TestRunClosesWithItsContext(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if err := c.Check(t.Context()); err == nil {
		t.Error("got a closed connection that is ready")
	}
}

func TestRunReportsAConnectionClosedForGood(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	c.NC.Close()
	if err := <-ended; !errors.Is(err, broker.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// While NATS is away a publish fails at once and is not kept for later, the
// connection comes back by itself, and consuming goes on where it was.
func TestConsumingGoesOnAfterTheServerIsBack(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	c := brokertest.ConnectURL(t, n.URL)
	apply(t, c, workTopology(time.Minute))
	seen := newTally()
	startWorker(t, c, workerConfig{}, func(m *message.Message) error {
		seen.add(string(m.Payload))
		return nil
	})
	publish(t, c, 0, 10)
	brokertest.Eventually(t, within, "the first ten are handled", func() bool { return seen.names() == 10 })

	n.Stop()
	brokertest.Eventually(t, within, "the connection is away", func() bool { return c.Check(t.Context()) != nil })
	begun := time.Now()
	if err := c.NC.Publish("work.99", []byte("99")); !errors.Is(err, nats.ErrReconnectBufExceeded) {
		t.Errorf("got %v, want ErrReconnectBufExceeded", err)
	}
	if _, err := c.JS.Publish(t.Context(), "work.99", []byte("99")); err == nil || time.Since(begun) > 3*time.Second {
		t.Errorf("got %v after %v, want an error at once", err, time.Since(begun))
	}

	n.Start(t)
	brokertest.Eventually(t, within, "the connection is back", func() bool { return c.Check(t.Context()) == nil })
	brokertest.Eventually(t, within, "JetStream is back", func() bool {
		_, err := c.JS.Stream(t.Context(), workStream)
		return err == nil
	})
	publish(t, c, 10, 20)
	brokertest.Eventually(t, within, "the next ten are handled", func() bool { return seen.names() == 20 })
	if seen.of("99") != 0 {
		t.Error("got a message that was published while NATS was away")
	}
}

func TestConsumingGoesOnAfterItsConsumerWasMadeAnew(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	seen := newTally()
	startWorker(t, c, workerConfig{}, func(m *message.Message) error {
		seen.add(string(m.Payload))
		return nil
	})
	publish(t, c, 0, 1)
	settled(t, c)
	if err := c.JS.DeleteConsumer(t.Context(), workStream, workConsumer); err != nil {
		t.Fatal(err)
	}
	apply(t, c, workTopology(time.Minute))
	publish(t, c, 1, 2)
	brokertest.Eventually(t, within, "the message after it is handled", func() bool { return seen.of("1") == 1 })
}

func TestWorkerStopsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	c := brokertest.ConnectURL(t, n.URL)
	apply(t, c, workTopology(time.Minute))
	w := startWorker(t, c, workerConfig{grace: 8 * time.Second}, idle)
	n.Stop()
	brokertest.Eventually(t, within, "the connection is away", func() bool { return c.Check(t.Context()) != nil })
	stopped(t, w)
}

func TestStored(t *testing.T) {
	t.Parallel()
	c := start(t, time.Minute)
	for _, subject := range []string{"work.a", "work.b", "work.a"} {
		m := nats.NewMsg(subject)
		m.Header.Set("x", "<y>")
		m.Data = []byte(`{"big":9007199254740993}`)
		if _, err := c.JS.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		ask     broker.StoredRequest
		seq     uint64
		subject string
	}{
		"by sequence":               {broker.StoredRequest{Sequence: 2}, 2, "work.b"},
		"the newest of a subject":   {broker.StoredRequest{LastBySubject: "work.a"}, 3, "work.a"},
		"the newest of a wildcard":  {broker.StoredRequest{LastBySubject: "work.*"}, 3, "work.a"},
		"the next of a subject":     {broker.StoredRequest{Sequence: 2, NextBySubject: "work.a"}, 3, "work.a"},
		"no such sequence":          {broker.StoredRequest{Sequence: 9}, 0, ""},
		"no such subject":           {broker.StoredRequest{LastBySubject: "work.c"}, 0, ""},
		"nothing more of a subject": {broker.StoredRequest{Sequence: 3, NextBySubject: "work.b"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := c.Stored(t.Context(), workStream, tc.ask)
			if err != nil {
				t.Fatal(err)
			}
			if tc.seq == 0 {
				if m != nil {
					t.Errorf("got %+v, want nothing", m)
				}
				return
			}
			if m == nil || m.Sequence != tc.seq || m.Subject != tc.subject || m.Header.Get("x") != "<y>" || string(m.Data) != `{"big":9007199254740993}` || m.Time.IsZero() {
				t.Errorf("got %+v, want %s at %d", m, tc.subject, tc.seq)
			}
		})
	}
	t.Run("no such stream", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		if m, err := c.Stored(ctx, "NOWHERE", broker.StoredRequest{Sequence: 1}); err == nil {
			t.Errorf("got %+v, want an error", m)
		}
	})
}

// An answer that never comes is given up, also when the caller sets no deadline.
func TestStoredGivesUp(t *testing.T) {
	t.Parallel()
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	c, err := broker.Connect(broker.Config{URL: ns.ClientURL(), Timeout: 200 * time.Millisecond}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// In place of JetStream, somebody who listens and says nothing.
	if _, err := c.NC.Subscribe("$JS.API.>", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stored(t.Context(), "MUTE", broker.StoredRequest{Sequence: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
}
