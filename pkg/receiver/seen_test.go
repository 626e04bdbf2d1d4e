package receiver_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/latchwire/latchwire/pkg/receiver"
)

func TestSeenHandlesOnce(t *testing.T) {
	t.Parallel()
	var s receiver.Seen
	n := 0
	count := func() error { n++; return nil }
	for range 3 {
		if err := s.Once("a", count); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Once("b", count); err != nil || n != 2 {
		t.Errorf("got %v and %d calls, want 2", err, n)
	}
}

// What failed is handled when it comes again, or an event would be lost.
func TestSeenForgetsWhatFailed(t *testing.T) {
	t.Parallel()
	var s receiver.Seen
	failed := errors.New("failed")
	if err := s.Once("a", func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Once("a", func() error { panic("x") })
	}()
	ran := false
	if err := s.Once("a", func() error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("got %v, called: %v", err, ran)
	}
}

func TestSeenIsBounded(t *testing.T) {
	t.Parallel()
	s := receiver.Seen{Size: 3}
	calls := func(id string) (n int) {
		if err := s.Once(id, func() error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, step := range []struct {
		id   string
		want int
	}{
		{"1", 1}, {"2", 1}, {"3", 1}, {"1", 0}, {"4", 1}, // 1 is the oldest and goes
		{"2", 0}, {"3", 0}, {"4", 0}, {"1", 1}, {"2", 1}, {"4", 0}, {"1", 0},
	} {
		if got := calls(step.id); got != step.want {
			t.Errorf("got %d calls for %s, want %d", got, step.id, step.want)
		}
	}
}

func TestSeenIsBusyMeanwhile(t *testing.T) {
	t.Parallel()
	var s receiver.Seen
	err := s.Once("a", func() error {
		if err := s.Once("a", func() error { return nil }); !errors.Is(err, receiver.ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		return s.Once("b", func() error { return nil })
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSeenFromManyGoroutines(t *testing.T) {
	t.Parallel()
	s := receiver.Seen{Size: 200}
	var calls atomic.Int64
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			err := s.Once(fmt.Sprint(i%100), func() error { calls.Add(1); return nil })
			if err != nil && !errors.Is(err, receiver.ErrBusy) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 100 {
		t.Errorf("got %d calls, want 100", calls.Load())
	}
}
