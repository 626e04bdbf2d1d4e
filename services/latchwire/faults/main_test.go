package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/crashpoint"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/dispatcher"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
	"github.com/latchwire/latchwire/services/latchwire"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// binary is this test's own with crash points in it; set once, before any test.
var binary string

// roleVariable makes this binary one of the programs.
const roleVariable = "FAULTS_ROLE"

// program returns what a process with a role runs: the same as the main
// function of its service.
func program(role string) func(context.Context, service.Process) error {
	switch role {
	case "edge-api":
		return edgeapi.Program().Run
	case "dispatcher":
		return dispatcher.Program().Run
	case "webhook-worker":
		return webhookworker.Program().Run
	case "latchwire":
		return latchwire.Command
	}
	return serveNATS
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(service.Main(role, program(role)))
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// serveNATS is NATS on a directory and a port, until it is killed.
func serveNATS(ctx context.Context, p service.Process) error {
	port, err := strconv.Atoi(p.Args[1])
	if err != nil {
		return err
	}
	s, err := broker.StartServer(broker.ServerConfig{Dir: p.Args[0], Port: port})
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.Shutdown()
	return nil
}

func runTests(m *testing.M) (int, error) {
	if crashpoint.Enabled {
		binary = os.Args[0]
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "latchwire-faults-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "faults.test")
	// Without what a debugger needs, half of the time to link it is saved.
	args := []string{"test", "-c", "-tags", "crashpoints", "-ldflags", "-s -w", "-o", binary}
	if underRace {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the tests with crash points: %w\n%s", err, out)
	}
	return m.Run(), nil
}
