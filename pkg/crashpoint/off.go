//go:build !crashpoints

package crashpoint

// Enabled says whether this build has crash points.
const Enabled = false

// Here does nothing but in builds for the crash tests.
func Here(string) {}
