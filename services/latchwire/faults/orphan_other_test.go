//go:build !linux

package faults

import "syscall"

// dieTogether has no means here: processes outlive tests that are killed.
func dieTogether() *syscall.SysProcAttr { return nil }
