package edgeapi_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
)

type auditForm struct {
	ID, Method, Path, At string
	Members              []string
	Status               *int
	Credential           struct {
		Kind, TokenID, Prefix string
		Role, Extension       *string
	}
}

// audit returns the records of what was done to a path and below it, once all
// have ended.
func (s *stack) audit(t *testing.T, path string) (found []auditForm) {
	t.Helper()
	brokertest.Eventually(t, time.Minute, "every request has ended", func() bool {
		var page struct{ Items []auditForm }
		s.admin(t).do(http.MethodGet, "/api/admin/audit?path="+url.QueryEscape(path), nil).want(t, 200).into(t, &page)
		found = page.Items
		return !slices.ContainsFunc(found, func(a auditForm) bool { return a.Status == nil })
	})
	return found
}

// Every request of an operator to change something is recorded, with who, what
// and how it ended, and without a value of what was sent; reading is not.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	path := "/api/admin/extensions/" + x.slug
	admin, readOnly := shared.admin(t), shared.client(t, newAdminToken(t, "read-only"))
	before := len(shared.audit(t, path)) // its developer token
	admin.do(http.MethodGet, path, nil).want(t, 200)
	admin.do(http.MethodPatch, path, `{"displayName":"CANARY","basic":{"user":"u","password":"CANARY"},"disabled":false}`).want(t, 200)
	admin.do(http.MethodPatch, path, `{"CANARY":1,"canary-secret":2,"disabled":3}`).want(t, 400)
	readOnly.do(http.MethodPatch, path, `{"disabled":true}`).refused(t, 403, invocation.Forbidden)
	shared.client(t, x.token).do(http.MethodPatch, path, `{"disabled":true}`).refused(t, 403, invocation.Forbidden)
	shared.client(t, "nobody's").do(http.MethodPatch, path, `{"disabled":true}`).refused(t, 401, invocation.Unauthorized)
	admin.do(http.MethodPost, path+"/signing-secrets", nil).want(t, 201)
	got := shared.audit(t, path)[before:]
	want := []struct {
		method, path string
		status       int
		role         string
		members      []string
	}{
		{"PATCH", path, 200, "full", []string{"basic", "disabled", "displayName"}},
		{"PATCH", path, 400, "full", []string{"disabled"}},
		{"PATCH", path, 403, "read-only", []string{}},
		{"POST", path + "/signing-secrets", 201, "full", []string{}},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %d records", got, len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Method != w.method || g.Path != w.path || *g.Status != w.status || !slices.Equal(g.Members, w.members) ||
			g.Credential.Kind != "admin" || *g.Credential.Role != w.role || g.Credential.Extension != nil {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
	raw := string(admin.do(http.MethodGet, "/api/admin/audit?limit=100&path="+path, nil).want(t, 200).body)
	if strings.Contains(strings.ToUpper(raw), "CANARY") {
		t.Errorf("SEC-117: got %s, want no value that was sent", raw)
	}
}

// What developers do about their own endpoint is recorded, too.
func TestDevelopersAreAudited(t *testing.T) {
	t.Parallel()
	x, other := shared.newExtension(t), shared.newExtension(t)
	path := "/api/extensions/" + x.slug
	shared.client(t, x.token).do(http.MethodPost, path+"/signing-secrets", nil).want(t, 201)
	shared.client(t, other.token).do(http.MethodPatch, path+"/endpoint", `{"maxPerSecond":1}`).refused(t, 403, invocation.Forbidden)
	got := shared.audit(t, path)
	if len(got) != 2 || *got[0].Credential.Extension != x.slug || *got[1].Credential.Extension != other.slug || *got[1].Status != 403 {
		t.Errorf("got %+v", got)
	}
	for _, g := range got {
		if g.Credential.Kind != "developer" || g.Credential.Role != nil || !strings.HasPrefix(g.Credential.Prefix, "cdt_") {
			t.Errorf("got %+v", g.Credential)
		}
	}
	var page struct{ Items []auditForm }
	shared.admin(t).do(http.MethodGet, "/api/admin/audit?tokenId="+got[0].Credential.TokenID, nil).want(t, 200).into(t, &page)
	if len(page.Items) != 1 || page.Items[0].ID != got[0].ID {
		t.Errorf("got %+v, want what was done with the one token", page.Items)
	}
	shared.admin(t).do(http.MethodGet, "/api/admin/audit?path="+path+"&to="+got[0].At, nil).want(t, 200).into(t, &page)
	if len(page.Items) != 0 {
		t.Errorf("got %+v before the first", page.Items)
	}
	all := everything(t, "/api/admin/audit?limit=1&path="+path, func(a auditForm) string { return a.ID })
	if !slices.Equal(all, []string{got[0].ID, got[1].ID}) {
		t.Errorf("got %v page by page, want both", all)
	}
}

// What a process died over stays in the audit without a status.
func TestAnUnendedRequestStaysInTheAudit(t *testing.T) {
	t.Parallel()
	path := "/api/admin/locks/" + unique("died")
	err := shared.platform.Ledger.StoreAudit(t.Context(), ledger.AuditRecord{
		ID: invocation.ID(invocation.NewExtensionID()), At: time.Now().UnixMilli(), Token: "0123456789abcdef01234567",
		Kind: "admin", Role: "full", Prefix: "cat_123456", Method: "POST", Path: path,
	})
	if err != nil {
		t.Fatal(err)
	}
	var page struct{ Items []auditForm }
	shared.admin(t).do(http.MethodGet, "/api/admin/audit?path="+path, nil).want(t, 200).into(t, &page)
	if len(page.Items) != 1 || page.Items[0].Status != nil {
		t.Errorf("got %+v", page.Items)
	}
}
