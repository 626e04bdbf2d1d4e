package wire

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Answer writes a value as the JSON body of an answer. An error means that
// nothing was written.
func Answer(w http.ResponseWriter, status int, v any) error {
	body, err := Encode(v)
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

// Refuse writes the headers that a refusal comes with, before its body.
func Refuse(h http.Header, e *invocation.Error) {
	if e.Code == invocation.Unauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.Code == invocation.PayloadTooLarge {
		h.Set("Connection", "close") // the rest of the body is not wanted (SEC-39)
	}
	if s := RetryAfter(e); s > 0 {
		h.Set("Retry-After", strconv.Itoa(s))
	}
}

// RetryAfter returns the whole seconds that a refusal advises to wait, rounded
// up; zero for none. A refusal that must give advice gives at least a second's.
func RetryAfter(e *invocation.Error) int {
	wait := e.RetryAfter
	if e.Code == invocation.RateLimited || e.Code == invocation.ServiceUnavailable {
		wait = max(wait, time.Second)
	}
	return int(math.Ceil(wait.Seconds()))
}

// Single returns a header that must stand exactly once, or nothing: of two
// nobody could tell which one counts (SEC-63).
func Single(h http.Header, name string) string {
	if v := h.Values(name); len(v) == 1 {
		return v[0]
	}
	return ""
}
