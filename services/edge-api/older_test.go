package edgeapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
)

// olderProblem is a refusal of the older endpoints.
type olderProblem struct {
	StatusCode     int
	Message, Error string
}

// The older endpoints read their own formats, and each becomes a call like any
// other: the tests' dispatcher does nothing with the commands of built-ins, so
// they stay pending here and what was recorded is looked at.
func TestOlderEndpointsBecomeCalls(t *testing.T) {
	t.Parallel()
	lock := shared.newLock(t)
	s := shared.install(t, shared.newExtension(t), lock)
	for _, slug := range []string{"tasks", "penalty", "pillory", "temporary-opening", "verification-picture"} {
		config := map[string]any{}
		if slug == "penalty" {
			config["habits"] = []any{map[string]any{"name": "late", "title": "Late", "timeLimit": 60}}
		}
		shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+lock+"/sessions", map[string]any{"slug": slug, "config": config}).want(t, 201)
	}
	c := shared.client(t, s.token)
	for body, want := range map[string]struct{ path, command, input, actor string }{
		`{"action":{"name":"add_time","params":60}}`:                     {"/action", "lock.add-time", `{"duration":60}`, "extension"},
		`{"action":{"name":"remove_time","params":60}}`:                  {"/action", "lock.remove-time", `{"duration":60}`, "extension"},
		`{"action":{"name":"freeze"}}`:                                   {"/action", "lock.freeze", `{}`, "extension"},
		`{"action":{"name":"toggle_freeze","params":{}}}`:                {"/action", "lock.toggle-freeze", `{}`, "extension"},
		`{"action":{"name":"pillory","params":{"duration":300}}}`:        {"/action", "lock.pillory", `{"duration":300}`, "extension"},
		`{"action":{"name":"set_display_remaining_time","params":true}}`: {"/action", "lock.set-display-remaining-time", `{"displayRemainingTime":true}`, "extension"},
		`{"actor":"wearer","task":{"task":"A","points":1}}`:              {"/tasks/assign", "tasks.assign", `{"task":{"task":"A","points":1}}`, "wearer"},
		`{"habitName":"late","count":2}`:                                 {"/penalties/increment", "penalty.increment", `{"count":2,"habitName":"late"}`, "extension"},
		`{"habitName":"late"}`:                                           {"/penalties/time-limit/create", "penalty.create-time-limit", `{"habitName":"late"}`, "extension"},
		`{"actor":"keyholder"}`:                                          {"/temporary-opening/open", "temporary-opening.open", `{}`, "keyholder"},
		`{"actor":"extension"}`:                                          {"/verification-picture/request", "verification-picture.request", `{}`, "extension"},
	} {
		t.Run(want.path+" "+want.command, func(t *testing.T) {
			t.Parallel()
			c := c
			c.t = t
			a := c.do(http.MethodPost, s.path(want.path), body).want(t, 503) // it is still running
			var p olderProblem
			a.into(t, &p)
			if p.StatusCode != 503 || p.Error != "Service Unavailable" || p.Message == "" {
				t.Errorf("got %s", a.body)
			}
			inv := recorded(t, s, want.command)
			if string(inv.Input) != want.input || string(inv.Actor) != want.actor || inv.Via != invocation.REST {
				t.Errorf("got %s by %s, want %s by %s", inv.Input, inv.Actor, want.input, want.actor)
			}
		})
	}
}

// recorded returns the call of a command on a session's lock.
func recorded(t *testing.T, s session, command string) invocation.Invocation {
	t.Helper()
	stream, err := shared.platform.Conn.JS.Stream(t.Context(), ledger.InvocationStream(invocation.LockID(s.lock).Partition()))
	if err != nil {
		t.Fatal(err)
	}
	for seq := stream.CachedInfo().State.LastSeq; seq > 0; seq-- {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			continue // replaced since
		}
		var r struct {
			ID   invocation.ID
			Lock invocation.LockID
			Cmd  string
		}
		if json.Unmarshal(m.Data, &r) == nil && string(r.Lock) == s.lock && r.Cmd == command {
			inv, err := shared.platform.Ledger.Invocation(t.Context(), r.Lock, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			return inv
		}
	}
	t.Fatalf("no call of %s is recorded", command)
	return invocation.Invocation{}
}

// The older endpoints refuse in their own form (contract section 3).
func TestOlderEndpointsRefuse(t *testing.T) {
	t.Parallel()
	s, over := shared.newSession(t), shared.newSession(t)
	shared.admin(t).do(http.MethodPost, "/api/admin/locks/"+over.lock+"/finish", nil).want(t, 200)
	for name, tc := range map[string]struct {
		session    session
		path, body string
		status     int
		message    string
	}{
		"no body":                  {s, "/action", ``, 415, ""},
		"an unknown action":        {s, "/action", `{"action":{"name":"win"}}`, 400, "/action/name must be equal to one of the allowed values"},
		"no action":                {s, "/action", `{}`, 400, "must have required property 'action'"},
		"a bad parameter":          {s, "/action", `{"action":{"name":"add_time","params":0}}`, 400, "/duration must be >= 1"},
		"a text for a number":      {s, "/action", `{"action":{"name":"add_time","params":"60"}}`, 400, "/duration must be integer"},
		"not frozen":               {s, "/action", `{"action":{"name":"unfreeze"}}`, 400, "not-frozen"},
		"no pillory":               {s, "/action", `{"action":{"name":"pillory","params":{"duration":300}}}`, 400, "pillory-not-enabled"},
		"a lock that has ended":    {over, "/action", `{"action":{"name":"freeze"}}`, 400, "lock-not-active"},
		"what is not installed":    {s, "/tasks/start-timer", `{}`, 404, "unknown-capability"},
		"no actor":                 {s, "/tasks/assign", `{"task":{"task":"A","points":1}}`, 400, "must have required property 'actor'"},
		"an actor that is none":    {s, "/temporary-opening/open", `{"actor":"system"}`, 404, ""},
		"another member":           {s, "/penalties/increment", `{"habitName":"a","x":1}`, 400, "/x must NOT have additional properties"},
		"a name in another case":   {s, "/action", `{"Action":{"name":"freeze"}}`, 400, ""},
		"a session of nobody else": {session{extension: s.extension, id: over.id, lock: s.lock}, "/action", `{"action":{"name":"freeze"}}`, 404, "session-not-found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body any
			if tc.body != "" {
				body = tc.body
			}
			a := shared.client(t, tc.session.token).do(http.MethodPost, tc.session.path(tc.path), body)
			var p olderProblem
			a.into(t, &p)
			if a.status != tc.status || p.StatusCode != tc.status || p.Error != http.StatusText(tc.status) || tc.message != "" && p.Message != tc.message {
				t.Errorf("got %d %s, want %d %q", a.status, a.body, tc.status, tc.message)
			}
		})
	}
	shared.client(t, s.token).do(http.MethodGet, s.path("/pillory/status"), nil).want(t, 404)
}
