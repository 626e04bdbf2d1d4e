package edgeapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestPathsThatDoNotExistAreNeverRedirected(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	path := s.action("echo")
	for name, path := range map[string]string{
		"S-14: a slash at the end":        path + "/",
		"S-14: two slashes in front":      "/" + path,
		"S-14: two slashes in between":    strings.Replace(path, "/api/", "/api//", 1),
		"S-14: a dot":                     strings.Replace(path, "/actions", "/./actions", 1),
		"S-14: two dots":                  strings.Replace(path, "/actions", "/x/../actions", 1),
		"an escaped slash":                strings.Replace(path, "/actions/", "%2Factions/", 1),
		"the root":                        "/",
		"another path":                    "/api/nothing",
		"a path below":                    path + "/more",
		"a path in another case":          strings.Replace(path, "/api/", "/API/", 1),
		"an admin path of another kind":   "/api/admin/nothing",
		"an admin path with a slash more": "/api/admin/locks/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				a := shared.client(t, s.token).do(method, path, call(""))
				if a.status != 404 || a.header.Get("Content-Type") != "application/json" {
					t.Errorf("got %d %s, want a 404 in JSON", a.status, a.header)
				}
			}
		})
	}
	shared.client(t, s.token).do(http.MethodPost, path+"?x=1", call("")).want(t, 200)
	shared.client(t, s.token).do("PROPFIND", "/api/nothing", nil).refused(t, 404, invocation.RouteNotFound)
	shared.client(t, s.token).do(http.MethodGet, "/api/nothing", nil).refused(t, 404, invocation.RouteNotFound)
}

func TestMethodsThatAPathDoesNotHave(t *testing.T) {
	t.Parallel()
	for path, item := range openAPI(t).Paths.Map() {
		var allow []string
		for method := range item.Operations() {
			allow = append(allow, method)
		}
		slices.Sort(allow)
		for _, method := range []string{
			http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodOptions, "PROPFIND",
		} {
			if slices.Contains(allow, method) {
				continue
			}
			a := shared.client(t, "").do(method, strings.NewReplacer("{", "", "}", "").Replace(path), nil)
			a.refused(t, 405, invocation.MethodNotAllowed)
			if got := a.header.Get("Allow"); got != strings.Join(allow, ", ") {
				t.Errorf("%s %s: got Allow %q, want %q", method, path, got, strings.Join(allow, ", "))
			}
			if a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s answers a page of another origin", method, path)
			}
		}
	}
}

func TestProbesAndMetrics(t *testing.T) {
	t.Parallel()
	c := shared.client(t, "")
	c.do(http.MethodGet, "/healthz", nil).want(t, 200)
	c.do(http.MethodGet, "/readyz", nil).want(t, 200)
	s := shared.newSession(t)
	shared.client(t, s.token).do(http.MethodPost, s.action("echo"), call("")).want(t, 200)
	shared.client(t, s.token).do(http.MethodPost, s.action("none"), call("")).refused(t, 404, invocation.UnknownCapability)
	a := c.do(http.MethodGet, "/metrics", nil).want(t, 200)
	for _, want := range []string{
		`invocation_accepted_total{reason="",result="accepted",source="edge"}`,
		`invocation_accepted_total{reason="unknown-capability",result="rejected",source="edge"}`,
		`http_route="/api/extensions/sessions/{sessionId}/actions/{commandId}"`,
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("the metrics do not hold %s", want)
		}
	}
	if strings.Contains(string(a.body), s.id) {
		t.Error("a session id is a label")
	}
}
