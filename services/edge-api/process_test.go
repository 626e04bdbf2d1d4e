package edgeapi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
)

func TestTheHelpNamesTheAdminToken(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := edgeapi.Program().Run(t.Context(), service.Process{
		Name: "edge-api", Args: []string{"--help"}, LookupEnv: func(string) (string, bool) { return "", false }, Stdout: &out, Stderr: &out,
	})
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("got %v, want help", err)
	}
	for _, want := range []string{"--admin-token", "LATCHWIRE_ADMIN_TOKEN", "default 127.0.0.1:8080"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help does not name %s", want)
		}
	}
}

func TestAWrongAdminTokenEndsTheStart(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := edgeapi.Program().Run(t.Context(), service.Process{
		Name: "edge-api", LookupEnv: func(name string) (string, bool) { return "not a token", name == "LATCHWIRE_ADMIN_TOKEN" }, Stdout: &out, Stderr: &out,
	})
	if _, ok := errors.AsType[*service.SettingsError](err); !ok || strings.Contains(err.Error(), "not a token") {
		t.Errorf("got %v, want wrong settings that do not quote the token", err)
	}
}

// start runs what New wants started, as a replica's start does.
func start(t *testing.T, token string) error {
	t.Helper()
	parts, _, err := edgeapi.New(shared.platform, &service.Health{}, edgeapi.Config{AdminToken: service.Secret(token)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := p.Start(t.Context()); err != nil {
			return err
		}
	}
	return nil
}

func TestReplicasMakeTheAdminTokenOnce(t *testing.T) {
	t.Parallel()
	const secret = "a-token-that-many-replicas-know"
	failures := make(chan error, 4)
	for range cap(failures) {
		go func() { failures <- start(t, secret) }()
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	own := func(k registry.Token) bool { return k.Prefix == secret[:4] && k.Kind == registry.AdminToken }
	if all, err := shared.platform.Registry.Tokens(t.Context(), own); err != nil || len(all) != 1 {
		t.Errorf("got %d tokens %v, want one", len(all), err)
	}
	shared.client(t, secret).do(http.MethodPost, "/api/admin/tokens", `{"role":"read-only"}`).want(t, 201)
}

func TestATokenOfAnotherKindIsNoAdminToken(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	if err := start(t, x.token); err == nil || strings.Contains(err.Error(), x.token) {
		t.Errorf("got %v, want it refused and not quoted", err)
	}
	shared.client(t, x.token).do(http.MethodGet, "/api/admin/locks", nil).refused(t, 403, invocation.Forbidden)
}

func TestARestartFindsTheSameAdminToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		s, err := newStack(dir, platform.Config{}, edgeapi.Config{AdminToken: adminSecret})
		if err != nil {
			t.Fatal(err)
		}
		s.admin(t).do(http.MethodGet, "/api/admin/locks", nil).want(t, 200)
		all, err := s.platform.Registry.Tokens(context.WithoutCancel(t.Context()), func(registry.Token) bool { return true })
		s.stop()
		if err != nil || len(all) != 1 {
			t.Errorf("got %d tokens %v, want one", len(all), err)
		}
	}
}
