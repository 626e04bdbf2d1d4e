package edgeapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/edge-api/internal/admin"
	"github.com/latchwire/latchwire/services/edge-api/internal/partner"
)

// A Config says how the door works. Its zero value works.
type Config struct {
	// AdminToken is made an admin token with every right when the service
	// starts, so that a first operator can get in; empty makes none (design
	// section 9). Revoking it through the API holds until the next start.
	AdminToken service.Secret
	// Wait is how long a caller waits for the settlement; zero means the
	// contract's 12 s.
	Wait time.Duration
	// Beat is how often a stream of events shows that it is alive; zero means
	// 15 s.
	Beat time.Duration
}

// Register adds the door's settings.
func (c *Config) Register(s *service.Settings) {
	s.Secret(&c.AdminToken, "admin-token", "admin token with every right, made at the start: the way in for the first operator")
	s.Check(func() error { return c.Validate() }) // of the values that are read by then
}

// maxAdminToken is the longest secret that the registry looks up.
const maxAdminToken = 256

// Validate reports every value that cannot work.
func (c Config) Validate() error {
	var problems []error
	token := c.AdminToken.Reveal()
	if len(token) > maxAdminToken {
		problems = append(problems, fmt.Errorf("the admin token must not be longer than %d bytes", maxAdminToken))
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		problems = append(problems, errors.New("the admin token must consist of printable ASCII characters without spaces"))
	}
	if c.Wait < 0 {
		problems = append(problems, errors.New("the wait for a settlement must not be negative"))
	}
	if c.Beat < 0 {
		problems = append(problems, errors.New("the beat of a stream must not be negative"))
	}
	return errors.Join(problems...)
}

// Program returns the edge API as a process.
func Program() platform.Program {
	var cfg Config
	return platform.Program{
		Name: "edge-api", Summary: "Serves the REST API of extensions and operators.", Addr: "127.0.0.1:8080",
		Register: cfg.Register,
		Build: func(p *platform.Platform, h *service.Health) ([]service.Part, http.Handler, error) {
			return New(p, h, cfg)
		},
	}
}

// New returns the handler of the whole API, with the probes and metrics of the
// process, and the parts that must have started before it serves.
func New(p *platform.Platform, h *service.Health, cfg Config) ([]service.Part, http.Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	if err := p.Ledger.Listen(); err != nil {
		return nil, nil, err
	}
	in := intake.New(p.Ledger, p.Registry, p.Catalog, intake.Config{Wait: cfg.Wait, Record: p.Record, Ask: p.Ask})
	routes := partner.New(partner.Config{
		Intake: in, Invoke: p.Counted(telemetry.SourceEdge, in.Invoke), Registry: p.Registry, Catalog: p.Catalog, Now: p.Ledger.Now,
		Beat: cmp.Or(cfg.Beat, 15*time.Second),
	}).Routes()
	operators := admin.New(admin.Config{Intake: in, Ledger: p.Ledger, Registry: p.Registry, Policy: p.Config.Egress.Policy})
	routes = append(append(routes, operators.Routes()...), operators.OwnerRoutes()...)
	routes = append(routes, operations(h, p.Telemetry)...)
	var parts []service.Part
	if cfg.AdminToken != "" {
		parts = append(parts, service.Part{Name: "admin token", Start: func(ctx context.Context) error {
			return importToken(ctx, p.Registry, cfg.AdminToken.Reveal(), p.Ledger.Now())
		}})
	}
	return parts, router(p, routes), nil
}

// importToken makes the operator's secret an admin token unless it is one. Any
// number of replicas and restarts make it once.
func importToken(ctx context.Context, r *registry.Registry, secret string, now time.Time) error {
	known, err := r.Token(ctx, secret, now)
	switch {
	case err == nil && known.Kind == registry.AdminToken:
		return nil
	case err == nil:
		return errors.New("the admin token is in use as a token of another kind")
	case invocation.CodeOf(err) != invocation.Unauthorized:
		return fmt.Errorf("look up the admin token: %w", err)
	}
	t := registry.Token{Kind: registry.AdminToken, Role: registry.RoleFull, Label: "made at the start"}
	err = r.StoreToken(ctx, registry.ImportToken(t, secret, now))
	if err == nil || invocation.CodeOf(err) == invocation.ResourceConflict { // another replica was first
		return nil
	}
	return fmt.Errorf("store the admin token: %w", err)
}
