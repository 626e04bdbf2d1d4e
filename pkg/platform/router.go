package platform

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/latchwire/latchwire/pkg/telemetry"
)

// A Refuser answers a request with what an error is to its caller.
type Refuser func(http.ResponseWriter, *http.Request, error)

// Router returns a router without routes. It observes every request but the
// probes', and has a request refused whose handler panicked.
func (p *Platform) Router(refuse Refuser) *chi.Mux {
	mux := chi.NewRouter()
	mux.Use(p.Telemetry.Server(telemetry.ServerConfig{Route: pattern, Log: p.Log, Skip: probe}), recovered(refuse))
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

// recovered answers a request whose handler panicked with a server-error. What
// panicked goes to the log, and the value only where the runtime wrote it: any
// other may hold what no log shall have (SEC-117).
func recovered(refuse Refuser) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				switch v := recover().(type) {
				case nil:
				case runtime.Error:
					refuse(w, r, fmt.Errorf("panic: %w\n%s", v, debug.Stack()))
				default:
					refuse(w, r, fmt.Errorf("panic: %w: %T\n%s", errNotShown, v, debug.Stack()))
				}
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// errNotShown stands for the value of a panic that may hold anything.
var errNotShown = errors.New("a value that is not shown")
