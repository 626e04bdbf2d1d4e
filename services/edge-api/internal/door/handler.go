package door

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
)

// A Handler serves one endpoint. The error that it returns becomes the answer,
// so it must not have written any before.
type Handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP serves a request and answers with a problem if that fails.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		Refuse(w, r, err)
	}
}

// A Route is one endpoint: a method, a pattern as the contract writes it, with
// parameters in braces, and what serves it.
type Route struct {
	Method, Pattern string
	Serve           http.Handler
}

// Refuse answers a request with the problem that an error is, and notes it for
// the request's log line.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	telemetry.NoteError(r.Context(), err)
	e := invocation.AsError(err)
	wire.Refuse(w.Header(), e)
	p := problemOf(e)
	_ = wire.Answer(w, p.StatusCode, p) // a problem can be encoded
}
