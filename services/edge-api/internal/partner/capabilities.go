package partner

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
)

// mainTokenHeader carries the token of a person who looks at an extension's
// page (contract section 2).
const mainTokenHeader = "X-Chaster-Main-Token" //nolint:gosec // the name of a header

// allowOrigin lets a page of any origin read the answer, refusals included.
// There are no cookies, so the page needs a token to learn anything.
func allowOrigin(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "X-Trace-Id, Retry-After")
}

// preflight tells a browser what it may send. No other endpoint answers one
// (contract section 2, SEC-71).
func preflight(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	allowOrigin(h)
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Authorization, X-Chaster-Main-Token")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) capabilities(w http.ResponseWriter, r *http.Request) error {
	allowOrigin(w.Header())
	v, err := a.viewer(r)
	if err != nil {
		return err
	}
	offers, err := a.cfg.Intake.Capabilities(r.Context(), v)
	if err != nil {
		return err
	}
	return wire.Answer(w, http.StatusOK, wire.NewCapabilities(offers))
}

// viewer returns for whom the capabilities are computed. Where both credentials
// are sent, Authorization wins (contract section 2).
func (a *API) viewer(r *http.Request) (intake.Viewer, error) {
	if len(r.Header.Values("Authorization")) == 0 && len(r.Header.Values(mainTokenHeader)) > 0 {
		return a.cfg.Intake.MainPage(r.Context(), wire.Single(r.Header, mainTokenHeader), sessionOf(r))
	}
	c, err := a.caller(r)
	return intake.Viewer{Session: c.Session, As: invocation.ActorExtension}, err
}
