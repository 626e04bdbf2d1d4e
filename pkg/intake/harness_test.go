package intake_test

import (
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// short is how long calls wait in tests that have nobody to settle them.
const short = 20 * time.Millisecond

// A stand is an installation with the extensions that the tests need: caller
// and other call, probe is called.
type stand struct {
	*platformtest.World
	p  *platform.Platform
	in *intake.Intake
}

func newStand(tb testing.TB, cfg platform.Config, cfgDoor intake.Config) *stand {
	tb.Helper()
	w := platformtest.New(tb, cfg, nil)
	p := w.Open(tb)
	s := &stand{World: w, p: p, in: door(p, cfgDoor)}
	s.publish(tb)
	return s
}

// publish registers the extensions.
func (s *stand) publish(tb testing.TB) {
	tb.Helper()
	platformtest.Publish(tb, s.p, "caller", platformtest.BareManifest, nil)
	platformtest.Publish(tb, s.p, "other", platformtest.BareManifest, nil)
	platformtest.Publish(tb, s.p, "probe", platformtest.ProbeManifest, func(e *registry.Extension) {
		e.WebhookURL = "https://probe.example/hook"
	})
}

func door(p *platform.Platform, cfg intake.Config) *intake.Intake {
	return intake.New(p.Ledger, p.Registry, p.Catalog, cfg)
}

// lock returns a lock with everybody on it.
func (s *stand) lock(tb testing.TB) platformtest.Lock {
	tb.Helper()
	return platformtest.NewLock(tb, s.p, "caller", "other", "probe")
}

// on returns an extension as the caller on a lock.
func (s *stand) on(tb testing.TB, l platformtest.Lock, slug invocation.Slug) intake.Caller {
	tb.Helper()
	e, err := s.p.Registry.Extension(tb.Context(), slug)
	if err != nil {
		tb.Fatalf("read %s: %v", slug, err)
	}
	return intake.Caller{Extension: e, Session: l.Session(slug)}
}

// echo returns a call of probe.echo by caller.
func (s *stand) echo(tb testing.TB, l platformtest.Lock, key string) intake.Call {
	tb.Helper()
	return intake.Call{Caller: s.on(tb, l, "caller"), Command: "probe.echo", Key: key, Via: invocation.REST}
}

// settling settles every request that is recorded, as decide says.
func (s *stand) settling(tb testing.TB, decide func(invocation.Invocation) invocation.Outcome) {
	tb.Helper()
	platformtest.Settle(tb, s.Open(tb), decide)
}

// settle settles one call by hand.
func (s *stand) settle(tb testing.TB, lock invocation.LockID, id invocation.ID, o invocation.Outcome) invocation.Invocation {
	tb.Helper()
	inv, err := s.p.Ledger.Invocation(tb.Context(), lock, id)
	if err != nil {
		tb.Fatalf("read the invocation: %v", err)
	}
	standing, err := s.p.Ledger.Claim(tb.Context(), inv, s.p.Ledger.Now().Add(time.Minute), 0)
	if err != nil || !standing.Mine {
		tb.Fatalf("claim: %+v, %v", standing, err)
	}
	inv = inv.Settle(o, s.p.Ledger.Now())
	if err := s.p.Ledger.Settle(tb.Context(), standing.Claim, inv, nil); err != nil {
		tb.Fatalf("settle: %v", err)
	}
	if err := s.p.Ledger.Wake(inv, ""); err != nil {
		tb.Fatalf("wake: %v", err)
	}
	return inv
}

func echoes(inv invocation.Invocation) invocation.Outcome { return invocation.Completes(inv.Input) }

// refusal checks that err is a refusal with this code and returns it.
func refusal(tb testing.TB, err error, want invocation.Code) *invocation.Error {
	tb.Helper()
	if err == nil {
		tb.Fatalf("got no error, want %s", want)
	}
	e := invocation.AsError(err)
	if e.Code != want {
		tb.Fatalf("got %s (%v, %v), want %s", e.Code, e.Facts, e.Problems, want)
	}
	return e
}

// invoke invokes and fails the test on a refusal.
func (s *stand) invoke(tb testing.TB, c intake.Call) intake.Answer {
	tb.Helper()
	a, err := s.in.Invoke(tb.Context(), c)
	if err != nil {
		tb.Fatalf("invoke: %v %+v", err, invocation.AsError(err).Facts)
	}
	return a
}

// mustNotStand checks that a call left no invocation.
func (s *stand) mustNotStand(tb testing.TB, c intake.Call) {
	tb.Helper()
	id := invocation.InvocationID(c.Caller.Session.Lock, c.Caller.Session.Slug, c.Key)
	if _, err := s.p.Ledger.Invocation(tb.Context(), c.Caller.Session.Lock, id); invocation.CodeOf(err) != invocation.InvocationNotFound {
		tb.Errorf("got %v for a refused call, want that nothing is recorded", err)
	}
}
