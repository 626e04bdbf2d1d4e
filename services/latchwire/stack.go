package latchwire

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/dispatcher"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// A Config says how the pipeline runs in one process.
type Config struct {
	Platform platform.Config
	Server   broker.ServerConfig
	HTTP     service.HTTPConfig
	Edge     edgeapi.Config
	MCP      mcpservice.Config
	Dispatch dispatcher.Config
	Webhooks webhookworker.Config
	// Grace is what draining may take in all; zero means 30 s.
	Grace time.Duration
}

// A Stack is the pipeline with everything it needs, in this process.
type Stack struct {
	cfg      Config
	server   *broker.Server
	platform *platform.Platform
	parts    []service.Part
}

// New starts the embedded NATS, sets its streams up and builds the services.
// OnListen in the HTTP configuration is told where the doors listen. Run
// must follow: it closes what New opened.
func New(ctx context.Context, cfg Config, t *telemetry.Providers, log *slog.Logger) (*Stack, error) {
	server, err := broker.StartServer(cfg.Server)
	if err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg, server: server}
	if err := s.build(ctx, t, log); err != nil {
		if s.platform != nil {
			s.platform.Conn.Close()
		}
		server.Shutdown()
		return nil, err
	}
	return s, nil
}

func (s *Stack) build(ctx context.Context, t *telemetry.Providers, log *slog.Logger) error {
	cfg := s.cfg
	cfg.Platform.Broker.Server = s.server
	cfg.Platform.Broker.Name = "latchwire"
	if err := s.setup(ctx, cfg.Platform, log); err != nil {
		return err
	}
	p, err := platform.Open(ctx, cfg.Platform, t, log)
	if err != nil {
		return err
	}
	s.platform = p
	health := &service.Health{Log: log}
	health.Add("nats", p.Conn.Check)
	edge, handler, err := edgeapi.New(p, health, cfg.Edge)
	if err != nil {
		return err
	}
	models, err := mcpservice.New(p, health, cfg.MCP)
	if err != nil {
		return err
	}
	dispatch, err := dispatcher.New(p, cfg.Dispatch) //nolint:contextcheck // its handlers get a context with each message
	if err != nil {
		return err
	}
	webhooks, err := webhookworker.New(p, cfg.Webhooks) //nolint:contextcheck // its handlers get a context with each message
	if err != nil {
		return err
	}
	s.parts = append(s.parts, service.Part{Name: "telemetry", Run: t.Run})
	s.parts = append(s.parts, p.Parts()...)
	s.parts = append(s.parts, dispatch, webhooks)
	s.parts = append(s.parts, edge...)
	s.parts = append(s.parts, service.HTTPServer(cfg.HTTP, together(handler, models)), health.Part(0))
	return nil
}

// together serves both doors at one address.
func together(edge, models http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mcpservice.Serves(r.URL.Path) {
			models.ServeHTTP(w, r)
			return
		}
		edge.ServeHTTP(w, r)
	})
}

func (s *Stack) setup(ctx context.Context, cfg platform.Config, log *slog.Logger) error {
	conn, err := broker.Connect(cfg.Broker, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := platform.Setup(ctx, conn, cfg.Ledger); err != nil {
		return fmt.Errorf("set up the streams: %w", err)
	}
	return platform.Reseal(ctx, conn, cfg, log)
}

// NATSURL returns where other processes reach the embedded NATS; empty if it
// listens nowhere.
func (s *Stack) NATSURL() string { return s.server.URL() }

// Run serves until ctx is done, then drains and closes everything. More parts
// are started last and stopped first.
func (s *Stack) Run(ctx context.Context, more ...service.Part) error {
	defer s.server.Shutdown()
	grace := s.cfg.Grace
	if grace == 0 {
		grace = 30 * time.Second
	}
	return service.Run(ctx, grace, append(s.parts, more...)...)
}

// BaseURL returns where a bound address is reached by HTTP.
func BaseURL(addr net.Addr) string { return "http://" + addr.String() }
