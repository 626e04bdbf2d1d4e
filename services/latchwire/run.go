package latchwire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/latchwire/internal/demo"
)

// runSettings are the settings of `latchwire run`.
type runSettings struct {
	Config
	logs     service.LogConfig
	dataDir  string
	natsPort int
	demo     bool
}

func (c *runSettings) register(s *service.Settings) {
	c.Platform.Register(s)
	c.HTTP.Register(s, "127.0.0.1:8080")
	c.logs.Register(s)
	c.Edge.Register(s)
	c.MCP.Register(s)
	c.Dispatch.Register(s)
	c.Webhooks.Register(s)
	s.String(&c.dataDir, "data-dir", ".latchwire", "where streams and demo.env are kept")
	s.Int(&c.natsPort, "nats-port", 0, "port on loopback where the embedded NATS listens for others; 0 listens nowhere")
	s.Bool(&c.demo, "demo", true, "start and seed the demo extensions")
	s.Check(func() error {
		if c.Platform.Profile == platform.ProfileCluster {
			return errors.New("profile cluster needs three NATS nodes: run the services apart")
		}
		return nil
	})
}

// run runs the pipeline in this process, with the demo unless told otherwise.
func run(ctx context.Context, p service.Process) error {
	var cfg runSettings
	s := service.NewSettings("latchwire run", "Runs the whole pipeline in this process, with NATS embedded.")
	cfg.register(s)
	if err := s.Load(p); err != nil {
		return err
	}
	log := service.NewLogger(p.Stderr, cfg.logs, telemetry.LogHandler)
	tel, err := telemetry.Setup(ctx, telemetry.Config{Name: "latchwire", Version: platform.Version, LookupEnv: p.LookupEnv, Log: log})
	if err != nil {
		return err
	}
	cfg.Server.Dir, cfg.Server.Port = filepath.Join(cfg.dataDir, "nats"), cfg.natsPort
	cfg.Server.SyncAlways = cfg.Platform.Profile == platform.ProfileSingle
	bound := make(chan string, 1)
	cfg.HTTP.Log = log
	cfg.HTTP.OnListen = func(a net.Addr) { bound <- BaseURL(a) }
	var more []service.Part
	if cfg.demo {
		d, err := demo.New(demo.Config{
			Dir: cfg.dataDir, AdminToken: cfg.Edge.AdminToken.Reveal(), Bound: bound, Out: p.Stdout, Log: log,
		})
		if err != nil {
			return err
		}
		cfg.Edge.AdminToken = service.Secret(d.AdminToken())
		cfg.allowLoopback()
		more = append(more, d.Part())
	}
	stack, err := New(ctx, cfg.Config, tel, log)
	if err != nil {
		return fmt.Errorf("start the pipeline: %w", err)
	}
	return stack.Run(ctx, more...)
}

// allowLoopback lets webhooks reach this machine, for the demo extensions and
// for receivers that a person starts beside them.
func (c *runSettings) allowLoopback() {
	allow := &c.Platform.Egress.Policy.Allow
	*allow = append(*allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
}
