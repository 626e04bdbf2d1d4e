package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/latchwire"
	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// pipeline is where the tests find the pipeline; set once, before any of them.
var pipeline e2etest.Pipeline

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	if base := os.Getenv("LATCHWIRE_E2E_BASE"); base != "" {
		pipeline.Bases, pipeline.Admin = strings.Split(base, ","), os.Getenv("LATCHWIRE_ADMIN_TOKEN")
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "latchwire-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	pipeline.Admin = "e2e-admin-token-of-this-process"
	base, done, err := startStack(ctx, dir)
	if err != nil {
		return 1, err
	}
	pipeline.Bases = []string{base}
	code := m.Run()
	stop()
	return code, <-done
}

// startStack runs the pipeline in this process.
func startStack(ctx context.Context, dir string) (string, chan error, error) {
	tel, err := telemetry.New(ctx, telemetry.Config{Name: "e2e"})
	if err != nil {
		return "", nil, err
	}
	bound := make(chan string, 1)
	lots := invocation.Limit{Max: 1 << 30}
	var cfg latchwire.Config
	cfg.Server = broker.ServerConfig{Dir: dir}
	cfg.HTTP = service.HTTPConfig{Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- latchwire.BaseURL(a) }}
	cfg.Edge.AdminToken = service.Secret(pipeline.Admin)
	cfg.Webhooks = webhookworker.Config{Retries: []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}}
	cfg.Platform.Ledger.Limits = invocation.Limits{Lock: lots}
	cfg.Platform.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	stack, err := latchwire.New(ctx, cfg, tel, log)
	if err != nil {
		return "", nil, err
	}
	done := make(chan error, 1)
	go func() { done <- stack.Run(ctx) }()
	select {
	case base := <-bound:
		return base, done, nil
	case err := <-done:
		return "", nil, err
	}
}
