package broker_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/latchwire/latchwire/pkg/broker"
)

// enter takes a slot or fails the test.
func enter(t *testing.T, l *broker.Lanes, key string) func() {
	t.Helper()
	leave, err := l.Enter(t.Context(), key)
	if err != nil {
		t.Fatalf("enter %s: %v", key, err)
	}
	return leave
}

func TestLanesServeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := broker.NewLanes(1, 3)
		leave := enter(t, l, "a")
		var order []int
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				next := enter(t, l, "a")
				order = append(order, i) // one at a time: the lane has one slot
				next()
			})
			synctest.Wait()
		}
		leave()
		wg.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("got the order %v, want 0 1 2", order)
		}
	})
}

func TestLanesRefuseBeyondTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := broker.NewLanes(2, 1)
		first, second := enter(t, l, "a"), enter(t, l, "a")
		var wg sync.WaitGroup
		wg.Go(func() { enter(t, l, "a")() })
		synctest.Wait()
		if _, err := l.Enter(t.Context(), "a"); !errors.Is(err, broker.ErrLaneFull) {
			t.Errorf("got %v, want ErrLaneFull", err)
		}
		enter(t, l, "b")() // another key is not in the way
		first()
		wg.Wait()
		enter(t, l, "a")()
		second()
	})
}

func TestLanesGiveUpWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := broker.NewLanes(1, 1)
		leave := enter(t, l, "a")
		why := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := l.Enter(ctx, "a"); !errors.Is(err, why) {
				t.Errorf("got %v, want the cause", err)
			}
		})
		synctest.Wait()
		cancel(why)
		wg.Wait()
		// Its place in the line is free again, and nobody has its turn.
		wg.Go(func() { enter(t, l, "a")() })
		synctest.Wait()
		leave()
		wg.Wait()
	})
}

func TestLanesStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := broker.NewLanes(1, 2)
		leave := enter(t, l, "a")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := l.Enter(t.Context(), "a"); !errors.Is(err, broker.ErrStopping) {
					t.Errorf("got %v for one that waited, want ErrStopping", err)
				}
			})
		}
		synctest.Wait()
		l.Stop()
		l.Stop() // twice is once
		wg.Wait()
		for _, key := range []string{"a", "b"} {
			if _, err := l.Enter(t.Context(), key); !errors.Is(err, broker.ErrStopping) {
				t.Errorf("got %v for %s after Stop, want ErrStopping", err, key)
			}
		}
		leave()
	})
}

// A waiter that is handed a slot while it gives up passes the slot on.
func TestLanesPassOnASlotThatCameTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 2000 { // whether the slot comes before the waiter is out of the line is chance
			l := broker.NewLanes(1, 1)
			leave := enter(t, l, "a")
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if leave, err := l.Enter(ctx, "a"); err == nil {
					leave()
				}
			})
			synctest.Wait()
			cancel()
			leave()
			wg.Wait()
			again, err := l.Enter(ctx, "a") // a free slot needs no waiting
			if err != nil {
				t.Fatalf("got %v, want the slot free again", err)
			}
			again()
		}
	})
}

// Waiters give up at the very moment they are handed a slot; no slot may get
// lost over it and never may more run than there are slots.
func TestLanesLoseNoSlotToARace(t *testing.T) {
	t.Parallel()
	const slots = 3
	l := broker.NewLanes(slots, 64)
	var running, most atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(cancel)
				leave, err := l.Enter(ctx, "a")
				if err == nil {
					now := running.Add(1)
					for {
						was := most.Load()
						if now <= was || most.CompareAndSwap(was, now) {
							break
						}
					}
					running.Add(-1)
					leave()
				}
				done.Wait()
			}
		})
	}
	wg.Wait()
	if most.Load() > slots {
		t.Errorf("got %d at a time, want at most %d", most.Load(), slots)
	}
	var leaves []func()
	for range slots { // all are free again
		leaves = append(leaves, enter(t, l, "a"))
	}
	for _, leave := range leaves {
		leave()
	}
	if n := l.Keys(); n != 0 {
		t.Errorf("got %d lanes left behind, want none", n)
	}
}
