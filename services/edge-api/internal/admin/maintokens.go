package admin

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

type mainTokenAnswer struct {
	ID        string        `json:"id"`
	Prefix    string        `json:"prefix"`
	Role      registry.Role `json:"role"`
	CreatedAt string        `json:"createdAt"`
	ExpiresAt string        `json:"expiresAt"`
}

type mainTokenCreated struct {
	mainTokenAnswer
	Token string `json:"token"`
}

func newMainToken(t registry.Token) mainTokenAnswer {
	return mainTokenAnswer{
		ID: t.ID, Prefix: t.Prefix, Role: t.Role,
		CreatedAt: invocation.FormatTime(t.CreatedAt), ExpiresAt: invocation.FormatTime(t.ExpiresAt),
	}
}

func (a *API) listMainTokens(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	tokens, err := a.liveTokens(r, mainTokensOf(s.ID))
	return ok(w, http.StatusOK, through(whole(tokens), newMainToken), err)
}

func (a *API) createMainToken(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	f.Require("role")
	role, _ := f.OneOf("role", string(registry.RoleWearer), string(registry.RoleKeyholder))
	if registry.Role(role) == registry.RoleKeyholder {
		snap, err := a.ledger.Lock(r.Context(), s.Lock)
		if err != nil {
			return err
		}
		if snap.State.Keyholder == nil {
			f.Wrong("role", "must be wearer: the lock has no keyholder")
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	t, secret, err := a.issue(r, registry.Token{
		Kind: registry.MainToken, Session: s.ID, Role: registry.Role(role),
		ExpiresAt: invocation.Instant(a.ledger.Now().Add(registry.MainTokenTTL)),
	})
	return ok(w, http.StatusCreated, mainTokenCreated{newMainToken(t), secret}, err)
}

func (a *API) revokeMainToken(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	return a.revoke(w, r, mainTokensOf(s.ID))
}

func mainTokensOf(s invocation.SessionID) func(registry.Token) bool {
	return func(t registry.Token) bool { return t.Kind == registry.MainToken && t.Session == s }
}
