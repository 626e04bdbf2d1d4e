package edgeapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestOptionsOfAField(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	c := shared.client(t, s.token)
	for query, want := range map[string]string{
		"field=habit":                     `{"options":[{"value":"/habit?","label":"One","description":null}],"hasMore":true}`,
		"field=%2Fhabit&search=a%20%26b":  `{"options":[{"value":"/habit?a \u0026b","label":"One","description":null}],"hasMore":true}`,
		"search=&field=habit&unknown=yes": `{"options":[{"value":"/habit?","label":"One","description":null}],"hasMore":true}`,
	} {
		got := c.do(http.MethodGet, s.action("count")+"/options?"+query, nil).want(t, 200)
		if plain := strings.ReplaceAll(string(got.body), "&", `\u0026`); strings.TrimSpace(plain) != want {
			t.Errorf("%s: got %s, want %s", query, got.body, want)
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	t.Parallel()
	lock := shared.newLock(t)
	s, unreachable := shared.install(t, shared.newExtension(t), lock), shared.install(t, shared.newExtension(t), lock)
	shared.admin(t).do(http.MethodPatch, "/api/admin/extensions/"+unreachable.slug, `{"webhookUrl":null}`).want(t, 200)
	elsewhere := shared.newSession(t)
	c := shared.client(t, s.token)
	for name, tc := range map[string]struct {
		path, query string
		status      int
		code        string
	}{
		"no field":               {s.action("count"), "", 400, "malformed-request"},
		"an empty field":         {s.action("count"), "field=", 400, "invalid-field"},
		"two fields":             {s.action("count"), "field=habit&field=n", 400, "malformed-request"},
		"an unknown field":       {s.action("count"), "field=nothing", 400, "invalid-field"},
		"a field without":        {s.action("count"), "field=n", 400, "invalid-field"},
		"no pointer":             {s.action("count"), "field=" + url.QueryEscape("/habit~"), 400, "invalid-field"},
		"a long search":          {s.action("count"), "field=habit&search=" + strings.Repeat("x", 101), 400, "invalid-input"},
		"an unknown capability":  {s.action("none"), "field=habit", 404, "unknown-capability"},
		"one of another lock":    {s.path("/actions/" + elsewhere.slug + ".count"), "field=habit", 404, "unknown-capability"},
		"not for extensions":     {s.action("mine"), "field=habit", 403, "not-invocable"},
		"a target that is mute":  {s.action("count"), "field=habit&search=nothing", 502, "options-unavailable"},
		"a target without a URL": {s.path("/actions/" + unreachable.slug + ".count"), "field=habit", 502, "options-unavailable"},
		"a foreign session":      {elsewhere.action("count"), "field=habit", 404, "session-not-found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p problem
			got := c.do(http.MethodGet, tc.path+"/options?"+tc.query, nil)
			got.into(t, &p)
			if got.status != tc.status || string(p.Code) != tc.code {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, tc.status, tc.code)
			}
		})
	}
	c.do(http.MethodGet, s.action("count")+"/options?field=habit&search="+strings.Repeat("é", 100), nil).want(t, 200)
}
