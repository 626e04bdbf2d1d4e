package ledger_test

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

func TestOneOfSixteenClaims(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		inv := ledgertest.NewInvocation(one.Ledger, invocation.NewLockID(0), "key")
		record(t, one.Ledger, inv)
		deadline := one.Ledger.Now().Add(time.Minute)
		var winners atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				s, err := l.Claim(t.Context(), inv, deadline, 42)
				switch {
				case err != nil:
					t.Errorf("claim: %v", err)
				case s.Mine:
					winners.Add(1)
				case !s.Claimed() || s.Settled != nil || !s.Claim.Deadline.Equal(invocation.Instant(deadline)) || s.Claim.LockSeq != 42:
					t.Errorf("got the standing %+v, want another's claim", s)
				}
			})
		}
		wg.Wait()
		if winners.Load() != 1 {
			t.Errorf("got %d winners, want 1", winners.Load())
		}
	})
}

func TestClaimWhoseAnswerWasLostIsMine(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	record(t, env.Ledger, inv)
	deafen(env.Ledger)
	c := claim(t, env.Ledger, inv)
	// And it is good for a settlement, whose own answer is lost too.
	deafen(env.Ledger)
	if err := env.Ledger.Settle(t.Context(), c, completed(env.Ledger, inv, `{}`), nil); err != nil {
		t.Errorf("settle: %v", err)
	}
}

func TestTakeOverFencesTheFormerOwner(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		inv := ledgertest.NewInvocation(one.Ledger, invocation.NewLockID(0), "key")
		record(t, one.Ledger, inv)
		former, err := one.Ledger.Claim(t.Context(), inv, one.Ledger.Now(), 42)
		if err != nil || !former.Mine {
			t.Fatalf("claim: %+v, %v", former, err)
		}
		seen, err := other.Ledger.Standing(t.Context(), inv)
		if err != nil || seen.Mine || !seen.Claimed() {
			t.Fatalf("got the standing %+v, %v; want another's claim", seen, err)
		}
		taken, err := other.Ledger.TakeOver(t.Context(), inv, seen.Claim, other.Ledger.Now().Add(time.Minute))
		if err != nil || !taken.Mine || taken.Claim.LockSeq != 42 {
			t.Fatalf("got %+v, %v; want it taken over with its lock seq", taken, err)
		}
		// A third that saw the same claim comes too late.
		late, err := one.Ledger.TakeOver(t.Context(), inv, seen.Claim, one.Ledger.Now().Add(time.Minute))
		if err != nil || late.Mine || !late.Claimed() {
			t.Errorf("got %+v, %v; want the other's", late, err)
		}
		if err := one.Ledger.Settle(t.Context(), former.Claim, completed(one.Ledger, inv, `{"by":"former"}`), nil); !errors.Is(err, ledger.ErrSuperseded) {
			t.Errorf("got %v, want ErrSuperseded", err)
		}
		if err := other.Ledger.Settle(t.Context(), taken.Claim, completed(other.Ledger, inv, `{"by":"new"}`), nil); err != nil {
			t.Errorf("settle: %v", err)
		}
		if got := read(t, one.Ledger, inv); string(got.Result) != `{"by":"new"}` {
			t.Errorf("got %s, want the new owner's", got.Result)
		}
	})
}

// The first settlement wins, also among those that differ in nothing but what
// they say.
func TestFirstSettlementWins(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		for name, unclaimed := range map[string]bool{"claimed": false, "unclaimed": true} {
			inv := ledgertest.NewInvocation(one.Ledger, invocation.NewLockID(0), name)
			record(t, one.Ledger, inv)
			var c ledger.Claim
			if !unclaimed {
				c = claim(t, one.Ledger, inv)
			}
			now := one.Ledger.Now()
			var mu sync.Mutex
			var won []string
			var wg sync.WaitGroup
			for i := range 8 {
				l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
				result := `{"by":` + string(rune('0'+i)) + `}`
				wg.Go(func() {
					err := l.Settle(t.Context(), c, inv.Settle(invocation.Completes(json.RawMessage(result)), now), nil)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won = append(won, result)
					} else if !errors.Is(err, ledger.ErrSuperseded) {
						t.Errorf("%s: got %v, want ErrSuperseded", name, err)
					}
				})
			}
			wg.Wait()
			if len(won) != 1 {
				t.Fatalf("%s: got %v to win, want one", name, won)
			}
			if got := read(t, other.Ledger, inv); string(got.Result) != won[0] {
				t.Errorf("%s: got %s, want the winner's %s", name, got.Result, won[0])
			}
		}
	})
}

func TestClaimOfTheSettledTellsHow(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	record(t, env.Ledger, inv)
	c, err := env.Ledger.Claim(t.Context(), inv, env.Ledger.Now(), 7)
	if err != nil {
		t.Fatal(err)
	}
	events := []invocation.Emission{{Type: "target.a", Payload: json.RawMessage(`{}`)}, {Type: "target.b", Payload: json.RawMessage(`{"x":1}`)}}
	done := completed(env.Ledger, inv, `{"ok":true}`)
	if err := env.Ledger.Settle(t.Context(), c.Claim, done, events); err != nil {
		t.Fatal(err)
	}
	s, err := env.Ledger.Claim(t.Context(), inv, env.Ledger.Now(), 9)
	if err != nil || s.Mine || s.Claimed() || s.Settled == nil || !same(*s.Settled, done) || s.Claim.LockSeq != 7 {
		t.Fatalf("got %+v, %v; want it settled", s, err)
	}
	if len(s.Events) != 2 || s.Events[1].Type != "target.b" || string(s.Events[1].Payload) != `{"x":1}` || string(s.Events[0].Payload) != `{}` {
		t.Errorf("got the events %+v", s.Events)
	}
	// Not even a take-over of what stands there undoes it.
	taken, err := env.Ledger.TakeOver(t.Context(), inv, c.Claim, env.Ledger.Now())
	if err != nil || taken.Mine || taken.Settled == nil {
		t.Errorf("got %+v, %v; want it settled", taken, err)
	}
}

func TestStandingOfNothing(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	if s, err := env.Ledger.Standing(t.Context(), inv); err != nil || s.Mine || s.Claimed() || s.Settled != nil {
		t.Errorf("got %+v, %v; want nothing", s, err)
	}
}

// deliver returns a stored request as the queue delivers it.
func deliver(t *testing.T, env ledgertest.Env, inv invocation.Invocation) broker.Delivery {
	t.Helper()
	m, err := env.Conn.Stored(t.Context(), ledger.InvocationStream(0), broker.StoredRequest{LastBySubject: ledger.RequestSubject(inv.Lock, inv.ID)})
	if err != nil || m == nil {
		t.Fatalf("read the request: %v", err)
	}
	return broker.Delivery{Subject: m.Subject, Header: m.Header, Data: m.Data, Sequence: m.Sequence, Attempt: 1, Stored: m.Time}
}

// What is recorded is read back, and a header of the caller's does not become one
// of ours: what de-duplicates is our own id (SEC-78).
func TestParseRequest(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	trace := map[string][]string{"traceparent": {"00-x"}, "tracestate": {"a=b"}, "Nats-Msg-Id": {"mine"}, "Latchwire-Reply": {"inv.0.req.x"}}
	if _, _, err := env.Ledger.Record(t.Context(), ledger.Request{Invocation: inv, LockSeq: 42, Trace: trace}); err != nil {
		t.Fatal(err)
	}
	d := deliver(t, env, inv)
	r, err := ledger.ParseRequest(d)
	if err != nil || !same(r.Invocation, inv) || r.LockSeq != 42 || !r.Recorded.Equal(d.Stored) {
		t.Fatalf("got %+v, %v; want what was recorded", r, err)
	}
	// Only the trace travels on: what the server makes of a header of its own
	// on the next message is no matter of the caller's.
	if len(r.Trace) != 2 || r.Trace["traceparent"][0] != "00-x" || r.Trace["tracestate"][0] != "a=b" {
		t.Errorf("got the trace %v, want two lower-case headers", r.Trace)
	}
	woken, stop := env.Ledger.Await(inv.ID)
	defer stop()
	done := completed(env.Ledger, inv, `{}`)
	if err := env.Ledger.Wake(done, r.Reply); err != nil {
		t.Fatal(err)
	}
	if got := <-woken; !same(got, done) {
		t.Errorf("got woken with %+v, want the settled one", got)
	}

	other := ledgertest.NewInvocation(env.Ledger, inv.Lock, "other")
	for name, spoil := range map[string]func(*broker.Delivery){
		"another id's subject":   func(d *broker.Delivery) { d.Subject = ledger.RequestSubject(inv.Lock, other.ID) },
		"another lock's subject": func(d *broker.Delivery) { d.Subject = ledger.RequestSubject(invocation.NewLockID(1), inv.ID) },
		"the state's subject":    func(d *broker.Delivery) { d.Subject = ledger.StateSubject(inv.Lock, inv.ID) },
		"another version":        func(d *broker.Delivery) { d.Data = []byte(`{"v":2,` + string(d.Data[len(`{"v":1,`):])) },
		"no version":             func(d *broker.Delivery) { d.Data = []byte(`{` + string(d.Data[len(`{"v":1,`):])) },
		"no JSON":                func(d *broker.Delivery) { d.Data = []byte("\x00") },
		"nothing":                func(d *broker.Delivery) { d.Data = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoilt := d
			spoil(&spoilt)
			if got, err := ledger.ParseRequest(spoilt); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

// A reason's line breaks stay within its header (SEC-109).
func TestBury(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	d := broker.Delivery{Subject: "inv.0.req.x", Data: []byte("\x00poison"), Sequence: 17, Attempt: 5}
	for range 2 { // burying again is no error
		if err := env.Ledger.Bury(t.Context(), ledger.InvocationStream(0), d, errors.New("it\r\nsaid é")); err != nil {
			t.Fatal(err)
		}
	}
	m, err := env.Conn.Stored(t.Context(), "DEAD", broker.StoredRequest{LastBySubject: "dead.message.*.*"})
	if err != nil || m == nil {
		t.Fatalf("got nothing buried, %v", err)
	}
	if m.Subject != "dead.message.INV_0.17" || string(m.Data) != "\x00poison" || m.Header.Get("Latchwire-Subject") != "inv.0.req.x" ||
		m.Header.Get("Latchwire-Attempts") != "5" || m.Header.Get("Latchwire-Reason") != "it  said" {
		t.Errorf("got %s %q %v", m.Subject, m.Data, m.Header)
	}
}
