package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

type sessionAnswer struct {
	SessionID   invocation.SessionID `json:"sessionId"`
	Slug        invocation.Slug      `json:"slug"`
	LockID      invocation.LockID    `json:"lockId"`
	InstalledAt string               `json:"installedAt"`
}

func newSession(s registry.Session) sessionAnswer {
	return sessionAnswer{SessionID: s.ID, Slug: s.Slug, LockID: s.Lock, InstalledAt: invocation.FormatTime(s.InstalledAt)}
}

func (a *API) listSessions(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.lock(r)
	if err != nil {
		return err
	}
	var items []sessionAnswer
	for _, x := range snap.State.Extensions {
		items = append(items, newSession(registry.Session{ID: x.Session, Slug: x.Slug, Lock: snap.State.ID, InstalledAt: x.InstalledAt}))
	}
	return wire.Answer(w, http.StatusOK, whole(items))
}

func (a *API) getSession(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	return ok(w, http.StatusOK, newSession(s), err)
}

// session returns the session that the path names.
func (a *API) session(r *http.Request) (registry.Session, error) {
	return a.registry.Session(r.Context(), invocation.SessionID(r.PathValue("sessionId")))
}

func (a *API) createSession(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.lock(r)
	if err != nil {
		return err
	}
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	f.Require("slug")
	slug, _ := f.Text("slug")
	if !invocation.ValidSlug(slug) {
		f.Wrong("slug", `must match pattern "^[a-z0-9-]{1,40}$"`)
	}
	config, _ := f.Raw("config")
	if err := f.Err(); err != nil {
		return err
	}
	s := registry.Session{
		ID: invocation.NewSessionID(), Lock: snap.State.ID, Slug: invocation.Slug(slug),
		InstalledAt: invocation.Instant(a.ledger.Now()),
	}
	if err := a.installable(r.Context(), s.Slug); err != nil {
		return err
	}
	// A caller that hangs up leaves neither half of it behind.
	err = a.install(context.WithoutCancel(r.Context()), s, config)
	return ok(w, http.StatusCreated, newSession(s), err)
}

// installable returns ExtensionNotFound for what nobody can install: a slug
// that no partner has, or a built-in without behaviour here.
func (a *API) installable(ctx context.Context, slug invocation.Slug) error {
	if lock.Implemented(slug) {
		return nil
	}
	if catalog.Reserved(slug) {
		return invocation.Refuse(invocation.ExtensionNotFound)
	}
	_, err := a.registry.Extension(ctx, slug)
	return err
}

// install stores the session and then puts it on the lock: a crash in between
// leaves a session that nobody was told of, and never a lock with a session
// that does not exist. Where the lock refuses, the session is taken back; where
// it is not known what the lock did, it stays.
func (a *API) install(ctx context.Context, s registry.Session, config json.RawMessage) error {
	if err := a.registry.CreateSession(ctx, s); err != nil {
		return err
	}
	snap, err := a.ledger.Lock(ctx, s.Lock)
	if err != nil {
		return err
	}
	_, err = a.change(ctx, snap, func(state lock.State, _ time.Time) (lock.Change, error) {
		c, err := lock.Install(state, s.Slug, s.ID, s.InstalledAt)
		if err != nil || config == nil {
			return c, err
		}
		c.State, err = lock.Configure(c.State, s.Slug, config)
		return c, err
	})
	switch invocation.CodeOf(err) { //nolint:exhaustive // these are what Install refuses with
	case invocation.ResourceConflict, invocation.Unavailable, invocation.InvalidInput, invocation.ExtensionNotFound:
		if gone := a.registry.DeleteSession(ctx, s.ID); gone != nil {
			return gone
		}
	}
	return err
}

func (a *API) deleteSession(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	return noContent(w, a.uninstall(context.WithoutCancel(r.Context()), s))
}

// uninstall takes the session off the lock and then deletes it. One that an
// earlier try left behind, off the lock already, is deleted.
func (a *API) uninstall(ctx context.Context, s registry.Session) error {
	snap, err := a.ledger.Lock(ctx, s.Lock)
	if invocation.CodeOf(err) == invocation.ResourceNotFound { // the lock was purged
		return a.registry.DeleteSession(ctx, s.ID)
	}
	if err != nil {
		return err
	}
	_, err = a.change(ctx, snap, func(state lock.State, _ time.Time) (lock.Change, error) {
		if on, found := state.SessionOf(s.Slug); !found || on != s.ID {
			return lock.Change{}, invocation.Refuse(invocation.ExtensionNotFound)
		}
		return lock.Remove(state, s.Slug)
	})
	if err != nil && invocation.CodeOf(err) != invocation.ExtensionNotFound {
		return err
	}
	return a.registry.DeleteSession(ctx, s.ID)
}
