// Package registry keeps what changes seldom and is read by every call:
// extensions and their manifests, sessions and tokens, in JetStream key-value
// buckets.
//
// Each process holds a bounded cache of each bucket that a watch keeps fresh,
// so that in steady state admitting a call reads no network. A process whose
// watch has had no contact for five seconds reads tokens from the leader
// instead, so a revoked one is refused everywhere within that time (contract
// section 2, SEC-70); everything else it reads from there after a minute.
//
// Writes compare and set: of two that change the same thing, the second gets a
// ResourceConflict and reads again.
//
// The signing secrets and the password of an extension are sealed on their way
// into the store when there are keys for it, see package sealed. Whoever reads
// an [Extension] gets them as they are; one that does not open costs only what
// needs it.
package registry
