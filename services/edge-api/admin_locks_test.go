package edgeapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
)

type lockForm struct {
	ID, Status, EndDate  string
	Keyholder            *struct{ ID, Name string }
	MaxDate, FinishedAt  *string
	DisplayRemainingTime bool
	Extensions           []struct{ Slug, SessionID string }
}

func TestLocksAreMadeAndEnded(t *testing.T) {
	t.Parallel()
	id := shared.newLockOf(t, map[string]any{"keyholder": nil, "maxDate": nil, "displayRemainingTime": false})
	read := func() (l lockForm) {
		shared.admin(t).do(http.MethodGet, "/api/admin/locks/"+id, nil).want(t, 200).into(t, &l)
		return l
	}
	if got := read(); got.Status != "active" || got.Keyholder != nil || got.DisplayRemainingTime || got.MaxDate != nil {
		t.Errorf("got %+v", got)
	}
	shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+id+"/finish", nil).want(t, 200)
	if got := read(); got.Status != "finished" || got.FinishedAt == nil {
		t.Errorf("got %+v, want it finished", got)
	}
	p := shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+id+"/finish", nil).refused(t, 409, invocation.Unavailable)
	if p.fact(t, "reason") != "lock-not-active" {
		t.Errorf("got %s", p.Details)
	}
	for _, none := range []string{"0123456789abcdef01234567", "ff23456789abcdef01234567", "x", "*"} {
		for _, rest := range []string{"", "/history", "/sessions"} {
			shared.admin(t).do(http.MethodGet, "/api/admin/locks/"+none+rest, nil).refused(t, 404, invocation.ResourceNotFound)
		}
		shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+none+"/finish", nil).refused(t, 404, invocation.ResourceNotFound)
		shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+none+"/sessions", `{"slug":"x"}`).refused(t, 404, invocation.ResourceNotFound)
	}
	for name, test := range map[string]struct{ body, path string }{
		"an end that has passed":  {`{"wearer":{"id":"w","name":"W"},"endDate":"2020-01-01T00:00:00Z"}`, "/endDate"},
		"a maximum before it":     {`{"wearer":{"id":"w","name":"W"},"endDate":"2099-01-01T00:00:00Z","maxDate":"2098-01-01T00:00:00Z"}`, "/maxDate"},
		"a wearer without a name": {`{"wearer":{"id":"w","name":""},"endDate":"2099-01-01T00:00:00Z"}`, "/wearer/name"},
		"a wearer's id with dots": {`{"wearer":{"id":"w.x","name":"W"},"endDate":"2099-01-01T00:00:00Z"}`, "/wearer/id"},
		"an end that is no time":  {`{"wearer":{"id":"w","name":"W"},"endDate":"soon"}`, "/endDate"},
	} {
		p := shared.admin(t).do(http.MethodPost, "/api/admin/locks", test.body).refused(t, 400, invocation.InvalidInput)
		if _, found := p.paths(t)[test.path]; !found {
			t.Errorf("%s: got %s, want a problem at %s", name, p.Details, test.path)
		}
	}
}

func TestSessionsAreInstalledAndRemoved(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	admin, path := shared.admin(t), "/api/admin/locks/"+s.lock+"/sessions"
	before := len(allSessions(t, s))
	admin.do(http.MethodPost, path, map[string]string{"slug": s.slug}).refused(t, 409, invocation.ResourceConflict)
	if after := len(allSessions(t, s)); after != before {
		t.Errorf("got %d sessions of the extension, want %d: the refused one was taken back", after, before)
	}
	admin.do(http.MethodPost, path, `{"slug":"lock"}`).refused(t, 409, invocation.ResourceConflict)
	for _, slug := range contracts.BuiltIns() {
		if !lock.Implemented(invocation.Slug(slug)) {
			admin.do(http.MethodPost, path, map[string]string{"slug": slug}).refused(t, 404, invocation.ExtensionNotFound)
		}
	}
	admin.do(http.MethodPost, path, `{"slug":"nobody"}`).refused(t, 404, invocation.ExtensionNotFound)
	admin.do(http.MethodPost, path, `{"slug":"chaster"}`).refused(t, 404, invocation.ExtensionNotFound)

	var one struct{ SessionID, Slug, LockID string }
	admin.do(http.MethodGet, "/api/admin/sessions/"+s.id, nil).want(t, 200).into(t, &one)
	if one.Slug != s.slug || one.LockID != s.lock {
		t.Errorf("got %+v", one)
	}
	var list struct{ Items []struct{ SessionID string } }
	admin.do(http.MethodGet, path, nil).want(t, 200).into(t, &list)
	if len(list.Items) != 1 || list.Items[0].SessionID != s.id {
		t.Errorf("got %+v, want the one", list)
	}
	admin.do(http.MethodDelete, "/api/admin/sessions/"+s.id, nil).want(t, 204)
	admin.do(http.MethodDelete, "/api/admin/sessions/"+s.id, nil).refused(t, 404, invocation.SessionNotFound)
	admin.do(http.MethodGet, path, nil).want(t, 200).into(t, &list)
	if len(list.Items) != 0 {
		t.Errorf("got %+v, want none", list)
	}
	again := shared.install(t, s.extension, s.lock)
	if again.id == s.id {
		t.Error("got the old session id again")
	}
	ended := shared.newLock(t)
	admin.do(http.MethodPost, "/api/admin/locks/"+ended+"/finish", nil).want(t, 200)
	admin.do(http.MethodPost, "/api/admin/locks/"+ended+"/sessions", map[string]string{"slug": s.slug}).refused(t, 409, invocation.Unavailable)
}

func allSessions(t *testing.T, s session) []registry.Session {
	t.Helper()
	all, err := shared.platform.Registry.Sessions(t.Context(), func(r registry.Session) bool { return string(r.Slug) == s.slug })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A process that died between the two writes of a removal left a session that
// is on no lock: removing it again ends it, and not the one installed since.
func TestAHalfRemovedSessionIsRemovedForGood(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	left := registry.Session{ID: invocation.NewSessionID(), Lock: invocation.LockID(s.lock), Slug: invocation.Slug(s.slug), InstalledAt: time.Now()}
	if err := shared.platform.Registry.CreateSession(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	shared.admin(t).do(http.MethodDelete, "/api/admin/sessions/"+string(left.ID), nil).want(t, 204)
	shared.admin(t).do(http.MethodGet, "/api/admin/sessions/"+string(left.ID), nil).refused(t, 404, invocation.SessionNotFound)
	shared.client(t, s.token).do(http.MethodPost, s.action("echo"), call("")).want(t, 200)
}

func TestMainTokensAreMadeForARole(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	path := "/api/admin/sessions/" + s.id + "/main-tokens"
	secret := newMainToken(t, s, "keyholder")
	var list struct {
		Items []struct{ ID, Role, CreatedAt, ExpiresAt string }
	}
	shared.admin(t).do(http.MethodGet, path, nil).want(t, 200).into(t, &list)
	if len(list.Items) != 1 || list.Items[0].Role != "keyholder" {
		t.Fatalf("got %+v", list)
	}
	made, err1 := time.Parse(time.RFC3339, list.Items[0].CreatedAt)
	ends, err2 := time.Parse(time.RFC3339, list.Items[0].ExpiresAt)
	if d := ends.Sub(made); err1 != nil || err2 != nil || d < 12*time.Hour-time.Second || d > 12*time.Hour+time.Second {
		t.Errorf("got %s, want 12 hours", d)
	}
	shared.admin(t).do(http.MethodDelete, path+"/"+list.Items[0].ID, nil).want(t, 204)
	shared.client(t, "").with("X-Chaster-Main-Token", secret).do(http.MethodGet, s.path("/capabilities"), nil).refused(t, 401, invocation.Unauthorized)
	shared.admin(t).do(http.MethodPost, path, `{"role":"extension"}`).refused(t, 400, invocation.InvalidInput)
	shared.admin(t).do(http.MethodPost, path, `{}`).refused(t, 400, invocation.MalformedRequest)
	shared.admin(t).do(http.MethodPost, "/api/admin/sessions/none/main-tokens", `{"role":"wearer"}`).refused(t, 404, invocation.SessionNotFound)

	lonely := shared.install(t, s.extension, shared.newLockOf(t, nil))
	p := shared.admin(t).do(http.MethodPost, "/api/admin/sessions/"+lonely.id+"/main-tokens", `{"role":"keyholder"}`).refused(t, 400, invocation.InvalidInput)
	if p.paths(t)["/role"] == "" {
		t.Errorf("got %s, want a problem at /role", p.Details)
	}
}

func TestHistoryIsReadLineByLine(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t) // made, installed
	shared.client(t, s.token).do(http.MethodPost, s.path("/events"), fmt.Sprintf(`{"type":"%s.done","payload":{}}`, s.slug)).want(t, 201)
	for range 2 {
		shared.admin(t).do(http.MethodDelete, "/api/admin/sessions/"+s.id, nil).want(t, 204)
		s = shared.install(t, s.extension, s.lock)
	}
	shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+s.lock+"/finish", nil).want(t, 200)
	got := everything(t, "/api/admin/locks/"+s.lock+"/history?limit=2", func(l struct{ Type string }) string { return l.Type })
	want := []string{
		"lock_created", "extension_installed", "extension_removed", "extension_installed", "extension_removed", "extension_installed", "lock_finished",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, cursor := range []string{"eA", "MS4tMQ"} { // "x", "1.-1"
		shared.admin(t).do(http.MethodGet, "/api/admin/locks/"+s.lock+"/history?cursor="+cursor, nil).refused(t, 400, invocation.MalformedRequest)
	}
}

func TestLinesOfOneTransitionAreNotLostBetweenPages(t *testing.T) {
	t.Parallel()
	id := invocation.LockID(shared.newLock(t))
	for n := range 3 {
		_, err := shared.platform.Ledger.Change(t.Context(), ledger.Change{Lock: id, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
			out := ledger.Transition{State: s.State, Source: invocation.Source{Extension: lock.Self, Actor: invocation.ActorSystem}, At: time.Now()}
			for i := range 5 {
				out.History = append(out.History, invocation.HistoryLine{Type: fmt.Sprintf("act_%d_%d", n, i), Actor: invocation.ActorSystem})
			}
			return out, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := everything(t, "/api/admin/locks/"+string(id)+"/history?limit=2", func(l struct{ Type string }) string { return l.Type })
	want := []string{"lock_created"}
	for n := range 3 {
		for i := range 5 {
			want = append(want, fmt.Sprintf("act_%d_%d", n, i))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
