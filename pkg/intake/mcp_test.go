package intake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
)

// byMCP returns a call of probe.echo by caller through the MCP door.
func (s *stand) byMCP(t *testing.T, l platformtest.Lock, key string) intake.Call {
	t.Helper()
	c := s.echo(t, l, key)
	c.Via = invocation.MCP
	return c
}

// Going over the MCP limit blocks the extension on that lock for a minute, over
// all replicas, and the lock's history shows it once (contract section 9).
func TestGoingOverTheMCPLimitBlocks(t *testing.T) {
	t.Parallel()
	s, doors := limited(t, invocation.Limits{MCPExtension: hourly(7)})
	l, elsewhere := s.lock(t), s.lock(t)
	n, refused := storm(t, doors, 40, func(i int) intake.Call { return s.byMCP(t, l, fmt.Sprint(i)) })
	if n != 7 || refused["mcp-extension"] != 33 {
		t.Errorf("got %d admitted and %v refused, want 7", n, refused)
	}
	for _, in := range doors {
		_, err := in.Invoke(t.Context(), s.byMCP(t, l, "more"))
		if e := refusal(t, err, invocation.RateLimited); e.RetryAfter <= 0 || e.RetryAfter > time.Minute || e.Facts["bucket"] != "mcp-extension" {
			t.Errorf("got %+v, want what is left of a minute", e)
		}
	}
	entries, _, err := s.p.Ledger.History(t.Context(), l.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []invocation.HistoryLine
	for _, e := range entries {
		for _, h := range e.History {
			if h.Type == "extension_blocked" {
				blocks = append(blocks, h)
			}
		}
	}
	if len(blocks) != 1 || blocks[0].Extension != "caller" || blocks[0].Actor != invocation.ActorExtension {
		t.Errorf("got %+v, want one line that names the extension", blocks)
	}
	for what, c := range map[string]intake.Call{"REST": s.echo(t, l, "rest"), "another lock": s.byMCP(t, elsewhere, "k")} {
		if _, err := doors[0].Invoke(t.Context(), c); err != nil {
			t.Errorf("%s: got %v", what, err)
		}
	}
	other := s.byMCP(t, l, "other")
	other.Caller = s.on(t, l, "other")
	if _, err := doors[1].Invoke(t.Context(), other); err != nil {
		t.Errorf("another extension: got %v", err)
	}
}

// A call by MCP that is refused for its depth is counted for the extension that
// started the chain, and for the lock alone where no extension did (contract
// section 9). By REST it is the caller's (SEC-85).
func TestWhoPaysForTooDeepACall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		via     invocation.Door
		starter invocation.Slug
		repeat  bool
		left    map[string]int // of 5 for extensions, of 9 for the lock
	}{
		"another extension started": {invocation.MCP, "other", false, map[string]int{"caller": 5, "other": 4, "": 8}},
		"the caller started":        {invocation.MCP, "caller", false, map[string]int{"caller": 4, "other": 5, "": 8}},
		"no extension started":      {invocation.MCP, "", false, map[string]int{"caller": 5, "other": 5, "": 8}},
		"a repeat":                  {invocation.MCP, "other", true, map[string]int{"caller": 3, "other": 5, "": 7}},
		"by REST":                   {invocation.REST, "other", false, map[string]int{"caller": 5, "other": 5, "": 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := limited(t, invocation.Limits{MCPExtension: hourly(5), MCPLock: hourly(9)})
			l := s.lock(t)
			c := s.byMCP(t, l, "k")
			c.Via = tc.via
			if tc.repeat {
				s.invoke(t, c)
			}
			s.sent(t, "caller", platformtest.Event(t, s.p, l.ID, "other", invocation.Chain{
				Causation: "ffffffffffffffffffffffff", Correlation: "eeeeeeeeeeeeeeeeeeeeeeee", Depth: 8, Starter: invocation.Starter{Extension: tc.starter},
			}))
			_, err := s.in.Invoke(t.Context(), c)
			if !tc.repeat {
				_ = refusal(t, err, invocation.DepthExceeded)
			} else if err != nil {
				t.Errorf("got %v for a repeat", err)
			}
			if err := s.p.Conn.NC.Flush(); err != nil {
				t.Fatal(err)
			}
			for slug, want := range tc.left {
				charge := ledger.Charge{Bucket: invocation.BucketMCPExtension, Key: slug + "-" + string(l.ID)}
				if slug == "" {
					charge = ledger.Charge{Bucket: invocation.BucketMCPLock, Key: string(l.ID)}
				}
				left := 0
				for s.p.Ledger.Charge(t.Context(), charge) == nil {
					left++
				}
				if left != want {
					t.Errorf("%q: got %d calls left, want %d", slug, left, want)
				}
			}
		})
	}
}

// Requests to the endpoint are counted for an extension over all its locks.
func TestRequestsByMCPAreLimited(t *testing.T) {
	t.Parallel()
	s, doors := limited(t, invocation.Limits{MCPRequests: hourly(4)})
	one, other := s.lock(t), s.lock(t)
	for i, l := range []platformtest.Lock{one, other, one, other} {
		if err := doors[i%2].Request(t.Context(), s.on(t, l, "caller")); err != nil {
			t.Errorf("request %d: got %v", i, err)
		}
	}
	for _, in := range doors {
		if e := refusal(t, in.Request(t.Context(), s.on(t, one, "caller")), invocation.RateLimited); e.Facts["bucket"] != "mcp-requests" {
			t.Errorf("got the bucket %s", e.Facts["bucket"])
		}
	}
	if err := doors[0].Request(t.Context(), s.on(t, one, "other")); err != nil {
		t.Errorf("another extension: got %v", err)
	}
}
