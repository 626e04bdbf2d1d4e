package mcpservice_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// What is decided before the protocol comes back as HTTP, with the body of an
// MCP error (contract sections 9 and 10).
func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l, other := s.lock(t), s.lock(t)
	own, foreign := l.Session("caller").ID, other.Session("other").ID
	admin, adminSecret := registry.NewToken(registry.Token{Kind: registry.AdminToken, Role: registry.RoleFull}, s.p.Ledger.Now())
	if err := s.p.Registry.StoreToken(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		session   invocation.SessionID
		secret    string
		change    func(http.Header)
		method    string
		status    int
		code      string
		challenge string
	}{
		"a session of its own":       {session: own, secret: s.secret, status: 200},
		"no token":                   {session: own, status: 401, code: "unauthorized", challenge: `Bearer realm="latchwire"`},
		"a token of nobody":          {session: own, secret: "x", status: 401, code: "unauthorized", challenge: `Bearer realm="latchwire", error="invalid_token"`},
		"two tokens":                 {session: own, secret: s.secret, change: func(h http.Header) { h.Add("Authorization", "Bearer x") }, status: 401, code: "unauthorized", challenge: `Bearer realm="latchwire", error="invalid_token"`},
		"a token of another kind":    {session: own, secret: adminSecret, status: 403, code: "forbidden"},
		"SEC-105: a foreign session": {session: foreign, secret: s.secret, status: 404, code: "session-not-found"},
		"an unknown session":         {session: "ses_0000", secret: s.secret, status: 404, code: "session-not-found"},
		"S-05: GET, with no token":   {session: own, method: http.MethodGet, status: 405},
		"S-05: DELETE":               {session: own, secret: s.secret, method: http.MethodDelete, status: 405},
		"SEC-94: a foreign host":     {session: own, secret: s.secret, change: func(h http.Header) { h.Set("Host", "evil.example") }, status: 403},
		"SEC-93: a foreign page":     {session: own, secret: s.secret, change: func(h http.Header) { h.Set("Origin", "https://evil.example") }, status: 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.at(t, s.server, tc.session, tc.secret)
			if tc.change != nil {
				tc.change(c.header)
			}
			method := tc.method
			if method == "" {
				method = http.MethodPost
			}
			a, err := c.do(t.Context(), method, ping)
			if err != nil {
				t.Fatal(err)
			}
			if a.status != tc.status || a.header.Get("WWW-Authenticate") != tc.challenge || tc.code != "" && !strings.HasPrefix(string(a.body), `{"error":{"code":"`+tc.code+`"`) {
				t.Errorf("got %d %v %s, want %d %s", a.status, a.header, a.body, tc.status, tc.code)
			}
			if tc.status == 405 && a.header.Get("Allow") != "POST" {
				t.Errorf("got %v, want what is allowed", a.header)
			}
		})
	}
	one := s.at(t, s.server, foreign, s.secret).post(ping)
	unknown := s.at(t, s.server, "ses_ffffffffffffffffffffffffffffffff", s.secret).post(ping)
	if !bytes.Equal(one.body, unknown.body) {
		t.Errorf("SEC-66: got %s and %s, want the same for foreign and unknown", one.body, unknown.body)
	}
}

// A path is taken as it is sent: never redirected (S-14, MCP-75).
func TestPathsAreNotRedirected(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	good := s.client(t, l)
	session := "/api/extensions/sessions/" + string(l.Session("caller").ID)
	for path, want := range map[string]int{
		session + "/mcp/v2": 200, session + "/mcp/v2?x=1": 200, session + "/mcp": 200,
		session + "/mcp/v2/": 404, session + "/mcp/": 404, "/" + session + "/mcp/v2": 404, session + "/./mcp/v2": 404, session + "/MCP/v2": 404,
		"/.well-known/oauth-protected-resource": 404, "/.well-known/oauth-protected-resource" + session + "/mcp/v2": 404, "/": 404,
	} {
		c := good
		c.url = s.server.URL + path
		if a := c.post(ping); a.status != want || want == 404 && !strings.Contains(string(a.body), "route-not-found") {
			t.Errorf("%s: got %d %s, want %d", path, a.status, a.body, want)
		}
	}
	for path, want := range map[string]bool{
		session + "/mcp": true, session + "/mcp/v2": true, session + "/mcp/v2/": false, session + "/events": false, "/api/extensions/sessions/mcp": false, "/mcp": false,
	} {
		if got := mcpservice.Serves(path); got != want {
			t.Errorf("%s: got served %t", path, got)
		}
	}
}

// The request limit is exact over replicas and sessions, and every request
// counts (contract section 9).
func TestRequestsAreLimited(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{MCPRequests: invocation.Limit{Max: 10, Window: time.Hour}}}}, mcpservice.Config{})
	other := s.replica(t, mcpservice.Config{})
	one, two := s.client(t, s.lock(t)), s.at(t, other, s.lock(t).Session("caller").ID, s.secret)
	for i := range 10 {
		c := []client{one, two}[i%2]
		body := []string{ping, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `[`}[i%4]
		if a := c.post(body); a.status == http.StatusTooManyRequests {
			t.Errorf("request %d: got %d %s", i, a.status, a.body)
		}
	}
	for _, c := range []client{one, two} {
		a := c.post(ping)
		if a.status != 429 || a.header.Get("Retry-After") == "" || !strings.Contains(string(a.body), `"bucket":"mcp-requests"`) {
			t.Errorf("got %d %v %s", a.status, a.header, a.body)
		}
	}
}

// Each request of a client may reach another replica (MCP-27).
func TestRequestsMayReachAnyReplica(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	replicas := []client{s.client(t, l), s.at(t, s.replica(t, mcpservice.Config{}), l.Session("caller").ID, s.secret)}
	for i := range 6 {
		r := replicas[i%2].call("invoke_action", `{"id":"probe.echo"}`)
		id, _ := r.structured["invocationId"].(string)
		if again := replicas[(i+1)%2].call("get_invocation", `{"id":"`+id+`"}`); again.structured["status"] != "completed" {
			t.Errorf("got %s from the other replica", again.raw)
		}
	}
}

// A public name is served only where it is configured (SEC-94).
func TestHostsAndOriginsAreConfigured(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{Hosts: []string{"api.example"}, Origins: []string{"https://app.example"}})
	c := s.client(t, s.lock(t))
	if a := c.post(ping); a.status != 403 {
		t.Errorf("loopback: got %d", a.status)
	}
	c.header.Set("Host", "api.example")
	c.header.Set("Origin", "https://app.example")
	if a := c.post(ping); a.status != 200 {
		t.Errorf("the public name: got %d %s", a.status, a.body)
	}
}

// The deprecated endpoint has six tools, says that it is deprecated, and runs
// the lock's commands through the same admission (SEC-104).
func TestTheDeprecatedEndpoint(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	c := s.client(t, l)
	c.url = strings.TrimSuffix(c.url, "/v2")
	var names []string
	for _, x := range c.tools() {
		names = append(names, x.Name)
		if !strings.Contains(x.Description, "Deprecated") || !strings.Contains(x.Description, "invoke_action with lock."+x.Name) {
			t.Errorf("%s: got %q, want what replaces it", x.Name, x.Description)
		}
	}
	if got, want := strings.Join(names, " "), "add-time remove-time freeze unfreeze pillory set-display-remaining-time"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if a := c.post(ping); a.header.Get("Deprecation") == "" || !strings.Contains(a.header.Get("Link"), `/mcp/v2>; rel="successor-version"`) {
		t.Errorf("got %v", a.header)
	}
	for name, tc := range map[string]struct{ tool, arguments, command, input, code string }{
		"add time":         {"add-time", `{"durationInSeconds":60}`, "lock.add-time", `{"duration":60}`, ""},
		"remove time":      {"remove-time", `{"durationInSeconds":60}`, "lock.remove-time", `{"duration":60}`, ""},
		"freeze":           {"freeze", `{}`, "lock.freeze", `{}`, ""},
		"display":          {"set-display-remaining-time", `{"displayRemainingTime":false}`, "lock.set-display-remaining-time", `{"displayRemainingTime":false}`, ""},
		"not frozen":       {"unfreeze", `{}`, "", "", "unavailable"},
		"no pillory":       {"pillory", `{"durationInSeconds":300,"reason":"x"}`, "", "", "unavailable"},
		"a short pillory":  {"pillory", `{"durationInSeconds":299}`, "", "", "invalid-input"},
		"no time":          {"add-time", `{"durationInSeconds":0}`, "", "", "invalid-arguments"},
		"the newer name":   {"add-time", `{"duration":60}`, "", "", "invalid-arguments"},
		"no other actions": {"freeze", `{"id":"probe.echo"}`, "", "", "invalid-arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c
			c.t = t
			r := c.call(tc.tool, tc.arguments)
			if tc.code != "" {
				r.refused(t, tc.code)
				return
			}
			if r.structured["commandId"] != tc.command || r.structured["status"] != "completed" || !strings.Contains(string(r.raw), `"result":`+tc.input) {
				t.Errorf("got %s, want %s with %s", r.raw, tc.command, tc.input)
			}
		})
	}
}
