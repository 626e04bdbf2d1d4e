package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/services/latchwire/internal/grade"
)

// block returns the first block of a language on a page.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n```"+language+"\n")
	code, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return code
}

// The receiver that the contract shows in TypeScript gets full marks, with the
// official library and with both secrets of a rotation. It is written so that
// it is JavaScript as well, for a Node that reads no types.
func TestTheTypeScriptReceiver(t *testing.T) {
	t.Parallel()
	cmd := node(t, "node", "receiver.mjs")
	code := block(t, filepath.Join("..", "..", "..", "contracts", "RECEIVER.md"), "ts")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "receiver.mjs"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(cmd.Dir, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	newer, older := egress.NewSecret(), egress.NewSecret()
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "PORT=0", "WEBHOOK_SECRETS="+newer.Reveal()+" "+older.Reveal())
	url := "http://127.0.0.1:" + listening(t, cmd)
	for name, secret := range map[string]egress.Secret{"newer": newer, "older": older} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := grade.Run(t.Context(), grade.Config{URL: url, Secret: secret, Command: "probe.echo", Drip: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if report.Count(grade.Pass) != len(report.Cases) {
				t.Errorf("got %+v", report.Cases)
			}
		})
	}
}

// listening starts a receiver, which ends with the test, and returns the port
// that it prints.
func listening(t *testing.T, cmd *exec.Cmd) (port string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var drained sync.WaitGroup
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		drained.Wait()
		_ = cmd.Wait() // killed
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var at struct{ Port int }
		if text, found := strings.CutPrefix(lines.Text(), "listening "); found && json.Unmarshal([]byte(text), &at) == nil {
			drained.Go(func() {
				for lines.Scan() { // or the receiver would block
				}
			})
			return fmt.Sprint(at.Port)
		}
	}
	t.Fatalf("the receiver ended: %v", lines.Err())
	return ""
}
