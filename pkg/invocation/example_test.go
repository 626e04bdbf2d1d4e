package invocation_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A call is recorded as pending, at the place that its cause gives it, and
// settles once. What it caused stands one step deeper in the same chain.
func Example() {
	now := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	lock := invocation.LockID("0123456789abcdef01234567")
	event := invocation.Event{ID: invocation.EventID(lock, 4711), Chain: invocation.Root("feedfeedfeedfeedfeedfeed", invocation.Starter{})}

	chain, err := invocation.CausedBy(event.Cause(), true)
	if err != nil {
		fmt.Println("refused:", invocation.CodeOf(err))
		return
	}
	inv := invocation.Invocation{
		ID: invocation.InvocationID(lock, "wheel", "spin-1:assign"), Lock: lock, Chain: chain,
		Status: invocation.Pending, CreatedAt: now,
	}
	inv = inv.Settle(invocation.Completes(json.RawMessage(`{"left":3}`)), now.Add(time.Second))
	inv = inv.Settle(invocation.Fails(invocation.TargetError), now.Add(time.Hour)) // too late

	fmt.Println(inv.Status, string(inv.Result), invocation.FormatTime(inv.SettledAt))
	fmt.Println("depth", inv.Chain.Depth, "of", inv.Chain.Correlation)
	fmt.Println("its events have depth", inv.Caused().Depth)
	// Output:
	// completed {"left":3} 2026-11-04T12:00:01.000Z
	// depth 1 of feedfeedfeedfeedfeedfeed
	// its events have depth 2
}

func ExampleMatches() {
	fmt.Println(invocation.Matches("tasks.*", "tasks.completed"), invocation.Matches("tasks.*", "lock.time-changed"))
	// Output: true false
}
