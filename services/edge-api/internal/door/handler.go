package door

import (
	"math"
	"net/http"
	"strconv"
	"time"

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
	if e.Code == invocation.Unauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.Code == invocation.PayloadTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not wanted (SEC-39)
	}
	if s := retryAfter(e); s > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(s))
	}
	p := problemOf(e)
	_ = Answer(w, p.StatusCode, p) // a problem can be encoded
}

// Answer writes a value as the JSON body of an answer. An error means that
// nothing was written.
func Answer(w http.ResponseWriter, status int, v any) error {
	body, err := wire.Encode(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that is gone is told nothing
	return nil
}

// retryAfter returns the whole seconds that a refusal advises to wait, rounded
// up; zero for none. A refusal that must give advice gives at least a second's.
func retryAfter(e *invocation.Error) int {
	wait := e.RetryAfter
	if e.Code == invocation.RateLimited || e.Code == invocation.ServiceUnavailable {
		wait = max(wait, time.Second)
	}
	return int(math.Ceil(wait.Seconds()))
}

// Credential returns a header that must stand exactly once, or nothing: of two
// nobody could tell which one counts (SEC-63).
func Credential(r *http.Request, header string) string {
	if v := r.Header.Values(header); len(v) == 1 {
		return v[0]
	}
	return ""
}
