package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// Readers page through a lock's events while many write them, by two edges
// each, and see every event once and in order (contract section 8).
func TestEventsByCursorWhileWritersEmit(t *testing.T) {
	t.Parallel()
	const writers, each, readers = 50, 8, 4
	c := newCluster(t, size{edges: 2})
	author := c.NewPartner(t, e2etest.Offers{Events: []string{"said"}}, nil)
	lock := c.NewLock(t, author)
	var wg sync.WaitGroup
	ids := make([][]string, writers)
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				id, err := emit(t.Context(), c, author, lock, i+n)
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = append(ids[i], id)
			}
		})
	}
	seen := make([][]e2etest.Event, readers)
	for i := range readers {
		wg.Go(func() { seen[i] = follow(t, c, author, lock, reader{edge: i, want: writers * each}) })
	}
	wg.Wait()

	emitted := make(map[string]bool)
	for _, id := range slices.Concat(ids...) {
		emitted[id] = true
	}
	for i, events := range seen {
		for n, e := range events {
			if n > 0 && e.Seq <= events[n-1].Seq {
				t.Errorf("reader %d: got seq %d after %d", i, e.Seq, events[n-1].Seq)
			}
			if !emitted[e.EventID] || e.EventID != seen[0][min(n, len(seen[0])-1)].EventID {
				t.Errorf("reader %d: event %d is %s, which nobody emitted or the first reader got elsewhere", i, n, e.EventID)
			}
		}
		if len(events) != len(emitted) {
			t.Errorf("reader %d: got %d events, want %d", i, len(events), len(emitted))
		}
	}
}

// emit puts an event on the lock by one of the edges.
func emit(ctx context.Context, c *cluster, by *e2etest.Partner, lock string, n int) (string, error) {
	a, err := c.Try(ctx, e2etest.Request{
		Base: c.Base(n), Token: by.Token, Method: http.MethodPost, Path: by.Path(lock, "/events"),
		Body: map[string]any{"type": by.Slug + ".said", "payload": map[string]any{"n": n}, "idempotencyKey": e2etest.Key()},
	})
	var e e2etest.Event
	if err == nil && a.Status != http.StatusCreated {
		err = fmt.Errorf("emit: got HTTP %d %s", a.Status, a.Body)
	}
	if err != nil {
		return "", err
	}
	err = json.Unmarshal(a.Body, &e)
	return e.EventID, err
}

// A reader pages until it has seen as many events as there will be.
type reader struct{ edge, want int }

// follow pages by the cursor alone, alternating between the edges.
func follow(t *testing.T, c *cluster, by *e2etest.Partner, lock string, r reader) (seen []e2etest.Event) {
	t.Helper()
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for after := uint64(0); len(seen) < r.want && t.Context().Err() == nil && !t.Failed(); r.edge++ {
		a, err := c.Try(t.Context(), e2etest.Request{
			Base: c.Base(r.edge), Token: by.Token, Method: http.MethodGet,
			Path: by.Path(lock, fmt.Sprintf("/events?types=%s.*&limit=7&afterSeq=%d", by.Slug, after)),
		})
		var page e2etest.EventPage
		if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &page) != nil {
			t.Errorf("read events: got %v, HTTP %d %s", err, a.Status, a.Body)
			return seen
		}
		if page.LastSeq < after {
			t.Errorf("the cursor went back from %d to %d", after, page.LastSeq)
		}
		seen, after = append(seen, page.Events...), page.LastSeq
		<-pace.C
	}
	return seen
}
