package ledger_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

func BenchmarkRecordClaimSettle(b *testing.B) {
	env := ledgertest.New(b, small())
	on := ledgertest.NewLock(b, env.Ledger).Lock
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		inv := ledgertest.NewInvocation(env.Ledger, on, strconv.Itoa(i))
		record(b, env.Ledger, inv)
		done := inv.Settle(invocation.Completes(json.RawMessage(`{"ok":true}`)), env.Ledger.Now())
		if err := env.Ledger.Settle(b.Context(), claim(b, env.Ledger, inv), done, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCharge(b *testing.B) {
	cfg := small()
	cfg.Limits.Extension = invocation.Limit{Max: 1 << 30, Window: time.Hour}
	cfg.Limits.Lock = cfg.Limits.Extension
	env := ledgertest.New(b, cfg)
	b.ReportAllocs()
	for b.Loop() {
		err := env.Ledger.Charge(b.Context(), ledger.Charge{Bucket: invocation.BucketExtension, Key: "a-1"}, ledger.Charge{Bucket: invocation.BucketLock, Key: "1"})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLastSent(b *testing.B) {
	env := ledgertest.New(b, small())
	on := invocation.NewLockID(0)
	for seq := range invocation.Seq(100) {
		markSent(b, env.Ledger, "a", eventAt(on, 16+seq))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, found, err := env.Ledger.LastSent(b.Context(), "a", on); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkLock(b *testing.B) {
	env := ledgertest.New(b, small())
	on := ledgertest.NewLock(b, env.Ledger).Lock
	b.ReportAllocs()
	for b.Loop() {
		if _, err := env.Ledger.Lock(b.Context(), on); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChange(b *testing.B) {
	env := ledgertest.New(b, small())
	e := ledgertest.NewLock(b, env.Ledger)
	from := ledger.Snapshot{State: e.State, Seq: e.Seq}
	b.ReportAllocs()
	for b.Loop() {
		c := ledgertest.Emitting(e.Lock, numbered(0, 1)...)
		c.From = from
		made, err := env.Ledger.Change(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		from.Seq = made.Seq
	}
}

func BenchmarkEvents(b *testing.B) {
	env := ledgertest.New(b, small())
	on := ledgertest.NewLock(b, env.Ledger).Lock
	for range 100 {
		emit(b, env.Ledger, on, numbered(0, 1)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p := page(b, env.Ledger, ledger.EventQuery{Lock: on, Limit: 20}); len(p.Events) != 20 {
			b.Fatal(len(p.Events))
		}
	}
}
