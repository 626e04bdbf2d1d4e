package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/dispatcher/internal/dispatch"
	"github.com/latchwire/latchwire/services/dispatcher/internal/target"
)

// A Config says how a dispatcher works. Its zero value works.
type Config struct {
	// Slots is how many calls to one target are under way at a time; zero
	// means 32.
	Slots int
	// Line is how many more wait for a slot; what comes beyond is handed back
	// and tried again later. Zero means 128.
	Line int
	// InFlight is how many requests one partition's consumer holds; zero means
	// 4096.
	InFlight int
}

// WithDefaults fills what was left zero.
func (c Config) WithDefaults() Config {
	c.Slots = cmp.Or(c.Slots, 32)
	c.Line = cmp.Or(c.Line, 128)
	c.InFlight = cmp.Or(c.InFlight, 4096)
	return c
}

// Register adds the dispatcher's settings.
func (c *Config) Register(s *service.Settings) {
	s.Int(&c.Slots, "target-slots", 32, "calls to one target at a time")
	s.Int(&c.Line, "target-line", 128, "calls that wait for a slot of one target; what comes beyond is tried later")
}

// Program returns the dispatcher as a process.
func Program() platform.Program {
	var cfg Config
	return platform.Program{
		Name: "dispatcher", Summary: "Calls the targets of admitted calls, each at most once.", Addr: "127.0.0.1:8082",
		Register: cfg.Register,
		Build: func(p *platform.Platform, h *service.Health) ([]service.Part, http.Handler, error) {
			part, err := New(p, cfg)
			return []service.Part{part}, platform.Operations(h, p.Telemetry), err
		},
	}
}

// New returns the part that dispatches until it is stopped. Then it takes no
// more requests, hands back those that wait for a slot, and lets the calls
// under way finish.
func New(p *platform.Platform, cfg Config) (service.Part, error) {
	return newPart(p, cfg, dispatch.Targets{
		Webhook:     target.NewWebhook(p.Registry, p.Catalog, invocationPost(p)).Call,
		CallTimeout: p.Config.Egress.WithDefaults().Timeout,
	})
}

// newPart is New with other targets, for tests.
func newPart(p *platform.Platform, cfg Config, targets dispatch.Targets) (service.Part, error) {
	cfg = cfg.WithDefaults()
	router, err := broker.NewRouter(p.Log, 0)
	if err != nil {
		return service.Part{}, err
	}
	lanes := broker.NewLanes(cfg.Slots, cfg.Line)
	d := dispatch.New(p.Ledger, lanes, observed{p}.wrap(targets))
	for i := range p.Ledger.Partitions() {
		stream := ledger.InvocationStream(i)
		sub := broker.NewSubscriber(p.Conn, broker.Subscription{
			Stream: stream, Durable: ledger.DispatchConsumer, InFlight: cfg.InFlight,
			Heartbeat: p.Config.Ledger.WithDefaults().AckWait / 3,
			Bury: func(ctx context.Context, m broker.Delivery, why error) error {
				if err := p.Ledger.Bury(ctx, stream, m, why); err != nil {
					return err
				}
				return d.GiveUp(ctx, m)
			},
		}, p.Log)
		router.Handle(stream+"-dispatch", sub, d.Handle, dispatch.Parse, consumer(p))
	}
	return service.Part{Name: "dispatcher", Run: func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(ctx, lanes.Stop)
		defer stop()
		answered := make(chan error, 1)
		go func() {
			answered <- p.Ledger.Answer(ctx, asker(p))
			cancel()
		}()
		err := router.Run(ctx)
		cancel()
		return errors.Join(err, <-answered)
	}}, nil
}

// The questions to one target that are under way at a time, and that wait: few,
// and apart from its invocations.
const (
	askSlots = 8
	askLine  = 32
)

// asker answers questions by asking their targets.
func asker(p *platform.Platform) ledger.Asked {
	options, lanes := target.NewOptions(p.Registry, questionPost(p)), broker.NewLanes(askSlots, askLine)
	return func(ctx context.Context, q invocation.Question, headers map[string][]string) (invocation.Options, error) {
		leave, err := lanes.Enter(ctx, broker.Turn{Key: string(q.Target.Slug)})
		if err != nil {
			return invocation.Options{}, err
		}
		defer leave()
		found, err := options.Ask(telemetry.Extract(ctx, headers), q)
		if err != nil {
			p.Log.LogAttrs(ctx, slog.LevelInfo, "no options", slog.String("target", string(q.Target.Slug)), slog.Any("error", err))
		}
		return found, err
	}
}

// consumer is the telemetry of each request that is handled.
func consumer(p *platform.Platform) func(next handlerFunc) handlerFunc {
	return p.Telemetry.Consumer(telemetry.ConsumerConfig{
		Destination: "inv.p.req", Group: ledger.DispatchConsumer, Log: p.Log, Describe: describe, Judge: judge,
	})
}
