package wire

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Refusal says what was refused and why (contract section 9).
type Refusal struct {
	Code    invocation.Code `json:"code"`
	Message string          `json:"message"`
	// Details are the problems of a submitted value, or the facts of a refusal.
	Details any `json:"details,omitzero"`
}

// A Detail is one thing wrong with a submitted value.
type Detail struct {
	InstancePath string `json:"instancePath"`
	Message      string `json:"message"`
}

// Facts are the particulars of a refusal.
type Facts struct {
	Reason            string `json:"reason,omitzero"`
	Bucket            string `json:"bucket,omitzero"`
	Field             string `json:"field,omitzero"`
	RetryAfterSeconds int    `json:"retryAfterSeconds,omitzero"`
}

// MaxDetails is how many problems one refusal lists.
const MaxDetails = 100

// NewRefusal returns the wire form of a refusal. A server-error tells nothing
// but that it is one.
func NewRefusal(e *invocation.Error) Refusal {
	if Status(e.Code) == http.StatusInternalServerError {
		return Refusal{Code: invocation.ServerError, Message: string(invocation.ServerError)}
	}
	r := Refusal{Code: e.Code, Message: e.Error()}
	facts := Facts{Reason: e.Facts["reason"], Bucket: e.Facts["bucket"], Field: e.Facts["field"]}
	if e.Code == invocation.RateLimited {
		facts.RetryAfterSeconds = RetryAfter(e)
	}
	switch {
	case len(e.Problems) > 0:
		r.Details = NewDetails(e.Problems)
	case facts != Facts{}:
		r.Details = facts
	}
	return r
}

// NewDetails returns the wire form of the first problems of a value.
func NewDetails(problems []invocation.Problem) []Detail {
	out := make([]Detail, 0, len(problems))
	for _, p := range problems[:min(len(problems), MaxDetails)] {
		out = append(out, Detail(p))
	}
	return out
}

// Status returns the HTTP status of a code (contract section 9). It names
// every code, so that a new one does not pass the build without its status.
func Status(c invocation.Code) int {
	switch c {
	case invocation.MalformedRequest, invocation.InvalidField, invocation.InvalidInput, invocation.InvalidCausation,
		invocation.InvalidActor, invocation.InvalidManifest:
		return http.StatusBadRequest
	case invocation.Unauthorized:
		return http.StatusUnauthorized
	case invocation.Forbidden, invocation.NotInvocable:
		return http.StatusForbidden
	case invocation.SessionNotFound, invocation.InvocationNotFound, invocation.ExtensionNotFound, invocation.ResourceNotFound,
		invocation.UnknownCapability, invocation.UnknownEvent, invocation.RouteNotFound:
		return http.StatusNotFound
	case invocation.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case invocation.Unavailable, invocation.DepthExceeded, invocation.IdempotencyConflict, invocation.ResourceConflict:
		return http.StatusConflict
	case invocation.PayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case invocation.UnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case invocation.RateLimited:
		return http.StatusTooManyRequests
	case invocation.ServerError:
		return http.StatusInternalServerError
	case invocation.OptionsUnavailable:
		return http.StatusBadGateway
	case invocation.ServiceUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
