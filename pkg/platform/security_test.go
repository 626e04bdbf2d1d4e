package platform_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// A connection to another machine is authenticated and encrypted in production,
// unless it is meant otherwise; a development machine is free (SEC-116).
func TestProductionTakesNoExposedNATSUnlessMeant(t *testing.T) {
	t.Parallel()
	far, local := "--nats-url=nats://nats.example:4222", "--nats-url=nats://127.0.0.1:4222"
	nkey, ca, meant := "--nats-nkey=edge-api.nk", "--nats-ca=ca.crt", "--nats-exposed-in-production"
	for _, test := range []struct {
		args []string
		want string // in the error; none if the settings are taken
	}{
		{[]string{far}, ""},
		{[]string{"--profile=single"}, ""},
		{[]string{"--profile=cluster", local}, ""},
		{[]string{"--profile=single", far}, "anonymous and not encrypted"},
		{[]string{"--profile=cluster", far}, "anonymous and not encrypted"},
		{[]string{"--profile=cluster", local + ",nats://nats.example:4222"}, "anonymous and not encrypted"},
		{[]string{"--profile=cluster", far, nkey}, "another machine, not encrypted"},
		{[]string{"--profile=cluster", far, ca}, "another machine, anonymous"},
		{[]string{"--profile=cluster", "--nats-url=tls://nats.example:4222"}, "another machine, anonymous"},
		{[]string{"--profile=cluster", far, nkey, ca}, ""},
		{[]string{"--profile=cluster", "--nats-url=tls://nats.example:4222", nkey}, ""},
		{[]string{"--profile=cluster", far, meant}, ""},
		{[]string{"--nats-cert=a.crt"}, "nats-cert and nats-key"},
		{[]string{"--nats-key=a.key"}, "nats-cert and nats-key"},
	} {
		var cfg platform.Config
		s := service.NewSettings("thing", "Does a thing.")
		cfg.Register(s)
		var out telemetrytest.Printed
		err := s.Load(process(&out, test.args...))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %q", test.args, err, test.want)
		}
	}
}

// A service that its key does not let in far enough says at once what it lacks
// (SEC-110).
func TestOpenSaysWhatNATSRefuses(t *testing.T) {
	t.Parallel()
	file, public := brokertest.Nkey(t)
	inbox := platform.InboxPrefix("thing")
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		Nkeys: []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"elsewhere"}},
			Subscribe: &server.SubjectPermission{Allow: []string{inbox + ".>"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	log := slog.New(slog.DiscardHandler)
	cfg := platform.Config{Broker: broker.Config{URL: ns.ClientURL(), Credentials: file, InboxPrefix: inbox, Timeout: time.Minute}}
	begun := time.Now()
	if _, err := platform.Open(t.Context(), cfg, nil, log); !errors.Is(err, broker.ErrRefused) || !strings.Contains(err.Error(), "$JS.API.STREAM.INFO.SENT") {
		t.Errorf("open: got %v, want what was refused", err)
	}
	conn, err := broker.Connect(cfg.Broker, log)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := platform.Setup(t.Context(), conn, cfg.Ledger); !errors.Is(err, broker.ErrRefused) {
		t.Errorf("set up: got %v, want what was refused", err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s, which is the wait for answers", took)
	}
}

// A service's answers arrive under its own name (SEC-110).
func TestAProgramHasAnInboxOfItsOwn(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	if err := platform.Setup(t.Context(), brokertest.ConnectURL(t, node.URL), ledger.Config{}); err != nil {
		t.Fatal(err)
	}
	enough, inbox := errors.New("enough"), ""
	program := thing()
	program.Build = func(p *platform.Platform, _ *service.Health) ([]service.Part, http.Handler, error) {
		inbox = p.Conn.NC.NewInbox()
		return nil, nil, enough
	}
	var out telemetrytest.Printed
	if err := program.Run(t.Context(), process(&out, "--nats-url", node.URL)); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if want := "_INBOX_" + program.Name + "."; !strings.HasPrefix(inbox, want) {
		t.Errorf("got the inbox %q, want it under %q", inbox, want)
	}
}
