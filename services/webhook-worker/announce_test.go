package webhookworker_test

import (
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

func TestANewManifestReachesEveryActiveLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	w.extension("reader", r.url, "lock.*")
	w.extension("other", "")
	w.work(w.Platform, webhookworker.Config{})
	active := []invocation.LockID{w.lock(0, "reader"), w.lock(1, "reader", "other"), w.lock(1, "reader")}
	quiet := map[string]invocation.LockID{"without": w.lock(0, "other"), "finished": w.lock(0, "reader"), "removed": w.lock(0, "reader")}
	w.change(quiet["finished"], func(s lock.State) ledger.Transition {
		made, err := lock.Finish(s, time.Now())
		w.must(err)
		return ledger.Transition{State: made.State, At: time.Now()}
	})
	w.change(quiet["removed"], func(s lock.State) ledger.Transition {
		made, err := lock.Remove(s, "reader")
		w.must(err)
		return ledger.Transition{State: made.State, At: time.Now()}
	})
	w.publish("reader", "*")
	w.eventually("all active locks were told", func() bool {
		for _, id := range active {
			if w.changes(id) == 0 {
				return false
			}
		}
		return true
	})
	w.settled()
	for _, id := range active {
		page, err := w.Ledger.Events(t.Context(), ledger.EventQuery{Lock: id, Limit: 100})
		w.must(err)
		if len(page.Events) != 1 {
			t.Fatalf("got %d events, want 1", len(page.Events))
		}
		e := page.Events[0]
		if e.Source != (invocation.Source{Extension: "lock", Actor: invocation.ActorSystem}) {
			t.Errorf("got source %+v", e.Source)
		}
		if e.Chain != invocation.Root(e.ID, invocation.Starter{}) {
			t.Errorf("got chain %+v, want a root", e.Chain)
		}
	}
	for name, id := range quiet {
		if got := w.changes(id); got != 0 {
			t.Errorf("%s: got %d events, want none", name, got)
		}
	}
	if got := len(r.events("lock_event.created")); got != len(active) {
		t.Errorf("got %d deliveries, want %d", got, len(active))
	}
}

func TestARevisionIsAnnouncedOnceItIsInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.extension("reader", "")
	w.work(w.Platform, webhookworker.Config{})
	id := w.lock(0, "reader")
	// A publisher that stores the manifest and is slow to put it in force: the
	// extension that it read has been changed since.
	_, err := w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.DisplayName = "Reader"
		return nil
	})
	w.must(err)
	m := registry.Manifest{Document: w.document("reader", nil), At: time.Now()}
	if _, err := w.Registry.PublishManifest(t.Context(), e, m); invocation.CodeOf(err) != invocation.ResourceConflict {
		t.Fatalf("got %v, want a conflict", err)
	}
	w.eventually("the revision was looked at", func() bool {
		c, err := w.Conn.JS.Consumer(t.Context(), ledger.ManifestStream, ledger.AnnounceConsumer)
		w.must(err)
		return c.CachedInfo().NumRedelivered > 0
	})
	if got := w.changes(id); got != 0 {
		t.Fatalf("got %d events before the revision was in force", got)
	}
	_, err = w.Registry.UpdateExtension(t.Context(), "reader", func(e *registry.Extension) error {
		e.Revision++
		return nil
	})
	w.must(err)
	w.eventually("the lock was told", func() bool { return w.changes(id) == 1 })
}
