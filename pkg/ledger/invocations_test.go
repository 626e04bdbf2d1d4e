package ledger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

// Of 64 replicas that record a call under one key, one creates it and all get
// the same invocation (SEC-76).
func TestRecordCreatesOnce(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on := invocation.NewLockID(0)
		var mu sync.Mutex
		created := map[bool]int{}
		inputs := map[string]int{}
		var wg sync.WaitGroup
		for i := range 64 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				inv := ledgertest.NewInvocation(l, on, "key")
				inv.Input = json.RawMessage(`{"i":` + string(rune('0'+i%10)) + `}`)
				stored, first, err := l.Record(t.Context(), ledger.Request{Invocation: inv})
				if err != nil {
					t.Errorf("record: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				created[first]++
				inputs[string(stored.Input)]++
			})
		}
		wg.Wait()
		if created[true] != 1 || created[false] != 63 || len(inputs) != 1 {
			t.Errorf("got created %v and stored inputs %v, want one created and one input", created, inputs)
		}
	})
}

func TestRecordIsGuardedByTheStateAlone(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	record(t, env.Ledger, inv)
	if err := env.Ledger.Settle(t.Context(), claim(t, env.Ledger, inv), completed(env.Ledger, inv, `{}`), nil); err != nil {
		t.Fatal(err)
	}
	// As its TTL does after seven days.
	s, err := env.Conn.JS.Stream(t.Context(), ledger.InvocationStream(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(ledger.RequestSubject(inv.Lock, inv.ID))); err != nil {
		t.Fatal(err)
	}
	again := inv
	again.Input = json.RawMessage(`{"other":true}`)
	stored, created, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: again})
	if err != nil || created || stored.Status != invocation.Completed || string(stored.Input) != string(inv.Input) {
		t.Errorf("got %+v, created %v, %v; want the settled one", stored, created, err)
	}
}

func TestRecordWhoseAnswerWasLostIsStillThisOne(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	deafen(env.Ledger)
	if _, created, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: inv}); err != nil || !created {
		t.Errorf("got created %v, %v; want this one created", created, err)
	}
	again := inv
	again.Input = json.RawMessage(`{"other":true}`)
	deafen(env.Ledger)
	if _, created, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: again}); err != nil || created {
		t.Errorf("got created %v, %v; want the earlier one", created, err)
	}
}

// Bodies of third parties pass through unchanged: big numbers, "<" that is not
// escaped, white space as the strict parser left it (S-03, S-22).
func TestInputAndResultAreByteExact(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	const body = `{"id":9007199254740993,"f":12345678901234567890,"e":1e400,"z":-0.0,"html":"<script>&amp;</script>","é":"😀","empty":{}}`
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	inv.Input = json.RawMessage(body)
	record(t, env.Ledger, inv)
	if got := read(t, env.Ledger, inv); string(got.Input) != body {
		t.Errorf("got the input %s, want %s", got.Input, body)
	}
	done := completed(env.Ledger, inv, body)
	events := []invocation.Emission{{Type: "target.done", Payload: json.RawMessage(body)}}
	if err := env.Ledger.Settle(t.Context(), claim(t, env.Ledger, inv), done, events); err != nil {
		t.Fatal(err)
	}
	got := read(t, env.Ledger, inv)
	if string(got.Input) != body || string(got.Result) != body {
		t.Errorf("got the input %s and the result %s, want both %s", got.Input, got.Result, body)
	}
	s, err := env.Ledger.Standing(t.Context(), inv)
	if err != nil || len(s.Events) != 1 || string(s.Events[0].Payload) != body || s.Events[0].Type != "target.done" {
		t.Errorf("got the events %+v, %v", s.Events, err)
	}
}

// 200,000 "<" fit although escaped they would not (S-22, SEC-112).
func TestManyAnglesFit(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	angles := strings.Repeat("<", 200_000)
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	inv.Input = json.RawMessage(`{"x":"` + angles + `"}`)
	record(t, env.Ledger, inv)
	if err := env.Ledger.Settle(t.Context(), ledger.Claim{}, completed(env.Ledger, inv, string(inv.Input)), nil); err != nil {
		t.Errorf("settle: %v", err)
	}
	inv = ledgertest.NewInvocation(env.Ledger, inv.Lock, "too large")
	inv.Input = json.RawMessage(`{"x":"` + strings.Repeat(angles, 6) + `"}`)
	begun := time.Now()
	_, _, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: inv})
	wantCode(t, err, invocation.PayloadTooLarge)
	if time.Since(begun) > 10*time.Second {
		t.Error("a message that never fits was tried again and again")
	}
}

func TestEveryFieldSurvives(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	base := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	base.Chain = invocation.Chain{Causation: "cccccccccccccccccccccccc", Correlation: "dddddddddddddddddddddddd", Depth: 3, Inferred: true, Starter: invocation.Starter{Extension: "starter"}}
	base.Capability, base.Revision, base.Via, base.Actor = invocation.Query, 7, invocation.MCP, invocation.ActorKeyholder
	for name, o := range map[string]invocation.Outcome{
		"an empty result": invocation.Completes(nil),
		"a refusal":       invocation.Rejects("no-way", "<no> way"),
		"far details":     {Status: invocation.Failed, Failure: &invocation.Failure{Code: "target-error", Message: "m", Details: json.RawMessage(`{}`)}},
		"nobody can tell": invocation.LeavesUnknown(invocation.DispatchInterrupted),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := base
			inv.ID = invocation.InvocationID(inv.Lock, "caller", name)
			record(t, env.Ledger, inv)
			if got := read(t, env.Ledger, inv); !same(got, inv) {
				t.Errorf("got pending\n%+v, want\n%+v", got, inv)
			}
			settled := inv.Settle(o, env.Ledger.Now())
			if err := env.Ledger.Settle(t.Context(), ledger.Claim{}, settled, nil); err != nil {
				t.Fatal(err)
			}
			if got := read(t, env.Ledger, inv); !same(got, settled) {
				t.Errorf("got settled\n%+v, want\n%+v", got, settled)
			}
		})
	}
}

// same compares two invocations as they are stored.
func same(a, b invocation.Invocation) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func TestInvocationAsItStands(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	for name, tc := range map[string]struct {
		arrange func(t *testing.T, l *ledger.Ledger, inv invocation.Invocation)
		later   time.Duration
		want    invocation.Status
		failure string
	}{
		"pending": {func(t *testing.T, l *ledger.Ledger, inv invocation.Invocation) {
			t.Helper()
			record(t, l, inv)
		}, 0, invocation.Pending, ""},
		"pending until readers may tell": {func(t *testing.T, l *ledger.Ledger, inv invocation.Invocation) {
			t.Helper()
			record(t, l, inv)
		}, 15*time.Minute + 20*time.Second, invocation.Pending, ""},
		"expired by readers from 15 min 30 s": {func(t *testing.T, l *ledger.Ledger, inv invocation.Invocation) {
			t.Helper()
			record(t, l, inv)
		}, 15*time.Minute + 31*time.Second, invocation.Failed, invocation.DispatchExpired},
		"a claimed one does not expire": {func(t *testing.T, l *ledger.Ledger, inv invocation.Invocation) {
			t.Helper()
			record(t, l, inv)
			claim(t, l, inv)
		}, time.Hour, invocation.Pending, ""},
		"settled": {func(t *testing.T, l *ledger.Ledger, inv invocation.Invocation) {
			t.Helper()
			record(t, l, inv)
			if err := l.Settle(t.Context(), claim(t, l, inv), completed(l, inv, `{}`), nil); err != nil {
				t.Fatal(err)
			}
		}, time.Hour, invocation.Completed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := still(t, c, small())
			inv := ledgertest.NewInvocation(l, invocation.NewLockID(0), name)
			tc.arrange(t, l, inv)
			l.Advance(tc.later)
			got := read(t, l, inv)
			if got.Status != tc.want || (got.Error != nil) != (tc.failure != "") || got.Error != nil && got.Error.Code != tc.failure {
				t.Errorf("got %s %+v, want %s %s", got.Status, got.Error, tc.want, tc.failure)
			}
			if tc.failure != "" {
				if d := got.SettledAt.Sub(inv.CreatedAt); d < 15*time.Minute-time.Second || d > 15*time.Minute+10*time.Second {
					t.Errorf("got it settled %v after it was made, want 15 min", d)
				}
			}
		})
	}
}

func TestInvocationNotFound(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, _ ledgertest.Env) {
		t.Helper()
		on := invocation.NewLockID(0)
		inv := ledgertest.NewInvocation(one.Ledger, on, "key")
		record(t, one.Ledger, inv)
		for name, tc := range map[string]struct {
			lock invocation.LockID
			id   invocation.ID
		}{
			"no such id":                    {on, invocation.InvocationID(on, "caller", "other")},
			"another lock of the partition": {invocation.NewLockID(0), inv.ID},
			"a lock of no partition":        {invocation.NewLockID(200), inv.ID},
		} {
			if _, err := one.Ledger.Invocation(t.Context(), tc.lock, tc.id); invocation.CodeOf(err) != invocation.InvocationNotFound {
				t.Errorf("%s: got %v, want not found", name, err)
			}
		}
		if err := one.Ledger.Settle(t.Context(), ledger.Claim{}, completed(one.Ledger, inv, `{}`), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Ledger.Invocation(t.Context(), invocation.NewLockID(0), inv.ID); invocation.CodeOf(err) != invocation.InvocationNotFound {
			t.Errorf("settled, from another lock: got %v, want not found", err)
		}
	})
}

// A caller that was woken reads the settlement, never what a replica that lags
// still has.
func TestSettlementIsReadAtOnce(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on := invocation.NewLockID(0)
		for i := range 100 {
			inv := ledgertest.NewInvocation(one.Ledger, on, string(rune('a'+i)))
			record(t, one.Ledger, inv)
			if err := one.Ledger.Settle(t.Context(), claim(t, one.Ledger, inv), completed(one.Ledger, inv, `{}`), nil); err != nil {
				t.Fatal(err)
			}
			if got := read(t, other.Ledger, inv); got.Status != invocation.Completed {
				t.Fatalf("got %s right after the settlement, want completed", got.Status)
			}
		}
	})
}

func TestUnreachableServerIsServiceUnavailable(t *testing.T) {
	t.Parallel()
	n := brokertest.StartNode(t)
	cfg := small()
	cfg.Patience = 500 * time.Millisecond
	env := ledgertest.On(t, brokertest.ConnectURL(t, n.URL), cfg)
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	n.Stop()
	_, _, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: inv})
	wantCode(t, err, invocation.ServiceUnavailable)
	if refusal := invocation.AsError(err); refusal.RetryAfter <= 0 || errors.Is(err, ledger.ErrSuperseded) {
		t.Errorf("got %+v, want advice when to try again", refusal)
	}
	_, err = env.Ledger.Invocation(t.Context(), inv.Lock, inv.ID)
	wantCode(t, err, invocation.ServiceUnavailable)
	_, err = env.Ledger.Lock(t.Context(), inv.Lock)
	wantCode(t, err, invocation.ServiceUnavailable)
	_, err = env.Ledger.Events(t.Context(), ledger.EventQuery{Lock: inv.Lock, Limit: 1})
	wantCode(t, err, invocation.ServiceUnavailable)
	wantCode(t, env.Ledger.Charge(t.Context(), ledger.Charge{Bucket: invocation.BucketLock, Key: "k"}), invocation.ServiceUnavailable)
	n.Start(t)
	brokertest.Eventually(t, within, "the call is recorded", func() bool {
		_, created, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: inv})
		return err == nil && created
	})
}
