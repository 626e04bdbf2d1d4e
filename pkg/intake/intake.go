package intake

import (
	"cmp"
	"context"
	"time"

	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// A Recorder records an admitted call and returns what is stored now, and
// whether it is this call: [ledger.Ledger.Record], perhaps wrapped.
type Recorder func(context.Context, ledger.Request) (stored invocation.Invocation, created bool, err error)

// A Config says how the door works.
type Config struct {
	// Wait is how long a caller waits for the settlement; zero means the
	// contract's 12 s.
	Wait time.Duration
	// Record replaces the ledger's own Record, so that telemetry can wrap it.
	Record Recorder
	// Ask replaces the ledger's own Ask, likewise.
	Ask Asker
}

// An Intake admits calls and events. All methods may be called concurrently.
type Intake struct {
	ledger   *ledger.Ledger
	registry *registry.Registry
	catalog  *catalog.Catalog
	cfg      Config
}

// New returns the door on these stores.
func New(l *ledger.Ledger, r *registry.Registry, c *catalog.Catalog, cfg Config) *Intake {
	cfg.Wait = cmp.Or(cfg.Wait, invocation.AnswerWait)
	if cfg.Record == nil {
		cfg.Record = l.Record
	}
	if cfg.Ask == nil {
		cfg.Ask = func(ctx context.Context, q invocation.Question) (invocation.Options, error) {
			return l.Ask(ctx, q, nil)
		}
	}
	return &Intake{ledger: l, registry: r, catalog: c, cfg: cfg}
}
