package catalog_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every built-in with behaviour is offered as the contract says, with exactly
// the commands that it runs.
func TestBuiltInsAreOffered(t *testing.T) {
	t.Parallel()
	p := platformtest.New(t, platform.Config{}, nil).Open(t)
	for _, name := range contracts.BuiltIns() {
		slug := invocation.Slug(name)
		if !catalog.Reserved(slug) {
			t.Errorf("%s is free for a partner", slug)
		}
		if got := p.Catalog.BuiltIn(slug); got != lock.Implemented(slug) {
			t.Errorf("%s: got built-in %t, want %t", slug, got, lock.Implemented(slug))
		}
		e, offered, err := p.Catalog.Offered(t.Context(), slug)
		if !lock.Implemented(slug) {
			if invocation.CodeOf(err) != invocation.ExtensionNotFound {
				t.Errorf("%s: got %v, want extension-not-found", slug, err)
			}
			continue
		}
		if err != nil || e.Slug != slug || e.ID != "" || e.DisplayName == "" || e.Revision != 1 {
			t.Errorf("%s: got %+v, %v", slug, e, err)
		}
		for _, id := range lock.Commands(slug) {
			if _, found := offered.Command(id); !found {
				t.Errorf("%s runs and is not offered", id)
			}
		}
		for c := range offered.Callables() {
			if c.Kind == invocation.Command && !slices.Contains(lock.Commands(slug), c.ID) {
				t.Errorf("%s is offered and does not run", c.ID)
			}
		}
		for _, revision := range []int{1, 2} { // a release knows one manifest of a built-in
			if again, err := p.Catalog.At(t.Context(), slug, revision); err != nil || again != offered {
				t.Errorf("%s revision %d: got %v", slug, revision, err)
			}
		}
	}
}

// The platform's own slugs are no partner's (SEC-54).
func TestReservedSlugs(t *testing.T) {
	t.Parallel()
	for slug, want := range map[invocation.Slug]bool{
		"lock": true, "tasks": true, "penalty": true, "verification-picture": true, "temporary-opening": true, "pillory": true,
		"dice": true, "link": true, "wheel-of-fortune": true, "chaster": true, "system": true, "sessions": true,
		"my-ext": false, "locks": false, "": false,
	} {
		if got := catalog.Reserved(slug); got != want {
			t.Errorf("%q: got %t, want %t", slug, got, want)
		}
	}
}

// A call is answered by the revision that admitted it, whatever is in force by
// then (contract section 5).
func TestRevisionsStay(t *testing.T) {
	t.Parallel()
	p := platformtest.New(t, platform.Config{}, nil).Open(t)
	platformtest.Publish(t, p, "silent", "", nil)
	e := platformtest.Publish(t, p, "probe", platformtest.ProbeManifest, nil)
	doc := strings.ReplaceAll(platformtest.ProbeManifest, "probe.echo", "probe.repeat")
	if _, err := p.Registry.PublishManifest(t.Context(), e, registry.Manifest{Document: []byte(doc)}); err != nil {
		t.Fatal(err)
	}
	e, offered, err := p.Catalog.Offered(t.Context(), "probe")
	if err != nil || e.Revision != 2 {
		t.Fatalf("got %+v, %v", e, err)
	}
	old, err := p.Catalog.At(t.Context(), "probe", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		m    *manifest.Compiled
		id   invocation.CapabilityID
		want bool
	}{
		"the new one has the new name":     {offered, "probe.repeat", true},
		"the new one has not the old name": {offered, "probe.echo", false},
		"the old one has the old name":     {old, "probe.echo", true},
		"the old one has not the new name": {old, "probe.repeat", false},
	} {
		if _, got := tc.m.Callable(tc.id); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	for _, revision := range []int{0, 3, -1} {
		if _, err := p.Catalog.At(t.Context(), "probe", revision); invocation.CodeOf(err) != invocation.ExtensionNotFound {
			t.Errorf("revision %d: got %v, want extension-not-found", revision, err)
		}
	}
	if _, m, err := p.Catalog.Offered(t.Context(), "silent"); m != nil || err != nil {
		t.Errorf("got %v, %v of one that has published nothing", m, err)
	}
	if _, _, err := p.Catalog.Offered(t.Context(), "nobody"); invocation.CodeOf(err) != invocation.ExtensionNotFound {
		t.Errorf("got %v, want extension-not-found", err)
	}
}

// Many who ask at once get the same compiled manifest.
func TestManifestsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	p := platformtest.New(t, platform.Config{}, nil).Open(t)
	platformtest.Publish(t, p, "probe", platformtest.ProbeManifest, nil)
	first, err := p.Catalog.At(t.Context(), "probe", 1)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if _, m, err := p.Catalog.Offered(t.Context(), "probe"); err != nil || m != first {
				t.Errorf("got another one, %v", err)
			}
		})
	}
	wg.Wait()
}
