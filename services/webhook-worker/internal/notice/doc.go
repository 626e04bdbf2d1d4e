// Package notice tells how an endpoint fares: every active lock with the
// extension on it, by a line in its history, and the extension's owner, by the
// operational webhook if there is one.
//
// Both are told at least once; a lock exactly once. The operational webhook is
// tried as often as any delivery; what it refuses then is kept among the dead
// messages.
package notice
