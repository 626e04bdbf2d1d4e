package invocation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestCausedByCountsTheDepth(t *testing.T) {
	t.Parallel()
	starter := invocation.Starter{Extension: "starter"}
	for name, tc := range map[string]struct {
		cause    int
		inferred bool
		refused  bool
	}{
		"after a root":                  {0, false, false},
		"after a root, inferred":        {0, true, false},
		"depth 8 runs":                  {7, false, false},
		"depth 9 is refused":            {8, false, true},
		"depth 9 is refused, inferred":  {8, true, true},
		"after what stands at 9 itself": {9, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cause := invocation.Cause{ID: "c", Correlation: "root", Depth: tc.cause, Starter: starter}
			got, err := invocation.CausedBy(cause, tc.inferred)
			want := invocation.Chain{Causation: "c", Correlation: "root", Depth: tc.cause + 1, Inferred: tc.inferred, Starter: starter}
			if got != want { // with a refusal too: its starter is charged
				t.Errorf("got %+v, want %+v", got, want)
			}
			if refused := errors.Is(err, invocation.Refuse(invocation.DepthExceeded)); refused != tc.refused || (err != nil) != tc.refused {
				t.Errorf("got %v, want refused %t", err, tc.refused)
			}
		})
	}
}

func TestRootsBeginTheirOwnChain(t *testing.T) {
	t.Parallel()
	got := invocation.Root("own", invocation.Starter{Extension: "a"})
	if want := (invocation.Chain{Correlation: "own", Starter: invocation.Starter{Extension: "a"}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A chain of calls and events: each event an effect of the call before, each
// call caused by the event before. Everybody in it shares root and starter.
func TestAChainKeepsItsRootAndStarter(t *testing.T) {
	t.Parallel()
	starter := invocation.Starter{Extension: "first"}
	inv := invocation.Invocation{ID: "i0", Chain: invocation.Root("i0", starter)}
	for depth := 1; ; depth += 2 {
		event := invocation.Event{ID: "e", Chain: inv.Caused()}
		if want := (invocation.Chain{Causation: inv.ID, Correlation: "i0", Depth: depth, Starter: starter}); event.Chain != want {
			t.Fatalf("got the event at %+v, want %+v", event.Chain, want)
		}
		chain, err := invocation.CausedBy(event.Cause(), true)
		if chain.Correlation != "i0" || chain.Causation != "e" || chain.Starter != starter || chain.Depth != depth+1 {
			t.Fatalf("got the call at %+v", chain)
		}
		if err != nil {
			if depth != 9 { // the event that a call at depth 8 caused is recorded, at 9
				t.Errorf("got the refusal after an event at depth %d, want 9", depth)
			}
			return
		}
		inv = invocation.Invocation{ID: "i", Chain: chain}
		if cause := inv.Cause(); cause.ID != "i" || cause.Depth != chain.Depth || cause.Correlation != "i0" || cause.Starter != starter {
			t.Fatalf("got the cause %+v of %+v", cause, inv.Chain)
		}
	}
}

func TestInfersForTenSeconds(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		after time.Duration
		want  bool
	}{
		"at once":                        {0, true},
		"at 9.999 s":                     {9999 * time.Millisecond, true},
		"at 10 s":                        {10 * time.Second, true},
		"at 10.001 s":                    {10001 * time.Millisecond, false},
		"a day later":                    {24 * time.Hour, false},
		"by a clock that is a bit early": {-time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := invocation.Infers(sent, sent.Add(tc.after)); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
