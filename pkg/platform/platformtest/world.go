package platformtest

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
)

// A World is one installation. Replicas are opened on it by [World.Open].
type World struct {
	cfg platform.Config
	tel *telemetry.Providers
}

// New sets an installation up. Where cfg names no broker, a server without a
// socket is started for it. Figures left zero are the system's, but for one
// partition instead of four; webhooks may reach this machine. The providers may
// be nil.
func New(tb testing.TB, cfg platform.Config, tel *telemetry.Providers) *World {
	tb.Helper()
	if cfg.Broker.URL == "" && cfg.Broker.Server == nil {
		cfg.Broker.Server = brokertest.StartServer(tb)
	}
	if cfg.Ledger.Partitions == 0 {
		cfg.Ledger.Partitions = 1
	}
	if cfg.Egress.Policy.Allow == nil {
		cfg.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	conn, err := broker.Connect(cfg.Broker, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	defer conn.Close()
	if err := platform.Setup(tb.Context(), conn, cfg.Ledger); err != nil {
		tb.Fatalf("set the topology up: %v", err)
	}
	return &World{cfg: cfg, tel: tel}
}

// With returns the same installation for replicas with other settings, without
// setting it up again.
func (w *World) With(change func(*platform.Config)) *World {
	other := *w
	change(&other.cfg)
	return &other
}

// Open opens a replica, which lives until the test ends.
func (w *World) Open(tb testing.TB) *platform.Platform {
	tb.Helper()
	p := w.open(tb)
	Run(tb, p.Parts()...)
	return p
}

// OpenIdle is Open without what a replica does by itself: its caches are not
// used and its clock is not measured again. Days of virtual time cost little
// with it.
func (w *World) OpenIdle(tb testing.TB) *platform.Platform {
	tb.Helper()
	p := w.open(tb)
	tb.Cleanup(func() {
		p.Conn.Close()
		p.Egress.Close()
	})
	return p
}

func (w *World) open(tb testing.TB) *platform.Platform {
	tb.Helper()
	p, err := platform.Open(tb.Context(), w.cfg, w.tel, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatalf("open a replica: %v", err)
	}
	return p
}

// Run runs parts until the test ends, or until the returned function is called,
// which waits for them and returns what they failed with.
func Run(tb testing.TB, parts ...service.Part) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var (
		wg  sync.WaitGroup
		err error
	)
	wg.Go(func() { err = service.Run(ctx, time.Minute, parts...) })
	stop = func() error {
		cancel()
		wg.Wait()
		return err
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("stop the parts: %v", err)
		}
	})
	return stop
}
