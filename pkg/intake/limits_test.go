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

// Limits are exact over two replicas, however many call at once (SEC-86, SEC-87).
func TestLimitsAreExactOverReplicas(t *testing.T) {
	t.Parallel()
	hour := func(n int) invocation.Limit { return invocation.Limit{Max: n, Window: time.Hour} }
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{
		Extension: hour(20), Lock: hour(30), MCPExtension: hour(7), MCPLock: hour(10),
	}}}, intake.Config{Wait: short})
	doors := [2]*intake.Intake{s.in, door(s.Open(t), intake.Config{Wait: short})}
	caller := func(slug invocation.Slug, via invocation.Door) func(*testing.T, string) (int64, map[string]int) {
		l := s.lock(t)
		return func(t *testing.T, name string) (int64, map[string]int) {
			t.Helper()
			return storm(t, doors, 64, func(i int) intake.Call {
				c := s.echo(t, l, fmt.Sprint(name, i))
				c.Caller, c.Via = s.on(t, l, slug), via
				return c
			})
		}
	}
	t.Run("an extension on a lock", func(t *testing.T) {
		t.Parallel()
		call := caller("caller", invocation.REST)
		if n, refused := call(t, "a"); n != 20 || refused["extension"] != 44 {
			t.Errorf("got %d admitted and %v refused, want 20 and 44 by the extension's bucket", n, refused)
		}
		if n, refused := call(t, "b"); n != 0 || refused["extension"] != 64 {
			t.Errorf("got %d admitted and %v refused in the same window, want none", n, refused)
		}
	})
	t.Run("by MCP it has a budget of its own", func(t *testing.T) {
		t.Parallel()
		l := s.lock(t)
		for via, want := range map[invocation.Door]int64{invocation.REST: 20, invocation.MCP: 7} {
			n, _ := storm(t, doors, 40, func(i int) intake.Call {
				c := s.echo(t, l, fmt.Sprint(via, i))
				c.Via = via
				return c
			})
			if n != want {
				t.Errorf("%s: got %d admitted, want %d", via, n, want)
			}
		}
	})
	t.Run("everybody on a lock", func(t *testing.T) {
		t.Parallel()
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
	})
}

// A call that one bucket refuses costs the other nothing (contract section 9).
func TestARefusingBucketGivesBackWhatTheOtherTook(t *testing.T) {
	t.Parallel()
	hour := func(n int) invocation.Limit { return invocation.Limit{Max: n, Window: time.Hour} }
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{Extension: hour(10), Lock: hour(4)}}}, intake.Config{Wait: short})
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
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{Extension: invocation.Limit{Max: 5, Window: time.Hour}}}}, intake.Config{Wait: short})
	l := s.lock(t)
	for range 10 {
		c := s.echo(t, l, "k")
		c.Command = "probe.nothing"
		_, err := s.in.Invoke(t.Context(), c)
		refusal(t, err, invocation.UnknownCapability)
	}
	for i := range 5 {
		if a := s.invoke(t, s.echo(t, l, "k")); a.Replayed != (i > 0) {
			t.Errorf("call %d: got replayed %t", i, a.Replayed)
		}
	}
	_, err := s.in.Invoke(t.Context(), s.echo(t, l, "k"))
	refusal(t, err, invocation.RateLimited)
}
