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
	mcpservice "github.com/latchwire/latchwire/services/mcp"
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
		pipeline.Models = strings.Split(os.Getenv("LATCHWIRE_E2E_MCP"), ",")
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
	addrs, err := freeAddrs(2)
	if err != nil {
		return 1, err
	}
	replica, err := startReplica(ctx, stack.natsURL, addrs)
	if err != nil {
		return 1, err
	}
	pipeline.Bases, pipeline.Models = []string{first, "http://" + addrs[0]}, []string{first, "http://" + addrs[1]}
	code := m.Run()
	stop()
	return code, errors.Join(<-replica, <-stack.done)
}

// freeAddrs returns addresses on loopback that somebody takes in a moment.
func freeAddrs(n int) ([]string, error) {
	var addrs []string
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close() // all are held until the last is found
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, nil
}

// startReplica runs a second one of each service, as their own programs do: the
// edge API and the MCP service at these addresses.
func startReplica(ctx context.Context, natsURL string, addrs []string) (chan error, error) {
	env := map[string]string{
		"LATCHWIRE_NATS_URL": natsURL, "LATCHWIRE_EGRESS_ALLOW": "127.0.0.0/8", "LATCHWIRE_LOG_LEVEL": "error",
		"LATCHWIRE_DELIVERY_RETRIES": "200ms,400ms", "LATCHWIRE_LIMIT_LOCK": strconv.Itoa(manyCalls),
	}
	programs := map[string]platform.Program{
		addrs[0]: edgeapi.Program(), addrs[1]: mcpservice.Program(), "127.0.0.1:0": dispatcher.Program(), "localhost:0": webhookworker.Program(),
	}
	done := make(chan error, 1)
	go func() {
		errs := make(chan error, len(programs))
		for addr, program := range programs {
			go func() {
				errs <- program.Run(ctx, service.Process{
					Name: program.Name, Args: []string{"--http-addr", addr}, Stdout: os.Stderr, Stderr: os.Stderr,
					LookupEnv: func(k string) (string, bool) { v, found := env[k]; return v, found },
				})
			}()
		}
		var all error
		for range programs {
			all = errors.Join(all, <-errs)
		}
		done <- all
	}()
	for _, addr := range addrs {
		if err := ready("http://"+addr, done); err != nil {
			return nil, err
		}
	}
	return done, nil
}

func ready(base string, ended <-chan error) error {
	for range 300 {
		if resp, err := http.Get(base + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the second replica ended: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s did not become ready", base)
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
