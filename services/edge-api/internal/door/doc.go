// Package door is what all endpoints share: a handler that may fail, the one
// place where a refusal becomes a problem document, and the strict readers of
// bodies and query parameters.
//
// A [Handler] returns an error instead of writing one. [Refuse] turns it into
// the answer: an [invocation.Error] by its code, anything else into a
// server-error whose text stays inside (contract section 9).
//
// [Object] reads a body into [Fields], which collect everything that is wrong
// with it: what has the wrong shape is a malformed-request, what has the right
// shape and a value that is not taken is invalid-input. [Query] does the same
// for query parameters.
package door
