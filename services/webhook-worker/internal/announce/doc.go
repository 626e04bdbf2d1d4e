// Package announce tells every active lock that has an extension installed of
// the extension's new manifest: it emits lock.capabilities-changed on each
// (contract section 5).
//
// It follows the bucket of manifests, so a revision that was published is
// announced whatever happens to the process that published it. A lock may be
// told twice of one revision, when a worker dies in the middle; the one that
// takes over looks for what was told already.
package announce
