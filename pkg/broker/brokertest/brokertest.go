package brokertest

import (
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
)

// Start starts a server without a socket and returns a connection to it.
func Start(tb testing.TB) *broker.Conn {
	tb.Helper()
	return Connect(tb, StartServer(tb))
}

// StartServer starts a server without a socket, for tests that need several
// connections to it.
func StartServer(tb testing.TB) *broker.Server {
	tb.Helper()
	s, err := broker.StartServer(broker.ServerConfig{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatalf("start a server: %v", err)
	}
	tb.Cleanup(s.Shutdown)
	return s
}

// Connect returns a connection to a server in this process.
func Connect(tb testing.TB, s *broker.Server) *broker.Conn {
	tb.Helper()
	return connect(tb, broker.Config{Server: s})
}

// ConnectURL returns a connection to a server that listens.
func ConnectURL(tb testing.TB, at string) *broker.Conn {
	tb.Helper()
	return connect(tb, broker.Config{URL: at})
}

func connect(tb testing.TB, cfg broker.Config) *broker.Conn {
	tb.Helper()
	c, err := broker.Connect(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(c.Close)
	return c
}

// A Node is a server on loopback that can be stopped and started again with
// everything it has stored. Its methods are called by one goroutine at a time.
type Node struct {
	// URL is where the server listens, the same after each start.
	URL string

	dir    string
	port   int
	server *broker.Server
}

// StartNode starts a server on a free port.
func StartNode(tb testing.TB) *Node {
	tb.Helper()
	n := &Node{dir: tb.TempDir(), port: -1}
	n.Start(tb)
	n.URL = n.server.URL()
	u, err := url.Parse(n.URL)
	if err != nil {
		tb.Fatalf("parse %s: %v", n.URL, err)
	}
	if n.port, err = strconv.Atoi(u.Port()); err != nil {
		tb.Fatalf("port of %s: %v", n.URL, err)
	}
	tb.Cleanup(n.Stop)
	return n
}

// Start starts the server again after Stop.
func (n *Node) Start(tb testing.TB) {
	tb.Helper()
	s, err := broker.StartServer(broker.ServerConfig{Dir: n.dir, Port: n.port})
	if err != nil {
		tb.Fatalf("start a server: %v", err)
	}
	n.server = s
}

// Port returns the port that the server listens on.
func (n *Node) Port() int { return n.port }

// Stop stops the server and waits until it has. Stopping twice is no error.
func (n *Node) Stop() {
	if n.server != nil {
		n.server.Shutdown()
		n.server = nil
	}
}

// Eventually waits until the condition holds and fails the test if it does not
// within the time. It asks every few milliseconds.
func Eventually(tb testing.TB, within time.Duration, what string, holds func() bool) {
	tb.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			tb.Fatalf("not within %s: %s", within, what)
		case <-tick.C:
		}
	}
}

// Nkey makes a key to authenticate with, and returns the file of its seed and
// its public half.
func Nkey(tb testing.TB) (file, public string) {
	tb.Helper()
	seed, public, err := broker.NewNkey()
	if err != nil {
		tb.Fatal(err)
	}
	file = filepath.Join(tb.TempDir(), "seed.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		tb.Fatal(err)
	}
	return file, public
}
