package platformtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/platform"
)

// ProbeManifest is the manifest of the extension that most tests call: commands
// with an open and with a strict schema, a query, one that only people may
// call, a field with options, and two events.
const ProbeManifest = `{
 "commands":[
  {"id":"probe.echo","title":"Echo","invocableBy":["extension","wearer","keyholder"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
  {"id":"probe.strict","title":"Strict","invocableBy":["extension"],
   "inputSchema":{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer","minimum":1}}},
   "outputSchema":{"type":"object","required":["left"],"additionalProperties":false,"properties":{"left":{"type":"integer","minimum":0}}}},
  {"id":"probe.people","title":"People","invocableBy":["wearer","keyholder"],
   "inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"habit":{"type":"string","x-chaster-options":true}}},"outputSchema":{"type":"object"}}],
 "queries":[
  {"id":"probe.peek","title":"Peek","invocableBy":["extension"],
   "inputSchema":{"type":"object","properties":{"habit":{"type":"string","x-chaster-options":true}}},"outputSchema":{"type":"object"}}],
 "events":[
  {"id":"probe.done","payloadSchema":{"type":"object"}},
  {"id":"probe.counted","payloadSchema":{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer"}}}}],
 "subscriptions":[]}`

// BareManifest is the manifest of an extension that offers nothing.
const BareManifest = `{}`

// Publish registers a partner extension and publishes its manifest, unless that
// is empty. What the extension is beyond its slug and id, change says; it may
// be nil.
func Publish(tb testing.TB, p *platform.Platform, slug invocation.Slug, document string, change func(*registry.Extension)) registry.Extension {
	tb.Helper()
	e := registry.Extension{
		ID: invocation.NewExtensionID(), Slug: slug, DisplayName: "The " + string(slug), CreatedAt: invocation.Instant(time.Now()),
	}
	if change != nil {
		change(&e)
	}
	if err := p.Registry.CreateExtension(tb.Context(), e); err != nil {
		tb.Fatalf("create %s: %v", slug, err)
	}
	e, err := p.Registry.Extension(tb.Context(), slug)
	if err != nil {
		tb.Fatalf("read %s: %v", slug, err)
	}
	if document == "" {
		return e
	}
	doc, err := manifest.Parse(slug, []byte(document), nil)
	if err != nil {
		tb.Fatalf("parse the manifest of %s: %+v", slug, invocation.AsError(err).Problems)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		tb.Fatalf("encode the manifest of %s: %v", slug, err)
	}
	if e, err = p.Registry.PublishManifest(tb.Context(), e, registry.Manifest{Document: raw, At: time.Now()}); err != nil {
		tb.Fatalf("publish the manifest of %s: %v", slug, err)
	}
	return e
}

// Change changes an extension.
func Change(tb testing.TB, p *platform.Platform, slug invocation.Slug, change func(*registry.Extension)) {
	tb.Helper()
	_, err := p.Registry.UpdateExtension(tb.Context(), slug, func(e *registry.Extension) error {
		change(e)
		return nil
	})
	if err != nil {
		tb.Fatalf("change %s: %v", slug, err)
	}
}

// A Lock is an active lock that ends in ten days.
type Lock struct {
	ID       invocation.LockID
	sessions map[invocation.Slug]registry.Session
}

// Session returns the session of an extension that was installed with the lock.
func (l Lock) Session(slug invocation.Slug) registry.Session { return l.sessions[slug] }

// NewLock makes a lock with a keyholder and these extensions installed.
func NewLock(tb testing.TB, p *platform.Platform, slugs ...invocation.Slug) Lock {
	tb.Helper()
	return newLock(tb, p, &lock.Person{ID: "keyholder", Name: "Kim"}, slugs...)
}

// NewLockAlone is NewLock without a keyholder.
func NewLockAlone(tb testing.TB, p *platform.Platform, slugs ...invocation.Slug) Lock {
	tb.Helper()
	return newLock(tb, p, nil, slugs...)
}

func newLock(tb testing.TB, p *platform.Platform, keyholder *lock.Person, slugs ...invocation.Slug) Lock {
	tb.Helper()
	now := p.Ledger.Now()
	l := Lock{ID: invocation.NewLockID(0), sessions: make(map[invocation.Slug]registry.Session)}
	made, err := lock.New(lock.Spec{
		ID: l.ID, Wearer: lock.Person{ID: "wearer", Name: "Wim"}, Keyholder: keyholder, EndDate: now.Add(240 * time.Hour),
	}, now)
	if err != nil {
		tb.Fatalf("make a lock: %+v", invocation.AsError(err).Problems)
	}
	for _, slug := range slugs {
		s := registry.Session{ID: invocation.NewSessionID(), Lock: l.ID, Slug: slug, InstalledAt: now}
		if made, err = lock.Install(made.State, slug, s.ID, now); err != nil {
			tb.Fatalf("install %s: %v", slug, err)
		}
		if err := p.Registry.CreateSession(tb.Context(), s); err != nil {
			tb.Fatalf("create the session of %s: %v", slug, err)
		}
		l.sessions[slug] = s
	}
	Transit(tb, p, l.ID, ledger.Transition{State: made.State})
	return l
}

// Transit puts a transition into a lock's log. A zero state leaves the lock as
// it is, and its time is now.
func Transit(tb testing.TB, p *platform.Platform, id invocation.LockID, next ledger.Transition) ledger.Entry {
	tb.Helper()
	entry, err := p.Ledger.Change(tb.Context(), ledger.Change{Lock: id, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
		if next.State.ID == "" {
			next.State = s.State
		}
		next.At = p.Ledger.Now()
		return next, nil
	}})
	if err != nil {
		tb.Fatalf("change the lock: %v", err)
	}
	return entry
}

// Finish ends a lock.
func Finish(tb testing.TB, p *platform.Platform, id invocation.LockID) {
	tb.Helper()
	s, err := p.Ledger.Lock(tb.Context(), id)
	if err != nil {
		tb.Fatalf("read the lock: %v", err)
	}
	c, err := lock.Finish(s.State, p.Ledger.Now())
	if err != nil {
		tb.Fatalf("finish the lock: %v", err)
	}
	Transit(tb, p, id, ledger.Transition{State: c.State})
}

// Event puts an event into a lock's log: from an extension, at a place in a
// chain; the zero chain makes it a root.
func Event(tb testing.TB, p *platform.Platform, id invocation.LockID, from invocation.Slug, chain invocation.Chain) invocation.Event {
	tb.Helper()
	entry := Transit(tb, p, id, ledger.Transition{
		Events: []invocation.Emission{{Type: invocation.CapabilityID(from + ".happened"), Payload: json.RawMessage("{}")}},
		Source: invocation.Source{Extension: from, Actor: invocation.ActorExtension},
		Chain:  chain,
	})
	return entry.Committed()[0]
}

// Events returns all events of a lock in the order of its log.
func Events(tb testing.TB, p *platform.Platform, id invocation.LockID) []invocation.Event {
	tb.Helper()
	page, err := p.Ledger.Events(tb.Context(), ledger.EventQuery{Lock: id, Limit: 1000})
	if err != nil {
		tb.Fatalf("read the events: %v", err)
	}
	return page.Events
}
