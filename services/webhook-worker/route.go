package webhookworker

import (
	"context"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

// A route leads the messages of one consumer to their handler.
type route struct {
	stream, consumer string
	inFlight         int
	view             view
	handle           func(context.Context, broker.Delivery) error
	// Arrived and left see each message before and after it is handled; nil if
	// its order means nothing.
	arrived, left func(broker.Delivery)
}

// A view says how a handler's messages appear in telemetry.
type view struct {
	destination string // the subject's template
	worker      string
	chain       func(broker.Delivery) telemetry.Chain
	// quiet is the level of the log line of a message that was handled: of
	// deliveries one each is wanted, of transitions there are too many.
	quiet slog.Level
}

func fanOutView() view {
	return view{destination: "lock.p", worker: telemetry.WorkerFanOut, quiet: slog.LevelDebug, chain: func(d broker.Delivery) telemetry.Chain {
		entry, err := ledger.ParseEntry(d)
		if err != nil || len(entry.Events) == 0 {
			return telemetry.Chain{CorrelationID: string(entry.Chain.Correlation), Depth: entry.Chain.Depth}
		}
		return outbox.ChainOf(entry.Committed()[0])
	}}
}

func deliverView() view {
	return view{destination: "dlv.p", worker: telemetry.WorkerDeliver, quiet: slog.LevelInfo, chain: func(d broker.Delivery) telemetry.Chain {
		delivery, err := ledger.ParseDelivery(d)
		if err != nil || delivery.Kind != wire.LockEventCreated {
			return telemetry.Chain{}
		}
		return outbox.ChainOf(delivery.Event())
	}}
}

func announceView() view {
	return view{destination: "kv.manifests", worker: telemetry.WorkerFanOut, quiet: slog.LevelInfo, chain: noChain}
}

func timerView() view {
	return view{destination: "due.p", worker: telemetry.WorkerFanOut, quiet: slog.LevelInfo, chain: noChain}
}

func checkView() view {
	return view{destination: "ep.check", worker: telemetry.WorkerDeliver, quiet: slog.LevelInfo, chain: noChain}
}

func operationView() view {
	return view{destination: "ep.tell", worker: telemetry.WorkerDeliver, quiet: slog.LevelInfo, chain: noChain}
}

func noChain(broker.Delivery) telemetry.Chain {
	return telemetry.Chain{}
}

// addRoute adds a route to the router.
func addRoute(p *platform.Platform, router *broker.Router, r route) {
	sub := broker.NewSubscriber(p.Conn, broker.Subscription{
		Stream: r.stream, Durable: r.consumer, InFlight: r.inFlight,
		Arrived: r.arrived, Left: r.left,
		Heartbeat: p.Config.Ledger.WithDefaults().AckWait / 3,
		Bury: func(ctx context.Context, d broker.Delivery, why error) error {
			return p.Ledger.Bury(ctx, r.stream, d, why)
		},
	}, p.Log)
	observe := p.Telemetry.Consumer(telemetry.ConsumerConfig{
		Destination: r.view.destination, Group: r.consumer, Log: p.Log, Judge: r.view.judge,
		Describe: func(m *message.Message) telemetry.Delivery {
			d := broker.DeliveryOf(m)
			return telemetry.Delivery{Chain: r.view.chain(d), Count: d.Attempt, Queued: max(0, p.Ledger.Now().Sub(d.Stored))}
		},
	})
	work := func(m *message.Message) error {
		p.Telemetry.Metrics().Inflight(m.Context(), r.view.worker, 1)
		defer p.Telemetry.Metrics().Inflight(m.Context(), r.view.worker, -1)
		return patient(r.handle(m.Context(), broker.DeliveryOf(m)))
	}
	router.Handle(r.stream+"/"+r.consumer, sub, work, observe)
}

// judge names what becomes of a message, for its log line.
func (v view) judge(err error) (string, slog.Level) {
	switch broker.Judge(err, broker.MaxStrikes).Action {
	case broker.Ack:
		return "ack", v.quiet
	case broker.HandBack:
		return "hand-back", slog.LevelDebug
	case broker.Bury:
		return "failed", slog.LevelWarn // tried again a few times before it is buried
	}
	return "", slog.LevelWarn
}

// patient hands a message back while the store is out of reach, for as long as
// the store advises.
func patient(err error) error {
	return broker.WhileAway(err, max(invocation.AsError(err).RetryAfter, time.Second))
}
