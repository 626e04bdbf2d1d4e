package edgeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

type manifestForm struct {
	Slug, DisplayName  string
	PartnerExtensionID *string
	Revision           int
	Commands           []struct{ ID, Kind string }
	Events             []struct{ ID string }
}

func (x extension) publish(t *testing.T, body string) manifestForm {
	t.Helper()
	var m manifestForm
	shared.client(t, x.token).do(http.MethodPut, "/api/extensions/"+x.slug+"/manifest", body).want(t, 200).into(t, &m)
	return m
}

func TestAManifestIsPublishedAndRead(t *testing.T) {
	t.Parallel()
	x, other := shared.newExtension(t), shared.newExtension(t)
	path := "/api/extensions/" + x.slug + "/manifest"
	get := func() answer { return shared.client(t, other.token).do(http.MethodGet, path, nil).want(t, 200) }
	var first manifestForm
	get().into(t, &first)
	if first.Revision != 1 || first.PartnerExtensionID == nil || first.Commands[0].Kind != "control" {
		t.Errorf("got %+v", first)
	}
	again := x.publish(t, strings.ReplaceAll(manifestOf(x.slug), "\n", "  "))
	if again.Revision != 1 {
		t.Errorf("got revision %d for the same document, want 1", again.Revision)
	}
	less := x.publish(t, `{"commands":[]}`)
	if less.Revision != 2 || len(less.Commands) != 0 || len(less.Events) != 1 {
		t.Errorf("got %+v, want the commands cleared and the events kept", less)
	}
	if again := x.publish(t, `{}`); again.Revision != 2 {
		t.Errorf("got revision %d for nothing, want 2", again.Revision)
	}
	if !strings.Contains(string(get().body), `"commands":[],"queries":[]`) {
		t.Errorf("S-02: got %s", get().body)
	}
}

func TestManifestsThatAreRefused(t *testing.T) {
	t.Parallel()
	x, other := shared.newExtension(t), shared.newExtension(t)
	before := shared.client(t, x.token).do(http.MethodGet, "/api/extensions/"+other.slug+"/manifest", nil).want(t, 200)
	command := `{"commands":[{"id":"%s","title":"T","invocableBy":[],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}`
	tests := map[string]struct {
		slug, body string
		status     int
		code       invocation.Code
	}{
		"SEC-54: a command of the lock":       {x.slug, fmt.Sprintf(command, "lock.add-time"), 400, "invalid-manifest"},
		"SEC-54: a command of somebody else":  {x.slug, fmt.Sprintf(command, other.slug+".echo"), 400, "invalid-manifest"},
		"somebody else's manifest":            {other.slug, `{}`, 403, "forbidden"},
		"a manifest of a built-in":            {"lock", `{}`, 403, "forbidden"},
		"a manifest of nobody":                {"nobody", `{}`, 403, "forbidden"},
		"a slug that is none":                 {"No.Slug", `{}`, 404, "extension-not-found"},
		"a document that is no JSON":          {x.slug, `{`, 400, "invalid-manifest"},
		"SEC-31: a name twice":                {x.slug, `{"events":[],"events":[]}`, 400, "invalid-manifest"},
		"a list that is null":                 {x.slug, `{"events":null}`, 400, "invalid-manifest"},
		"a document of one byte too many":     {x.slug, `{"events":[]` + strings.Repeat(" ", invocation.MaxBody-12) + `}`, 413, "payload-too-large"},
		"a document that reaches for a file ": {x.slug, strings.Replace(fmt.Sprintf(command, x.slug+".x"), `"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"object","$ref":"file:///etc/passwd"}`, 1), 400, "invalid-manifest"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared.client(t, x.token).do(http.MethodPut, "/api/extensions/"+test.slug+"/manifest", test.body).refused(t, test.status, test.code)
		})
	}
	after := shared.client(t, x.token).do(http.MethodGet, "/api/extensions/"+other.slug+"/manifest", nil).want(t, 200)
	if string(after.body) != string(before.body) {
		t.Errorf("SEC-54: got %s, want %s", after.body, before.body)
	}
}

func TestAllProblemsOfAManifestAreListed(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	body := fmt.Sprintf(`{"commands":[{"id":"%s.A","title":"","invocableBy":["nobody"],"inputSchema":{"type":"string"}}]}`, x.slug)
	p := shared.client(t, x.token).do(http.MethodPut, "/api/extensions/"+x.slug+"/manifest", body).refused(t, 400, invocation.InvalidManifest)
	got := p.paths(t)
	for _, path := range []string{"/commands/0/id", "/commands/0/title", "/commands/0/invocableBy/0", "/commands/0/inputSchema/type", "/commands/0"} {
		if got[path] == "" {
			t.Errorf("got %v, want a problem at %s", got, path)
		}
	}
}

func TestManifestsOfBuiltIns(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	c := shared.client(t, x.token)
	for _, slug := range contracts.BuiltIns() {
		a := c.do(http.MethodGet, "/api/extensions/"+slug+"/manifest", nil)
		if slug == "lock" {
			a.refused(t, 404, invocation.ExtensionNotFound)
			continue
		}
		var m manifestForm
		a.want(t, 200).into(t, &m)
		if m.Slug != slug || m.PartnerExtensionID != nil || m.DisplayName == "" || m.Revision != 1 {
			t.Errorf("got %+v", m)
		}
	}
	for _, slug := range []string{"chaster", "system", "nobody", "No.Slug", "*"} {
		c.do(http.MethodGet, "/api/extensions/"+slug+"/manifest", nil).refused(t, 404, invocation.ExtensionNotFound)
	}
	silent := extension{slug: unique("silent")}
	shared.admin(t).do(http.MethodPost, "/api/admin/extensions", map[string]string{"slug": silent.slug, "displayName": "Silent"}).want(t, 201)
	c.do(http.MethodGet, "/api/extensions/"+silent.slug+"/manifest", nil).refused(t, 404, invocation.ExtensionNotFound)
}

// Every publisher that was answered 200 with a revision finds its own document
// under it, whoever else published at the same time.
func TestManifestsPublishedAtOnceGetARevisionEach(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	const publishers = 8
	revisions := make([]int, publishers)
	var wg sync.WaitGroup
	for i := range publishers {
		wg.Go(func() {
			body := fmt.Sprintf(`{"subscriptions":["a%d.*"]}`, i)
			a := shared.client(t, x.token).do(http.MethodPut, "/api/extensions/"+x.slug+"/manifest", body)
			var m manifestForm
			if err := json.Unmarshal(a.body, &m); err != nil || a.status != 200 {
				t.Errorf("got %d %s %v", a.status, a.body, err)
			}
			revisions[i] = m.Revision
		})
	}
	wg.Wait()
	seen := make(map[int]bool)
	for i, revision := range revisions {
		if seen[revision] {
			t.Errorf("got revisions %v, want each once", revisions)
		}
		seen[revision] = true
		stored, err := shared.platform.Registry.Manifest(t.Context(), invocation.Slug(x.slug), revision)
		if err != nil || !strings.Contains(string(stored.Document), fmt.Sprintf("a%d.*", i)) {
			t.Errorf("got %s %v under revision %d, want the document of publisher %d", stored.Document, err, revision, i)
		}
	}
}

// A publisher that died between its two writes left a revision that is in
// force nowhere. The next one puts it in force and comes after it.
func TestAHalfPublishedManifestKeepsItsRevision(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	r := shared.platform.Registry
	stale, err := r.Newest(t.Context(), invocation.Slug(x.slug))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.UpdateExtension(t.Context(), stale.Slug, func(e *registry.Extension) error { e.DisplayName = "Moved on"; return nil }); err != nil {
		t.Fatal(err)
	}
	half := registry.Manifest{Document: json.RawMessage(`{"commands":[],"queries":[],"events":[],"subscriptions":["half.*"]}`)}
	if _, err := r.PublishManifest(t.Context(), stale, half); invocation.CodeOf(err) != invocation.ResourceConflict {
		t.Fatalf("got %v, want a conflict after the manifest was stored", err)
	}
	if m := x.publish(t, `{"subscriptions":["whole.*"]}`); m.Revision != 3 {
		t.Errorf("got revision %d, want 3", m.Revision)
	}
	if stored, err := r.Manifest(t.Context(), stale.Slug, 2); err != nil || string(stored.Document) != string(half.Document) {
		t.Errorf("got %s %v under revision 2, want what was stored first", stored.Document, err)
	}
}
