package bench

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
	"github.com/latchwire/latchwire/services/latchwire"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// doors is the edge API alone: what it admits waits until a worker is started.
type doors struct {
	*pipeline
	server   *broker.Server
	platform *platform.Platform
}

func openDoors(ctx context.Context, dir string) (*doors, error) {
	log := slog.New(slog.DiscardHandler)
	server, err := broker.StartServer(broker.ServerConfig{Dir: dir})
	if err != nil {
		return nil, err
	}
	d := &doors{server: server, pipeline: newPipeline()}
	if err := d.open(ctx, log); err != nil {
		server.Shutdown()
		return nil, err
	}
	return d, nil
}

func (d *doors) open(ctx context.Context, log *slog.Logger) error {
	tel, err := providers(ctx, false)
	if err != nil {
		return err
	}
	cfg := unlimited()
	cfg.Broker.Server = d.server
	conn, err := broker.Connect(cfg.Broker, log)
	if err != nil {
		return err
	}
	err = platform.Setup(ctx, conn, cfg.Ledger)
	conn.Close()
	if err != nil {
		return err
	}
	if d.platform, err = platform.Open(ctx, cfg, tel, log); err != nil {
		return err
	}
	edge, handler, err := edgeapi.New(d.platform, &service.Health{Log: log}, edgeapi.Config{AdminToken: adminToken})
	if err != nil {
		return err
	}
	bound := make(chan string, 1)
	listen := service.HTTPConfig{Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- latchwire.BaseURL(a) }}
	parts := append(d.platform.Parts(), edge...)
	d.running = start(ctx, append(parts, service.HTTPServer(listen, handler))...)
	select {
	case d.base = <-bound:
		return nil
	case err := <-d.done:
		return err
	}
}

func (d *doors) close() error {
	defer d.server.Shutdown()
	return d.pipeline.close()
}

// startWorker runs a webhook worker until it is closed.
func (d *doors) startWorker(ctx context.Context) (running, error) {
	part, err := webhookworker.New(d.platform, webhookworker.Config{}) //nolint:contextcheck // its handlers get a context with each message
	if err != nil {
		return running{}, err
	}
	return start(ctx, part), nil
}

// running is parts of the pipeline at work.
type running struct {
	stop context.CancelFunc
	done chan error
}

func start(ctx context.Context, parts ...service.Part) running {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := running{stop: stop, done: make(chan error, 1)}
	go func() { r.done <- service.Run(ctx, 20*time.Second, parts...) }()
	return r
}

func (r running) close() error {
	r.stop()
	return <-r.done
}
