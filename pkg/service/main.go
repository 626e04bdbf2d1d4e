package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes of a process.
const (
	exitOK       = 0
	exitFailed   = 1
	exitSettings = 2
)

// A Process is what the operating system gives a program, as values, so that a
// test can run the program with others.
type Process struct {
	// Name is the program's name in its help and its errors.
	Name string
	// Args are the arguments without the program's name.
	Args []string
	// LookupEnv finds an environment variable.
	LookupEnv func(string) (string, bool)
	// Stdout takes answers and logs, Stderr what went wrong with the process.
	Stdout, Stderr io.Writer
}

// Main runs a program and returns its exit code: 0 when run returned nil or
// help was asked for, 2 when the settings were wrong, else 1. The context ends
// at SIGINT or SIGTERM; a second signal kills the process. It is for a main
// function and nothing else.
func Main(name string, run func(context.Context, Process) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // gives the second signal back to the system
	return execute(ctx, Process{
		Name: name, Args: os.Args[1:], LookupEnv: os.LookupEnv, Stdout: os.Stdout, Stderr: os.Stderr,
	}, run)
}

func execute(ctx context.Context, p Process, run func(context.Context, Process) error) int {
	err := run(ctx, p)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	_, _ = fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
	if _, ok := errors.AsType[*SettingsError](err); ok {
		return exitSettings
	}
	return exitFailed
}
