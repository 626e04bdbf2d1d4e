package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/latchwire/latchwire/pkg/broker"
)

// bin is where the binaries are; set once, before any test.
var bin string

func TestMain(m *testing.M) {
	run := runTests
	if os.Getenv(natsDir) != "" {
		run = runNATS
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// The variables that make this binary a NATS server.
const (
	natsDir  = "FAULTS_NATS_DIR"
	natsPort = "FAULTS_NATS_PORT"
)

// runNATS serves until the process is killed.
func runNATS(*testing.M) (int, error) {
	port, err := strconv.Atoi(os.Getenv(natsPort))
	if err != nil {
		return 1, err
	}
	if _, err := broker.StartServer(broker.ServerConfig{Dir: os.Getenv(natsDir), Port: port}); err != nil {
		return 1, err
	}
	select {}
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "latchwire-faults-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if bin, err = build(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// build builds what the tests start.
func build(dir string) (string, error) {
	args := []string{"build", "-tags", "crashpoints", "-o", dir + string(filepath.Separator)}
	if underRace {
		args = append(args, "-race")
	}
	for _, s := range []string{"edge-api", "dispatcher", "webhook-worker", "latchwire"} {
		args = append(args, "github.com/latchwire/latchwire/services/"+s+"/cmd/"+s)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the services: %w\n%s", err, out)
	}
	return dir, nil
}
