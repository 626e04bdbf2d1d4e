package ledger_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  ledger.Config
		want []string
	}{
		"the zero value works": {ledger.Config{}, nil},
		"everything wrong": {
			ledger.Config{Partitions: 257, Replicas: 2, AckWait: time.Millisecond},
			[]string{"partitions is 257", "replicas is 2", "ack wait is 1ms"},
		},
		"negative": {ledger.Config{Partitions: -1}, []string{"partitions is -1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.cfg.WithDefaults().Validate()
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("got %v, want %d problems", err, len(tc.want))
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestTopologyIsAppliedAgainAndGrows(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	for _, partitions := range []int{1, 1, 3} {
		topology := ledger.Topology(ledger.Config{Partitions: partitions, MaxBytes: 64 << 20})
		if err := topology.Apply(t.Context(), c.JS); err != nil {
			t.Fatalf("apply %d partitions: %v", partitions, err)
		}
		if err := topology.Verify(t.Context(), c.JS); err != nil {
			t.Errorf("verify %d partitions: %v", partitions, err)
		}
	}
}

// A service that knows other partitions than there are does not start: it
// would not see some locks, or make locks nobody sees (design section 8).
func TestOpenNeedsItsTopology(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	log := slog.New(slog.DiscardHandler)
	if _, err := ledger.Open(t.Context(), c, small(), log); err == nil || !strings.Contains(err.Error(), "INV_0") {
		t.Errorf("got %v on nothing, want what is missing", err)
	}
	if err := ledger.Topology(ledger.Config{Partitions: 2}).Apply(t.Context(), c.JS); err != nil {
		t.Fatal(err)
	}
	for partitions, want := range map[int]string{1: "more partitions than the 1", 3: "INV_2", 300: "partitions is 300"} {
		if _, err := ledger.Open(t.Context(), c, ledger.Config{Partitions: partitions}, log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v for %d partitions, want %q in it", err, partitions, want)
		}
	}
	l, err := ledger.Open(t.Context(), c, ledger.Config{Partitions: 2}, log)
	if err != nil || l.Partitions() != 2 {
		t.Errorf("got %v, want it open", err)
	}
}

func TestLocksAreListedOverPartitions(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, ledger.Config{Partitions: 2})
	var want []invocation.LockID
	for i := range 7 {
		want = append(want, ledgertest.NewLockIn(t, env.Ledger, i%2).Lock)
	}
	slices.Sort(want)
	var got []invocation.LockID
	var after invocation.LockID
	for more := true; more; {
		var locks []ledger.Snapshot
		var err error
		if locks, more, err = env.Ledger.Locks(t.Context(), after, 3); err != nil {
			t.Fatal(err)
		}
		for _, s := range locks {
			after = s.State.ID
			got = append(got, after)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if locks, more, err := env.Ledger.Locks(t.Context(), "ffffffffffffffffffffffff", 3); err != nil || more || len(locks) != 0 {
		t.Errorf("got %v, %v, %v after the last, want none", locks, more, err)
	}
}

// Locks of other partitions are kept apart in everything.
func TestPartitionsAreKeptApart(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, ledger.Config{Partitions: 2})
	for p := range 2 {
		on := ledgertest.NewLockIn(t, env.Ledger, p).Lock
		inv := ledgertest.NewInvocation(env.Ledger, on, "key")
		record(t, env.Ledger, inv)
		if err := env.Ledger.Settle(t.Context(), claim(t, env.Ledger, inv), completed(env.Ledger, inv, `{}`), nil); err != nil {
			t.Fatal(err)
		}
		if got := read(t, env.Ledger, inv); got.Status != invocation.Completed {
			t.Errorf("got %s in partition %d", got.Status, p)
		}
		e := emit(t, env.Ledger, on, numbered(0, 1)...)
		if pg := page(t, env.Ledger, ledger.EventQuery{Lock: on, Limit: 10}); len(pg.Events) != 1 || pg.Events[0].ID != e.Committed()[0].ID {
			t.Errorf("got the events %+v in partition %d", pg.Events, p)
		}
		d := newDelivery(on, 16)
		if err := enqueue(t, env.Ledger, nil, d); err != nil {
			t.Errorf("enqueue in partition %d: %v", p, err)
		}
	}
}
