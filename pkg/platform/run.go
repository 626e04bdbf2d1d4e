package platform

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

// Version of this build, as the User-Agent and telemetry show it.
const Version = "0.1.0"

// A Program is one service as a process of its own.
type Program struct {
	// Name is the service's, which is also its connection's in NATS.
	Name string
	// Summary is the first line of the help.
	Summary string
	// Addr is where the process listens unless it is told otherwise.
	Addr string
	// Register adds the service's own settings; nil has none.
	Register func(*service.Settings)
	// Build makes the service on the platform: the parts that do its work, and
	// the handler of its port. The health is there to add checks to.
	Build func(*Platform, *service.Health) ([]service.Part, http.Handler, error)
}

// settings are those of every process.
type settings struct {
	platform Config
	http     service.HTTPConfig
	log      service.LogConfig
	drain    time.Duration
}

// Run runs a service as a process until ctx is done, and drains it: it is the
// whole of a service's main. On a taken port, an unknown setting or a topology
// that is not set up it ends with an error that says so.
func (p Program) Run(ctx context.Context, proc service.Process) error {
	var cfg settings
	s := service.NewSettings(p.Name, p.Summary)
	cfg.platform.Register(s)
	cfg.http.Register(s, p.Addr)
	cfg.log.Register(s)
	s.Duration(&cfg.drain, "drain-delay", 0, "wait before draining, while load balancers learn of it")
	if p.Register != nil {
		p.Register(s)
	}
	if err := s.Load(proc); err != nil {
		return err
	}
	cfg.platform.Broker.Name, cfg.platform.Broker.InboxPrefix = p.Name, InboxPrefix(p.Name)
	log := service.NewLogger(proc.Stdout, cfg.log, telemetry.LogHandler)
	tel, err := telemetry.Setup(ctx, telemetry.Config{Name: p.Name, Version: Version, LookupEnv: proc.LookupEnv, Log: log})
	if err != nil {
		return err
	}
	plat, err := Open(ctx, cfg.platform, tel, log)
	if err != nil {
		return fmt.Errorf("open the platform: %w", err)
	}
	health := &service.Health{Log: log}
	health.Add("nats", plat.Conn.Check)
	parts, handler, err := p.Build(plat, health)
	if err != nil {
		plat.Conn.Close()
		return err
	}
	cfg.http.Log = log
	cfg.http.OnListen = func(at net.Addr) {
		plat.Log.LogAttrs(ctx, slog.LevelInfo, "listening", slog.String("addr", at.String()))
	}
	all := append([]service.Part{{Name: "telemetry", Run: tel.Run}}, plat.Parts()...)
	all = append(all, parts...)
	all = append(all, service.HTTPServer(cfg.http, handler), health.Part(cfg.drain))
	return service.Run(ctx, grace, all...)
}

// grace is what draining may take in all: a call's 10 s, its settlement, and
// the requests that wait for it.
const grace = 30 * time.Second

// Operations serves /healthz, /readyz and /metrics (contract section 3).
func Operations(h *service.Health, t *telemetry.Providers) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", h.Live())
	mux.Handle("GET /readyz", h.Ready())
	mux.Handle("GET /metrics", t.MetricsHandler())
	return mux
}
