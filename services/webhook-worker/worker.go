package webhookworker

import (
	"context"
	"fmt"
	"net/http"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/announce"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/deliver"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/fanout"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/notice"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/timers"
)

// Program returns the worker as a process.
func Program() platform.Program {
	var cfg Config
	return platform.Program{
		Name: "webhook-worker", Summary: "Delivers lock events and history lines to webhooks, at least once.", Addr: "127.0.0.1:8083",
		Register: cfg.Register,
		Build: func(p *platform.Platform, h *service.Health) ([]service.Part, http.Handler, error) {
			part, err := New(p, cfg)
			return []service.Part{part}, platform.Operations(h, p.Telemetry), err
		},
	}
}

const (
	// How many manifests are announced at a time.
	announcements = 4
	// How many endpoints are looked at at a time.
	endpoints = 64
)

// New returns the part that fans out, delivers and announces until it is
// stopped. Then it takes nothing new, hands back the deliveries that wait for a
// slot, and lets the POSTs under way finish.
func New(p *platform.Platform, cfg Config) (service.Part, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return service.Part{}, fmt.Errorf("webhook worker: %w", err)
	}
	router, err := broker.NewRouter(p.Log, cfg.Grace)
	if err != nil {
		return service.Part{}, err
	}
	box := outbox.New(p)
	events := fanout.New(p, box)
	notices := notice.New(p, box, cfg.Retries)
	hooks := deliver.New(p, box, deliver.Config{
		Schedule: cfg.Retries, Circuit: deliver.Circuit(cfg.Circuit), Notices: notices, Slots: cfg.Slots, Line: cfg.Line, Pool: cfg.Pool,
	})
	for i := range p.Ledger.Partitions() {
		addRoute(p, router, route{ledger.LockStream(i), ledger.FanOutConsumer, fanout.InFlight, fanOutView(), events.Handle, events.Arrived, events.Left})
		addRoute(p, router, route{ledger.DeliveryStream(i), ledger.DeliverConsumer, deliver.InFlight, deliverView(), hooks.Handle, hooks.Arrived, hooks.Left})
		addRoute(p, router, route{ledger.DeliveryStream(i), ledger.TimerConsumer, timers.InFlight, timerView(), timers.New(p.Ledger).Handle, nil, nil})
	}
	addRoute(p, router, route{ledger.ManifestStream, ledger.AnnounceConsumer, announcements, announceView(), announce.New(p).Handle, nil, nil})
	addRoute(p, router, route{ledger.EndpointStream, ledger.EndpointConsumer, endpoints, checkView(), hooks.Check, nil, nil})
	addRoute(p, router, route{ledger.EndpointStream, ledger.OperationConsumer, notice.InFlight, operationView(), notices.Handle, nil, nil})
	return service.Part{Name: "webhook-worker", Run: func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, hooks.Stop)
		defer stop()
		return router.Run(ctx)
	}}, nil
}
