package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
)

// journal collects what parts do. In a bubble, and with parts that run one
// after the other, it needs no lock; -race proves it.
type journal []string

func (j *journal) part(name string, drain time.Duration) service.Part {
	return service.Part{
		Name: name,
		Start: func(context.Context) error {
			*j = append(*j, "start "+name)
			return nil
		},
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(drain)
			*j = append(*j, "stop "+name)
			return nil
		},
	}
}

func TestRunStartsInOrderAndStopsInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var j journal
		begin := time.Now()
		if err := service.Run(ctx, time.Minute, j.part("broker", time.Second), j.part("ledger", 0), j.part("http", time.Second)); err != nil {
			t.Fatal(err)
		}
		want := []string{"start broker", "start ledger", "start http", "stop http", "stop ledger", "stop broker"}
		if !slices.Equal(j, want) {
			t.Errorf("got %v, want %v", j, want)
		}
		if took := time.Since(begin); took != time.Minute+2*time.Second {
			t.Errorf("got %v, want a minute and the two drains", took)
		}
	})
}

func TestThePartAfterWaitsForStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begin := time.Now()
		var second time.Duration
		err := service.Run(ctx, time.Minute,
			service.Part{Name: "slow", Start: func(context.Context) error { time.Sleep(time.Hour); return nil }},
			service.Part{Name: "next", Start: func(context.Context) error { second = time.Since(begin); cancel(); return nil }})
		if err != nil || second != time.Hour {
			t.Errorf("got a start after %v and %v, want after an hour", second, err)
		}
	})
}

func TestRunNamesTheFirstFailureAndStopsAll(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	later := errors.New("later")
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, tc := range map[string]struct {
		parts []service.Part
		want  string
		is    error
	}{
		"a part that fails while it runs": {
			[]service.Part{{Name: "ok", Run: wait}, {Name: "bad", Run: func(context.Context) error { time.Sleep(time.Second); return boom }}},
			"bad: boom", boom,
		},
		"a part that fails to start keeps the next from starting": {
			[]service.Part{{Name: "ok", Run: wait}, {Name: "bad", Start: func(context.Context) error { return boom }}, {Name: "never", Start: func(context.Context) error { return later }}},
			"bad: start: boom", boom,
		},
		"a part that just ends": {
			[]service.Part{{Name: "ok", Run: wait}, {Name: "gone", Run: func(context.Context) error { return nil }}},
			"gone: stopped before it was asked to", service.ErrStoppedEarly,
		},
		"a failure that draining adds comes second": {
			[]service.Part{
				{Name: "ok", Run: func(ctx context.Context) error { <-ctx.Done(); return later }},
				{Name: "bad", Run: func(context.Context) error { return boom }},
			},
			"bad: boom\nok: later", boom,
		},
		"a cancelled context is a failure when nobody asked to stop": {
			[]service.Part{{Name: "odd", Run: func(context.Context) error { return context.Canceled }}},
			"odd: context canceled", context.Canceled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				err := service.Run(t.Context(), time.Minute, tc.parts...)
				if err == nil || err.Error() != tc.want || !errors.Is(err, tc.is) {
					t.Errorf("got %v, want %s", err, tc.want)
				}
			})
		})
	}
}

func TestRunNamesWhatDidNotStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		drains [3]time.Duration // of broker, worker, http; they are stopped from the last on
		want   string
		took   time.Duration
		stops  []string
	}{
		"all in time":                    {[3]time.Duration{1, 1, 1}, "", 3, []string{"http", "worker", "broker"}},
		"together longer than the grace": {[3]time.Duration{0, 5, 6}, "worker took longer than 10 to stop", 11, []string{"http", "broker", "worker"}},
		"one hangs, the others still get to stop": {
			[3]time.Duration{1, 100, 1}, "did not stop within 10: worker", 12, []string{"http", "broker"},
		},
		"two hang": {[3]time.Duration{100, 1, 100}, "did not stop within 10: http, broker", 12, []string{"worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopped := make(chan string, 3)
				var parts []service.Part
				for i, name := range []string{"broker", "worker", "http"} {
					parts = append(parts, service.Part{Name: name, Start: func(context.Context) error { return nil }, Run: func(ctx context.Context) error {
						<-ctx.Done()
						time.Sleep(tc.drains[i] * time.Second)
						stopped <- name
						return nil
					}})
				}
				live, stop := context.WithCancel(t.Context())
				go func() { time.Sleep(time.Second); stop() }()
				begin := time.Now()
				err := service.Run(live, 10*time.Second, parts...)
				if got := strings.ReplaceAll(fmt.Sprint(err), "10s", "10"); got != tc.want && (tc.want != "" || err != nil) {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				if took := time.Since(begin) - time.Second; took > 12*time.Second || took < tc.took*time.Second {
					t.Errorf("took %v, want %v", took, tc.took*time.Second)
				}
				var stops []string
				for len(stopped) > 0 {
					stops = append(stops, <-stopped)
				}
				if !slices.Equal(stops, tc.stops) {
					t.Errorf("got stops %v, want %v", stops, tc.stops)
				}
				time.Sleep(time.Hour) // lets the hanging parts end inside the bubble
			})
		})
	}
}

func TestAPartThatStartsWhileTheProcessStopsStillCleansUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		cleaned := false
		err := service.Run(ctx, time.Minute, service.Part{
			Name:  "slow",
			Start: func(context.Context) error { time.Sleep(5 * time.Second); return nil },
			Run:   func(ctx context.Context) error { <-ctx.Done(); cleaned = true; return nil },
		})
		if err != nil || !cleaned {
			t.Errorf("got %v, cleaned %v", err, cleaned)
		}
	})
}
