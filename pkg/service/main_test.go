package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test binary play a process, for the tests of signals.
const childEnv = "LATCHWIRE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "drains":
		os.Exit(Main("child", func(ctx context.Context, p Process) error {
			_, _ = fmt.Fprintln(p.Stdout, "up")
			<-ctx.Done()
			return nil
		}))
	case "hangs":
		os.Exit(Main("child", func(ctx context.Context, p Process) error {
			_, _ = fmt.Fprintln(p.Stdout, "up")
			<-ctx.Done()
			_, _ = fmt.Fprintln(p.Stdout, "stopping")
			select {}
		}))
	}
	goleak.VerifyTestMain(m)
}

// child starts this test binary as a process and waits for its first line.
func child(t *testing.T, mode string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "up\n" {
		t.Fatalf("got first line %q, %v", line, err)
	}
	return cmd, lines
}

func TestMainDrainsAtEachSignal(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, lines := child(t, "drains")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("got %v, want exit code 0", err)
			}
		})
	}
}

func TestMainDiesAtTheSecondSignal(t *testing.T) {
	t.Parallel()
	cmd, lines := child(t, "hangs")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); line != "stopping\n" {
		t.Fatalf("got line %q, %v", line, err)
	}
	// The handler goes back to the system just after the context ends, so
	// one signal may come too early: send until the process is gone.
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case err := <-gone:
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatalf("got %v, want an end by signal", err)
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				t.Errorf("got %v, want an end by signal", exit)
			}
			return
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		code   int
		stderr string
	}{
		"an end without error is 0":    {nil, 0, ""},
		"help is 0 and says no more":   {errors.Join(flag.ErrHelp, nil), 0, ""},
		"a failure is 1":               {errors.New("boom"), 1, "edge-api: boom\n"},
		"wrong settings are 2":         {&SettingsError{[]error{errors.New("--a: bad")}}, 2, "edge-api: wrong settings:\n  --a: bad\n"},
		"wrapped wrong settings are 2": {fmt.Errorf("x: %w", &SettingsError{}), 2, "edge-api: x: wrong settings:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			code := execute(t.Context(), Process{Name: "edge-api", Stderr: &stderr}, func(context.Context, Process) error { return tc.err })
			if code != tc.code || stderr.String() != tc.stderr {
				t.Errorf("got %d %q, want %d %q", code, stderr.String(), tc.code, tc.stderr)
			}
		})
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const canary = "cdt_CANARY"
	var out strings.Builder
	cfg := struct{ Token Secret }{canary}
	fmt.Fprintf(&out, "%v %+v %#v %s %q %x %d", cfg, cfg, cfg, cfg.Token, cfg.Token, cfg.Token, cfg.Token)
	NewLogger(&out, LogConfig{}).Info("x", slog.Any("token", cfg.Token), slog.Any("cfg", cfg))
	NewLogger(&out, LogConfig{Format: LogText}).Info("x", slog.Any("token", cfg.Token), slog.Any("cfg", cfg))
	if got := out.String(); strings.Contains(got, "CANARY") || strings.Contains(got, fmt.Sprintf("%x", canary)) || !strings.Contains(got, redacted) {
		t.Errorf("got %s", got)
	}
	if cfg.Token.Reveal() != canary || Secret("").String() != "" {
		t.Error("Reveal must give the value, and nothing must look like nothing")
	}
}
