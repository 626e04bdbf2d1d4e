package lock

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// CapabilitiesChanged returns the event that tells every extension to read the
// lock's capabilities again (contract section 8).
func CapabilitiesChanged() invocation.Emission {
	return invocation.Emission{Type: "lock.capabilities-changed", Payload: json.RawMessage("{}")}
}

// Install puts an extension on the lock under its session and emits
// lock.capabilities-changed. It refuses with InvalidInput when the slug or the
// session is malformed, with ResourceConflict when the extension, its session
// or MaxExtensions others are there already, and with Unavailable on a lock
// that is not active. Whether a built-in has behaviour is not asked here: see
// [Implemented].
func Install(s State, slug invocation.Slug, session invocation.SessionID, now time.Time) (Change, error) {
	if err := refuse(installProblems(slug, session)); err != nil {
		return Change{}, err
	}
	if err := s.mustBeActive(); err != nil {
		return Change{}, err
	}
	if s.Installed(slug) {
		return Change{}, invocation.Refusef(invocation.ResourceConflict, "the extension is already on the lock")
	}
	if slices.ContainsFunc(s.Extensions, func(x Installed) bool { return x.Session == session }) {
		return Change{}, invocation.Refusef(invocation.ResourceConflict, "the session belongs to another extension")
	}
	if len(s.Extensions) >= MaxExtensions {
		return Change{}, invocation.Refusef(invocation.ResourceConflict, "a lock has at most %d extensions", MaxExtensions)
	}
	i, _ := s.find(slug)
	added := Installed{Slug: slug, Session: session, InstalledAt: invocation.Instant(now)}
	s.Extensions = slices.Insert(slices.Clone(s.Extensions), i, added)
	if b, known := builtOf(slug); known && b.install != nil {
		b.install(&s.Apps, nil) // the default has no problems
	}
	return s.recomposed("extension_installed", slug), nil
}

// Remove takes an extension off the lock, whose session ends with it, and
// emits lock.capabilities-changed. It refuses with ExtensionNotFound when the
// extension is not on the lock, with ResourceConflict for the lock itself, and
// with Unavailable on a lock that is not active.
func Remove(s State, slug invocation.Slug) (Change, error) {
	if err := s.mustBeActive(); err != nil {
		return Change{}, err
	}
	if slug == Self {
		return Change{}, invocation.Refusef(invocation.ResourceConflict, "a lock's own capabilities can't be removed")
	}
	i, found := s.find(slug)
	if !found {
		return Change{}, invocation.Refuse(invocation.ExtensionNotFound)
	}
	s.Extensions = slices.Delete(slices.Clone(s.Extensions), i, i+1)
	if b, known := builtOf(slug); known && b.remove != nil {
		b.remove(&s.Apps)
	}
	return s.recomposed("extension_removed", slug), nil
}

// Finish ends the lock for good: no command runs on it any more. A running
// freeze stays visible in the state. It refuses with Unavailable on a lock
// that is not active.
func Finish(s State, now time.Time) (Change, error) {
	if err := s.mustBeActive(); err != nil {
		return Change{}, err
	}
	s.Status = Finished
	s.FinishedAt = new(invocation.Instant(now))
	return Change{State: s, History: []invocation.HistoryLine{byPlatform("lock_finished", "{}")}}, nil
}

// recomposed returns the change of a lock whose set of extensions is new.
func (s State) recomposed(line string, slug invocation.Slug) Change {
	return Change{
		State:   s,
		Events:  []invocation.Emission{CapabilitiesChanged()},
		History: []invocation.HistoryLine{byPlatform(line, fmt.Sprintf(`{"slug":%q}`, slug))},
	}
}

func (s State) mustBeActive() error {
	if s.Status == Active {
		return nil
	}
	return invocation.Refusef(invocation.Unavailable, "%s", LockNotActive.Sentence()).With("reason", string(LockNotActive))
}

func installProblems(slug invocation.Slug, session invocation.SessionID) []invocation.Problem {
	var found []invocation.Problem
	if !invocation.ValidSlug(string(slug)) {
		found = append(found, invocation.Problem{InstancePath: "/slug", Message: `must match pattern "^[a-z0-9-]{1,40}$"`})
	}
	if !invocation.ValidSession(string(session)) {
		found = append(found, invocation.Problem{
			InstancePath: "/sessionId", Message: `must match pattern "^[A-Za-z0-9_-]{1,64}$"`,
		})
	}
	return found
}
