package ledger_test

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// limited is a small topology with these limits, in a window of a day so that
// no test meets its end.
func limited(extension, lock int) ledger.Config {
	cfg := small()
	cfg.Limits.Extension = invocation.Limit{Max: extension, Window: 24 * time.Hour}
	cfg.Limits.Lock = invocation.Limit{Max: lock, Window: 24 * time.Hour}
	return cfg
}

// count returns what a bucket's counter holds.
func count(t *testing.T, env ledgertest.Env, c ledger.Charge, window time.Duration) string {
	t.Helper()
	subject := ledger.LimitSubject(c.Bucket, c.Key, env.Ledger.Now().UnixNano()/int64(window))
	m, err := env.Conn.Stored(t.Context(), "LIMITS", broker.StoredRequest{LastBySubject: subject})
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		return ""
	}
	return string(m.Data)
}

// Over two replicas together exactly 600 of 700 calls are admitted (SEC-86).
func TestLimitIsExactOverReplicas(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		c := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}
		var admitted, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 70 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				for range 10 {
					err := l.Charge(t.Context(), c)
					switch {
					case err == nil:
						admitted.Add(1)
					case invocation.CodeOf(err) == invocation.RateLimited:
						refused.Add(1)
					default:
						t.Errorf("charge: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if admitted.Load() != 600 || refused.Load() != 100 {
			t.Errorf("got %d admitted and %d refused, want 600 and 100", admitted.Load(), refused.Load())
		}
	})
}

func TestRefusalSaysWhichBucketAndHowLong(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, limited(1, 10))
	c := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}
	if err := env.Ledger.Charge(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"by the server", "from memory"} {
		err := env.Ledger.Charge(t.Context(), c)
		wantCode(t, err, invocation.RateLimited)
		day := 24 * time.Hour
		left := day - time.Duration(env.Ledger.Now().UnixNano()%int64(day))
		got := invocation.AsError(err)
		if got.Facts["bucket"] != "extension" || (got.RetryAfter-left).Abs() > time.Minute || got.RetryAfter <= 0 {
			t.Errorf("%s: got %v and %v, want the bucket and about %v", how, got.Facts, got.RetryAfter, left)
		}
	}
	if err := env.Ledger.Charge(t.Context(), ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-2"}); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// A call counts in both buckets or in none.
func TestRefusedCallsCostNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		extension, lock int
		want            string // the bucket that refuses
	}{
		"the first refuses":  {2, 100, "extension"},
		"the second refuses": {100, 2, "lock"},
		"both refuse":        {2, 2, "extension"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := limited(tc.extension, tc.lock)
			env := ledgertest.New(t, cfg)
			extension, lock := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}, ledger.Charge{Bucket: invocation.BucketLock, Key: "1"}
			for range 2 {
				if err := env.Ledger.Charge(t.Context(), extension, lock); err != nil {
					t.Fatal(err)
				}
			}
			err := env.Ledger.Charge(t.Context(), extension, lock)
			wantCode(t, err, invocation.RateLimited)
			if got := invocation.AsError(err).Facts["bucket"]; got != tc.want {
				t.Errorf("got refused by %s, want %s", got, tc.want)
			}
			for _, c := range []ledger.Charge{extension, lock} {
				brokertest.Eventually(t, within, "two calls are counted in "+string(c.Bucket), func() bool {
					return count(t, env, c, 24*time.Hour) == `{"val":"2"}`
				})
			}
		})
	}
}

// Once over, a replica refuses by itself for a moment.
func TestRefusalsOfAStormCostTheServerNothing(t *testing.T) {
	t.Parallel()
	l := still(t, brokertest.Start(t), limited(1, 10))
	c := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}
	if err := l.Charge(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	wantCode(t, l.Charge(t.Context(), c), invocation.RateLimited)
	js := deafen(l)
	for range 100 {
		wantCode(t, l.Charge(t.Context(), c), invocation.RateLimited)
	}
	if n := js.asked.Load(); n > 4 { // one count and one to give back, a second at most
		t.Errorf("got %d requests for a hundred refusals, want next to none", n)
	}
}

// A bucket that seemed full only by what was given back admits again.
func TestBucketIsFullOnlyForAMoment(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	l := still(t, c, limited(1, 1))
	charge := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}
	// Another replica's count, which its other bucket will refuse.
	tentative := func(by string) {
		t.Helper()
		m := nats.NewMsg(ledger.LimitSubject(charge.Bucket, charge.Key, l.Now().UnixNano()/int64(24*time.Hour)))
		m.Header.Set("Nats-Incr", by)
		if _, err := c.JS.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	tentative("+1")
	wantCode(t, l.Charge(t.Context(), charge), invocation.RateLimited)
	tentative("-1")
	brokertest.Eventually(t, within, "the bucket admits", func() bool { return l.Charge(t.Context(), charge) == nil })
}

// Windows are fixed and by the server's clock (SEC-90).
func TestNextWindowIsEmpty(t *testing.T) {
	t.Parallel()
	l := still(t, brokertest.Start(t), limited(1, 10))
	c := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}
	if err := l.Charge(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	err := l.Charge(t.Context(), c)
	wantCode(t, err, invocation.RateLimited)
	left := invocation.AsError(err).RetryAfter
	l.Advance(left - time.Minute)
	wantCode(t, l.Charge(t.Context(), c), invocation.RateLimited)
	l.Advance(2 * time.Minute)
	if err := l.Charge(t.Context(), c); err != nil {
		t.Errorf("got %v in the next window, want it admitted", err)
	}
}

// The counters are in memory. A server that was started anew has lost them with
// their stream; who calls or starts next makes it again.
func TestCountersAreMadeAgainAfterTheServerLostThem(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	c := ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}
	for _, next := range []struct {
		name string
		do   func() error
	}{
		{"a call", func() error { return env.Ledger.Charge(t.Context(), c) }},
		{"a start", func() error {
			_, err := ledger.Open(t.Context(), env.Conn, small(), slog.New(slog.DiscardHandler))
			return err
		}},
	} {
		if err := env.Conn.JS.DeleteStream(t.Context(), "LIMITS"); err != nil {
			t.Fatal(err)
		}
		if err := next.do(); err != nil {
			t.Errorf("%s: got %v, want the counters back", next.name, err)
		}
		if _, err := env.Conn.JS.Stream(t.Context(), "LIMITS"); err != nil {
			t.Errorf("after %s: %v", next.name, err)
		}
	}
}
