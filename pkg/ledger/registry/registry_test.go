package registry_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
)

func TestOpenNeedsItsBuckets(t *testing.T) {
	t.Parallel()
	_, err := registry.Open(t.Context(), brokertest.Start(t), sealed.Keys{}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "tokens") || !strings.Contains(err.Error(), "extensions") {
		t.Errorf("got %v, want every bucket named", err)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		r := one.Registry
		now := time.Now().UTC()
		want := registry.Extension{
			ID: invocation.NewExtensionID(), Slug: "b", DisplayName: "<B> & co", WebhookURL: "https://b.test/x", BasicUser: "u", BasicSecret: "p",
			Secrets: []registry.SigningSecret{{ID: "1", Secret: "whsec_x", CreatedAt: now}}, Disabled: true, CreatedAt: now,
		}
		for _, e := range []registry.Extension{want, {Slug: "c"}, {Slug: "a"}} {
			if err := r.CreateExtension(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, other.Registry.CreateExtension(t.Context(), registry.Extension{Slug: "b"}), invocation.ResourceConflict)
		got, err := other.Registry.Extension(t.Context(), "b")
		if err != nil || toJSON(t, got) != toJSON(t, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if p := got.Party("ses_x"); p.Slug != "b" || p.Partner != want.ID || p.Session != "ses_x" {
			t.Errorf("got the party %+v", p)
		}
		all, err := r.Extensions(t.Context())
		if err != nil || len(all) != 3 || all[0].Slug != "a" || all[1].Slug != "b" || all[2].Slug != "c" {
			t.Errorf("got %+v, %v; want three by slug", all, err)
		}
	})
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Nothing but a slug reaches a subject: a wildcard would read anybody's (SEC-107).
func TestOnlySlugsAreLookedUp(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	if err := env.Registry.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, slug := range []invocation.Slug{"", "*", ">", "a.b", "a b", "A", "a\r\nPUB x", "é", invocation.Slug(strings.Repeat("a", 41)), "nobody"} {
		_, err := env.Registry.Extension(t.Context(), slug)
		wantCode(t, err, invocation.ExtensionNotFound)
		_, err = env.Registry.Manifest(t.Context(), slug, 1)
		wantCode(t, err, invocation.ExtensionNotFound)
		_, err = env.Registry.UpdateExtension(t.Context(), slug, func(*registry.Extension) error { return nil })
		wantCode(t, err, invocation.ExtensionNotFound)
		if slug != "nobody" {
			wantCode(t, env.Registry.CreateExtension(t.Context(), registry.Extension{Slug: slug}), invocation.InvalidInput)
		}
	}
	for _, id := range []invocation.SessionID{"", "*", ">", "a.b", "a b", "é", "nobody"} {
		_, err := env.Registry.Session(t.Context(), id)
		wantCode(t, err, invocation.SessionNotFound)
	}
	for _, secret := range []string{"", "*", strings.Repeat("x", 10_000), "cdt_nobody"} {
		_, err := env.Registry.Token(t.Context(), secret, time.Now())
		wantCode(t, err, invocation.Unauthorized)
	}
}

func TestLiveSecrets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	e := registry.Extension{Secrets: []registry.SigningSecret{
		{ID: "old", ExpiresAt: now},
		{ID: "leaving", ExpiresAt: now.Add(time.Second)},
		{ID: "new"},
	}}
	live := e.Live(now)
	if len(live) != 2 || live[0].ID != "new" || live[1].ID != "leaving" {
		t.Errorf("got %+v, want the new one and the leaving one", live)
	}
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		if err := one.Registry.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 16 {
			r := []*registry.Registry{one.Registry, other.Registry}[i%2]
			wg.Go(func() {
				_, err := r.UpdateExtension(t.Context(), "a", func(e *registry.Extension) error {
					e.Secrets = append(e.Secrets, registry.SigningSecret{ID: strconv.Itoa(i)})
					return nil
				})
				if err != nil {
					t.Errorf("update: %v", err)
				}
			})
		}
		wg.Wait()
		no := errors.New("no")
		if _, err := one.Registry.UpdateExtension(t.Context(), "a", func(*registry.Extension) error { return no }); !errors.Is(err, no) {
			t.Errorf("got %v, want the change's own error", err)
		}
		if all, err := other.Registry.Extensions(t.Context()); err != nil || len(all) != 1 || len(all[0].Secrets) != 16 {
			t.Errorf("got %+v, %v; want all sixteen", all, err)
		}
	})
}

// What an update returns is good for the next step.
func TestManifestsFollowAnUpdate(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	r := env.Registry
	if err := r.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
		t.Fatal(err)
	}
	e, err := r.UpdateExtension(t.Context(), "a", func(e *registry.Extension) error { e.DisplayName = "A"; return nil })
	if err != nil {
		t.Fatal(err)
	}
	stale := e
	for want := 1; want <= 3; want++ {
		m := registry.Manifest{Document: json.RawMessage(`{"n":` + strconv.Itoa(want) + `,"big":9007199254740993}`), At: time.Now()}
		if e, err = r.PublishManifest(t.Context(), e, m); err != nil || e.Revision != want {
			t.Fatalf("got revision %d, %v; want %d", e.Revision, err, want)
		}
	}
	if _, err := r.PublishManifest(t.Context(), stale, registry.Manifest{Document: json.RawMessage(`{"stale":1}`)}); invocation.CodeOf(err) != invocation.ResourceConflict {
		t.Errorf("got %v for a stale extension, want a conflict", err)
	}
	for n := 1; n <= 3; n++ {
		m, err := r.Manifest(t.Context(), "a", n)
		if err != nil || m.Revision != n || m.Slug != "a" || string(m.Document) != `{"n":`+strconv.Itoa(n)+`,"big":9007199254740993}` {
			t.Errorf("got %+v, %v; want revision %d as it was published", m, err, n)
		}
	}
	for _, n := range []int{0, 4, -1} {
		_, err := r.Manifest(t.Context(), "a", n)
		wantCode(t, err, invocation.ExtensionNotFound)
	}
}

// Under a race of publishers the revision grows by one at a time, a published
// revision never changes, and every one in force is there (SEC-56).
func TestRevisionOnlyGrows(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		if err := one.Registry.CreateExtension(t.Context(), registry.Extension{Slug: "a"}); err != nil {
			t.Fatal(err)
		}
		var published atomic.Int64
		var mu sync.Mutex
		seen := map[int]string{}
		look := func(r *registry.Registry, last int) int {
			e, err := r.Extension(t.Context(), "a")
			if err != nil || e.Revision < last {
				t.Errorf("got revision %d after %d, %v", e.Revision, last, err)
				return last
			}
			if e.Revision == 0 {
				return 0
			}
			m, err := r.Manifest(t.Context(), "a", e.Revision)
			if err != nil {
				t.Errorf("revision %d is in force and not there: %v", e.Revision, err)
				return last
			}
			mu.Lock()
			defer mu.Unlock()
			if doc, found := seen[e.Revision]; found && doc != string(m.Document) {
				t.Errorf("got revision %d as %s and as %s", e.Revision, doc, m.Document)
			}
			seen[e.Revision] = string(m.Document)
			return e.Revision
		}
		var wg sync.WaitGroup
		for i := range 10 {
			r := []*registry.Registry{one.Registry, other.Registry}[i%2]
			wg.Go(func() {
				last := 0
				for n := range 5 {
					e, err := r.Extension(t.Context(), "a")
					if err != nil {
						t.Errorf("read: %v", err)
						return
					}
					doc := json.RawMessage(`{"by":` + strconv.Itoa(i*100+n) + `}`)
					after, err := r.PublishManifest(t.Context(), e, registry.Manifest{Document: doc})
					switch {
					case err == nil:
						published.Add(1)
						if after.Revision != e.Revision+1 {
							t.Errorf("got revision %d after %d", after.Revision, e.Revision)
						}
						if m, err := r.Manifest(t.Context(), "a", after.Revision); err != nil || string(m.Document) != string(doc) {
							t.Errorf("got %s as the revision just published, %v; want %s", m.Document, err, doc)
						}
					case invocation.CodeOf(err) != invocation.ResourceConflict:
						t.Errorf("publish: %v", err)
					}
					last = look(r, last)
				}
			})
		}
		wg.Wait()
		brokertest.Eventually(t, within, "both replicas have the last revision", func() bool {
			a, errA := one.Registry.Extension(t.Context(), "a")
			b, errB := other.Registry.Extension(t.Context(), "a")
			return errA == nil && errB == nil && a.Revision == b.Revision && int64(a.Revision) >= max(published.Load(), 1)
		})
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		now := time.Now().UTC()
		on := invocation.NewLockID(0)
		a := registry.Session{ID: "ses_a", Lock: on, Slug: "a", InstalledAt: now.Add(time.Second)}
		b := registry.Session{ID: "ses_b", Lock: on, Slug: "b", InstalledAt: now}
		for _, s := range []registry.Session{a, b} {
			if err := one.Registry.CreateSession(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, one.Registry.CreateSession(t.Context(), a), invocation.ResourceConflict)
		if got, err := other.Registry.Session(t.Context(), "ses_a"); err != nil || toJSON(t, got) != toJSON(t, a) {
			t.Errorf("got %+v, %v; want %+v", got, err, a)
		}
		all, err := one.Registry.Sessions(t.Context(), func(s registry.Session) bool { return s.Lock == on })
		if err != nil || len(all) != 2 || all[0].ID != "ses_b" {
			t.Errorf("got %+v, %v; want both, oldest first", all, err)
		}
		for range 2 { // deleting what is not there is no error
			if err := one.Registry.DeleteSession(t.Context(), "ses_a"); err != nil {
				t.Fatal(err)
			}
		}
		_, err = one.Registry.Session(t.Context(), "ses_a")
		wantCode(t, err, invocation.SessionNotFound)
		brokertest.Eventually(t, 5*time.Second, "the other replica knows it no more", func() bool {
			_, err := other.Registry.Session(t.Context(), "ses_a")
			return err != nil && invocation.CodeOf(err) == invocation.SessionNotFound
		})
		if all, err := other.Registry.Sessions(t.Context(), func(registry.Session) bool { return true }); err != nil || len(all) != 1 {
			t.Errorf("got %+v, %v; want one left", all, err)
		}
	})
}

// storedBytes returns everything that a bucket holds, keys and headers included.
func storedBytes(t *testing.T, env ledgertest.Env, bucket string) string {
	t.Helper()
	s, err := env.Conn.JS.Stream(t.Context(), "KV_"+bucket)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for seq := range s.CachedInfo().State.LastSeq {
		m, err := s.GetMsg(t.Context(), seq+1)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(m.Subject + toJSON(t, m.Header) + string(m.Data))
	}
	return all.String()
}
