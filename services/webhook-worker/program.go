package webhookworker

import (
	"context"
	"errors"
	"net/http"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/announce"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/deliver"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/fanout"
	"github.com/latchwire/latchwire/services/webhook-worker/internal/outbox"
)

// Program returns the worker as a process of its own.
func Program() platform.Program {
	cfg := &Config{}
	return platform.Program{
		Name:     "webhook-worker",
		Summary:  "Delivers lock events and action logs to webhooks.",
		Addr:     "127.0.0.1:8083",
		Register: cfg.Register,
		Build:    cfg.Build,
	}
}

// Build makes the worker on a platform: the part that does its work, and the
// handler of its port, which serves operations only. It adds a check that the
// worker receives.
func (c *Config) Build(p *platform.Platform, h *service.Health) ([]service.Part, http.Handler, error) {
	cfg := c.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	w, err := newWorker(p, cfg)
	if err != nil {
		return nil, nil, err
	}
	h.Add("webhook-worker", w.check)
	return []service.Part{{Name: "webhook-worker", Run: w.run}}, platform.Operations(h, p.Telemetry), nil
}

// A worker is the router and its handlers.
type worker struct {
	platform *platform.Platform
	router   *broker.Router
	deliver  *deliver.Handler
}

func newWorker(p *platform.Platform, cfg Config) (*worker, error) {
	router, err := broker.NewRouter(p.Log, cfg.Grace)
	if err != nil {
		return nil, err
	}
	box := outbox.New(p)
	w := &worker{platform: p, router: router, deliver: deliver.New(p, box, deliver.Config{
		Schedule: cfg.Retries, Slots: cfg.Slots, Line: cfg.Line,
	})}
	events := fanout.New(p, box)
	for n := range p.Ledger.Partitions() {
		w.handle(route{ledger.LockStream(n), ledger.FanOutConsumer, fanout.InFlight, fanOutView(), events.Handle})
		w.handle(route{ledger.DeliveryStream(n), ledger.DeliverConsumer, deliver.InFlight, deliverView(), w.deliver.Handle})
	}
	w.handle(route{ledger.ManifestStream, ledger.AnnounceConsumer, announcements, announceView(), announce.New(p).Handle})
	return w, nil
}

// announcements is how many manifests are announced at a time.
const announcements = 4

// run works until ctx is done. Then deliveries that wait are handed back,
// nothing new is taken, and the POSTs that run finish.
func (w *worker) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.deliver.Stop)
	defer stop()
	return w.router.Run(ctx)
}

var errNotReceiving = errors.New("the worker does not receive yet")

func (w *worker) check(context.Context) error {
	select {
	case <-w.router.Running():
		return nil
	default:
		return errNotReceiving
	}
}
