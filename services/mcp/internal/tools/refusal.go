package tools

import (
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
)

// The codes that exist only here (contract section 9).
const (
	invalidArguments invocation.Code = "invalid-arguments"
	notFound         invocation.Code = "not-found"
	invalidRequest   invocation.Code = "invalid-request"
	internalError    invocation.Code = "internal-error"
)

// A Refusal is the error object of a result or of an HTTP answer: what was
// refused, and what to do about it in fields that do not change (contract
// section 10).
type Refusal struct {
	wire.Refusal
	// NextAction is what to do: fix_arguments, list_capabilities, check_result,
	// check_access, authorize_scope, contact_administrator, retry or stop.
	NextAction string `json:"nextAction"`
	// Retry is after_change, after_delay or never.
	Retry string `json:"retry"`
	// Outcome is not_applied, applied or unknown.
	Outcome          string `json:"outcome"`
	RetryAfterMs     int64  `json:"retryAfterMs,omitzero"`
	RetrySameRequest bool   `json:"retrySameRequest,omitzero"`
}

// Refused is the body of a refusal.
type Refused struct {
	Error Refusal `json:"error"`
}

// NewRefused returns the body of a refusal. Keyed says that the caller named a
// key, so that the same call can be made again and runs once.
func NewRefused(e *invocation.Error, writes, keyed bool) Refused {
	r := Refusal{Refusal: refusal(e), Outcome: "not_applied"}
	r.NextAction, r.Retry = advice(r.Code)
	if writes && (r.Code == internalError || r.Code == invocation.ServiceUnavailable) {
		r.Outcome = "unknown" // the store may have the call without us knowing
		r.RetrySameRequest = keyed
		if !keyed {
			r.NextAction, r.Retry = "check_result", "never"
		}
	}
	if r.Retry == "after_delay" {
		r.RetryAfterMs = int64(wire.RetryAfter(e)) * 1000
		r.RetrySameRequest = r.RetrySameRequest || !writes || keyed
	}
	return Refused{r}
}

// refusal returns the wire form of a refusal, with the codes that only this door
// knows.
func refusal(e *invocation.Error) wire.Refusal {
	switch e.Code { //nolint:exhaustive // the others are every door's
	case invalidArguments, notFound, invalidRequest:
		r := wire.Refusal{Code: e.Code, Message: e.Error()}
		if len(e.Problems) > 0 {
			r.Details = wire.NewDetails(e.Problems)
		}
		return r
	}
	r := wire.NewRefusal(e)
	if r.Code == invocation.ServerError {
		r.Code, r.Message = internalError, string(internalError)
	}
	return r
}

// advice says what to do about a code, and whether that can help.
func advice(c invocation.Code) (nextAction, retry string) {
	switch c { //nolint:exhaustive // the others are never answered here
	case invalidArguments, invalidRequest, invocation.InvalidInput, invocation.InvalidField, invocation.PayloadTooLarge,
		invocation.MalformedRequest:
		return "fix_arguments", "after_change"
	case invocation.UnknownCapability, invocation.UnknownEvent, invocation.Unavailable:
		return "list_capabilities", "after_change"
	case notFound, invocation.SessionNotFound:
		return "check_access", "after_change"
	case invocation.Unauthorized:
		return "authorize_scope", "after_change"
	case invocation.Forbidden, invocation.NotInvocable:
		return "contact_administrator", "after_change"
	case invocation.IdempotencyConflict:
		return "check_result", "never"
	case invocation.RateLimited, invocation.OptionsUnavailable, invocation.ServiceUnavailable, internalError:
		return "retry", "after_delay"
	case invocation.DepthExceeded:
		return "stop", "never"
	}
	return "stop", "never"
}
