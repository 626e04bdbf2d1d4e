package mcpservice

import (
	"net/http"
	"strings"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/mcp"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/mcp/internal/tools"
)

// The paths of the endpoints (contract section 10).
const (
	deprecatedPath = "/api/extensions/sessions/{sessionId}/mcp"
	currentPath    = deprecatedPath + "/v2"
)

// deprecatedSince is when the deprecated endpoint was, as RFC 9745 writes it.
const deprecatedSince = "@1796083200"

type endpoints struct {
	intake              *intake.Intake
	guard               mcp.Guard
	current, deprecated *mcp.Server
}

// router serves the endpoints. A path is taken as it is sent, never redirected
// (S-14).
func router(p *platform.Platform, h *service.Health, e endpoints) http.Handler {
	mux := p.Router(refuse)
	mux.Handle(currentPath, e.guard.Wrap(e.admitted(e.current)))
	mux.Handle(deprecatedPath, marked(e.guard.Wrap(e.admitted(e.deprecated))))
	operations := platform.Operations(h, p.Telemetry)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, operations)
	}
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, invocation.Refuse(invocation.RouteNotFound))
	})
	return mux
}

// Serves reports whether a path is one of this service, for whoever serves it
// beside another one at one address.
func Serves(path string) bool {
	rest, found := strings.CutPrefix(path, "/api/extensions/sessions/")
	_, rest, separated := strings.Cut(rest, "/")
	return found && separated && (rest == "mcp" || rest == "mcp/v2")
}

// admitted serves an extension on one of its sessions, as often as the limit of
// requests says. A method that is not served needs no credential.
func (e endpoints) admitted(server *mcp.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			server.ServeHTTP(w, r)
			return
		}
		session := invocation.SessionID(r.PathValue("sessionId"))
		caller, err := e.intake.Caller(r.Context(), wire.Single(r.Header, "Authorization"), session)
		if err == nil {
			err = e.intake.Request(r.Context(), caller)
		}
		if err != nil {
			refuse(w, r, err)
			return
		}
		server.ServeHTTP(w, r.WithContext(tools.WithCaller(r.Context(), caller)))
	})
}

// refuse answers with the body of an MCP error (contract section 9).
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	telemetry.NoteError(r.Context(), err)
	failed := invocation.AsError(err)
	wire.Refuse(w.Header(), failed)
	if failed.Code == invocation.Unauthorized {
		w.Header().Set("WWW-Authenticate", challenge(r))
	}
	_ = wire.Answer(w, wire.Status(failed.Code), tools.NewRefused(failed, false, false)) // a refusal can be encoded
}

// challenge asks for a token (RFC 6750, MCP-75).
func challenge(r *http.Request) string {
	if len(r.Header.Values("Authorization")) == 0 {
		return `Bearer realm="latchwire"`
	}
	return `Bearer realm="latchwire", error="invalid_token"`
}

// marked tells callers that an endpoint is deprecated, and what replaces it (RFC
// 9745, RFC 8288).
func marked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Deprecation", deprecatedSince)
		w.Header().Set("Link", "<"+r.URL.EscapedPath()+`/v2>; rel="successor-version"`)
		next.ServeHTTP(w, r)
	})
}
