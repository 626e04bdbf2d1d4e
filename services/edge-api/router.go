package edgeapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// operations are the endpoints for whoever runs the process (contract section 3).
func operations(h *service.Health, t *telemetry.Providers) []door.Route {
	return []door.Route{
		{Method: http.MethodGet, Pattern: "/healthz", Serve: h.Live()},
		{Method: http.MethodGet, Pattern: "/readyz", Serve: h.Ready()},
		{Method: http.MethodGet, Pattern: "/metrics", Serve: t.MetricsHandler()},
	}
}

// router serves the routes. A path is taken as it is sent: with a slash too
// many it is another path, which does not exist, and never a redirect (S-14).
func router(p *platform.Platform, routes []door.Route) *chi.Mux {
	mux := p.Router(door.Refuse)
	for _, r := range routes {
		mux.Method(r.Method, r.Pattern, r.Serve)
	}
	mux.NotFound(door.Handler(func(http.ResponseWriter, *http.Request) error {
		return invocation.Refuse(invocation.RouteNotFound)
	}).ServeHTTP)
	mux.MethodNotAllowed(door.Handler(func(w http.ResponseWriter, r *http.Request) error {
		methods := allowed(mux, r)
		if len(methods) == 0 { // a method that the router does not know, anywhere
			return invocation.Refuse(invocation.RouteNotFound)
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return invocation.Refuse(invocation.MethodNotAllowed)
	}).ServeHTTP)
	return mux
}

// allowed returns the methods that the path of a request has.
func allowed(mux *chi.Mux, r *http.Request) []string {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var methods []string
	for _, m := range []string{
		http.MethodDelete, http.MethodGet, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut,
	} {
		if mux.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
		}
	}
	return methods
}
