package mcpservice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
)

// What each tool answers without arguments to whom it is for: the code of a
// refusal, or none. Every other credential gets what its row in barred says.
var (
	tools = map[string]map[string]string{
		"/v2": {
			"list_capabilities": "", "describe_actions": "invalid-arguments", "invoke_action": "invalid-arguments",
			"get_invocation": "invalid-arguments", "read_events": "", "get_field_options": "invalid-arguments",
		},
		"": {
			"add-time": "invalid-arguments", "remove-time": "invalid-arguments", "freeze": "", "unfreeze": "unavailable", "pillory": "invalid-arguments",
			"set-display-remaining-time": "invalid-arguments",
		},
	}
	barred = map[string]int{
		"none": 401, "another developer": 404, "revoked developer": 401, "expired developer": 401, "disabled developer": 403,
		"admin": 403, "read-only admin": 403, "main page": 401, "main page as bearer": 403,
	}
)

// Every tool of both endpoints with every kind of credential. A tool without a
// row fails, and so does a row without a tool.
func TestEachCredentialOpensItsOwnTools(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	own := s.client(t, l)
	credentials := s.credentials(t, own)
	for endpoint, rows := range tools {
		c := own
		c.url = own.url[:len(own.url)-len("/v2")] + endpoint
		var listed []string
		for _, x := range c.tools() {
			listed = append(listed, x.Name)
		}
		for name := range rows {
			if !slices.Contains(listed, name) {
				t.Errorf("%s is in the matrix and is no tool of %q", name, endpoint)
			}
		}
		for _, tool := range listed {
			code, found := rows[tool]
			if !found {
				t.Errorf("%s of %q has no row in the matrix", tool, endpoint)
			}
			r := c.call(tool, "{}")
			if code != "" {
				r.refused(t, code)
			} else if r.isError {
				t.Errorf("%s: got %s, want it to answer", tool, r.raw)
			}
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)
			for name, other := range credentials {
				other.url = c.url
				if a := other.post(body); a.status != barred[name] {
					t.Errorf("%s of %q with %s: got %d %s, want %d", tool, endpoint, name, a.status, a.body, barred[name])
				}
			}
		}
	}
	if len(credentials) != len(barred) {
		t.Errorf("got %d credentials, want %d", len(credentials), len(barred))
	}
}

// credentials returns clients of a session with all that must not open it.
func (s *stand) credentials(t *testing.T, own client) map[string]client {
	t.Helper()
	platformtest.Publish(t, s.p, "disabled", platformtest.BareManifest, func(e *registry.Extension) { e.Disabled = true })
	with := func(name, value string) client {
		c := own
		c.header = own.header.Clone()
		c.header.Del("Authorization")
		if value != "" {
			c.header.Set(name, value)
		}
		return c
	}
	bearer := func(secret string) client { return with("Authorization", "Bearer "+secret) }
	issue := func(of registry.Token) (registry.Token, string) {
		made, secret := registry.NewToken(of, s.p.Ledger.Now())
		if err := s.p.Registry.StoreToken(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		return made, secret
	}
	revoked, gone := issue(registry.Token{Kind: registry.DeveloperToken, Extension: "caller"})
	if err := s.p.Registry.RevokeToken(t.Context(), revoked.ID, func(registry.Token) bool { return true }); err != nil {
		t.Fatal(err)
	}
	_, expired := issue(registry.Token{Kind: registry.DeveloperToken, Extension: "caller", ExpiresAt: s.p.Ledger.Now().Add(-time.Second)})
	_, admin := issue(registry.Token{Kind: registry.AdminToken, Role: registry.RoleFull})
	_, readOnly := issue(registry.Token{Kind: registry.AdminToken, Role: registry.RoleReadOnly})
	_, main := issue(registry.Token{Kind: registry.MainToken, Role: registry.RoleWearer, ExpiresAt: s.p.Ledger.Now().Add(time.Hour)})
	return map[string]client{
		"none": with("", ""), "another developer": bearer(s.token(t, "other")), "revoked developer": bearer(gone),
		"expired developer": bearer(expired), "disabled developer": bearer(s.token(t, "disabled")), "admin": bearer(admin),
		"read-only admin": bearer(readOnly), "main page": with("X-Chaster-Main-Token", main), "main page as bearer": bearer(main),
	}
}

// An invocation of another extension is, by every tool that takes one's id, as
// one that there is not (SEC-67).
func TestForeignInvocationsAreAsUnknown(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	theirs := s.at(t, s.server, l.Session("other").ID, s.token(t, "other")).call("invoke_action", `{"id":"probe.echo","input":{}}`)
	id, _ := theirs.structured["invocationId"].(string)
	if !invocation.ValidID(id) {
		t.Fatalf("got %s", theirs.raw)
	}
	var first []byte
	for _, id := range []string{id, "0123456789abcdef01234567"} {
		e := s.client(t, l).call("get_invocation", fmt.Sprintf(`{"id":%q}`, id))
		e.refused(t, "not-found")
		raw, err := json.Marshal(e.structured)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = raw
		}
		if !bytes.Equal(raw, first) {
			t.Errorf("got %s and %s, want the same", raw, first)
		}
	}
}
