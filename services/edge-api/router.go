package edgeapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
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
	mux := chi.NewRouter()
	mux.Use(p.Telemetry.Server(telemetry.ServerConfig{Route: pattern, Log: p.Log, Skip: probe}), recovered)
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

// pattern returns the route that served a request, for telemetry.
func pattern(r *http.Request) string {
	c := chi.RouteContext(r.Context())
	if c == nil {
		return ""
	}
	return c.RoutePattern()
}

// probe says which requests are not worth a line or a span.
func probe(r *http.Request) bool {
	return slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, r.URL.Path)
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

// recovered answers a request whose handler panicked with a server-error. What
// panicked goes to the log, and the value only where the runtime wrote it: any
// other may hold what no log shall have (SEC-117).
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover().(type) {
			case nil:
			case runtime.Error:
				door.Refuse(w, r, fmt.Errorf("panic: %w\n%s", v, debug.Stack()))
			default:
				door.Refuse(w, r, fmt.Errorf("panic: %w: %T\n%s", errNotShown, v, debug.Stack()))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// errNotShown stands for the value of a panic that may hold anything.
var errNotShown = errors.New("a value that is not shown")
