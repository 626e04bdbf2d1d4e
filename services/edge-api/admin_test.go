package edgeapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

type extensionForm struct {
	ID, Slug, DisplayName string
	WebhookURL, BasicUser *string
	Disabled              bool
	SigningSecret         string
}

func TestExtensionsAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	admin := shared.admin(t)
	slug := unique("made")
	path := "/api/admin/extensions/" + slug
	var made extensionForm
	a := admin.do(http.MethodPost, "/api/admin/extensions", map[string]any{
		"slug": slug, "displayName": "Made", "webhookUrl": "https://example.com/hook?key=CANARY",
		"basic": map[string]string{"user": "u", "password": "p-CANARY"},
	}).want(t, 201)
	a.into(t, &made)
	if strings.Contains(string(a.body), "p-CANARY") || !strings.HasPrefix(made.SigningSecret, "whsec_") {
		t.Errorf("got %s", a.body)
	}
	again := admin.do(http.MethodPost, "/api/admin/extensions", map[string]any{"slug": slug, "displayName": "Again"})
	if p := again.refused(t, 409, invocation.ResourceConflict); p.fact(t, "field") != "slug" {
		t.Errorf("got %s, want the field slug", again.body)
	}
	read := func() (form extensionForm) {
		a := admin.do(http.MethodGet, path, nil).want(t, 200)
		if strings.Contains(string(a.body), made.SigningSecret) || strings.Contains(string(a.body), "p-CANARY") {
			t.Errorf("SEC-28: a secret is shown again: %s", a.body)
		}
		a.into(t, &form)
		return form
	}
	if got := read(); got.ID != made.ID || *got.WebhookURL != "https://example.com/hook?key=CANARY" || *got.BasicUser != "u" || got.Disabled {
		t.Errorf("got %+v", got)
	}
	admin.do(http.MethodPatch, path, `{"displayName":"Other","disabled":true}`).want(t, 200)
	if got := read(); got.DisplayName != "Other" || !got.Disabled || *got.BasicUser != "u" {
		t.Errorf("got %+v, want the rest to stay", got)
	}
	admin.do(http.MethodPatch, path, `{"webhookUrl":null,"basic":null,"disabled":false}`).want(t, 200)
	if got := read(); got.WebhookURL != nil || got.BasicUser != nil || got.Disabled || got.DisplayName != "Other" {
		t.Errorf("got %+v, want them cleared", got)
	}
	for _, none := range []string{"nobody", "lock", "No.Slug", "*"} {
		admin.do(http.MethodGet, "/api/admin/extensions/"+none, nil).refused(t, 404, invocation.ExtensionNotFound)
		admin.do(http.MethodPatch, "/api/admin/extensions/"+none, `{"disabled":true}`).refused(t, 404, invocation.ExtensionNotFound)
	}
	if strings.Contains(shared.logs.String(), "CANARY") {
		t.Error("SEC-117: a secret is in the log")
	}
}

func TestExtensionsThatAreRefused(t *testing.T) {
	t.Parallel()
	with := func(member string) string {
		return fmt.Sprintf(`{"slug":%q,"displayName":"X",%s}`, unique("x"), member)
	}
	tests := map[string]struct {
		body string
		code invocation.Code
		path string
	}{
		"a slug that is none":             {`{"slug":"No.Slug","displayName":"X"}`, "invalid-input", "/slug"},
		"SEC-54: a built-in's slug":       {`{"slug":"wheel-of-fortune","displayName":"X"}`, "invalid-input", "/slug"},
		"a slug that is part of paths":    {`{"slug":"sessions","displayName":"X"}`, "invalid-input", "/slug"},
		"SEC-54: the platform's slug":     {`{"slug":"system","displayName":"X"}`, "invalid-input", "/slug"},
		"a name of no character":          {`{"slug":"x","displayName":""}`, "invalid-input", "/displayName"},
		"a name too long":                 {`{"slug":"x","displayName":"` + strings.Repeat("é", 61) + `"}`, "invalid-input", "/displayName"},
		"a name that turns the text":      {`{"slug":"x","displayName":"a\u202eb"}`, "invalid-input", "/displayName"},
		"no name":                         {`{"slug":"x"}`, "malformed-request", ""},
		"SEC-01: an address":              {with(`"webhookUrl":"https://10.0.0.1/"`), "invalid-input", "/webhookUrl"},
		"SEC-01: an address in disguise":  {with(`"webhookUrl":"https://2130706433/"`), "invalid-input", "/webhookUrl"},
		"SEC-07: no TLS":                  {with(`"webhookUrl":"http://example.com/"`), "invalid-input", "/webhookUrl"},
		"SEC-07: another port":            {with(`"webhookUrl":"https://example.com:8443/"`), "invalid-input", "/webhookUrl"},
		"SEC-07: credentials in the URL":  {with(`"webhookUrl":"https://u:p@example.com/"`), "invalid-input", "/webhookUrl"},
		"SEC-07: a line break in the URL": {with(`"webhookUrl":"https://example.com/\r\nX: y"`), "invalid-input", "/webhookUrl"},
		"a URL that is null":              {with(`"webhookUrl":null`), "malformed-request", "/webhookUrl"},
		"S-33: a colon in the user":       {with(`"basic":{"user":"a:b","password":"p"}`), "invalid-input", "/basic"},
		"a control in the password":       {with(`"basic":{"user":"a","password":"p\u0007"}`), "invalid-input", "/basic"},
		"no user":                         {with(`"basic":{"user":"","password":"p"}`), "invalid-input", "/basic/user"},
		"a user too long":                 {with(`"basic":{"user":"` + strings.Repeat("u", 101) + `","password":"p"}`), "invalid-input", "/basic/user"},
		"no password":                     {with(`"basic":{"user":"u"}`), "malformed-request", "/basic"},
		"a member nobody knows, nested":   {with(`"basic":{"user":"u","password":"p","realm":"r"}`), "malformed-request", "/basic/realm"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shared.admin(t).do(http.MethodPost, "/api/admin/extensions", test.body).refused(t, 400, test.code)
			if _, found := p.paths(t)[test.path]; !found {
				t.Errorf("got %s, want a problem at %q", p.Details, test.path)
			}
			if strings.Contains(string(p.Details), "10.0.0.1") || strings.Contains(string(p.Details), "u:p") {
				t.Errorf("got %s, want it not to quote the value", p.Details)
			}
		})
	}
}

func TestSigningSecretsRotateWithoutAGap(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	path := "/api/admin/extensions/" + x.slug + "/signing-secrets"
	type secret struct {
		ID, Prefix, SigningSecret string
		ExpiresAt                 *string
	}
	var made secret
	shared.admin(t).do(http.MethodPost, path, nil).want(t, 201).into(t, &made)
	if !strings.HasPrefix(made.SigningSecret, made.Prefix) || made.ExpiresAt != nil {
		t.Errorf("got %+v", made)
	}
	var list struct{ Items []secret }
	a := shared.admin(t).do(http.MethodGet, path, nil).want(t, 200)
	a.into(t, &list)
	if len(list.Items) != 2 || list.Items[1].ID != made.ID || list.Items[0].ExpiresAt == nil || list.Items[1].ExpiresAt != nil {
		t.Fatalf("got %s, want the old one for another day and the new one for good", a.body)
	}
	ends, err := time.Parse(time.RFC3339, *list.Items[0].ExpiresAt)
	if left := time.Until(ends); err != nil || left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("got %s left, want a day", left)
	}
	if strings.Contains(string(a.body), made.SigningSecret) {
		t.Error("SEC-28: a secret is shown again")
	}
	for range 12 {
		shared.admin(t).do(http.MethodPost, path, nil).want(t, 201)
	}
	shared.admin(t).do(http.MethodGet, path, nil).want(t, 200).into(t, &list)
	if len(list.Items) != 10 {
		t.Errorf("got %d secrets that sign, want 10 at most", len(list.Items))
	}
	shared.admin(t).do(http.MethodPost, "/api/admin/extensions/nobody/signing-secrets", nil).refused(t, 404, invocation.ExtensionNotFound)
}

func TestDeveloperTokensEnd(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	path := "/api/admin/extensions/" + x.slug + "/tokens"
	for name, body := range map[string]string{
		"a time that has passed": `{"expiresAt":"2020-01-01T00:00:00Z"}`,
		"a time far ahead":       `{"expiresAt":"2999-01-01T00:00:00Z"}`,
		"a time that is none":    `{"expiresAt":"tomorrow"}`,
		"a label too long":       `{"label":"` + strings.Repeat("l", 101) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared.admin(t).do(http.MethodPost, path, body).refused(t, 400, invocation.InvalidInput)
		})
	}
	var made struct {
		ID, Token string
		Label     *string
		ExpiresAt *string
	}
	ends := time.Now().Add(2 * time.Second).In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)
	shared.admin(t).do(http.MethodPost, path, map[string]string{"label": "short", "expiresAt": ends}).want(t, 201).into(t, &made)
	if *made.Label != "short" || made.ExpiresAt == nil || !strings.HasPrefix(made.Token, "cdt_") {
		t.Errorf("got %+v", made)
	}
	var list struct{ Items []struct{ ID string } }
	shared.admin(t).do(http.MethodGet, path, nil).want(t, 200).into(t, &list)
	if len(list.Items) != 2 || list.Items[1].ID != made.ID {
		t.Errorf("got %+v, want the two, oldest first", list)
	}
	other := shared.newExtension(t)
	shared.admin(t).do(http.MethodDelete, "/api/admin/extensions/"+other.slug+"/tokens/"+made.ID, nil).refused(t, 404, invocation.ResourceNotFound)
	shared.admin(t).do(http.MethodDelete, path+"/none", nil).refused(t, 404, invocation.ResourceNotFound)
	shared.admin(t).do(http.MethodDelete, "/api/admin/tokens/"+made.ID, nil).refused(t, 404, invocation.ResourceNotFound)
	shared.admin(t).do(http.MethodPost, "/api/admin/extensions/nobody/tokens", `{}`).refused(t, 404, invocation.ExtensionNotFound)
}

func TestAdminTokens(t *testing.T) {
	t.Parallel()
	var made struct{ ID, Token, Role string }
	shared.admin(t).do(http.MethodPost, "/api/admin/tokens", `{"label":"second"}`).want(t, 201).into(t, &made)
	if made.Role != "full" || !strings.HasPrefix(made.Token, "cat_") {
		t.Errorf("got %+v", made)
	}
	own := shared.client(t, made.Token)
	own.do(http.MethodGet, "/api/admin/tokens", nil).want(t, 200)
	shared.admin(t).do(http.MethodPost, "/api/admin/tokens", `{"role":"owner"}`).refused(t, 400, invocation.InvalidInput)
	own.do(http.MethodDelete, "/api/admin/tokens/"+made.ID, nil).want(t, 204)
	own.do(http.MethodGet, "/api/admin/tokens", nil).refused(t, 401, invocation.Unauthorized)
}

// everything pages through a list and returns what get finds in its items.
func everything[T any](t *testing.T, path string, get func(T) string) []string {
	t.Helper()
	var all []string
	next := ""
	for pages := 0; ; pages++ {
		if pages > 1000 {
			t.Fatalf("got no end after %d items", len(all))
		}
		var list struct {
			Items []T
			Next  *string
		}
		shared.admin(t).do(http.MethodGet, path+next, nil).want(t, 200).into(t, &list)
		if len(list.Items) > 2 {
			t.Fatalf("got %d items, want 2 at most", len(list.Items))
		}
		for _, item := range list.Items {
			all = append(all, get(item))
		}
		if list.Next == nil {
			return all
		}
		next = "&cursor=" + url.QueryEscape(*list.Next)
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	var slugs, locks []string
	for range 5 {
		slugs = append(slugs, shared.newExtension(t).slug)
		locks = append(locks, shared.newLock(t))
		newAdminToken(t, "read-only")
	}
	gotSlugs := everything(t, "/api/admin/extensions?limit=2", func(x extensionForm) string { return x.Slug })
	gotLocks := everything(t, "/api/admin/locks?limit=2", func(x struct{ ID string }) string { return x.ID })
	tokens := everything(t, "/api/admin/tokens?limit=2", func(x struct{ ID string }) string { return x.ID })
	for what, lists := range map[string][2][]string{"extensions": {gotSlugs, slugs}, "locks": {gotLocks, locks}, "tokens": {tokens, nil}} {
		got, want := lists[0], lists[1]
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: got %v without %s", what, got, w)
			}
		}
		slices.Sort(got)
		if len(got) < 5 || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: got %v, want each once", what, got)
		}
	}
	for _, path := range []string{"/api/admin/extensions", "/api/admin/locks", "/api/admin/tokens", "/api/admin/deliveries"} {
		for _, query := range []string{"limit=0", "limit=101", "cursor=", "cursor=%21", "cursor=" + strings.Repeat("A", 201)} {
			shared.admin(t).do(http.MethodGet, path+"?"+query, nil).refused(t, 400, invocation.MalformedRequest)
		}
	}
}
