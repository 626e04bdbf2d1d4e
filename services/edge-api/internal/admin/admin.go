package admin

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// A Config is what the endpoints stand on. Every field must be set.
type Config struct {
	Intake   *intake.Intake
	Ledger   *ledger.Ledger
	Registry *registry.Registry
	// Policy says which webhook URLs may be called.
	Policy egress.Policy
}

// An API serves the endpoints. All methods may be called concurrently.
type API struct {
	ledger   *ledger.Ledger
	registry *registry.Registry
	intake   *intake.Intake
	policy   egress.Policy
}

// New returns the endpoints on what they stand on.
func New(cfg Config) *API {
	return &API{ledger: cfg.Ledger, registry: cfg.Registry, intake: cfg.Intake, policy: cfg.Policy}
}

// Routes returns every endpoint of operators.
func (a *API) Routes() []door.Route {
	const (
		extension = "/api/admin/extensions/{slug}"
		lock      = "/api/admin/locks/{lockId}"
		session   = "/api/admin/sessions/{sessionId}"
		mainToken = session + "/main-tokens"
	)
	return []door.Route{
		a.route(http.MethodGet, "/api/admin/extensions", a.listExtensions),
		a.route(http.MethodPost, "/api/admin/extensions", a.createExtension),
		a.route(http.MethodGet, extension, a.getExtension),
		a.route(http.MethodPatch, extension, a.patchExtension),
		a.route(http.MethodGet, extension+"/signing-secrets", a.listSecrets),
		a.route(http.MethodPost, extension+"/signing-secrets", a.createSecret),
		a.route(http.MethodDelete, extension+"/signing-secrets/{secretId}", a.revokeSecret),
		a.route(http.MethodGet, extension+"/tokens", a.listDeveloperTokens),
		a.route(http.MethodPost, extension+"/tokens", a.createDeveloperToken),
		a.route(http.MethodDelete, extension+"/tokens/{tokenId}", a.revokeDeveloperToken),

		a.route(http.MethodGet, "/api/admin/tokens", a.listAdminTokens),
		a.route(http.MethodPost, "/api/admin/tokens", a.createAdminToken),
		a.route(http.MethodDelete, "/api/admin/tokens/{tokenId}", a.revokeAdminToken),

		a.route(http.MethodGet, "/api/admin/locks", a.listLocks),
		a.route(http.MethodPost, "/api/admin/locks", a.createLock),
		a.route(http.MethodGet, lock, a.getLock),
		a.route(http.MethodPost, lock+"/finish", a.finishLock),
		a.route(http.MethodPost, lock+"/acts", a.performAct),
		a.route(http.MethodGet, lock+"/sessions", a.listSessions),
		a.route(http.MethodPost, lock+"/sessions", a.createSession),
		a.route(http.MethodGet, lock+"/history", a.readHistory),
		a.route(http.MethodGet, session, a.getSession),
		a.route(http.MethodDelete, session, a.deleteSession),
		a.route(http.MethodGet, mainToken, a.listMainTokens),
		a.route(http.MethodPost, mainToken, a.createMainToken),
		a.route(http.MethodDelete, mainToken+"/{tokenId}", a.revokeMainToken),

		a.route(http.MethodGet, "/api/admin/chains/{correlationId}", a.getChain),
		a.route(http.MethodGet, "/api/admin/deliveries", all(a.listDeliveries)),
		a.route(http.MethodPost, "/api/admin/replays", all(a.replayDeliveries)),
		a.route(http.MethodGet, "/api/admin/deliveries/{deliveryId}", all(a.getDelivery)),
		a.route(http.MethodPost, "/api/admin/deliveries/{deliveryId}/replay", all(a.replayDelivery)),
		a.route(http.MethodGet, "/api/admin/dead-messages", a.listDeadMessages),
		a.route(http.MethodGet, "/api/admin/audit", a.listAudit),
	}
}

// route returns an endpoint for whoever has an admin token whose role reaches
// it (contract section 2).
func (a *API) route(method, pattern string, next door.Handler) door.Route {
	return door.Route{Method: method, Pattern: pattern, Serve: door.Handler(func(w http.ResponseWriter, r *http.Request) error {
		t, err := a.intake.Admin(r.Context(), wire.Single(r.Header, "Authorization"))
		if err != nil {
			return err
		}
		return a.audited(w, r, t, func(w http.ResponseWriter, r *http.Request) error {
			if method != http.MethodGet && t.Role != registry.RoleFull {
				return invocation.Refusef(invocation.Forbidden, "the token's role is read-only")
			}
			return next(w, r)
		})
	})}
}

// ok answers with a value, unless there is an error.
func ok(w http.ResponseWriter, status int, v any, err error) error {
	if err != nil {
		return err
	}
	return wire.Answer(w, status, v)
}

// noContent answers that it is done, unless there is an error.
func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
