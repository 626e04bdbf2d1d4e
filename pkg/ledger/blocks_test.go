package ledger_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// lines returns the history lines about blocks of a lock.
func lines(t *testing.T, l *ledger.Ledger, id invocation.LockID) []invocation.HistoryLine {
	t.Helper()
	entries, _, err := l.History(t.Context(), id, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []invocation.HistoryLine
	for _, e := range entries {
		for _, h := range e.History {
			if h.Type == "extension_blocked" {
				out = append(out, h)
			}
		}
	}
	return out
}

// However many replicas and calls go over a limit at once, there is one block
// and one line that shows it (contract section 9).
func TestABlockIsImposedOnce(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		id := ledgertest.NewLock(t, one.Ledger).Lock
		b := ledger.Block{Bucket: invocation.BucketMCPExtension, Extension: "a", Lock: id}
		var wg sync.WaitGroup
		until := make(chan time.Time, 20)
		for i := range 20 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				got, err := l.Block(t.Context(), b, time.Minute)
				if err != nil {
					t.Errorf("block: %v", err)
				}
				until <- got.Until
			})
		}
		wg.Wait()
		first := <-until
		for range 19 {
			if got := <-until; !got.Equal(first) {
				t.Errorf("got blocks until %s and %s, want one", first, got)
			}
		}
		if got := lines(t, other.Ledger, id); len(got) != 1 || got[0].Extension != "a" || got[0].Actor != invocation.ActorExtension {
			t.Errorf("got %+v, want one line that names the extension", got)
		}
		if got, err := other.Ledger.LastBlock(t.Context(), ledger.Block{Bucket: invocation.BucketMCPExtension, Extension: "b", Lock: id}); err != nil || !got.Until.IsZero() {
			t.Errorf("another extension: got %+v, %v, want no block", got, err)
		}
	})
}

// A block ends after its time; then calls are counted anew, and can lead to the
// next block with a line of its own (design section 3).
func TestAfterABlockAWindowBegins(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	synctest.Test(t, func(t *testing.T) {
		cfg := small()
		cfg.Limits.MCPExtension = invocation.Limit{Max: 2, Window: 5 * time.Minute}
		env := ledgertest.New(t, cfg)
		id := ledgertest.NewLock(t, env.Ledger).Lock
		b := ledger.Block{Bucket: invocation.BucketMCPExtension, Extension: "a", Lock: id}
		plain := ledger.Charge{Bucket: invocation.BucketMCPExtension, Key: "a-" + string(id)}
		last := func() ledger.Block {
			got, err := env.Ledger.LastBlock(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		exhaust := func() {
			t.Helper()
			for range 2 {
				if err := env.Ledger.Charge(t.Context(), env.Ledger.After(last(), plain)); err != nil {
					t.Fatalf("charge: %v", err)
				}
			}
			wantCode(t, env.Ledger.Charge(t.Context(), env.Ledger.After(last(), plain)), invocation.RateLimited)
		}
		for n := range 3 {
			exhaust()
			got, err := env.Ledger.Block(t.Context(), last(), time.Minute)
			if left := got.Left(env.Ledger.Now()); err != nil || left < 59*time.Second || left > time.Minute {
				t.Errorf("block %d: got %s left, %v, want a minute", n, left, err)
			}
			pass(30 * time.Second)
			if left := last().Left(env.Ledger.Now()); left < 29*time.Second || left > 30*time.Second {
				t.Errorf("block %d: got %s left after half a minute", n, left)
			}
			pass(31 * time.Second)
			if left := last().Left(env.Ledger.Now()); left != 0 {
				t.Errorf("block %d: got %s left after a minute", n, left)
			}
			if got := lines(t, env.Ledger, id); len(got) != n+1 {
				t.Errorf("got %d lines, want %d", len(got), n+1)
			}
		}
		pass(10 * time.Minute)
		if got := last(); !got.Until.IsZero() || env.Ledger.After(got, plain) != plain {
			t.Errorf("got %+v long after the block, want nothing left of it", got)
		}
	})
}

// The line of a block whose maker died before it wrote it is written by the
// next who is refused, and once.
func TestTheLineOfABlockIsMadeUpFor(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	id := ledgertest.NewLock(t, env.Ledger).Lock
	b := ledger.Block{Bucket: invocation.BucketMCPExtension, Extension: "a", Lock: id}
	untold, err := env.Ledger.Impose(t.Context(), b, time.Minute)
	if err != nil || len(lines(t, env.Ledger, id)) != 0 {
		t.Fatalf("impose: %v", err)
	}
	for range 3 {
		read, err := env.Ledger.LastBlock(t.Context(), b)
		if err != nil || !read.Until.Equal(untold.Until) {
			t.Fatalf("got %+v, %v", read, err)
		}
		for _, known := range []ledger.Block{read, untold} {
			if got, err := env.Ledger.Block(t.Context(), known, time.Minute); err != nil || !got.Until.Equal(untold.Until) {
				t.Errorf("got %+v, %v, want the block that stands", got, err)
			}
		}
	}
	if got := lines(t, env.Ledger, id); len(got) != 1 {
		t.Errorf("got %d lines, want one", len(got))
	}
}
