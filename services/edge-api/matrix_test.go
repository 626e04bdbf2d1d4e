package edgeapi_test

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// Whom an endpoint opens for.
type door map[string]int

// opens stands for the status that an endpoint has for those it opens for.
const opens = 0

// The doors, with what each credential gets there: its status, or opens. A
// credential that a door does not name finds it open.
var (
	// A session's door opens for the extension whose session it is.
	sessionDoor = door{
		"none": 401, "another developer": 404, "revoked developer": 401, "expired developer": 401, "disabled developer": 403,
		"admin": 403, "read-only admin": 403, "expired admin": 401, "main page": 401, "main page of another": 401, "expired main page": 401,
		"main page as bearer": 403, "developer as main": 401, "main and wrong token": 401,
	}
	// A page's door opens for the session's page, too.
	pageDoor = sessionDoor.but(door{"main page": opens, "main page of another": 404, "developer as main": 403})
	// A developer's door opens for every developer, an own one for the
	// extension's.
	developerDoor = sessionDoor.but(door{"another developer": opens})
	ownDoor       = sessionDoor.but(door{"another developer": 403})
	// A look's door opens for operators, a change's for those with every right.
	lookDoor   = sessionDoor.but(door{"developer": 403, "another developer": 403, "main and developer": 403, "admin": opens, "read-only admin": opens})
	changeDoor = lookDoor.but(door{"read-only admin": 403})
	// An open door asks nobody who they are.
	openDoor = door{}
)

func (d door) but(others door) door {
	out := maps.Clone(d)
	maps.Copy(out, others)
	return out
}

// The endpoints, each with its door and the status that whoever passes it gets
// for the request of the test: an empty one, or one that is wrong.
var endpoints = map[string]struct {
	door   door
	status int
}{
	"GET /api/admin/audit":                                                   {lookDoor, 200},
	"GET /api/admin/chains/{correlationId}":                                  {lookDoor, 404},
	"GET /api/admin/dead-messages":                                           {lookDoor, 200},
	"GET /api/admin/deliveries":                                              {lookDoor, 200},
	"GET /api/admin/deliveries/{deliveryId}":                                 {lookDoor, 404},
	"POST /api/admin/deliveries/{deliveryId}/replay":                         {changeDoor, 404},
	"GET /api/admin/extensions":                                              {lookDoor, 200},
	"POST /api/admin/extensions":                                             {changeDoor, 400},
	"GET /api/admin/extensions/{slug}":                                       {lookDoor, 404},
	"PATCH /api/admin/extensions/{slug}":                                     {changeDoor, 400},
	"GET /api/admin/extensions/{slug}/signing-secrets":                       {lookDoor, 404},
	"POST /api/admin/extensions/{slug}/signing-secrets":                      {changeDoor, 400},
	"DELETE /api/admin/extensions/{slug}/signing-secrets/{secretId}":         {changeDoor, 404},
	"GET /api/admin/extensions/{slug}/tokens":                                {lookDoor, 404},
	"POST /api/admin/extensions/{slug}/tokens":                               {changeDoor, 404},
	"DELETE /api/admin/extensions/{slug}/tokens/{tokenId}":                   {changeDoor, 404},
	"GET /api/admin/locks":                                                   {lookDoor, 200},
	"POST /api/admin/locks":                                                  {changeDoor, 400},
	"GET /api/admin/locks/{lockId}":                                          {lookDoor, 404},
	"POST /api/admin/locks/{lockId}/acts":                                    {changeDoor, 404},
	"POST /api/admin/locks/{lockId}/finish":                                  {changeDoor, 404},
	"GET /api/admin/locks/{lockId}/history":                                  {lookDoor, 404},
	"GET /api/admin/locks/{lockId}/sessions":                                 {lookDoor, 404},
	"POST /api/admin/locks/{lockId}/sessions":                                {changeDoor, 404},
	"POST /api/admin/replays":                                                {changeDoor, 400},
	"DELETE /api/admin/sessions/{sessionId}":                                 {changeDoor, 404},
	"GET /api/admin/sessions/{sessionId}":                                    {lookDoor, 404},
	"GET /api/admin/sessions/{sessionId}/main-tokens":                        {lookDoor, 404},
	"POST /api/admin/sessions/{sessionId}/main-tokens":                       {changeDoor, 404},
	"DELETE /api/admin/sessions/{sessionId}/main-tokens/{tokenId}":           {changeDoor, 404},
	"GET /api/admin/tokens":                                                  {lookDoor, 200},
	"POST /api/admin/tokens":                                                 {changeDoor, 400},
	"DELETE /api/admin/tokens/{tokenId}":                                     {changeDoor, 404},
	"POST /api/extensions/sessions/{sessionId}/action":                       {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/actions/{commandId}":          {sessionDoor, 400},
	"GET /api/extensions/sessions/{sessionId}/actions/{commandId}/options":   {sessionDoor, 400},
	"GET /api/extensions/sessions/{sessionId}/capabilities":                  {pageDoor, 200},
	"OPTIONS /api/extensions/sessions/{sessionId}/capabilities":              {openDoor, 204},
	"GET /api/extensions/sessions/{sessionId}/events":                        {sessionDoor, 200},
	"POST /api/extensions/sessions/{sessionId}/events":                       {sessionDoor, 400},
	"GET /api/extensions/sessions/{sessionId}/events/stream":                 {sessionDoor, 400},
	"GET /api/extensions/sessions/{sessionId}/invocations/{invocationId}":    {sessionDoor, 404},
	"POST /api/extensions/sessions/{sessionId}/penalties/increment":          {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/penalties/time-limit/cancel":  {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/penalties/time-limit/create":  {sessionDoor, 400},
	"GET /api/extensions/sessions/{sessionId}/pillory/status":                {sessionDoor, 404},
	"POST /api/extensions/sessions/{sessionId}/tasks/assign":                 {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/tasks/complete":               {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/tasks/start-timer":            {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/temporary-opening/open":       {sessionDoor, 400},
	"POST /api/extensions/sessions/{sessionId}/verification-picture/request": {sessionDoor, 400},
	"GET /api/extensions/{slug}/deliveries":                                  {ownDoor, 200},
	"GET /api/extensions/{slug}/deliveries/{deliveryId}":                     {ownDoor, 404},
	"POST /api/extensions/{slug}/deliveries/{deliveryId}/replay":             {ownDoor, 404},
	"GET /api/extensions/{slug}/endpoint":                                    {ownDoor, 200},
	"PATCH /api/extensions/{slug}/endpoint":                                  {ownDoor, 400},
	"POST /api/extensions/{slug}/endpoint/enable":                            {ownDoor, 200},
	"GET /api/extensions/{slug}/manifest":                                    {developerDoor, 200},
	"PUT /api/extensions/{slug}/manifest":                                    {ownDoor, 400},
	"POST /api/extensions/{slug}/replays":                                    {ownDoor, 400},
	"GET /api/extensions/{slug}/signing-secrets":                             {ownDoor, 200},
	"POST /api/extensions/{slug}/signing-secrets":                            {ownDoor, 400},
	"DELETE /api/extensions/{slug}/signing-secrets/{secretId}":               {ownDoor, 404},
	"GET /healthz": {openDoor, 200},
	"GET /metrics": {openDoor, 200},
	"GET /readyz":  {openDoor, 200},
}

// Every endpoint with every kind of credential: the matrix says each status, and
// has a row for each route, no more and no less.
func TestEachCredentialOpensItsOwnEndpoints(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	credentials := newCredentials(t, s)
	seen := make(map[string]bool)
	for path, item := range openAPI(t).Paths.Map() {
		for method := range item.Operations() {
			route := method + " " + path
			row, found := endpoints[route]
			if !found {
				t.Errorf("%s has no row in the matrix", route)
				continue
			}
			seen[route] = true
			for name, c := range credentials {
				want := row.door[name]
				if want == opens {
					want = row.status
				}
				a := c.do(method, filled(path, s), emptyBody(method))
				if a.status != want {
					t.Errorf("%s with %s: got %d %s, want %d", route, name, a.status, a.body, want)
				}
			}
		}
	}
	for route := range endpoints {
		if !seen[route] {
			t.Errorf("%s is in the matrix and is no route", route)
		}
	}
}

// newCredentials returns clients with every kind of credential that there is,
// by the view of a session's extension.
func newCredentials(t *testing.T, s session) map[string]client {
	t.Helper()
	other, disabled := shared.newSession(t), shared.newExtension(t)
	shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+disabled.slug, `{"disabled":true}`).want(t, 200)
	revoked := store(t, registry.Token{Kind: registry.DeveloperToken, Extension: invocation.Slug(s.slug)})
	if err := shared.platform.Registry.RevokeToken(t.Context(), revoked.ID, func(registry.Token) bool { return true }); err != nil {
		t.Fatal(err)
	}
	expired := shared.platform.Ledger.Now().Add(-time.Second)
	mainPage := func(secret string) client { return shared.client(t, "").with("X-Chaster-Main-Token", secret) }
	main := newMainToken(t, s, "wearer")
	return map[string]client{
		"none":              shared.client(t, ""),
		"developer":         shared.client(t, s.token),
		"another developer": shared.client(t, other.token),
		"revoked developer": shared.client(t, revoked.secret),
		"expired developer": shared.client(t, store(t, registry.Token{
			Kind: registry.DeveloperToken, Extension: invocation.Slug(s.slug), ExpiresAt: expired,
		}).secret),
		"disabled developer": shared.client(t, disabled.token),
		"admin":              shared.admin(t),
		"read-only admin":    shared.client(t, newAdminToken(t, "read-only")),
		"expired admin": shared.client(t, store(t, registry.Token{
			Kind: registry.AdminToken, Role: registry.RoleFull, ExpiresAt: expired,
		}).secret),
		"main page":            mainPage(main),
		"main page of another": mainPage(newMainToken(t, other, "wearer")),
		"expired main page": mainPage(store(t, registry.Token{
			Kind: registry.MainToken, Session: invocation.SessionID(s.id), Role: registry.RoleWearer, ExpiresAt: expired,
		}).secret),
		"main page as bearer":  shared.client(t, main),
		"developer as main":    mainPage(s.token),
		"main and developer":   shared.client(t, s.token).with("X-Chaster-Main-Token", "wrong"),
		"main and wrong token": shared.client(t, "wrong").with("X-Chaster-Main-Token", main),
	}
}

// A stored token and its secret.
type storedToken struct {
	registry.Token
	secret string
}

// store issues a token behind the API, which makes none that has expired.
func store(t *testing.T, of registry.Token) storedToken {
	t.Helper()
	token, secret := registry.NewToken(of, shared.platform.Ledger.Now())
	if err := shared.platform.Registry.StoreToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	return storedToken{token, secret}
}

// filled puts the session's ids into a path. Where something would be changed,
// the id names nothing.
func filled(path string, s session) string {
	sessionID, slug := s.id, s.slug
	if strings.HasPrefix(path, "/api/admin") {
		sessionID, slug = "ses_none", "no-such-extension"
	}
	return strings.NewReplacer("{sessionId}", sessionID, "{slug}", slug, "{commandId}", s.slug+".echo",
		"{invocationId}", "0123456789abcdef01234567", "{tokenId}", "0123456789abcdef01234567", "{lockId}", "0023456789abcdef01234567",
		"{correlationId}", "0123456789abcdef01234567", "{deliveryId}", "none", "{secretId}", "none",
		"/events/stream", "/events/stream?afterSeq=ends").Replace(path) // a stream that is taken would have no end
}

// emptyBody returns a body that every endpoint refuses which takes one.
func emptyBody(method string) any {
	if method != http.MethodPost && method != http.MethodPut && method != http.MethodPatch {
		return nil
	}
	return "[]"
}

// Whatever a session is that a caller must not see, every endpoint says the same
// of it, to the byte (SEC-66).
func TestForeignSessionsAreAsUnknown(t *testing.T) {
	t.Parallel()
	own, foreign, gone := shared.newSession(t), shared.newSession(t), shared.newSession(t)
	moved := shared.install(t, own.extension, shared.newLock(t))
	for _, deleted := range []session{gone, moved} {
		shared.admin(t).do(http.MethodDelete, "/api/admin/sessions/"+deleted.id, nil).want(t, 204)
	}
	ids := map[string]string{
		"another's": foreign.id, "another's and deleted": gone.id, "deleted": moved.id, "unknown": "ses_0123456789abcdef",
		"malformed": "a.b", "a wildcard": "*", "many": "%3E", "of 65 characters": strings.Repeat("a", 65), "with a blank": "a%20b",
		"another's lock": foreign.lock, "empty": "", "escaped": "a%2Fb", "of another alphabet": "%C3%A9", "with a line break": "a%0D%0AX:b",
	}
	c := shared.client(t, own.token)
	tried := 0
	doc := openAPI(t)
	for route := range endpoints {
		method, path, _ := strings.Cut(route, " ")
		if !strings.HasPrefix(path, "/api/extensions/sessions/") || method == http.MethodOptions {
			continue
		}
		tried++
		var first answer
		older := slices.Contains(doc.Paths.Value(path).GetOperation(method).Tags, "Older")
		for name, id := range ids {
			if older && (name == "empty" || name == "escaped") {
				continue // the check of the contract knows the form of their refusals by their path
			}
			a := c.do(method, filled(strings.Replace(path, "{sessionId}", id, 1), own), emptyBody(method))
			for _, h := range []string{"Date", "X-Request-Id", "X-Trace-Id"} {
				a.header.Del(h)
			}
			if first.body == nil {
				first = a
			}
			if a.status != 404 || !bytes.Equal(a.body, first.body) || !maps.EqualFunc(a.header, first.header, slices.Equal) {
				t.Errorf("%s of a session that is %s: got %d %v %s, want %v %s", route, name, a.status, a.header, a.body, first.header, first.body)
			}
		}
	}
	if tried < 17 {
		t.Errorf("tried %d endpoints of sessions, want all", tried)
	}
}
