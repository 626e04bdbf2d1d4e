package announce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/platform"
)

const (
	// FirstWait and mostWait are how long a stored revision is given to come
	// into force before it is looked at again.
	firstWait = time.Second
	mostWait  = 15 * time.Second
	// Patience is how long a revision may be stored without being in force:
	// far longer than its publisher takes. One whose publisher died in between
	// is never in force, and the next to be published takes its place.
	patience = 15 * time.Minute
)

var (
	errNotInForce = errors.New("the revision is not in force yet")
	errNotThere   = errors.New("the lock has no need to know")
)

// A Handler handles the messages of the bucket of manifests.
type Handler struct{ platform *platform.Platform }

// New returns a handler.
func New(p *platform.Platform) *Handler { return &Handler{platform: p} }

// Handle announces one revision. When it returns nil, every lock that has to
// know was told, or there is nothing to tell.
func (h *Handler) Handle(ctx context.Context, m broker.Delivery) error {
	published, stored, err := registry.ParseManifest(m)
	if err != nil || !stored {
		return err
	}
	e, err := h.platform.Registry.Extension(ctx, published.Slug)
	if invocation.CodeOf(err) == invocation.ExtensionNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case e.Revision > published.Revision: // that one is announced by its own message
		return nil
	case e.Revision < published.Revision && h.platform.Ledger.Now().Sub(m.Stored) > patience:
		return nil
	case e.Revision < published.Revision:
		return broker.Retry(errNotInForce, m.Backoff(firstWait, mostWait))
	}
	return h.announce(ctx, published, m.Attempt > 1)
}

// announce tells each lock, and goes on with the others where it can't.
func (h *Handler) announce(ctx context.Context, m registry.Manifest, again bool) error {
	sessions, err := h.platform.Registry.Sessions(ctx, func(s registry.Session) bool { return s.Slug == m.Slug })
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range sessions {
		if ctx.Err() != nil {
			return broker.Retry(context.Cause(ctx), 0)
		}
		err := h.tell(ctx, s, idOf(m, s.Lock), again)
		if err != nil && !errors.Is(err, errNotThere) && invocation.CodeOf(err) != invocation.ResourceNotFound {
			failed = append(failed, fmt.Errorf("lock %s: %w", s.Lock, err))
		}
	}
	return errors.Join(failed...)
}

// tell makes the transition on one lock. Where somebody may have made it
// before, the lock's log is searched for it.
func (h *Handler) tell(ctx context.Context, s registry.Session, id invocation.ID, again bool) error {
	now, err := h.platform.Ledger.Lock(ctx, s.Lock)
	if err != nil {
		return err
	}
	after := now.Seq
	if again {
		after = 0
	}
	_, err = h.platform.Ledger.Change(ctx, ledger.Change{
		Lock: s.Lock, From: now, Once: id, After: after,
		Decide: func(now ledger.Snapshot) (ledger.Transition, error) {
			return transition(now.State, s.Slug, h.platform.Ledger.Now())
		},
	})
	return err
}

// transition returns the step that tells a lock, or errNotThere if it is not
// active or does not have the extension any more.
func transition(s lock.State, slug invocation.Slug, now time.Time) (ledger.Transition, error) {
	if s.Status != lock.Active || !s.Installed(slug) {
		return ledger.Transition{}, errNotThere
	}
	return ledger.Transition{
		State:  s,
		Events: []invocation.Emission{lock.CapabilitiesChanged()},
		Source: invocation.Source{Extension: lock.Self, Actor: invocation.ActorSystem},
		At:     now,
	}, nil
}

// idOf returns what a lock's transition for a revision is known by.
func idOf(m registry.Manifest, l invocation.LockID) invocation.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "manifest\x00%s\x00%d\x00%s", m.Slug, m.Revision, l))
	return invocation.ID(hex.EncodeToString(sum[:12]))
}
