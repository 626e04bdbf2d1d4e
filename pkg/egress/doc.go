// Package egress is the one way out to third parties. Whatever leaves for a
// target or a receiver goes through [Client.Post]: the dispatcher's calls,
// which must happen at most once, and the webhook worker's deliveries, which
// happen at least once.
//
// The other side is not trusted (SEC-01 to SEC-22). A URL is judged by
// [Policy.CheckURL] when it is registered and again before every call, and the
// address it leads to is judged when it is dialled, after the name was
// resolved, so that a name that changes its mind gains nothing. Answers are
// bounded in time, in size and in what they may ask for: no redirects, no
// compression, no other protocol, no cookies.
//
// A request is sent once. What went wrong comes back as a [CallError], whose
// Sent field tells the two cases apart that the contract settles differently
// (contract section 7): nothing ever left, so the target can't have run it, or
// something did, and nobody can tell. The one repetition is a kept-alive
// connection that turned out to be dead before a single byte was written: the
// request is dialled afresh, once, which no target can notice.
//
// Bodies are signed by [Sign] after Standard Webhooks, per attempt, by a shared
// secret (v1), by a private key (v1a) or by both, and may carry Basic
// [Credentials]. Both secrets print as a placeholder, however they
// are logged.
//
// A [Client] is safe for concurrent use. It keeps no state about a target
// beyond its open connections: how often to try, whom to spare and what an
// answer means is for the callers to decide.
package egress
