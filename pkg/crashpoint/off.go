//go:build !crashpoints

package crashpoint

// Here does nothing but in builds for the crash tests.
func Here(string) {}
