// Package invocation is the domain: what an invocation and a lock event are,
// how a chain of them grows, which states exist and which refusals. It knows
// no transport, no store and no clock: time comes in as an argument, facts and
// errors go out. Start reading here.
//
// The words are the contract's (contract section 1). A lock has extensions
// installed; an extension calls a capability (a command or a query) of another
// one, which is recorded as an [Invocation] and settles exactly once into one
// of four statuses. What happens on a lock is an [Event]. All invocations and
// events that follow from one first cause share a [Chain]'s correlation id.
//
// Everything here is a plain value, safe to copy and to use from several
// goroutines as long as nobody writes to it.
package invocation
