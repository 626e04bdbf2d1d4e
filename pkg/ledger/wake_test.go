package ledger_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

func TestWaitersAreWoken(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		inv := ledgertest.NewInvocation(one.Ledger, invocation.NewLockID(0), "key")
		first, stopFirst := one.Ledger.Await(inv.ID)
		second, stopSecond := one.Ledger.Await(inv.ID)
		anywhere, stopAnywhere, err := one.Ledger.AwaitAnywhere(inv.ID)
		if err != nil {
			t.Fatal(err)
		}
		stranger, stopStranger := one.Ledger.Await("eeeeeeeeeeeeeeeeeeeeeeee")
		record(t, one.Ledger, inv)
		r, err := ledger.ParseRequest(deliver(t, other, inv))
		if err != nil || r.Reply == "" {
			t.Fatalf("got the reply %q, %v", r.Reply, err)
		}
		done := completed(other.Ledger, inv, `{"big":9007199254740993}`)
		for range 2 { // once more is no harm
			if err := other.Ledger.Wake(done, r.Reply); err != nil {
				t.Fatal(err)
			}
		}
		for name, woken := range map[string]<-chan invocation.Invocation{"first": first, "second": second, "anywhere": anywhere} {
			if got := <-woken; !same(got, done) {
				t.Errorf("%s: got %+v, want the settled one", name, got)
			}
		}
		select {
		case got := <-stranger:
			t.Errorf("got a stranger woken with %+v", got)
		default:
		}
		for _, stop := range []func(){stopFirst, stopSecond, stopAnywhere, stopStranger, stopStranger} {
			stop()
		}
		if n := one.Ledger.Waiting(); n != 0 {
			t.Errorf("got %d still waited for, want none", n)
		}
		if n := one.Conn.NC.NumSubscriptions(); n != baseSubscriptions(t, one) {
			t.Errorf("got %d subscriptions, want those from before", n)
		}
	})
}

// baseSubscriptions returns how many subscriptions a replica has at rest.
func baseSubscriptions(t *testing.T, env ledgertest.Env) int {
	t.Helper()
	before := env.Conn.NC.NumSubscriptions()
	_, stop, err := env.Ledger.AwaitAnywhere("ffffffffffffffffffffffff")
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Conn.NC.NumSubscriptions(); got != before+1 {
		t.Errorf("got %d subscriptions while one waits, want %d", got, before+1)
	}
	stop()
	return before
}

// A wake-up that does not fit its subject or is none wakes nobody.
func TestForgedWakeUpsAreIgnored(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	inv := ledgertest.NewInvocation(env.Ledger, invocation.NewLockID(0), "key")
	woken, stop, err := env.Ledger.AwaitAnywhere(inv.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	other := completed(env.Ledger, ledgertest.NewInvocation(env.Ledger, inv.Lock, "other"), `{}`)
	capture, err := env.Conn.NC.SubscribeSync("settled." + string(other.ID))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(env.Ledger.Wake(other, ""), env.Ledger.Wake(inv, "")); err != nil { // another's, and one not settled
		t.Fatal(err)
	}
	m, err := capture.NextMsg(within)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{nil, []byte("x"), []byte("{}"), m.Data} {
		if err := env.Conn.NC.Publish("settled."+string(inv.ID), data); err != nil {
			t.Fatal(err)
		}
	}
	done := completed(env.Ledger, inv, `{}`)
	if err := env.Ledger.Wake(done, ""); err != nil {
		t.Fatal(err)
	}
	if got := <-woken; !same(got, done) {
		t.Errorf("got %+v, want the true one", got)
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	ledgertest.Replicas(t, func(t *testing.T, one, other ledgertest.Env) {
		t.Helper()
		on := invocation.NewLockID(0)
		id := invocation.EmissionID(on, "a", "key")
		var mu sync.Mutex
		stands := map[ledger.Reservation]int{}
		var wg sync.WaitGroup
		for i := range 16 {
			l := []*ledger.Ledger{one.Ledger, other.Ledger}[i%2]
			wg.Go(func() {
				r, err := l.Reserve(t.Context(), on, id, ledger.Reservation{Body: `{"<":` + strconv.Itoa(i) + `}`, After: uint64(i)})
				if err != nil {
					t.Errorf("reserve: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				stands[r]++
			})
		}
		wg.Wait()
		if len(stands) != 1 {
			t.Errorf("got %v, want one that stands for all", stands)
		}
	})
}
