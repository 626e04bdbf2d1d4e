// Package intake is the one door into the pipeline: every call and every
// emitted event passes through it, from REST and MCP alike, and neither can
// get past a check.
//
// A call is authenticated, admitted, recorded and waited for. What admission
// asks, in which order, is one list in admit.go; each refusal is an
// [invocation.Error] with the contract's code, and leaves no invocation. From
// the moment a call is recorded it goes on without its caller: one that hangs
// up or whose replica dies finds the invocation again under the same
// idempotency key.
//
// The package holds no state but caches; any number of replicas admit calls
// side by side, with limits and idempotency exact over all of them.
package intake
