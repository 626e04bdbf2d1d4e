package admin

import (
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

const (
	maxLabel = 100
	// How far ahead a token's end may lie.
	maxExpiry = 10 * 365 * 24 * time.Hour
)

// A tokenAnswer is what is known of a token of an extension.
type tokenAnswer struct {
	ID        string  `json:"id"`
	Prefix    string  `json:"prefix"`
	Label     *string `json:"label"`
	CreatedAt string  `json:"createdAt"`
	ExpiresAt *string `json:"expiresAt"`
}

type tokenCreated struct {
	tokenAnswer
	Token string `json:"token"`
}

// An adminTokenAnswer is what is known of an operator's token.
type adminTokenAnswer struct {
	tokenAnswer
	Role registry.Role `json:"role"`
}

type adminTokenCreated struct {
	adminTokenAnswer
	Token string `json:"token"`
}

func newTokenAnswer(t registry.Token) tokenAnswer {
	return tokenAnswer{
		ID: t.ID, Prefix: t.Prefix, Label: wire.OrNull(t.Label),
		CreatedAt: invocation.FormatTime(t.CreatedAt), ExpiresAt: wire.TimeOrNull(t.ExpiresAt),
	}
}

func newAdminTokenAnswer(t registry.Token) adminTokenAnswer {
	return adminTokenAnswer{newTokenAnswer(t), t.Role}
}

func (a *API) listDeveloperTokens(w http.ResponseWriter, r *http.Request) error {
	e, err := a.extension(r)
	if err != nil {
		return err
	}
	tokens, err := a.liveTokens(r, developerTokensOf(e.Slug))
	return ok(w, http.StatusOK, through(whole(tokens), newTokenAnswer), err)
}

func (a *API) createDeveloperToken(w http.ResponseWriter, r *http.Request) error {
	e, err := a.extension(r)
	if err != nil {
		return err
	}
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	t := registry.Token{Kind: registry.DeveloperToken, Extension: e.Slug}
	a.readToken(f, &t)
	if err := f.Err(); err != nil {
		return err
	}
	t, secret, err := a.issue(r, t)
	return ok(w, http.StatusCreated, tokenCreated{newTokenAnswer(t), secret}, err)
}

func (a *API) revokeDeveloperToken(w http.ResponseWriter, r *http.Request) error {
	e, err := a.extension(r)
	if err != nil {
		return err
	}
	return a.revoke(w, r, developerTokensOf(e.Slug))
}

func developerTokensOf(slug invocation.Slug) func(registry.Token) bool {
	return func(t registry.Token) bool { return t.Kind == registry.DeveloperToken && t.Extension == slug }
}

func (a *API) listAdminTokens(w http.ResponseWriter, r *http.Request) error {
	p, err := readPlace(r)
	if err != nil {
		return err
	}
	tokens, err := a.liveTokens(r, isAdminToken)
	byAge := func(t registry.Token) string { return invocation.FormatTime(t.CreatedAt) + t.ID }
	return ok(w, http.StatusOK, through(cut(tokens, p, byAge), newAdminTokenAnswer), err)
}

func (a *API) createAdminToken(w http.ResponseWriter, r *http.Request) error {
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	t := registry.Token{Kind: registry.AdminToken, Role: registry.RoleFull}
	a.readToken(f, &t)
	if role, found := f.OneOf("role", string(registry.RoleFull), string(registry.RoleReadOnly)); found {
		t.Role = registry.Role(role)
	}
	if err := f.Err(); err != nil {
		return err
	}
	t, secret, err := a.issue(r, t)
	return ok(w, http.StatusCreated, adminTokenCreated{newAdminTokenAnswer(t), secret}, err)
}

func (a *API) revokeAdminToken(w http.ResponseWriter, r *http.Request) error {
	return a.revoke(w, r, isAdminToken)
}

func isAdminToken(t registry.Token) bool { return t.Kind == registry.AdminToken }

// readToken reads what every token's request may say.
func (a *API) readToken(f *door.Fields, t *registry.Token) {
	if label, found := f.Text("label"); found {
		f.Within("label", label, 0, maxLabel)
		t.Label = label
	}
	ends, found := f.Time("expiresAt")
	if !found {
		return
	}
	now := a.ledger.Now()
	switch {
	case !ends.After(now):
		f.Wrong("expiresAt", "must be after now")
	case ends.After(now.Add(maxExpiry)):
		f.Wrong("expiresAt", "must be within 10 years")
	}
	t.ExpiresAt = invocation.Instant(ends)
}

// issue stores a new token and returns it with its secret, which only this
// answer shows.
func (a *API) issue(r *http.Request, t registry.Token) (registry.Token, string, error) {
	t, secret := registry.NewToken(t, a.ledger.Now())
	return t, secret, a.registry.StoreToken(r.Context(), t)
}

// liveTokens returns the tokens that match and have not expired, oldest first.
func (a *API) liveTokens(r *http.Request, match func(registry.Token) bool) ([]registry.Token, error) {
	now := a.ledger.Now()
	return a.registry.Tokens(r.Context(), func(t registry.Token) bool {
		return match(t) && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
	})
}

// revoke removes the token that the path names, if it matches.
func (a *API) revoke(w http.ResponseWriter, r *http.Request, match func(registry.Token) bool) error {
	return noContent(w, a.registry.RevokeToken(r.Context(), r.PathValue("tokenId"), match))
}
