package edgeapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

func TestWhatIsNoTokenIsUnauthorized(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	tests := map[string]http.Header{
		"SEC-63: no header":                  {},
		"SEC-63: a scheme alone":             {"Authorization": {"Bearer"}},
		"SEC-63: a scheme and a blank":       {"Authorization": {"Bearer "}},
		"SEC-63: another scheme":             {"Authorization": {"Basic " + s.token}},
		"SEC-63: a token without a scheme":   {"Authorization": {s.token}},
		"SEC-63: two headers":                {"Authorization": {"Bearer " + s.token, "Bearer " + s.token}},
		"SEC-63: an unknown token":           {"Authorization": {"Bearer cdt_unknown"}},
		"SEC-63: 10 KB":                      {"Authorization": {"Bearer " + strings.Repeat("x", 10<<10)}},
		"SEC-63: a token with a blank":       {"Authorization": {"Bearer  " + s.token}},
		"SEC-68: a main token opens nothing": {"X-Chaster-Main-Token": {s.token}},
	}
	endpoints := map[string]string{
		http.MethodPost + " " + s.action("echo"):                               call(""),
		http.MethodGet + " " + s.path("/events"):                               "",
		http.MethodPost + " " + s.path("/events"):                              `{}`,
		http.MethodGet + " " + s.path("/invocations/0123456789abcdef01234567"): "",
		http.MethodGet + " /api/extensions/" + s.slug + "/manifest":            "",
		http.MethodPut + " /api/extensions/" + s.slug + "/manifest":            "{}",
		http.MethodGet + " /api/admin/locks":                                   "",
		http.MethodPost + " /api/admin/locks":                                  "no JSON",
	}
	var first []byte
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		for endpoint, body := range endpoints {
			method, path, _ := strings.Cut(endpoint, " ")
			a := client{t, shared.server.URL, tests[name]}.do(method, path, body)
			a.refused(t, 401, invocation.Unauthorized)
			if got := a.header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("%s, %s: got WWW-Authenticate %q, want Bearer", name, endpoint, got)
			}
			if first == nil {
				first = a.body
			}
			if !bytes.Equal(a.body, first) {
				t.Errorf("%s, %s: got %s, want the same for all: %s", name, endpoint, a.body, first)
			}
		}
	}
}

// A token belongs in a header (SEC-64).
func TestTokensInAnAddressOpenNothingAndAreNotLogged(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	for _, name := range []string{"access_token", "token"} {
		shared.client(t, "").do(http.MethodGet, s.path("/events?"+name+"="+s.token), nil).refused(t, 401, invocation.Unauthorized)
	}
	if strings.Contains(shared.logs.String(), s.token) {
		t.Error("a token is in the log")
	}
}

func TestInvocationsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	a, b := shared.newExtension(t), shared.newExtension(t)
	one, two := shared.newLock(t), shared.newLock(t)
	sessions := []session{shared.install(t, a, one), shared.install(t, a, two), shared.install(t, b, one), shared.install(t, b, two)}
	type made struct {
		session
		id string
	}
	var all []made
	for _, s := range sessions {
		var inv struct{ InvocationID string }
		shared.client(t, s.token).do(http.MethodPost, s.action("echo"), call("")).want(t, 200).into(t, &inv)
		all = append(all, made{s, inv.InvocationID})
	}
	for _, reader := range sessions {
		for _, m := range all {
			got := shared.client(t, reader.token).do(http.MethodGet, reader.path("/invocations/"+m.id), nil)
			if m.session == reader {
				got.want(t, 200)
				continue
			}
			got.refused(t, 404, invocation.InvocationNotFound)
		}
		unknown := shared.client(t, reader.token).do(http.MethodGet, reader.path("/invocations/0123456789abcdef01234567"), nil)
		malformed := shared.client(t, reader.token).do(http.MethodGet, reader.path("/invocations/a%2Fb"), nil)
		if unknown.refused(t, 404, invocation.InvocationNotFound); !bytes.Equal(unknown.body, malformed.body) {
			t.Errorf("got %s and %s, want the same", unknown.body, malformed.body)
		}
	}
}

// newMainToken makes a main page token through the API.
func newMainToken(t *testing.T, s session, role string) string {
	t.Helper()
	var made struct{ Token string }
	shared.admin(t).do(http.MethodPost, "/api/admin/sessions/"+s.id+"/main-tokens", map[string]string{"role": role}).want(t, 201).into(t, &made)
	return made.Token
}

func newAdminToken(t *testing.T, role string) string {
	t.Helper()
	var made struct{ Token string }
	shared.admin(t).do(http.MethodPost, "/api/admin/tokens", map[string]string{"role": role}).want(t, 201).into(t, &made)
	return made.Token
}

func TestMainTokensOpenTheirOwnSessionForTwelveHours(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	other := shared.install(t, s.extension, shared.newLock(t))
	store := func(ends string) string {
		now := shared.platform.Ledger.Now()
		token := registry.Token{Kind: registry.MainToken, Session: invocation.SessionID(s.id), Role: registry.RoleWearer}
		token.ExpiresAt = now.Add(-1)
		if ends == "later" {
			token.ExpiresAt = now.Add(registry.MainTokenTTL)
		}
		token, secret := registry.NewToken(token, now)
		if err := shared.platform.Registry.StoreToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	get := func(id, secret string) answer {
		return shared.client(t, "").with("X-Chaster-Main-Token", secret).do(http.MethodGet, "/api/extensions/sessions/"+id+"/capabilities", nil)
	}
	live := store("later")
	get(s.id, live).want(t, 200)
	get(other.id, live).refused(t, 404, invocation.SessionNotFound)
	get("a.b", live).refused(t, 404, invocation.SessionNotFound)
	get(s.id, store("before")).refused(t, 401, invocation.Unauthorized)
	get(s.id, live+"x").refused(t, 401, invocation.Unauthorized)
	shared.client(t, "").with("X-Chaster-Main-Token", live).with("X-Chaster-Main-Token", live).
		do(http.MethodGet, s.path("/capabilities"), nil).refused(t, 401, invocation.Unauthorized)
}

func TestADisabledExtensionNeitherCallsNorIsCalled(t *testing.T) {
	t.Parallel()
	lock := shared.newLock(t)
	caller, target := shared.install(t, shared.newExtension(t), lock), shared.install(t, shared.newExtension(t), lock)
	disable := func(slug string, disabled bool) {
		shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+slug, map[string]bool{"disabled": disabled}).want(t, 200)
	}
	disable(target.slug, true)
	c := shared.client(t, caller.token)
	p := c.do(http.MethodPost, caller.path("/actions/"+target.slug+".echo"), call("")).refused(t, 409, invocation.Unavailable)
	if got := p.fact(t, "reason"); got != "extension-disabled" {
		t.Errorf("got reason %v, want extension-disabled", got)
	}
	shared.client(t, target.token).do(http.MethodPost, target.action("echo"), call("")).refused(t, 403, invocation.Forbidden)
	disable(target.slug, false)
	c.do(http.MethodPost, caller.path("/actions/"+target.slug+".echo"), call("")).want(t, 200)
}

func TestARevokedTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	c := shared.client(t, s.token)
	c.do(http.MethodGet, s.path("/events"), nil).want(t, 200)
	var list struct{ Items []struct{ ID string } }
	path := "/api/admin/extensions/" + s.slug + "/tokens"
	shared.admin(t).do(http.MethodGet, path, nil).want(t, 200).into(t, &list)
	if len(list.Items) != 1 {
		t.Fatalf("got %d tokens, want 1", len(list.Items))
	}
	shared.admin(t).do(http.MethodDelete, path+"/"+list.Items[0].ID, nil).want(t, 204)
	shared.admin(t).do(http.MethodDelete, path+"/"+list.Items[0].ID, nil).refused(t, 404, invocation.ResourceNotFound)
	c.do(http.MethodGet, s.path("/events"), nil).refused(t, 401, invocation.Unauthorized)
}

func TestNoTokenIsStoredInPlain(t *testing.T) {
	t.Parallel()
	secret := newAdminToken(t, "full")
	all, err := shared.platform.Registry.Tokens(t.Context(), func(registry.Token) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{secret, adminSecret} {
		if bytes.Contains(raw, []byte(s)) {
			t.Error("a token is stored in plain")
		}
	}
}
