// Package faults has the fault tests: real processes that die, stop and lose
// NATS while calls are under way, and what must hold all the same (security
// section 5).
//
//   - A target is called at most once for each invocation (SEC-114, SEC-115).
//   - Every call that was accepted settles, in a time that can be told.
//   - A built-in takes effect exactly once, and is never unknown.
//   - What a call caused stands in the lock's events exactly once.
//   - Whoever subscribed is told of every event at least once; what it is told
//     again has the same webhook-id.
//   - The same key finds the same invocation, whatever happened in between.
//
// Every service, and NATS, is a process of its own: this test's binary started
// again in another role. It needs crash points, so unless the tests were built
// with the tag crashpoints they build themselves once more with it, and with
// the race detector if they run under it. What AckWait and a call take is set
// low, so that a minute or two is enough.
package faults
