package faults

import "syscall"

// dieTogether lets no process outlive the tests, however they end.
func dieTogether() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
