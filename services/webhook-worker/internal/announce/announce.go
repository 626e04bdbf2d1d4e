package announce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

func (h *Handler) announce(ctx context.Context, m registry.Manifest, again bool) error {
	n := newsOf(m)
	n.Again = again
	return n.Tell(ctx, h.platform)
}

func newsOf(m registry.Manifest) News {
	return News{Slug: m.Slug, ID: fmt.Sprintf("manifest\x00%s\x00%d", m.Slug, m.Revision), Step: transition}
}

// News is something that every active lock with an extension on it has to know.
type News struct {
	Slug invocation.Slug
	// ID tells these news from all others, so that a lock is told once.
	ID string
	// Again says that somebody may have told some of the locks before.
	Again bool
	// Step returns the step that tells such a lock.
	Step func(s lock.State, slug invocation.Slug, now time.Time) (ledger.Transition, error)
}

// Tell tells each lock, and goes on with the others where it can't.
func (n News) Tell(ctx context.Context, p *platform.Platform) error {
	sessions, err := p.Registry.Sessions(ctx, func(s registry.Session) bool { return s.Slug == n.Slug })
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range sessions {
		if ctx.Err() != nil {
			return broker.Retry(context.Cause(ctx), 0)
		}
		err := n.tell(ctx, p, s)
		if err != nil && !errors.Is(err, errNotThere) && invocation.CodeOf(err) != invocation.ResourceNotFound {
			failed = append(failed, fmt.Errorf("lock %s: %w", s.Lock, err))
		}
	}
	return errors.Join(failed...)
}

// tell makes the transition on one lock. Where somebody may have made it
// before, the lock's log is searched for it.
func (n News) tell(ctx context.Context, p *platform.Platform, s registry.Session) error {
	now, err := p.Ledger.Lock(ctx, s.Lock)
	if err != nil {
		return err
	}
	after := now.Seq
	if n.Again {
		after = 0
	}
	_, err = p.Ledger.Change(ctx, ledger.Change{
		Lock: s.Lock, From: now, Once: n.idOn(s.Lock), After: after,
		Decide: func(now ledger.Snapshot) (ledger.Transition, error) {
			return n.step(now.State, p.Ledger.Now())
		},
	})
	return err
}

// step returns the step that tells a lock, or errNotThere if it is not active or
// does not have the extension any more.
func (n News) step(s lock.State, now time.Time) (ledger.Transition, error) {
	if s.Status != lock.Active || !s.Installed(n.Slug) {
		return ledger.Transition{}, errNotThere
	}
	return n.Step(s, n.Slug, now)
}

// idOn returns what a lock's transition for the news is known by.
func (n News) idOn(l invocation.LockID) invocation.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", n.ID, l))
	return invocation.ID(hex.EncodeToString(sum[:12]))
}

// transition returns the step that tells a lock what it may offer now.
func transition(s lock.State, _ invocation.Slug, now time.Time) (ledger.Transition, error) {
	return ledger.Transition{
		State:  s,
		Events: []invocation.Emission{lock.CapabilitiesChanged()},
		Source: invocation.Source{Extension: lock.Self, Actor: invocation.ActorSystem},
		At:     now,
	}, nil
}

// EndpointChanged returns the step that tells a lock of an extension whose
// endpoint was suspended or answers again, with a line for people.
func EndpointChanged(line, reason string) func(lock.State, invocation.Slug, time.Time) (ledger.Transition, error) {
	return func(s lock.State, slug invocation.Slug, now time.Time) (ledger.Transition, error) {
		t, err := transition(s, slug, now)
		if err != nil {
			return t, err
		}
		payload, err := json.Marshal(struct {
			Extension invocation.Slug `json:"extension"`
			Reason    string          `json:"reason,omitempty"`
		}{slug, reason})
		t.History = []invocation.HistoryLine{{Type: line, Actor: invocation.ActorSystem, Payload: payload}}
		return t, err
	}
}
