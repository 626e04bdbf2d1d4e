package ledger_test

import (
	"sync"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/ledger/ledgertest"
)

func TestChainIndex(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	on := invocation.NewLockID(0)
	const correlation = "dddddddddddddddddddddddd"
	links := []ledger.Link{
		{Kind: ledger.EventLink, ID: eventAt(on, 16).ID, Lock: on},
		{Kind: ledger.InvocationLink, ID: eventAt(on, 16).ID, Lock: on}, // of another kind, another link
		{Kind: ledger.DeliveryLink, ID: eventAt(on, 16).ID, Lock: on, Extension: "a", Status: "failed", Try: 1, At: 1},
		{Kind: ledger.DeliveryLink, ID: eventAt(on, 16).ID, Lock: on, Extension: "a", Status: "failed", Try: 2, At: 2},
		{Kind: ledger.DeliveryLink, ID: eventAt(on, 16).ID, Lock: on, Extension: "a", Status: "delivered", Try: 12, At: 3},
		{Kind: ledger.DeliveryLink, ID: eventAt(on, 16).ID, Lock: on, Extension: "b", Status: "delivered", Try: 13, At: 3},
	}
	if got, err := env.Ledger.Chain(t.Context(), correlation); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v before anything was noted", got, err)
	}
	for range 2 {
		for _, link := range links {
			w, err := env.Ledger.Index(correlation, link)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := env.Ledger.Index("eeeeeeeeeeeeeeeeeeeeeeee", ledger.Link{Kind: ledger.EventLink, ID: eventAt(on, 32).ID, Lock: on}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := env.Ledger.Chain(t.Context(), correlation)
	if err != nil || len(got) != len(links) {
		t.Fatalf("got %v, %v; want %d links", got, err, len(links))
	}
	for i, link := range links {
		if got[i] != link {
			t.Errorf("got %+v at %d, want %+v", got[i], i, link)
		}
	}
	if got, err := env.Ledger.Chain(t.Context(), "eeeeeeeeeeeeeeeeeeeeeeee"); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v for another chain, want one link", got, err)
	}
}

// Noted again after the server's window of two minutes, a link is still one.
func TestChainHasEachLinkOnce(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	link := []byte(`[{"k":"delivery","id":"cccccccccccccccccccccccc","lock":"00aaaaaaaaaaaaaaaaaaaaaa","ext":"a","st":"failed","try":1,"at":1}]`)
	later := []byte(`[{"k":"delivery","id":"cccccccccccccccccccccccc","lock":"00aaaaaaaaaaaaaaaaaaaaaa","ext":"a","st":"failed","try":1,"at":2}]`)
	for _, data := range [][]byte{link, later} {
		if _, err := env.Conn.JS.Publish(t.Context(), "chain.dddddddddddddddddddddddd", data); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := env.Ledger.Chain(t.Context(), "dddddddddddddddddddddddd"); err != nil || len(got) != 1 || got[0].At != 1 {
		t.Errorf("got %+v, %v; want the first alone", got, err)
	}
}

// Links noted at the same time are all there, in fewer writes than links.
func TestNotesOfOneTimeShareWrites(t *testing.T) {
	t.Parallel()
	env := ledgertest.New(t, small())
	const correlation, count = "dddddddddddddddddddddddd", 200
	on := invocation.NewLockID(0)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			link := ledger.Link{Kind: ledger.DeliveryLink, ID: eventAt(on, 16).ID, Lock: on, Extension: "a", Try: i, Status: "pending"}
			if err := env.Ledger.Note(t.Context(), correlation, link); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := env.Ledger.Chain(t.Context(), correlation)
	if err != nil || len(got) != count {
		t.Errorf("got %d links, %v; want %d", len(got), err, count)
	}
	s, err := env.Conn.JS.Stream(t.Context(), "CHAIN")
	if err != nil {
		t.Fatal(err)
	}
	if writes := s.CachedInfo().State.Msgs; writes >= count/2 {
		t.Errorf("got %d writes for %d links", writes, count)
	}
	if err := env.Ledger.Note(t.Context(), correlation, ledger.Link{Kind: ledger.EventLink, ID: eventAt(on, 32).ID, Lock: on}); err != nil {
		t.Error("nothing is noted after the others:", err)
	}
}
