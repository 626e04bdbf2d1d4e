package registry_test

import (
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

// In steady state reading costs no message.
func TestReadsComeFromTheCache(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	r := env.Registry
	tok, secret := issue(t, r)
	if err := r.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
		t.Fatal(err)
	}
	e, err := r.Extension(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PublishManifest(t.Context(), e, registry.Manifest{Document: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	s := registry.Session{ID: invocation.NewSessionID(), Slug: "a"}
	if err := r.CreateSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	warm(t, env, r, secret)
	all := func() error {
		if got, err := r.Token(t.Context(), secret, time.Now()); err != nil || got.ID != tok.ID {
			return err
		}
		if _, err := r.Extension(t.Context(), "a"); err != nil {
			return err
		}
		if _, err := r.Manifest(t.Context(), "a", 1); err != nil {
			return err
		}
		_, err := r.Session(t.Context(), s.ID)
		return err
	}
	brokertest.Eventually(t, within, "everything is read from the cache", func() bool { return reads(t, env, 250, all) < 100 })
}

func TestWithoutRunEveryReadAsksTheLeader(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	_, secret := issue(t, env.Registry)
	r, err := registry.Open(t.Context(), env.Conn, sealed.Keys{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if n := reads(t, env, 100, func() error {
		_, err := r.Token(t.Context(), secret, time.Now())
		return err
	}); n < 100 {
		t.Errorf("got %d messages for 100 reads, want one each", n)
	}
}

// A token that one replica revokes is refused by another within five seconds,
// and by itself at once (SEC-70).
func TestRevocationIsSeenEverywhere(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		tok, secret := issue(t, one.Registry)
		warm(t, other, other.Registry, secret)
		warm(t, one, one.Registry, secret)
		if err := one.Registry.RevokeToken(t.Context(), tok.ID, func(registry.Token) bool { return true }); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		brokertest.Eventually(t, within, "the other replica refuses it", func() bool {
			_, err := other.Registry.Token(t.Context(), secret, time.Now())
			return invocation.CodeOf(err) == invocation.Unauthorized && err != nil
		})
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("got it refused after %v, want within 5 s", took)
		}
		_, err := one.Registry.Token(t.Context(), secret, time.Now())
		wantCode(t, err, invocation.Unauthorized)
	})
}

// A read that began before a revocation and ends after it does not bring the
// token back into the cache.
func TestSlowReadDoesNotUndoARevocation(t *testing.T) {
	t.Parallel()
	one, other := ledgertest.Two(t, small())
	tok, secret := issue(t, one.Registry)
	warm(t, other, other.Registry, secret)
	finish, err := other.Registry.BeginTokenRead(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Registry.RevokeToken(t.Context(), tok.ID, func(registry.Token) bool { return true }); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, within, "the other replica refuses it", func() bool {
		_, err := other.Registry.Token(t.Context(), secret, time.Now())
		return err != nil && invocation.CodeOf(err) == invocation.Unauthorized
	})
	finish()
	_, err = other.Registry.Token(t.Context(), secret, time.Now())
	wantCode(t, err, invocation.Unauthorized)
}

// A cache that has no contact to its watch is trusted for five seconds, and no
// longer.
func TestCacheWithoutContactIsNotTrusted(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	r, stop := open(t, env.Conn)
	tok, secret := issue(t, env.Registry)
	warm(t, env, r, secret)
	stop() // the watch, not the reads
	begun := time.Now()
	if err := env.Registry.RevokeToken(t.Context(), tok.ID, func(registry.Token) bool { return true }); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, within, "the token is refused", func() bool {
		_, err := r.Token(t.Context(), secret, time.Now())
		return err != nil && invocation.CodeOf(err) == invocation.Unauthorized
	})
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("got it refused after %v, want within 5 s", took)
	}
}

// What the cache held before a watch began is unknown to it, and forgotten.
func TestCacheIsEmptiedWhenAWatchBegins(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	r, stop := open(t, env.Conn)
	tok, secret := issue(t, env.Registry)
	_, kept := issue(t, env.Registry)
	warm(t, env, r, secret)
	warm(t, env, r, kept)
	stop()
	if err := env.Registry.RevokeToken(t.Context(), tok.ID, func(registry.Token) bool { return true }); err != nil {
		t.Fatal(err)
	}
	// Only then does reading from the cache again show that a watch began.
	brokertest.Eventually(t, within, "the cache is not trusted any more", func() bool {
		return reads(t, env, 50, func() error {
			_, err := r.Token(t.Context(), kept, time.Now())
			return err
		}) >= 50
	})
	run(t, r)
	warm(t, env, r, kept)
	_, err := r.Token(t.Context(), secret, time.Now())
	wantCode(t, err, invocation.Unauthorized)
}

// What was changed while a replica was cut off is seen when it is back.
func TestChangesDuringAnOutageAreSeen(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	near := ledgertest.On(t, brokertest.ConnectURL(t, n.URL), small())
	w := newWire(t, n.URL)
	far := ledgertest.On(t, brokertest.ConnectURL(t, w.at), small())
	tok, secret := issue(t, near.Registry)
	_, kept := issue(t, near.Registry)
	warm(t, far, far.Registry, secret)
	warm(t, far, far.Registry, kept)
	if err := near.Registry.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Registry.Extension(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}

	w.set(true)
	brokertest.Eventually(t, within, "the replica is cut off", func() bool { return far.Conn.Check(t.Context()) != nil })
	if err := near.Registry.RevokeToken(t.Context(), tok.ID, func(registry.Token) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Registry.UpdateExtension(t.Context(), "a", func(e *registry.Extension) error { e.Disabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, within, "the watch has given up, and the cache with it", func() bool {
		_, err := far.Registry.Token(t.Context(), kept, time.Now())
		return err != nil && invocation.CodeOf(err) == invocation.ServiceUnavailable
	})
	w.set(false)
	warm(t, far, far.Registry, kept) // the cache is used again
	_, err := far.Registry.Token(t.Context(), secret, time.Now())
	wantCode(t, err, invocation.Unauthorized)
	brokertest.Eventually(t, within, "the change is seen", func() bool { // that bucket has a watch of its own
		e, err := far.Registry.Extension(t.Context(), "a")
		return err == nil && e.Disabled
	})
}

// Over a long outage nothing is answered from a cache that nobody keeps fresh.
func TestOutageEndsInServiceUnavailable(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	env := ledgertest.On(t, brokertest.ConnectURL(t, n.URL), small())
	_, secret := issue(t, env.Registry)
	warm(t, env, env.Registry, secret)
	n.Stop()
	brokertest.Eventually(t, within, "the read fails", func() bool {
		_, err := env.Registry.Token(t.Context(), secret, time.Now())
		return err != nil && invocation.CodeOf(err) == invocation.ServiceUnavailable
	})
	if _, err := env.Registry.Extensions(t.Context()); invocation.CodeOf(err) != invocation.ServiceUnavailable {
		t.Errorf("got %v for a list, want service-unavailable", err)
	}
	n.Start(t)
	warm(t, env, env.Registry, secret)
}

// Whoever writes reads its own write at once, and nobody ever reads a value
// older than one it has read, whatever the cache and the watch do meanwhile.
func TestReadsNeverGoBack(t *testing.T) {
	t.Parallel()
	one, other := ledgertest.Two(t, small())
	if err := one.Registry.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, env := range []ledgertest.Env{one, other} {
		wg.Go(func() {
			last := 0
			for finished := false; !finished; {
				select {
				case <-done:
					finished = true
				default:
				}
				e, err := env.Registry.Extension(t.Context(), "a")
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				n, err := strconv.Atoi("0" + e.DisplayName)
				if err != nil || n < last {
					t.Errorf("got %d after %d, %v", n, last, err)
					return
				}
				last = n
			}
		})
	}
	for n := range 200 {
		written, err := one.Registry.UpdateExtension(t.Context(), "a", func(e *registry.Extension) error {
			e.DisplayName = strconv.Itoa(n)
			return nil
		})
		if err != nil || written.DisplayName != strconv.Itoa(n) {
			t.Fatalf("update: %+v, %v", written, err)
		}
		if e, err := one.Registry.Extension(t.Context(), "a"); err != nil || e.DisplayName != strconv.Itoa(n) {
			t.Errorf("got %q right after %d was written, %v", e.DisplayName, n, err)
		}
	}
	close(done)
	wg.Wait()
}
