//go:build !unix

package broker

import "os"

// lockFolder does nothing where there are no advisory locks.
func lockFolder(string) (*os.File, error) { return os.Open(os.DevNull) }
