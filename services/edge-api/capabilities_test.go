package edgeapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

type capabilitiesForm struct {
	Extensions []struct {
		Slug               string
		PartnerExtensionID *string
		Commands, Queries  []struct {
			ID        string
			Available bool
			Reason    *string
		}
	}
}

// reasons returns why each capability of an extension is not available.
func (f capabilitiesForm) reasons(slug string) map[string]string {
	out := make(map[string]string)
	for _, x := range f.Extensions {
		for _, c := range slices.Concat(x.Commands, x.Queries) {
			if x.Slug == slug && c.Reason != nil {
				out[c.ID] = *c.Reason
			}
		}
	}
	return out
}

func TestCapabilitiesListTheLockFirst(t *testing.T) {
	t.Parallel()
	lock := shared.newLock(t)
	s := shared.install(t, shared.newExtension(t), lock)
	other := shared.install(t, shared.newExtension(t), lock)
	silent := extension{slug: unique("silent")}
	shared.admin(t).do(http.MethodPost, "/api/admin/extensions", map[string]string{"slug": silent.slug, "displayName": "Silent"}).want(t, 201)
	shared.install(t, silent, lock)
	a := shared.client(t, s.token).do(http.MethodGet, s.path("/capabilities"), nil).want(t, 200)
	if strings.Contains(string(a.body), ":null,\"commands\"") && strings.Contains(string(a.body), `"queries":null`) {
		t.Errorf("S-02: got %s", a.body)
	}
	var got capabilitiesForm
	a.into(t, &got)
	var slugs []string
	for _, x := range got.Extensions {
		slugs = append(slugs, x.Slug)
	}
	want := []string{"lock", s.slug, other.slug}
	slices.Sort(want[1:])
	if !slices.Equal(slugs, want) {
		t.Errorf("got %v, want %v", slugs, want)
	}
	if got.Extensions[0].PartnerExtensionID != nil || got.Extensions[1].PartnerExtensionID == nil {
		t.Errorf("got %+v, want an id for partners only", got.Extensions[:2])
	}
}

func TestAvailabilityIsTheViewers(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	view := func(c client) capabilitiesForm {
		var got capabilitiesForm
		c.do(http.MethodGet, s.path("/capabilities"), nil).want(t, 200).into(t, &got)
		return got
	}
	extension := view(shared.client(t, s.token)).reasons(s.slug)
	wearer := view(shared.client(t, "").with("X-Chaster-Main-Token", newMainToken(t, s, "wearer"))).reasons(s.slug)
	keyholder := view(shared.client(t, "").with("X-Chaster-Main-Token", newMainToken(t, s, "keyholder"))).reasons(s.slug)
	if extension[s.slug+".mine"] != "not-invocable" || extension[s.slug+".echo"] != "" {
		t.Errorf("got %v for the extension", extension)
	}
	if wearer[s.slug+".mine"] != "" || wearer[s.slug+".hold"] != "not-invocable" {
		t.Errorf("got %v for the wearer", wearer)
	}
	if keyholder[s.slug+".mine"] != "not-invocable" || keyholder[s.slug+".echo"] != "" {
		t.Errorf("got %v for the keyholder", keyholder)
	}
	wearer = view(shared.client(t, "").with("X-Chaster-Main-Token", newMainToken(t, s, "wearer"))).reasons("lock")
	keyholder = view(shared.client(t, "").with("X-Chaster-Main-Token", newMainToken(t, s, "keyholder"))).reasons("lock")
	for _, id := range []string{"lock.remove-time", "lock.unfreeze", "lock.toggle-freeze", "lock.set-display-remaining-time"} {
		if wearer[id] != "not-invocable" || keyholder[id] == "not-invocable" {
			t.Errorf("%s: got %q for the wearer and %q for the keyholder", id, wearer[id], keyholder[id])
		}
	}
	if got, blocked := keyholder["lock.remove-time"]; blocked {
		t.Errorf("got %q, want the keyholder to be able to remove time", got)
	}
	if got := view(shared.client(t, s.token)).reasons("lock"); got["lock.unfreeze"] != "not-frozen" || got["lock.freeze"] != "" {
		t.Errorf("got %v for the lock", got)
	}
}

func TestAPageOfAnotherOriginCanReadCapabilities(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	page := shared.client(t, "").with("Origin", "https://ext.example")
	preflight := page.with("Access-Control-Request-Method", "GET").with("Access-Control-Request-Headers", "x-chaster-main-token")
	a := preflight.do(http.MethodOptions, s.path("/capabilities"), nil).want(t, 204)
	if a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "X-Chaster-Main-Token") ||
		a.header.Get("Access-Control-Allow-Methods") != "GET" {
		t.Errorf("S-36: got %v", a.header)
	}
	for name, a := range map[string]answer{
		"a wrong token": page.with("X-Chaster-Main-Token", "wrong").do(http.MethodGet, s.path("/capabilities"), nil),
		"no token":      page.do(http.MethodGet, s.path("/capabilities"), nil),
		"a good token":  page.with("X-Chaster-Main-Token", newMainToken(t, s, "wearer")).do(http.MethodGet, s.path("/capabilities"), nil),
	} {
		if got := a.header.Get("Access-Control-Allow-Origin"); got != "*" || a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("S-36: %s: got %v", name, a.header)
		}
	}
	for _, path := range []string{s.action("echo"), s.path("/events"), "/api/extensions/" + s.slug + "/manifest", "/api/admin/locks"} {
		a := preflight.do(http.MethodOptions, path, nil)
		a.refused(t, 405, invocation.MethodNotAllowed)
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("SEC-71: %s answers with %s", path, name)
			}
		}
	}
	shared.client(t, "").with("X-Chaster-Main-Token", "any").do(http.MethodPost, s.action("echo"), `{}`).refused(t, 401, invocation.Unauthorized)
}
