package intake_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// offers are the reasons of each offer, by slug, in the order of the answer.
func (s *stand) offers(tb testing.TB, l platformtest.Lock, as invocation.Actor) (slugs []invocation.Slug, reasons map[invocation.CapabilityID]lock.Reason) {
	tb.Helper()
	offers, err := s.in.Capabilities(tb.Context(), intake.Viewer{Session: l.Session("caller"), As: as})
	if err != nil {
		tb.Fatal(err)
	}
	reasons = make(map[invocation.CapabilityID]lock.Reason)
	for _, o := range offers {
		slugs = append(slugs, o.Extension.Slug)
		maps.Copy(reasons, o.Reasons)
		for c := range o.Manifest.Callables() {
			if c.ID.Slug() != o.Extension.Slug {
				tb.Errorf("%s offers %s", o.Extension.Slug, c.ID)
			}
		}
	}
	return slugs, reasons
}

func TestCapabilitiesAreInTheContractsOrder(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	platformtest.Publish(t, s.p, "silent", "", nil)
	for _, slug := range []invocation.Slug{"aardvark", "zebra", "kite"} {
		platformtest.Publish(t, s.p, slug, platformtest.BareManifest, nil)
	}
	l := platformtest.NewLock(t, s.p, "zebra", "probe", "caller", "silent", "aardvark", "tasks")
	got, _ := s.offers(t, l, invocation.ActorExtension)
	// The lock first, then built-ins; one without a manifest offers nothing; kite
	// is not installed.
	if want := []invocation.Slug{"lock", "tasks", "aardvark", "caller", "probe", "zebra"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Availability is the viewer's: an extension's, or that of the person who
// looks at its page (contract section 4).
func TestCapabilitiesByViewer(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{})
	platformtest.Publish(t, s.p, "homeless", strings.ReplaceAll(platformtest.ProbeManifest, "probe.", "homeless."), nil)
	platformtest.Publish(t, s.p, "disabled", strings.ReplaceAll(platformtest.ProbeManifest, "probe.", "disabled."), func(e *registry.Extension) {
		e.WebhookURL, e.Disabled = "https://disabled.example/", true
	})
	slugs := []invocation.Slug{"caller", "probe", "homeless", "disabled"}
	open, finished := platformtest.NewLock(t, s.p, slugs...), platformtest.NewLock(t, s.p, slugs...)
	platformtest.Finish(t, s.p, finished.ID)
	none := lock.Reason("")
	for name, tc := range map[string]struct {
		on   platformtest.Lock
		as   invocation.Actor
		want map[invocation.CapabilityID]lock.Reason // none means available
	}{
		"an extension": {open, invocation.ActorExtension, map[invocation.CapabilityID]lock.Reason{
			"lock.add-time": none, "lock.remove-time": none, "lock.freeze": none, "lock.unfreeze": lock.NotFrozen, "lock.toggle-freeze": none,
			"lock.pillory": lock.PilloryNotEnabled, "lock.set-display-remaining-time": none,
			"probe.echo": none, "probe.strict": none, "probe.people": lock.NotInvocable, "probe.peek": none,
			"homeless.echo": lock.EndpointNotConfigured, "disabled.echo": lock.ExtensionDisabled, "disabled.peek": lock.ExtensionDisabled,
		}},
		"the wearer": {open, invocation.ActorWearer, map[invocation.CapabilityID]lock.Reason{
			"lock.add-time": none, "lock.remove-time": lock.NotInvocable, "lock.toggle-freeze": lock.NotInvocable,
			"lock.set-display-remaining-time": lock.NotInvocable, "lock.unfreeze": lock.NotInvocable, "lock.freeze": none,
			"probe.echo": none, "probe.people": none, "probe.strict": lock.NotInvocable, "probe.peek": lock.NotInvocable,
		}},
		"the keyholder": {open, invocation.ActorKeyholder, map[invocation.CapabilityID]lock.Reason{
			"lock.add-time": none, "lock.remove-time": none, "lock.toggle-freeze": none, "probe.echo": none, "probe.people": none, "probe.strict": lock.NotInvocable,
		}},
		"on a finished lock": {finished, invocation.ActorExtension, map[invocation.CapabilityID]lock.Reason{
			"lock.add-time": lock.LockNotActive, "lock.freeze": lock.LockNotActive, "probe.echo": lock.LockNotActive, "disabled.echo": lock.LockNotActive,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got := s.offers(t, tc.on, tc.as)
			for id, want := range tc.want {
				if got[id] != want {
					t.Errorf("%s: got %q, want %q", id, got[id], want)
				}
			}
		})
	}
}

// What is said to be available is admitted, and what is not is refused with the
// reason that was given.
func TestCapabilitiesAgreeWithAdmission(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	inputs := map[invocation.CapabilityID]string{
		"lock.add-time": `{"duration":1}`, "lock.remove-time": `{"duration":1}`, "lock.pillory": `{"duration":300}`,
		"lock.set-display-remaining-time": `{"displayRemainingTime":true}`, "probe.strict": `{"n":1}`,
	}
	l := s.lock(t)
	offers, err := s.in.Capabilities(t.Context(), intake.Viewer{Session: l.Session("caller"), As: invocation.ActorExtension})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offers {
		for c := range o.Manifest.Callables() {
			call := s.echo(t, l, "agree on "+string(c.ID))
			call.Command, call.Input = c.ID, []byte(inputs[c.ID])
			_, err := s.in.Invoke(t.Context(), call)
			switch reason := o.Reasons[c.ID]; {
			case reason == "" && err != nil:
				t.Errorf("%s is available: got %v", c.ID, err)
			case reason == lock.NotInvocable && invocation.CodeOf(err) != invocation.NotInvocable:
				t.Errorf("%s is not invocable: got %v", c.ID, err)
			case reason != "" && reason != lock.NotInvocable && invocation.AsError(err).Facts["reason"] != string(reason):
				t.Errorf("%s: got %v %v, want unavailable with %s", c.ID, err, invocation.AsError(err).Facts, reason)
			}
		}
	}
}

// A new manifest is in force at once in the replica that published it, and an
// invocation keeps the revision that admitted it (contract section 5).
func TestAdmissionFollowsTheManifest(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, intake.Config{Wait: short})
	l := s.lock(t)
	old := s.invoke(t, s.echo(t, l, "old"))
	e, err := s.p.Registry.Extension(t.Context(), "probe")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(platformtest.ProbeManifest, `"id":"probe.peek"`, `"id":"probe.glance"`)
	if _, err := s.p.Registry.PublishManifest(t.Context(), e, registry.Manifest{Document: []byte(doc)}); err != nil {
		t.Fatal(err)
	}
	c := s.echo(t, l, "peek")
	c.Command = "probe.peek"
	_, err = s.in.Invoke(t.Context(), c)
	_ = refusal(t, err, invocation.UnknownCapability)
	c.Command = "probe.glance"
	if a := s.invoke(t, c); a.Invocation.Revision != 2 {
		t.Errorf("got revision %d, want 2", a.Invocation.Revision)
	}
	if again := s.invoke(t, s.echo(t, l, "old")); again.Invocation.Revision != 1 || again.Invocation.ID != old.Invocation.ID {
		t.Errorf("got revision %d of the old call, want 1", again.Invocation.Revision)
	}
}
