package platform_test

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// An operator puts a new key in front, has secrets stored under it and drops the
// old one. Whoever starts without a key that is needed is told whom it costs.
func TestSecretsMoveToTheFirstKey(t *testing.T) {
	t.Parallel()
	one := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, sealed.KeySize))
	two := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, sealed.KeySize))
	with := func(server *broker.Server, keys string) platform.Config {
		return platform.Config{Broker: broker.Config{Server: server}, Secrets: platform.SecretsConfig{Key: service.Secret(keys)}}
	}
	server := brokertest.StartServer(t)
	conn := brokertest.Connect(t, server)
	if err := platform.Setup(t.Context(), conn, with(server, one).Ledger); err != nil {
		t.Fatal(err)
	}
	open := func(keys string) (*platform.Platform, string) {
		t.Helper()
		var out telemetrytest.Printed
		p, err := platform.Open(t.Context(), with(server, keys), nil, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		platformtest.Run(t, p.Parts()...)
		return p, out.String()
	}
	first, _ := open(one)
	platformtest.Publish(t, first, "my-ext", "", func(e *registry.Extension) { e.BasicSecret = "CANARY" })
	if _, logged := open(two); !strings.Contains(logged, "level=ERROR") || !strings.Contains(logged, "my-ext") || strings.Contains(logged, "CANARY") {
		t.Errorf("got %q, want the extension named whose secret does not open", logged)
	}
	for _, keys := range []string{"", two + "," + one} {
		if err := platform.Reseal(t.Context(), conn, with(server, keys), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	last, logged := open(two)
	e, err := last.Registry.Newest(t.Context(), invocation.Slug("my-ext"))
	if err != nil || e.BasicSecret != "CANARY" || strings.Contains(logged, "ERROR") {
		t.Errorf("got %+v, %v and %q, want the secret under the new key", e, err, logged)
	}
}
