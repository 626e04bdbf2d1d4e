package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
)

func TestAHistoryLineKeepsItsID(t *testing.T) {
	t.Parallel()
	place := func(lock invocation.LockID, seq uint64, i int) invocation.ID {
		return ledger.Entry{Lock: lock, Seq: seq}.HistoryID(i)
	}
	const one, two = invocation.LockID("00f0c0ffee65f0c0ffee65f0"), invocation.LockID("01f0c0ffee65f0c0ffee65f0")
	seen := make(map[invocation.ID]bool)
	for _, id := range []invocation.ID{place(one, 1, 0), place(one, 1, 1), place(one, 11, 0), place(one, 2, 0), place(two, 1, 0)} {
		if !invocation.ValidID(string(id)) || seen[id] {
			t.Errorf("got id %q, want one of its own", id)
		}
		seen[id] = true
	}
	// It is stored by receivers and never changes, whatever release asks.
	if got, want := place(one, 1, 0), invocation.ID("8b4cd3868a3fad3be6c0521e"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, event := invocation.EventSeq(one, place(one, 1, 0)); event {
		t.Error("got a line whose id could be an event's")
	}
}

func TestAHistoryLineIsDeliveredOutsideOfAnyChain(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	e := ledger.Entry{Lock: "00f0c0ffee65f0c0ffee65f0", Seq: 7, Transition: ledger.Transition{
		At: at, Chain: invocation.Chain{Correlation: "65f0c0ffee65f0c0ffee65f0", Depth: 3},
		History: []invocation.HistoryLine{{Type: "lock_frozen"}, {Type: "time_changed"}},
	}}
	d := ledger.NewHistoryDelivery(e, 1, invocation.Party{Slug: "reader", Session: "ses_1"}, json.RawMessage(`{}`))
	if d.ID != string(e.HistoryID(1)) || d.Kind != "action_log.created" || d.Attempt != 1 || d.FirstAt != at.UnixMilli() {
		t.Errorf("got %+v", d)
	}
	if d.Extension != "reader" || d.Session != "ses_1" || d.Lock != e.Lock || d.Event().Chain.Depth != 0 {
		t.Errorf("got %+v", d)
	}
}
