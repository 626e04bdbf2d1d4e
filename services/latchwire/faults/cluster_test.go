package faults

import (
	"net"
	"net/http"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// The times that the processes are started with, and what follows from them.
const (
	ackWait     = 2 * time.Second
	callTimeout = 2 * time.Second
	// ClaimTime is how long a claim is respected: a call and its settlement.
	claimTime = callTimeout + 5*time.Second
	// SettleLimit is how long a call may take to settle whatever dies.
	settleLimit = ackWait + claimTime + 5*time.Second
)

const adminToken = "faults-admin-token-of-these-processes"

// A cluster is one NATS and some of each service.
type cluster struct {
	e2etest.Pipeline
	env []string

	nats                        *process
	edges, dispatchers, workers []*process
}

// A size is how many of each service a cluster has.
type size struct{ edges, dispatchers, workers int }

// newCluster starts NATS, sets its streams up and starts the services.
func newCluster(t *testing.T, n size) *cluster {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	c := &cluster{}
	c.Admin, c.Client = adminToken, &http.Client{Transport: transport}
	c.startNATS(t)
	c.env = []string{
		"LATCHWIRE_NATS_URL=nats://" + c.nats.addr, "LATCHWIRE_ADMIN_TOKEN=" + adminToken,
		"LATCHWIRE_EGRESS_ALLOW=127.0.0.0/8", "LATCHWIRE_PARTITIONS=2", "LATCHWIRE_LOG_LEVEL=warn",
		"LATCHWIRE_ACK_WAIT=" + ackWait.String(), "LATCHWIRE_CALL_TIMEOUT=" + callTimeout.String(),
		"LATCHWIRE_LIMIT_EXTENSION=1000000", "LATCHWIRE_LIMIT_LOCK=1000000", "LATCHWIRE_LIMIT_EVENTS=1000000",
		"LATCHWIRE_DELIVERY_SLOTS=32", "LATCHWIRE_DELIVERY_RETRIES=300ms,1s,2s,4s,8s",
	}
	setup := exec.Command(binary, "setup")
	setup.Env = append([]string{roleVariable + "=latchwire"}, c.env...)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("set the streams up: %v\n%s", err, out)
	}
	for range n.edges {
		c.edges = append(c.edges, c.add(t, "edge-api"))
	}
	for range n.dispatchers {
		c.dispatchers = append(c.dispatchers, c.add(t, "dispatcher"))
	}
	for range n.workers {
		c.workers = append(c.workers, c.add(t, "webhook-worker"))
	}
	for _, p := range c.services() {
		p.waitReady(t)
	}
	for _, p := range c.edges {
		c.Bases = append(c.Bases, "http://"+p.addr)
	}
	return c
}

// services returns all processes but NATS.
func (c *cluster) services() []*process {
	var all []*process
	all = append(all, c.edges...)
	all = append(all, c.dispatchers...)
	return append(all, c.workers...)
}

// add starts one more of a service, which is not waited for.
func (c *cluster) add(t *testing.T, service string, env ...string) *process {
	t.Helper()
	addr := freeAddr(t)
	p := &process{
		name: service + " on " + addr, addr: addr,
		args: []string{"--http-addr", addr}, env: slices.Concat([]string{roleVariable + "=" + service}, env, c.env),
	}
	p.start(t)
	return p
}

// startNATS starts a NATS of the cluster's own.
func (c *cluster) startNATS(t *testing.T) {
	t.Helper()
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	c.nats = &process{
		name: "nats", addr: addr, args: []string{t.TempDir(), port}, env: []string{roleVariable + "=nats"},
	}
	c.nats.start(t)
	c.waitNATS(t)
}

// waitNATS waits until NATS accepts connections.
func (c *cluster) waitNATS(t *testing.T) {
	t.Helper()
	e2etest.Eventually(t, "NATS listens", func() bool {
		conn, err := net.DialTimeout("tcp", c.nats.addr, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close() // it was only asked whether it listens
		return true
	})
}
