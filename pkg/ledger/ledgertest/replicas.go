package ledgertest

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/ledger"
)

// Replicas runs a test on one server and, unless the tests are to be short, on
// three that replicate; each time with two replicas of ours on a small topology.
func Replicas(t *testing.T, test func(t *testing.T, one, other Env)) {
	t.Helper()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		one, other := Two(t, ledger.Config{Partitions: 1})
		test(t, one, other)
	})
	t.Run("three servers", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("a cluster takes seconds to start")
		}
		c := brokertest.StartCluster(t, 3)
		cfg := ledger.Config{Partitions: 1, Replicas: 3}
		test(t, On(t, c.Connect(t), cfg), On(t, c.Connect(t), cfg))
	})
}
