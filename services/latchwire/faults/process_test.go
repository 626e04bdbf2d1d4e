package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A process is one that the tests start, kill and start again. It belongs to
// the goroutine of its test.
type process struct {
	name string
	args []string
	env  []string
	addr string // where it serves, the same after each start
	log  string // the file with all that it wrote

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts the process. It is killed at the end of the test, and what it
// wrote last is shown if the test has failed.
func (p *process) start(t *testing.T) {
	t.Helper()
	if p.log == "" {
		p.log = filepath.Join(t.TempDir(), "log")
		t.Cleanup(func() { p.cleanUp(t) })
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(binary, p.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.env, log, log, dieTogether()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state tells it too
		close(done)
	}()
	p.cmd, p.done = cmd, done
}

func (p *process) cleanUp(t *testing.T) {
	t.Helper()
	if p.running() {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	if !t.Failed() {
		return
	}
	b, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	t.Logf("%s, which ended with %s, wrote last:\n%s", p.name, p.cmd.ProcessState, strings.Join(lines[max(0, len(lines)-25):], "\n"))
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// waitReady waits until the process can work.
func (p *process) waitReady(t *testing.T) {
	t.Helper()
	e2etest.Eventually(t, p.name+" is ready", func() bool {
		if !p.running() {
			t.Fatalf("%s ended with %s instead of becoming ready", p.name, p.cmd.ProcessState)
		}
		return p.readiness() == http.StatusOK
	})
}

// readiness returns what the process says of itself, or 0 without an answer.
func (p *process) readiness() int {
	resp, err := http.Get("http://" + p.addr + "/readyz")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// signal sends a signal to the process, and to no other.
func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("signal %s: %v", p.name, err)
	}
}

// end stops the process by a signal and waits until it has ended. Asked by
// SIGTERM, it has to end well; a data race is no good end.
func (p *process) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	p.signal(t, sig)
	if code := p.exitCode(t); sig == syscall.SIGTERM && code != 0 {
		t.Errorf("%s, asked to end, ended with %d", p.name, code)
	}
}

// exitCode waits until the process has ended.
func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	limit := time.NewTimer(40 * time.Second)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		t.Fatalf("%s has not ended", p.name)
	}
	return p.cmd.ProcessState.ExitCode()
}

// ports are those given out, so that no two processes get the same.
var ports struct {
	sync.Mutex
	taken map[int]bool
}

// freeAddr returns an address on loopback that nobody listens on. Its port lies
// below those that the system gives to outgoing connections, so it can be
// listened on again after its process has died.
func freeAddr(t *testing.T) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.taken == nil {
		ports.taken = make(map[int]bool)
	}
	for range 1000 {
		port := 20_000 + rand.IntN(12_000)
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		ln, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) || ports.taken[port] {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close() // it was only asked whether it can be had
		ports.taken[port] = true
		return addr
	}
	t.Fatal("no free port")
	return ""
}
