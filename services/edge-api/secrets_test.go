package edgeapi_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

type secretForm struct {
	ID, Scheme, Prefix string
	SigningSecret      *string
	VerificationKey    *string
	ExpiresAt          *time.Time
}

// Developers make, list and revoke the secrets of their own endpoint, of both
// schemes, and never see a private key (SEC-25, SEC-26, SEC-28).
func TestDevelopersRotateTheirOwnSecrets(t *testing.T) {
	t.Parallel()
	x := shared.newExtension(t)
	path := "/api/extensions/" + x.slug + "/signing-secrets"
	developer := shared.client(t, x.token)
	list := func() (out []secretForm) {
		t.Helper()
		var page struct{ Items []secretForm }
		a := developer.do(http.MethodGet, path, nil).want(t, 200)
		if strings.Contains(string(a.body), "whsk_") {
			t.Errorf("SEC-28: a private key is shown in %s", a.body)
		}
		a.into(t, &page)
		return page.Items
	}
	first := list()
	if len(first) != 1 || first[0].Scheme != "v1" || first[0].SigningSecret != nil {
		t.Fatalf("got %+v, want the secret the extension was made with", first)
	}

	var public secretForm
	developer.do(http.MethodPost, path, `{"scheme":"v1a"}`).want(t, 201).into(t, &public)
	if public.Scheme != "v1a" || public.SigningSecret != nil || public.VerificationKey == nil {
		t.Fatalf("got %+v, want a public key alone", public)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*public.VerificationKey, "whpk_"))
	if err != nil || len(key) != 32 || !strings.HasPrefix(*public.VerificationKey, public.Prefix) {
		t.Errorf("got the key %q (prefix %q), want 32 bytes", *public.VerificationKey, public.Prefix)
	}
	if got := list(); len(got) != 2 || got[0].ExpiresAt != nil {
		t.Errorf("got %+v, want the secret of the other scheme to stay", got)
	}

	began := time.Now()
	var next secretForm
	developer.do(http.MethodPost, path, `{"overlapSeconds":60}`).want(t, 201).into(t, &next)
	got := list()
	if len(got) != 3 || got[0].ExpiresAt == nil || got[0].ExpiresAt.Sub(began) > 65*time.Second || got[1].ExpiresAt != nil {
		t.Errorf("got %+v, want the first to end in a minute, the public key to stay", got)
	}
	developer.do(http.MethodDelete, path+"/"+first[0].ID, nil).want(t, 204)
	developer.do(http.MethodDelete, path+"/"+public.ID, nil).want(t, 204)
	developer.do(http.MethodDelete, path+"/"+public.ID, nil).refused(t, 404, invocation.ResourceNotFound)
	developer.do(http.MethodDelete, path+"/"+next.ID, nil).refused(t, 409, invocation.ResourceConflict)
	developer.do(http.MethodPost, path, `{"overlapSeconds":0}`).want(t, 201)
	if got := list(); len(got) != 1 || got[0].ID == next.ID {
		t.Errorf("got %+v, want the new one alone: there was no overlap", got)
	}

	other := shared.client(t, shared.newExtension(t).token)
	other.do(http.MethodGet, path, nil).refused(t, 403, invocation.Forbidden)
	other.do(http.MethodPost, path, nil).refused(t, 403, invocation.Forbidden)
	other.do(http.MethodDelete, path+"/"+got[0].ID, nil).refused(t, 403, invocation.Forbidden)
}
