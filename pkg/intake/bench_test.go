package intake_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
)

// unlimited returns limits that no benchmark reaches.
func unlimited() platform.Config {
	most := invocation.Limit{Max: 1 << 40}
	return platform.Config{Ledger: ledger.Config{Limits: invocation.Limits{Extension: most, Lock: most}}}
}

// BenchmarkAdmit is every check of admission, with its reads and its counting,
// and nothing recorded.
func BenchmarkAdmit(b *testing.B) {
	s := newStand(b, unlimited(), intake.Config{Record: func(_ context.Context, r ledger.Request) (invocation.Invocation, bool, error) {
		return r.Invocation.Settle(invocation.Completes(nil), time.Now()), true, nil
	}})
	c := s.echo(b, s.lock(b), "k")
	c.Command, c.Input = "probe.strict", []byte(`{"n":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.in.Invoke(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInvoke is a whole call that a dispatcher without a target settles at
// once.
func BenchmarkInvoke(b *testing.B) {
	for name, parallel := range map[string]int{"2 at once": 1, "64 at once": 32} {
		b.Run(name, func(b *testing.B) {
			s := newStand(b, unlimited(), intake.Config{Wait: time.Minute})
			s.settling(b, echoes)
			c := s.echo(b, s.lock(b), "")
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(parallel)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				c := c
				for pb.Next() {
					c.Key = strconv.FormatInt(n.Add(1), 10)
					a, err := s.in.Invoke(b.Context(), c)
					if err != nil || a.Invocation.Status != invocation.Completed {
						b.Errorf("got %s, %v", a.Invocation.Status, err)
						return
					}
				}
			})
		})
	}
}
