// Package receiver is what an extension's back end in Go imports to receive
// Latchwire's webhooks: it checks who sent them, reads them, and answers them
// (contract sections 7 and 8). It imports the standard library only.
//
// A [Handler] is an [http.Handler]. It lets nothing through that is not signed
// after Standard Webhooks 1.0.0 with one of its [Keys], that is older or newer
// than [Tolerance], or that is larger than [MaxBody]. What it lets through
// reaches one function for each kind of webhook. What the function returns
// decides the answer: an [Answer] completes the call, a [Rejection] refuses it,
// any other error answers 500, and so does a panic. Kinds and members that this
// package does not know are no errors, so that new ones harm nobody.
//
// A command or query comes at most once. Events and history lines come at least
// once: a repetition carries the same webhook-id, which is [Envelope.ID].
// Deduplicating is up to you, best in the same transaction as the work. [Seen]
// does it for one process, until that ends.
//
// Who serves HTTP in another way calls [Keys.Verify] and [Decode] directly.
//
// Everything but a [Handler]'s fields may be used by several goroutines at a
// time; the functions in those fields are called concurrently. Nothing here
// starts a goroutine, and only [Seen] keeps state.
package receiver
