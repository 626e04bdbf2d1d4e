package admin

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"

	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// A page is a part of a list; Next is the cursor of the part after it, nil on
// the last.
type page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}

// whole returns a list that has one page.
func whole[T any](items []T) page[T] { return page[T]{Items: items} }

const (
	maxPage     = 100
	defaultPage = 50
	maxCursor   = 200
)

// A place is where a page begins and how long it is.
type place struct {
	after string // empty for the first page
	limit int
}

// placeOf reads the parameters of a page. The query's own error tells what is
// wrong with them.
func placeOf(q *door.Query) place {
	p := place{limit: int(q.Int("limit", door.Range{Least: 1, Most: maxPage, Otherwise: defaultPage}))}
	cursor, found := q.Text("cursor")
	if !found {
		return p
	}
	var err error
	if p.after, err = parseCursor(cursor); err != nil {
		q.Wrong("cursor", "must be the next of the page before")
	}
	return p
}

var errCursor = errors.New("not a cursor")

// parseCursor returns the place that [cursor] wrote down.
func parseCursor(text string) (string, error) {
	after, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(after) == 0 || len(text) > maxCursor {
		return "", errCursor
	}
	return string(after), nil
}

// readPlace is placeOf for lists that have no other parameters.
func readPlace(r *http.Request) (place, error) {
	q := door.ReadQuery(r)
	p := placeOf(q)
	return p, q.Err()
}

// cursor writes a place down; it tells its holder nothing to rely on.
func cursor(after string) *string {
	s := base64.RawURLEncoding.EncodeToString([]byte(after))
	return &s
}

// cut returns the page of a sorted list that begins after a place. Key names an
// item's place; keys sort as the list does.
func cut[T any](sorted []T, p place, key func(T) string) page[T] {
	for len(sorted) > 0 && p.after != "" && key(sorted[0]) <= p.after {
		sorted = sorted[1:]
	}
	if len(sorted) <= p.limit {
		return whole(sorted)
	}
	sorted = sorted[:p.limit]
	return page[T]{Items: sorted, Next: cursor(key(sorted[p.limit-1]))}
}

// through returns the page with each item in another form.
func through[T, U any](p page[T], form func(T) U) page[U] {
	out := page[U]{Next: p.Next}
	for _, item := range p.Items {
		out.Items = append(out.Items, form(item))
	}
	return out
}

// span returns a page of what a stream holds, each item in another form; seq is
// its place there, and more says that something follows.
func span[T, U any](items []T, more bool, seq func(T) uint64, form func(T) U) page[U] {
	out := through(whole(items), form)
	if more {
		out.Next = cursor(strconv.FormatUint(seq(items[len(items)-1]), 10))
	}
	return out
}
