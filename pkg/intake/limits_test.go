package intake_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
)

// storm makes n calls at once, through two replicas by turns, and returns how
// many were admitted and how often each bucket refused.
func storm(t *testing.T, doors [2]*intake.Intake, n int, call func(i int) intake.Call) (admitted int64, refused map[string]int) {
	t.Helper()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		good atomic.Int64
	)
	refused = make(map[string]int)
	for i := range n {
		wg.Go(func() {
			_, err := doors[i%2].Invoke(t.Context(), call(i))
			if err == nil {
				good.Add(1)
				return
			}
			e := invocation.AsError(err)
			if e.Code != invocation.RateLimited || e.RetryAfter <= 0 || e.RetryAfter > time.Hour {
				t.Errorf("got %s, retry after %s; want rate-limited and when to try again", e.Code, e.RetryAfter)
			}
			mu.Lock()
			defer mu.Unlock()
			refused[e.Facts["bucket"]]++
		})
	}
	wg.Wait()
	return good.Load(), refused
}

// hourly is a limit that no test outlives.
func hourly(n int) invocation.Limit { return invocation.Limit{Max: n, Window: time.Hour} }

// limited returns a stand with two doors, each of a replica of its own.
func limited(t *testing.T, limits invocation.Limits) (*stand, [2]*intake.Intake) {
	t.Helper()
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: limits}}, intake.Config{Wait: short})
	return s, [2]*intake.Intake{s.in, door(s.Open(t), intake.Config{Wait: short})}
}

// An extension's limit is exact over two replicas, however many calls come at
// once; REST and MCP have budgets of their own (SEC-86). Calls that each start a
// chain of their own are no exception, so that a loop of them ends (SEC-84).
func TestAnExtensionsLimitIsExactOverReplicas(t *testing.T) {
	t.Parallel()
	s, doors := limited(t, invocation.Limits{Extension: hourly(20), MCPExtension: hourly(7)})
	l := s.lock(t)
	for via, want := range map[invocation.Door]int{invocation.REST: 20, invocation.MCP: 7} {
		bucket := map[invocation.Door]string{invocation.REST: "extension", invocation.MCP: "mcp-extension"}[via]
		for round := range 2 {
			n, refused := storm(t, doors, 64, func(i int) intake.Call {
				c := s.echo(t, l, fmt.Sprint(via, round, i))
				c.Via = via
				return c
			})
			if n != int64(want) || refused[bucket] != 64-want {
				t.Errorf("%s, round %d: got %d admitted and %v refused, want %d", via, round, n, refused, want)
			}
			want = 0 // in the same window
		}
	}
}

// A lock's limit holds for all extensions together (SEC-87).
func TestALocksLimitIsExactOverReplicas(t *testing.T) {
	t.Parallel()
	s, doors := limited(t, invocation.Limits{Extension: hourly(20), Lock: hourly(30)})
	l := s.lock(t)
	slugs := []invocation.Slug{"caller", "other", "probe"}
	n, refused := storm(t, doors, 60, func(i int) intake.Call { // each of the three stays within its own bucket
		c := s.echo(t, l, fmt.Sprint("k", i))
		c.Caller = s.on(t, l, slugs[i/2%3])
		return c
	})
	if n != 30 || refused["lock"] != 30 || len(refused) != 1 {
		t.Errorf("got %d admitted and %v refused, want 30 and 30 by the lock's bucket", n, refused)
	}
}

// A call that one bucket refuses costs the other nothing (contract section 9).
func TestARefusingBucketGivesBackWhatTheOtherTook(t *testing.T) {
	t.Parallel()
	s, _ := limited(t, invocation.Limits{Extension: hourly(10), Lock: hourly(4)})
	l := s.lock(t)
	for i := range 4 {
		s.invoke(t, s.echo(t, l, fmt.Sprint("k", i)))
	}
	// Every replica asks the server once before it knows that the bucket is full.
	for range 3 {
		p := s.Open(t)
		_, err := door(p, intake.Config{Wait: short}).Invoke(t.Context(), s.echo(t, l, "more"))
		if e := refusal(t, err, invocation.RateLimited); e.Facts["bucket"] != "lock" {
			t.Fatalf("got the bucket %s, want lock", e.Facts["bucket"])
		}
		if err := p.Conn.NC.Flush(); err != nil { // what is given back was written before
			t.Fatal(err)
		}
	}
	p, left := s.Open(t), 0
	session := l.Session("caller")
	for p.Ledger.Charge(t.Context(), ledger.Charge{Bucket: invocation.BucketExtension, Key: string(session.Slug) + "-" + string(l.ID)}) == nil {
		left++
	}
	if left != 6 {
		t.Errorf("got %d calls left for the extension, want 6 of 10 after 4 admitted", left)
	}
}

// A refused call before the limits costs nothing; a repeat counts like any
// other call (contract section 9, SEC-80).
func TestWhatCountsTowardsTheLimits(t *testing.T) {
	t.Parallel()
	s, _ := limited(t, invocation.Limits{Extension: hourly(5)})
	l := s.lock(t)
	for range 10 {
		c := s.echo(t, l, "k")
		c.Command = "probe.nothing"
		_, err := s.in.Invoke(t.Context(), c)
		_ = refusal(t, err, invocation.UnknownCapability)
	}
	for i := range 5 {
		if a := s.invoke(t, s.echo(t, l, "k")); a.Replayed != (i > 0) {
			t.Errorf("call %d: got replayed %t", i, a.Replayed)
		}
	}
	_, err := s.in.Invoke(t.Context(), s.echo(t, l, "k"))
	_ = refusal(t, err, invocation.RateLimited)
}
