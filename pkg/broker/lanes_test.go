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
	leave, err := l.Enter(t.Context(), broker.Turn{Key: key})
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
		if _, err := l.Enter(t.Context(), broker.Turn{Key: "a"}); !errors.Is(err, broker.ErrLaneFull) {
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
			if _, err := l.Enter(ctx, broker.Turn{Key: "a"}); !errors.Is(err, why) {
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
				if _, err := l.Enter(t.Context(), broker.Turn{Key: "a"}); !errors.Is(err, broker.ErrStopping) {
					t.Errorf("got %v for one that waited, want ErrStopping", err)
				}
			})
		}
		synctest.Wait()
		l.Stop()
		l.Stop() // twice is once
		wg.Wait()
		for _, key := range []string{"a", "b"} {
			if _, err := l.Enter(t.Context(), broker.Turn{Key: key}); !errors.Is(err, broker.ErrStopping) {
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
				if leave, err := l.Enter(ctx, broker.Turn{Key: "a"}); err == nil {
					leave()
				}
			})
			synctest.Wait()
			cancel()
			leave()
			wg.Wait()
			again, err := l.Enter(ctx, broker.Turn{Key: "a"}) // a free slot needs no waiting
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
				leave, err := l.Enter(ctx, broker.Turn{Key: "a"})
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

// What has an order runs one at a time as it arrived, also when a later one
// comes first, and others of its lane go past it.
func TestLanesKeepAnOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := broker.NewLanes(4, 8)
		turn := func(order string, seq uint64) broker.Turn { return broker.Turn{Key: "a", Order: order, Seq: seq} }
		for seq := range uint64(3) {
			l.Expect(turn("x", seq))
		}
		l.Expect(turn("y", 9))
		var ran []uint64
		var running sync.WaitGroup
		leaves := make(chan func(), 3)
		for _, seq := range []uint64{2, 1} {
			running.Go(func() {
				leave, err := l.Enter(t.Context(), turn("x", seq))
				if err != nil {
					t.Error(err)
					return
				}
				ran = append(ran, seq)
				leaves <- leave
			})
			synctest.Wait()
		}
		other, err := l.Enter(t.Context(), turn("y", 9))
		if err != nil || len(ran) != 0 {
			t.Fatalf("got %v and %v, want another order to go past those that wait", err, ran)
		}
		other()
		l.Forget(turn("x", 0)) // it never came
		synctest.Wait()
		if len(ran) != 1 || ran[0] != 1 {
			t.Fatalf("got %v, want the first of those that are left, alone", ran)
		}
		(<-leaves)()
		(<-leaves)()
		running.Wait()
		if len(ran) != 2 || ran[1] != 2 || l.Keys() != 0 {
			t.Errorf("got %v and %d lanes, want all served and none left", ran, l.Keys())
		}
	})
}

// A burst for one key may fill a third of the pool, many hanging ones together
// never all of it, and each key keeps a line of its own.
func TestLanesShareAPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const line, pool = 2, 60
		l := broker.NewSharedLanes(1, line, pool)
		hold := func(key string) (func(), int) {
			leave := enter(t, l, key)
			n := 0
			for {
				refused := make(chan error, 1)
				go func() {
					leave, err := l.Enter(t.Context(), broker.Turn{Key: key})
					refused <- err
					if err == nil {
						leave()
					}
				}()
				synctest.Wait()
				select {
				case err := <-refused:
					if !errors.Is(err, broker.ErrLaneFull) {
						t.Errorf("got %v, want the lane full", err)
					}
					return leave, n
				default:
					n++
				}
			}
		}
		var leaves []func()
		total := 0
		for i := range 20 {
			leave, n := hold(string(rune('a' + i)))
			leaves = append(leaves, leave)
			total += n
			switch {
			case i == 0 && (n < pool/4 || n > pool/2):
				t.Errorf("got %d places for one burst, want a good part of %d", n, pool)
			case n < line:
				t.Errorf("got %d places for key %d, want at least %d", n, i, line)
			}
		}
		if most := pool + 20*line; total > most {
			t.Errorf("got %d that wait, want at most %d", total, most)
		}
		for _, leave := range leaves {
			leave()
		}
	})
}
