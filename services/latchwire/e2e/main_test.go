package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/dispatcher"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
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
	first, stack, err := startStack(ctx, dir)
	if err != nil {
		return 1, err
	}
	second, replica, err := startReplica(ctx, stack.natsURL)
	if err != nil {
		return 1, err
	}
	pipeline.Bases = []string{first, second}
	code := m.Run()
	stop()
	return code, errors.Join(<-replica, <-stack.done)
}

// startReplica runs a second one of each service, as their own programs do.
func startReplica(ctx context.Context, natsURL string) (string, chan error, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := ln.Addr().String()
	ln.Close() // the edge takes it in a moment
	env := map[string]string{
		"LATCHWIRE_NATS_URL": natsURL, "LATCHWIRE_EGRESS_ALLOW": "127.0.0.0/8", "LATCHWIRE_LOG_LEVEL": "error",
		"LATCHWIRE_DELIVERY_RETRIES": "200ms,400ms", "LATCHWIRE_LIMIT_LOCK": strconv.Itoa(manyCalls),
	}
	done := make(chan error, 1)
	go func() {
		errs := make(chan error, 3)
		for name, program := range map[string]platform.Program{
			addr: edgeapi.Program(), "127.0.0.1:0": dispatcher.Program(), "localhost:0": webhookworker.Program(),
		} {
			go func() {
				errs <- program.Run(ctx, service.Process{
					Name: program.Name, Args: []string{"--http-addr", name}, Stdout: os.Stderr, Stderr: os.Stderr,
					LookupEnv: func(k string) (string, bool) { v, found := env[k]; return v, found },
				})
			}()
		}
		done <- errors.Join(<-errs, <-errs, <-errs)
	}()
	base := "http://" + addr
	for range 300 {
		if resp, err := http.Get(base + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return base, done, nil
			}
		}
		select {
		case err := <-done:
			return "", nil, fmt.Errorf("the second replica ended: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return "", nil, errors.New("the second replica did not become ready")
}

// manyCalls is the limit of calls on one lock in these tests, out of their way.
const manyCalls = 1 << 30

// running is a stack in this process.
type running struct {
	natsURL string
	done    chan error
}

// startStack runs the pipeline in this process.
func startStack(ctx context.Context, dir string) (string, running, error) {
	tel, err := telemetry.New(ctx, telemetry.Config{Name: "e2e"})
	if err != nil {
		return "", running{}, err
	}
	bound := make(chan string, 1)
	var cfg latchwire.Config
	cfg.Server = broker.ServerConfig{Dir: dir, Port: -1}
	cfg.HTTP = service.HTTPConfig{Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- latchwire.BaseURL(a) }}
	cfg.Edge.AdminToken = service.Secret(pipeline.Admin)
	cfg.Webhooks = webhookworker.Config{Retries: []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}}
	cfg.Platform.Ledger.Limits = invocation.Limits{Lock: invocation.Limit{Max: manyCalls}}
	cfg.Platform.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	stack, err := latchwire.New(ctx, cfg, tel, log)
	if err != nil {
		return "", running{}, err
	}
	r := running{natsURL: stack.NATSURL(), done: make(chan error, 1)}
	go func() { r.done <- stack.Run(ctx) }()
	select {
	case base := <-bound:
		return base, r, nil
	case err := <-r.done:
		return "", running{}, err
	}
}
