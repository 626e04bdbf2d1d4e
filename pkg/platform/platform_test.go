package platform_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Without the topology a service does not start, and says what to do.
func TestOpenNeedsTheTopology(t *testing.T) {
	t.Parallel()
	cfg := platform.Config{Broker: broker.Config{Server: brokertest.StartServer(t)}}
	log := slog.New(slog.DiscardHandler)
	if _, err := platform.Open(t.Context(), cfg, nil, log); err == nil || !strings.Contains(err.Error(), "latchwire setup") {
		t.Errorf("got %v, want that the topology is missing", err)
	}
	conn := brokertest.Connect(t, cfg.Broker.Server)
	for range 2 { // setting up twice is once
		if err := platform.Setup(t.Context(), conn, cfg.Ledger); err != nil {
			t.Fatal(err)
		}
	}
	p, err := platform.Open(t.Context(), cfg, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	platformtest.Run(t, p.Parts()...)
	cfg.Ledger.Partitions = 8
	if _, err := platform.Open(t.Context(), cfg, nil, log); err == nil || !strings.Contains(err.Error(), "INV_7") {
		t.Errorf("got %v with more partitions than were set up, want the missing ones named", err)
	}
}

func TestOpenNeedsNATS(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	node.Stop()
	_, err := platform.Open(t.Context(), platform.Config{Broker: broker.Config{URL: node.URL}}, nil, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "connect to NATS") {
		t.Errorf("got %v", err)
	}
}

func process(out *telemetrytest.Printed, args ...string) service.Process {
	return service.Process{
		Name: "thing", Args: args, LookupEnv: func(string) (string, bool) { return "", false }, Stdout: out, Stderr: out,
	}
}

func thing() platform.Program {
	return platform.Program{
		Name: "thing", Summary: "Does a thing.", Addr: "127.0.0.1:0",
		Build: func(p *platform.Platform, h *service.Health) ([]service.Part, http.Handler, error) {
			return nil, platform.Operations(h, p.Telemetry), nil
		},
	}
}

// A program serves its operations once everything is open, turns unready when
// NATS goes away and drains when it is told to.
func TestAProgramRuns(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	if err := platform.Setup(t.Context(), brokertest.ConnectURL(t, node.URL), ledger.Config{}); err != nil {
		t.Fatal(err)
	}
	var out telemetrytest.Printed
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- thing().Run(ctx, process(&out, "--nats-url", node.URL)) }()
	listening := regexp.MustCompile(`127\.0\.0\.1:[1-9][0-9]*`)
	var addr string
	brokertest.Eventually(t, time.Minute, "the program listens", func() bool {
		addr = listening.FindString(strings.ReplaceAll(out.String(), strings.TrimPrefix(node.URL, "nats://"), ""))
		return addr != ""
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(path string) int {
		resp, err := client.Get("http://" + addr + path)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	brokertest.Eventually(t, time.Minute, "it is ready", func() bool { return status("/readyz") == 200 })
	for path, want := range map[string]int{"/healthz": 200, "/metrics": 200, "/nothing": 404} {
		if got := status(path); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
	node.Stop()
	brokertest.Eventually(t, time.Minute, "it is not ready without NATS", func() bool { return status("/readyz") == 503 })
	if got := status("/healthz"); got != 200 {
		t.Errorf("got %d from /healthz without NATS, want 200: a restart would mend nothing", got)
	}
	node.Start(t)
	brokertest.Eventually(t, time.Minute, "it is ready again", func() bool { return status("/readyz") == 200 })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v from a program that was stopped", err)
	}
}

// Every wrong setting is named at once, and nothing is opened (design section 9).
func TestAProgramRefusesWrongSettings(t *testing.T) {
	t.Parallel()
	var out telemetrytest.Printed
	err := thing().Run(t.Context(), process(&out, "--partitions", "0", "--profile", "cloud", "--ack-wait", "1ms", "--egress-allow", "home", "--call-timeout", "1ns", "--limit-extension", "-1"))
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"partitions", "profile", "egress-allow", "call-timeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s named", err, want)
		}
	}
}

func TestAProgramThatCannotBeBuiltEnds(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	if err := platform.Setup(t.Context(), brokertest.ConnectURL(t, node.URL), ledger.Config{}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("cannot be built")
	p := thing()
	p.Build = func(*platform.Platform, *service.Health) ([]service.Part, http.Handler, error) {
		return nil, nil, broken
	}
	var out telemetrytest.Printed
	if err := p.Run(t.Context(), process(&out, "--nats-url", node.URL)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]int{"": 1, platform.ProfileDev: 1, platform.ProfileSingle: 1, platform.ProfileCluster: 3} {
		var cfg platform.Config
		s := service.NewSettings("thing", "Does a thing.")
		cfg.Register(s)
		var args []string
		if profile != "" {
			args = []string{"--profile", profile}
		}
		var out telemetrytest.Printed
		if err := s.Load(process(&out, args...)); err != nil {
			t.Fatal(err)
		}
		if cfg.Ledger.Replicas != want {
			t.Errorf("%q: got %d replicas, want %d", profile, cfg.Ledger.Replicas, want)
		}
	}
	if got := platform.Profiles(); !slices.Equal(got, []string{"dev", "single", "cluster"}) {
		t.Errorf("got %v", got)
	}
}

// What private networks webhooks may reach is a development machine's own
// affair; elsewhere it has to be meant (SEC-07).
func TestProductionTakesNoPrivateNetworksUnlessMeant(t *testing.T) {
	t.Parallel()
	allow, meant := "--egress-allow=10.1.0.0/16", "--egress-allow-in-production"
	for _, test := range []struct {
		args []string
		want bool
	}{
		{[]string{allow}, true},
		{[]string{allow, "--profile=dev"}, true},
		{[]string{allow, "--profile=single"}, false},
		{[]string{allow, "--profile=cluster"}, false},
		{[]string{"--profile=cluster"}, true},
		{[]string{allow, "--profile=cluster", meant}, true},
	} {
		var cfg platform.Config
		s := service.NewSettings("thing", "Does a thing.")
		cfg.Register(s)
		var out telemetrytest.Printed
		if err := s.Load(process(&out, test.args...)); (err == nil) != test.want {
			t.Errorf("%q: got %v, want it taken: %t", test.args, err, test.want)
		}
	}
}

// A request is recorded and sent without telemetry just the same.
func TestRecordAndPostWithoutTelemetry(t *testing.T) {
	t.Parallel()
	p := platformtest.New(t, platform.Config{}, nil).Open(t)
	l := platformtest.NewLock(t, p)
	id := invocation.InvocationID(l.ID, "caller", "k")
	inv := invocation.Invocation{
		ID: id, Lock: l.ID, Input: []byte("{}"), Status: invocation.Pending, CreatedAt: p.Ledger.Now(),
		Chain: invocation.Root(id, invocation.Starter{Extension: "caller"}),
	}
	for i := range 2 {
		stored, created, err := p.Record(t.Context(), ledger.Request{Invocation: inv})
		if err != nil || created != (i == 0) || stored.ID != id {
			t.Errorf("got %+v, created %t, %v", stored, created, err)
		}
	}
	_, err := p.Post(t.Context(), egress.Request{URL: "\x00", Header: http.Header{}}, telemetry.Call{Purpose: telemetry.PurposeInvocation})
	if call, ok := errors.AsType[*egress.CallError](err); !ok || call.Kind != egress.KindURL || call.Sent {
		t.Errorf("got %v, want that the URL is refused", err)
	}
	if c := platform.ChainOf(inv); c.CorrelationID != string(id) || c.InvocationID != string(id) || c.Depth != 0 {
		t.Errorf("got %+v", c)
	}
}

func ExampleProfiles() {
	fmt.Println(platform.Profiles())
	// Output: [dev single cluster]
}
