package ledger_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// From 80 % of its bound on, a partition takes nothing new, and what was
// admitted still settles (design section 8).
func TestNearlyFullPartitionAdmitsNothing(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	synctest.Test(t, func(t *testing.T) {
		env := ledgertest.New(t, ledger.Config{Partitions: 2, MaxBytes: 1 << 20})
		full, other := ledgertest.NewLockIn(t, env.Ledger, 0).Lock, ledgertest.NewLockIn(t, env.Ledger, 1).Lock
		var invs []invocation.Invocation
		fill := func(n int) {
			for range n {
				inv := ledgertest.NewInvocation(env.Ledger, full, strconv.Itoa(len(invs)))
				inv.Input = json.RawMessage(`{"s":"` + strings.Repeat("x", 50_000) + `"}`)
				record(t, env.Ledger, inv)
				invs = append(invs, inv)
			}
			pass(3 * time.Second)
		}
		fill(14) // 700 KB of 1,048
		if err := env.Ledger.Room(full); err != nil {
			t.Errorf("at two thirds: got %v, want room", err)
		}
		fill(3)
		err := env.Ledger.Room(full)
		wantCode(t, err, invocation.ServiceUnavailable)
		if err := env.Ledger.Room(other); err != nil {
			t.Errorf("the other partition: got %v, want room", err)
		}
		if err := env.Ledger.Settle(t.Context(), claim(t, env.Ledger, invs[0]), completed(env.Ledger, invs[0], `{}`), nil); err != nil {
			t.Errorf("settle what was admitted: %v", err)
		}
		stream, err := env.Conn.JS.Stream(t.Context(), ledger.InvocationStream(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		if err := env.Ledger.Room(full); err != nil {
			t.Errorf("emptied: got %v, want room", err)
		}
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }
