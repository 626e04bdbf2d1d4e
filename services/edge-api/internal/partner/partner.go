package partner

import (
	"context"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/catalog"
	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// An Invoker runs a call: [intake.Intake.Invoke], perhaps wrapped.
type Invoker func(context.Context, intake.Call) (intake.Answer, error)

// A Config is what the endpoints stand on. Every field must be set.
type Config struct {
	Intake   *intake.Intake
	Invoke   Invoker
	Registry *registry.Registry
	Catalog  *catalog.Catalog
	// Now is the time that a manifest is published at.
	Now func() time.Time
	// Beat is how often a stream of events shows that it is alive, and its
	// caller is asked for its credential again.
	Beat time.Duration
}

// An API serves the endpoints. All methods may be called concurrently.
type API struct {
	cfg     Config
	streams *streams
}

// New returns the endpoints on what they stand on.
func New(cfg Config) *API { return &API{cfg: cfg, streams: newStreams()} }

// Routes returns every endpoint of extensions.
func (a *API) Routes() []door.Route {
	const session = "/api/extensions/sessions/{sessionId}"
	return append(a.older(), []door.Route{
		{Method: http.MethodGet, Pattern: session + "/capabilities", Serve: door.Handler(a.capabilities)},
		{Method: http.MethodOptions, Pattern: session + "/capabilities", Serve: door.Handler(preflight)},
		{Method: http.MethodPost, Pattern: session + "/actions/{commandId}", Serve: a.session(a.invoke)},
		{Method: http.MethodGet, Pattern: session + "/actions/{commandId}/options", Serve: a.session(a.options)},
		{Method: http.MethodGet, Pattern: session + "/invocations/{invocationId}", Serve: a.session(a.invocation)},
		{Method: http.MethodGet, Pattern: session + "/events", Serve: a.session(a.events)},
		{Method: http.MethodPost, Pattern: session + "/events", Serve: a.session(a.emit)},
		{Method: http.MethodGet, Pattern: session + "/events/stream", Serve: a.session(a.stream)},
		{Method: http.MethodGet, Pattern: "/api/extensions/{slug}/manifest", Serve: a.developer(a.manifest)},
		{Method: http.MethodPut, Pattern: "/api/extensions/{slug}/manifest", Serve: a.developer(a.publish)},
	}...)
}

// session admits a developer token on a session of its own.
func (a *API) session(next func(http.ResponseWriter, *http.Request, intake.Caller) error) door.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.caller(r)
		if err != nil {
			return err
		}
		return next(w, r, c)
	}
}

func (a *API) caller(r *http.Request) (intake.Caller, error) {
	return a.cfg.Intake.Caller(r.Context(), wire.Single(r.Header, "Authorization"), sessionOf(r))
}

func sessionOf(r *http.Request) invocation.SessionID {
	return invocation.SessionID(r.PathValue("sessionId"))
}

// developer admits any developer token.
func (a *API) developer(next func(http.ResponseWriter, *http.Request, registry.Extension) error) door.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		e, err := a.cfg.Intake.Developer(r.Context(), wire.Single(r.Header, "Authorization"))
		if err != nil {
			return err
		}
		return next(w, r, e)
	}
}

// named returns an id or a word that the caller sent. An empty one was sent,
// too, and must not pass for one that was left out.
func named(s string) string {
	if s == "" {
		return " "
	}
	return s
}
