package brokertest

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/latchwire/latchwire/pkg/broker"
)

// A Cluster is several servers in this process, joined by routes on loopback.
// Its methods are called by one goroutine at a time.
type Cluster struct {
	servers []*server.Server
	options []*server.Options
}

// StartCluster starts a cluster and waits until it can make replicated streams.
func StartCluster(tb testing.TB, size int) *Cluster {
	tb.Helper()
	ports := freePorts(tb, 2*size)
	routes := make([]string, size)
	for i := range routes {
		routes[i] = "nats://127.0.0.1:" + strconv.Itoa(ports[i])
	}
	c := &Cluster{servers: make([]*server.Server, size)}
	for i := range size {
		c.options = append(c.options, &server.Options{
			ServerName: "node-" + strconv.Itoa(i),
			Host:       "127.0.0.1",
			Port:       ports[size+i],
			Cluster:    server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]},
			Routes:     server.RoutesFromStr(strings.Join(routes, ",")),
			JetStream:  true,
			StoreDir:   tb.TempDir(),
			NoSigs:     true,
			NoLog:      true,
			MaxPayload: 1 << 20,
		})
		c.Start(tb, i)
	}
	tb.Cleanup(func() {
		for i := range c.servers {
			c.Stop(i)
		}
	})
	Eventually(tb, time.Minute, "the cluster is ready", c.ready)
	return c
}

// Start starts the server with this index, again if it was stopped.
func (c *Cluster) Start(tb testing.TB, i int) {
	tb.Helper()
	s, err := server.NewServer(c.options[i].Clone())
	if err != nil {
		tb.Fatalf("configure server %d: %v", i, err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		tb.Fatalf("server %d did not start", i)
	}
	c.servers[i] = s
}

// Stop stops the server with this index. Stopping twice is no error.
func (c *Cluster) Stop(i int) {
	if s := c.servers[i]; s != nil {
		s.Shutdown()
		s.WaitForShutdown()
		c.servers[i] = nil
	}
}

// Connect returns a connection that knows all servers.
func (c *Cluster) Connect(tb testing.TB) *broker.Conn {
	tb.Helper()
	urls := make([]string, 0, len(c.options))
	for _, o := range c.options {
		urls = append(urls, "nats://127.0.0.1:"+strconv.Itoa(o.Port))
	}
	return ConnectURL(tb, strings.Join(urls, ","))
}

// ready reports whether the cluster has a leader that knows all servers.
func (c *Cluster) ready() bool {
	return slices.ContainsFunc(c.servers, func(s *server.Server) bool {
		return s != nil && s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(c.servers)
	})
}

// freePorts returns ports that nobody listened on a moment ago.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
		if err != nil {
			tb.Fatalf("find a free port: %v", err)
		}
		defer l.Close() // held until all are found, so that they differ
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			ports = append(ports, addr.Port)
		}
	}
	return ports
}
