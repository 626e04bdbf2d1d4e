package admin

import (
	"fmt"
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

const (
	// How many transitions are read at a time, and how often: a page of a lock
	// whose log is full of other things may be short.
	scanStep = 256
	maxSteps = 8
)

// A linePlace is a history line's place: its transition, and how many lines of
// it came before the next.
type linePlace struct {
	seq  uint64
	line int
}

func (p linePlace) cursor() *string { return cursor(fmt.Sprintf("%d.%d", p.seq, p.line)) }

func parseLinePlace(q *door.Query, after string) (p linePlace) {
	if after == "" {
		return p
	}
	if _, err := fmt.Sscanf(after, "%d.%d", &p.seq, &p.line); err != nil || p.line < 0 {
		q.Wrong("cursor", "must be the next of the page before")
	}
	return p
}

func (a *API) readHistory(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.lock(r)
	if err != nil {
		return err
	}
	q := door.ReadQuery(r)
	p := placeOf(q)
	from := parseLinePlace(q, p.after)
	if err := q.Err(); err != nil {
		return err
	}
	out, err := a.historyPage(r, snap.State.ID, from, p.limit)
	return ok(w, http.StatusOK, out, err)
}

// historyPage returns the lines from a place on. The transition of the place
// itself is read again: it may have lines that were not shown.
func (a *API) historyPage(r *http.Request, id invocation.LockID, from linePlace, limit int) (page[wire.HistoryLine], error) {
	var out page[wire.HistoryLine]
	after := max(from.seq, 1) - 1
	for range maxSteps {
		entries, next, err := a.ledger.History(r.Context(), id, after, scanStep)
		if err != nil {
			return out, err
		}
		for _, e := range entries {
			for i := range e.History {
				if e.Seq == from.seq && i < from.line {
					continue
				}
				if len(out.Items) == limit {
					out.Next = linePlace{e.Seq, i}.cursor()
					return out, nil
				}
				out.Items = append(out.Items, wire.NewHistoryLine(e, i))
			}
		}
		if next == 0 {
			return out, nil
		}
		after = next
	}
	out.Next = linePlace{seq: after + 1}.cursor()
	return out, nil
}
