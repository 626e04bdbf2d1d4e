package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

// A Config says how to reach the stores and third parties. It must be the same
// in every service of an installation, but for the broker's name.
type Config struct {
	// Profile is one of [Profiles]; empty means dev.
	Profile string
	Broker  broker.Config
	Ledger  ledger.Config
	Egress  egress.Config
	Secrets SecretsConfig
}

// Register adds the settings that every service has.
func (c *Config) Register(s *service.Settings) {
	s.String(&c.Broker.URL, "nats-url", "nats://127.0.0.1:4222", "NATS servers, separated by commas")
	c.registerSecurity(s)
	s.Int(&c.Ledger.Partitions, "partitions", 4, "partitions that locks are spread over, as latchwire setup made them")
	var mib int
	s.Int(&mib, "max-mib", 0, "MiB that each stream of invocations and each of locks may take; from 80 % on nothing new is admitted; 0 sets no bound")
	s.Choice(&c.Profile, "profile", Profiles(), "what may be lost: dev and single keep one copy of every stream, cluster three")
	s.Duration(&c.Ledger.AckWait, "ack-wait", 0, "sign of life a worker owes; 0 means 30s")
	s.Duration(&c.Egress.Timeout, "call-timeout", 0, "time that a target or receiver has for its whole answer; 0 means the contract's 10s")
	s.Prefixes(&c.Egress.Policy.Allow, "egress-allow", "networks that webhooks may reach although they are private, also over plain HTTP: for development")
	var inProduction bool
	s.Bool(&inProduction, "egress-allow-in-production", false, "lets egress-allow stand in another profile than dev")
	c.Secrets.register(s)
	limit(s, &c.Ledger.Limits.Extension, "extension")
	limit(s, &c.Ledger.Limits.Lock, "lock")
	limit(s, &c.Ledger.Limits.Events, "events")
	limit(s, &c.Ledger.Limits.Options, "options")
	limit(s, &c.Ledger.Limits.MCPExtension, "mcp-extension")
	limit(s, &c.Ledger.Limits.MCPLock, "mcp-lock")
	limit(s, &c.Ledger.Limits.MCPRequests, "mcp-requests")
	s.Check(func() error {
		c.Ledger.Replicas, c.Ledger.MaxBytes = replicas(c.Profile), int64(mib)<<20
		if c.Ledger.Partitions == 0 {
			return errors.New("partitions is 0, must be 1 to 256")
		}
		return errors.Join(c.Ledger.WithDefaults().Validate(), validLimits(c.Ledger.Limits))
	})
	s.Check(func() error {
		if t := c.Egress.Timeout; t != 0 && t < shortestCall {
			return fmt.Errorf("call-timeout is %s, must be at least %s", t, shortestCall)
		}
		if len(c.Egress.Policy.Allow) > 0 && production(c.Profile) && !inProduction {
			return fmt.Errorf("egress-allow opens private networks to webhooks; the profile %s takes it only with egress-allow-in-production", c.Profile)
		}
		return c.Egress.WithDefaults().Validate()
	})
}

// shortestCall is the least time that a target can be given.
const shortestCall = 100 * time.Millisecond

// validLimits reports every limit that would admit nothing.
func validLimits(l invocation.Limits) error {
	var problems []error
	for _, b := range []invocation.Bucket{
		invocation.BucketExtension, invocation.BucketLock, invocation.BucketEvents, invocation.BucketOptions,
		invocation.BucketMCPExtension, invocation.BucketMCPLock, invocation.BucketMCPRequests,
	} {
		if n := l.Of(b).Max; n < 0 {
			problems = append(problems, fmt.Errorf("limit-%s is %d, must not be negative", b, n))
		}
	}
	return errors.Join(problems...)
}

func limit(s *service.Settings, l *invocation.Limit, bucket string) {
	s.Int(&l.Max, "limit-"+bucket, 0, "calls that the bucket "+bucket+" admits in its window; 0 means the contract's figure")
}

// A Platform is the opened stores.
type Platform struct {
	Conn      *broker.Conn
	Ledger    *ledger.Ledger
	Registry  *registry.Registry
	Catalog   *catalog.Catalog
	Egress    *egress.Client
	Telemetry *telemetry.Providers
	Log       *slog.Logger
	Config    Config
}

// Open connects and opens everything. The topology must have been set up. On
// an error nothing stays open.
func Open(ctx context.Context, cfg Config, t *telemetry.Providers, log *slog.Logger) (*Platform, error) {
	conn, err := broker.Connect(cfg.Broker, log)
	if err != nil {
		return nil, err
	}
	p := &Platform{Conn: conn, Telemetry: t, Log: log, Config: cfg}
	until, stop := conn.UntilRefused(ctx)
	defer stop()
	if err := p.open(until); err != nil {
		conn.Close()
		return nil, broker.Refusal(until, err)
	}
	return p, nil
}

func (p *Platform) open(ctx context.Context) (err error) {
	if p.Ledger, err = ledger.Open(ctx, p.Conn, p.Config.Ledger, p.Log); err != nil {
		return err
	}
	keys, err := p.Config.Secrets.Keys()
	if err != nil {
		return err
	}
	if p.Registry, err = registry.Open(ctx, p.Conn, keys, p.Log); err != nil {
		return err
	}
	if err := p.warnOfSecrets(ctx, keys); err != nil {
		return err
	}
	if p.Catalog, err = catalog.New(p.Registry); err != nil {
		return err
	}
	p.Egress = egress.New(p.Config.Egress)
	return nil
}

// Parts returns what keeps the platform alive, to be started before and
// stopped after what uses it.
func (p *Platform) Parts() []service.Part {
	return []service.Part{
		{Name: "nats", Run: func(ctx context.Context) error {
			defer p.Egress.Close()
			return p.Conn.Run(ctx)
		}},
		{Name: "ledger", Run: p.Ledger.Run},
		{Name: "registry", Run: p.Registry.Run},
	}
}

// Setup creates or updates the topology.
func Setup(ctx context.Context, conn *broker.Conn, cfg ledger.Config) error {
	until, stop := conn.UntilRefused(ctx)
	defer stop()
	return broker.Refusal(until, ledger.Topology(cfg).Apply(until, conn.JS))
}
