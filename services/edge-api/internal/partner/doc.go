// Package partner serves the endpoints of extensions: what a lock offers, calls
// and their invocations, events, and the manifests (contract section 3).
package partner
