package intake_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
)

// Over two replicas an extension asks exactly as often as the limit says, on
// each lock; a refused question reaches nobody (contract section 9).
func TestQuestionsAreLimitedOverReplicas(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	cfg := intake.Config{Wait: short, Ask: func(context.Context, invocation.Question) (invocation.Options, error) {
		asked.Add(1)
		return invocation.Options{}, nil
	}}
	s := newStand(t, platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{Options: hourly(30)}}}, cfg)
	doors := [2]*intake.Intake{s.in, door(s.Open(t), cfg)}
	l, other := s.lock(t), s.lock(t)
	q := intake.FieldQuery{Caller: s.on(t, l, "caller"), Command: "probe.peek", Field: "habit"}
	var refused atomic.Int64
	var asking sync.WaitGroup
	for i := range 60 {
		asking.Go(func() {
			_, err := doors[i%2].Options(t.Context(), q)
			if err == nil {
				return
			}
			if e := refusal(t, err, invocation.RateLimited); e.Facts["bucket"] != "options" || e.RetryAfter <= 0 {
				t.Errorf("got %+v", e)
			}
			refused.Add(1)
		})
	}
	asking.Wait()
	if asked.Load() != 30 || refused.Load() != 30 {
		t.Errorf("got %d asked and %d refused, want 30 each", asked.Load(), refused.Load())
	}
	q.Caller = s.on(t, other, "caller")
	if _, err := s.in.Options(t.Context(), q); err != nil {
		t.Errorf("another lock: got %v", err)
	}
	s.mustNotStand(t, s.echo(t, l, "-"))
}
