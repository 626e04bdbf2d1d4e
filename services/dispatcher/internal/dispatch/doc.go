// Package dispatch carries a request from the queue to its settlement by the
// protocol of design section 4: claim, then call, then settle against the
// claim, then put what the call caused into the lock's log, wake the caller,
// and only then acknowledge. Whatever step a worker dies after, the next one
// that gets the request finishes it without calling the target again.
package dispatch
