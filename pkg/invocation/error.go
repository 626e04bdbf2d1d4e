package invocation

import (
	"errors"
	"fmt"
	"time"
)

// A Code says why something was refused. The set is closed and part of the
// contract (contract section 9): every door maps it once to its own status.
type Code string

// The codes. There is no code for success: that is a nil error. What nobody
// classified is ServerError, whose text is never shown.
const (
	ServerError          Code = "server-error"
	Unauthorized         Code = "unauthorized"
	Forbidden            Code = "forbidden"
	SessionNotFound      Code = "session-not-found"
	InvocationNotFound   Code = "invocation-not-found"
	ExtensionNotFound    Code = "extension-not-found"
	ResourceNotFound     Code = "not-found"
	UnknownCapability    Code = "unknown-capability"
	UnknownEvent         Code = "unknown-event"
	RouteNotFound        Code = "route-not-found"
	MethodNotAllowed     Code = "method-not-allowed"
	MalformedRequest     Code = "malformed-request"
	InvalidField         Code = "invalid-field"
	InvalidInput         Code = "invalid-input"
	InvalidCausation     Code = "invalid-causation"
	InvalidActor         Code = "invalid-actor"
	InvalidManifest      Code = "invalid-manifest"
	NotInvocable         Code = "not-invocable"
	Unavailable          Code = "unavailable"
	DepthExceeded        Code = "depth-exceeded"
	IdempotencyConflict  Code = "idempotency-conflict"
	ResourceConflict     Code = "conflict"
	PayloadTooLarge      Code = "payload-too-large"
	UnsupportedMediaType Code = "unsupported-media-type"
	RateLimited          Code = "rate-limited"
	OptionsUnavailable   Code = "options-unavailable"
	ServiceUnavailable   Code = "service-unavailable"
)

// Codes lists every code, for the tests that compare the set with the
// contract's documents.
func Codes() []Code {
	return []Code{
		ServerError, Unauthorized, Forbidden, SessionNotFound, InvocationNotFound, ExtensionNotFound,
		ResourceNotFound, UnknownCapability, UnknownEvent, RouteNotFound, MethodNotAllowed, MalformedRequest,
		InvalidField, InvalidInput, InvalidCausation, InvalidActor, InvalidManifest, NotInvocable, Unavailable,
		DepthExceeded, IdempotencyConflict, ResourceConflict, PayloadTooLarge, UnsupportedMediaType, RateLimited,
		OptionsUnavailable, ServiceUnavailable,
	}
}

// A Problem is one thing wrong with a submitted JSON value: where it is (a
// JSON Pointer, empty for the root) and what is wrong, in Ajv's wording. It
// never quotes the submitted value (contract section 9).
type Problem struct {
	InstancePath string
	Message      string
}

// An Error is a refusal that may cross a process boundary. Everything in it
// but the cause is shown to callers.
type Error struct {
	Code Code
	// Message is for people. Where it is empty the code stands for it, as in
	// the contract's sample (contract section 9).
	Message string
	// Problems lists everything wrong with the submitted value.
	Problems []Problem
	// Facts are the machine-readable particulars of a refusal without
	// problems: reason, bucket, field (contract section 9, column details).
	Facts map[string]string
	// RetryAfter is how long to wait before trying again; zero gives no advice.
	RetryAfter time.Duration

	cause error
}

// Refuse returns an Error with a code and nothing else to say.
func Refuse(code Code) *Error { return &Error{Code: code} }

// Refusef returns an Error with a message for people. A %w verb sets the
// cause, whose text becomes part of the message: wrap only what callers may
// read, and use [Wrap] for everything else.
func Refusef(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Wrap returns an Error that hides its cause: [errors.Is] finds it, callers
// never read it.
func Wrap(code Code, cause error) *Error { return &Error{Code: code, cause: cause} }

// With adds a fact and returns e.
func (e *Error) With(key, value string) *Error {
	if e.Facts == nil {
		e.Facts = make(map[string]string, 1)
	}
	e.Facts[key] = value
	return e
}

// After sets the advice when to try again and returns e.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Error returns what may be shown: the message, or the code.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an Error with the same code, so that
// errors.Is(err, Refuse(code)) asks for the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// AsError returns the first Error in err's tree, or one with ServerError that
// wraps err: what nobody classified stays inside.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Wrap(ServerError, err)
}

// CodeOf returns the code of the first Error in err's tree, or ServerError.
func CodeOf(err error) Code { return AsError(err).Code }
