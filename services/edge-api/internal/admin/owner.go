package admin

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// OwnerRoutes returns the endpoints by which developers look after their own
// extension's webhook.
func (a *API) OwnerRoutes() []door.Route {
	const (
		extension  = "/api/extensions/{slug}"
		deliveries = extension + "/deliveries"
	)
	return []door.Route{
		a.owner(http.MethodGet, extension+"/endpoint", a.getEndpoint),
		a.owner(http.MethodPatch, extension+"/endpoint", a.patchEndpoint),
		a.owner(http.MethodPost, extension+"/endpoint/enable", a.enableEndpoint),
		a.owner(http.MethodGet, extension+"/signing-secrets", unscoped(a.listSecrets)),
		a.owner(http.MethodPost, extension+"/signing-secrets", unscoped(a.createSecret)),
		a.owner(http.MethodDelete, extension+"/signing-secrets/{secretId}", unscoped(a.revokeSecret)),
		a.owner(http.MethodGet, deliveries, a.listDeliveries),
		a.owner(http.MethodGet, deliveries+"/{deliveryId}", a.getDelivery),
		a.owner(http.MethodPost, deliveries+"/{deliveryId}/replay", a.replayDelivery),
		a.owner(http.MethodPost, extension+"/replays", a.replayDeliveries),
	}
}

// A scoped handler serves one extension, or with an empty slug all.
type scoped = func(http.ResponseWriter, *http.Request, invocation.Slug) error

// unscoped returns a handler that finds the extension by the path alone.
func unscoped(h door.Handler) scoped {
	return func(w http.ResponseWriter, r *http.Request, _ invocation.Slug) error { return h(w, r) }
}

// all returns a handler that serves every extension.
func all(h scoped) door.Handler {
	return func(w http.ResponseWriter, r *http.Request) error { return h(w, r, "") }
}

// owner returns an endpoint for the developer token of the extension that the
// path names.
func (a *API) owner(method, pattern string, next scoped) door.Route {
	return door.Route{Method: method, Pattern: pattern, Serve: door.Handler(func(w http.ResponseWriter, r *http.Request) error {
		own, t, err := a.intake.Owner(r.Context(), wire.Single(r.Header, "Authorization"))
		if err != nil {
			return err
		}
		return a.audited(w, r, t, func(w http.ResponseWriter, r *http.Request) error {
			slug, err := slugOf(r)
			if err != nil {
				return err
			}
			if slug != own.Slug {
				return invocation.Refusef(invocation.Forbidden, "an endpoint is looked after by its own extension")
			}
			return next(w, r, slug)
		})
	})}
}

// An endpointState says how an endpoint fares.
type endpointState struct {
	// State is active, held (only probes are sent) or disabled.
	State        string  `json:"state"`
	FailingSince *string `json:"failingSince"`
	NextProbeAt  *string `json:"nextProbeAt"`
	// DisabledReason is failing or gone where the platform did it, operator
	// where an operator did.
	DisabledReason *string `json:"disabledReason"`
	DisabledAt     *string `json:"disabledAt"`
}

func newEndpointState(e registry.Extension) endpointState {
	s := endpointState{
		State: "active", FailingSince: wire.TimeOrNull(e.Endpoint.FailingSince), NextProbeAt: wire.TimeOrNull(e.Endpoint.ProbeAt),
		DisabledReason: wire.OrNull(string(e.Endpoint.Suspended)), DisabledAt: wire.TimeOrNull(e.Endpoint.SuspendedAt),
	}
	switch {
	case e.Disabled:
		s.State, s.DisabledReason = "disabled", wire.OrNull("operator")
	case e.Endpoint.Suspended != "":
		s.State = "disabled"
	case e.Endpoint.Waits():
		s.State = "held"
	}
	return s
}

// An endpointAnswer is an extension's endpoint as its owner sees it.
type endpointAnswer struct {
	Slug           invocation.Slug `json:"slug"`
	WebhookURL     *string         `json:"webhookUrl"`
	OperationalURL *string         `json:"operationalUrl"`
	MaxPerSecond   *int            `json:"maxPerSecond"`
	BasicUser      *string         `json:"basicUser"`
	Endpoint       endpointState   `json:"endpoint"`
}

func newEndpoint(e registry.Extension) endpointAnswer {
	return endpointAnswer{
		Slug: e.Slug, WebhookURL: wire.OrNull(e.WebhookURL), OperationalURL: wire.OrNull(e.OperationalURL),
		MaxPerSecond: wire.OrNull(e.MaxPerSecond), BasicUser: wire.OrNull(e.BasicUser), Endpoint: newEndpointState(e),
	}
}

func (a *API) getEndpoint(w http.ResponseWriter, r *http.Request, own invocation.Slug) error {
	e, err := a.registry.Extension(r.Context(), own)
	return ok(w, http.StatusOK, newEndpoint(e), err)
}

func (a *API) patchEndpoint(w http.ResponseWriter, r *http.Request, own invocation.Slug) error {
	e, err := a.edit(w, r, own, (*patch).readEndpoint)
	return ok(w, http.StatusOK, newEndpoint(e), err)
}

// enableEndpoint takes an endpoint into use again that the platform disabled.
// It catches up from where it stopped. The token of an extension that an
// operator disabled gets nowhere.
func (a *API) enableEndpoint(w http.ResponseWriter, r *http.Request, own invocation.Slug) error {
	now := invocation.Instant(a.ledger.Now())
	e, err := a.registry.UpdateExtension(r.Context(), own, func(e *registry.Extension) error {
		if e.WebhookURL == "" {
			return invocation.Refuse(invocation.Unavailable).With("reason", string(lock.EndpointNotConfigured))
		}
		e.Enable(now)
		return nil
	})
	if err == nil {
		err = a.ledger.CheckEndpoint(r.Context(), own)
	}
	return ok(w, http.StatusOK, newEndpoint(e), err)
}
