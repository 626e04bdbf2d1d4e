package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// The states of a delivery that is shown.
const (
	stateDead    = "dead"
	statePending = "pending"
)

const (
	maxLastError = 200
	// How many dead deliveries one request replays or counts; the answer says
	// where to go on.
	maxReplayed = 1000
)

// A deliveryAnswer is a webhook that was not acknowledged.
type deliveryAnswer struct {
	ID            string               `json:"id"`
	Endpoint      invocation.Slug      `json:"endpoint"`
	Event         string               `json:"event"`
	SubjectID     string               `json:"subjectId"`
	SubjectType   string               `json:"subjectType"`
	LockID        invocation.LockID    `json:"lockId"`
	SessionID     invocation.SessionID `json:"sessionId"`
	CorrelationID *string              `json:"correlationId"`
	State         string               `json:"state"`
	Attempts      int                  `json:"attempts"`
	LastStatus    *int                 `json:"lastStatus"`
	LastError     *string              `json:"lastError"`
	CreatedAt     string               `json:"createdAt"`
	LastAttemptAt string               `json:"lastAttemptAt"`
}

// A deliveryDetail is a delivery with each of its attempts.
type deliveryDetail struct {
	deliveryAnswer
	Log []attemptAnswer `json:"log"`
}

type attemptAnswer struct {
	At         string  `json:"at"`
	Status     *int    `json:"status"`
	DurationMs int64   `json:"durationMs"`
	Error      *string `json:"error"`
	Answer     *string `json:"answer"`
}

func newDelivery(c ledger.Corpse, state string) deliveryAnswer {
	d := c.Delivery
	out := deliveryAnswer{
		ID: ledger.DeadID(d), Endpoint: d.Extension, Event: d.Kind, SubjectID: d.ID, SubjectType: typeOf(d.Body),
		LockID: d.Lock, SessionID: d.Session, State: state, Attempts: d.Attempt,
		CreatedAt: millis(d.FirstAt), LastAttemptAt: millis(c.DiedAt),
	}
	if d.Kind == wire.LockEventCreated {
		out.CorrelationID = wire.OrNull(string(d.Event().Chain.Correlation))
	}
	if n := len(d.Tries); n > 0 {
		out.LastStatus, out.LastAttemptAt = wire.OrNull(d.Tries[n-1].Status), millis(d.Tries[n-1].At)
	}
	if runes := []rune(c.Reason); len(runes) > 0 {
		out.LastError = wire.OrNull(string(runes[:min(len(runes), maxLastError)]))
	}
	return out
}

func newDetail(c ledger.Corpse) deliveryDetail {
	out := deliveryDetail{newDelivery(c, stateDead), []attemptAnswer{}}
	for _, t := range c.Delivery.Tries {
		out.Log = append(out.Log, attemptAnswer{
			At: millis(t.At), Status: wire.OrNull(t.Status), DurationMs: t.Duration, Error: wire.OrNull(t.Error), Answer: wire.OrNull(t.Answer),
		})
	}
	return out
}

// typeOf returns the type of the event or history line that is delivered.
func typeOf(body json.RawMessage) string {
	var subject struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(body, &subject) // it is ours
	return subject.Type
}

// A selection is the dead deliveries that somebody asks for.
type selection struct {
	endpoint invocation.Slug
	types    []string // of the event or history line: exact or slug.*; none selects all
	period            // in which it was created
}

// has reports whether a delivery is selected.
func (s selection) has(c ledger.Corpse) bool {
	if !s.period.has(time.UnixMilli(c.Delivery.FirstAt)) {
		return false
	}
	if len(s.types) == 0 {
		return true
	}
	kind := typeOf(c.Delivery.Body)
	return slices.Contains(s.types, kind) || invocation.MatchesAny(s.types, invocation.CapabilityID(kind))
}

const (
	slugPattern = `must match pattern "^[a-z0-9-]{1,40}$"`
	maxTypes    = 50
	maxType     = 100
)

// readSelection reads a selection of query parameters, for one endpoint or all.
func readSelection(q *door.Query, of invocation.Slug) selection {
	s := selection{endpoint: of}
	if endpoint, found := q.Text("endpoint"); found && of == "" {
		if !invocation.ValidSlug(endpoint) {
			q.Wrong("endpoint", slugPattern)
		}
		s.endpoint = invocation.Slug(endpoint)
	}
	s.types = q.List("types")
	if len(s.types) > maxTypes {
		q.Wrong("types", "must NOT have more than %d items", maxTypes)
	}
	s.period = readPeriod(q)
	return s
}

// A period is the time from one instant on, before another; zero leaves it open.
type period struct{ from, to time.Time }

func (p period) has(at time.Time) bool {
	return (p.from.IsZero() || !at.Before(p.from)) && (p.to.IsZero() || at.Before(p.to))
}

// readPeriod reads a period of query parameters.
func readPeriod(q *door.Query) (p period) {
	for name, into := range map[string]*time.Time{"from": &p.from, "to": &p.to} {
		text, found := q.Text(name)
		if !found {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			q.Wrong(name, `must match format "date-time"`)
		}
		*into = at
	}
	return p
}

func readSeq(q *door.Query, after string) uint64 {
	if after == "" {
		return 0
	}
	seq, err := parseSeq(after)
	if err != nil {
		q.Wrong("cursor", "must be the next of the page before")
	}
	return seq
}

// parseSeq reads the sequence that a cursor holds.
func parseSeq(text string) (uint64, error) {
	const bits = 62 // no stream comes that far, and one more is still a number
	return strconv.ParseUint(text, 10, bits)
}

// listDeliveries lists the dead deliveries of one endpoint, or all.
func (a *API) listDeliveries(w http.ResponseWriter, r *http.Request, of invocation.Slug) error {
	q := door.ReadQuery(r)
	p := placeOf(q)
	s := readSelection(q, of)
	if state, found := q.Text("state"); found && state != stateDead {
		q.Wrong("state", "must be equal to one of the allowed values")
	}
	ask := ledger.DeadQuery{Limit: p.limit, Extension: s.endpoint, After: readSeq(q, p.after), Match: s.has}
	if err := q.Err(); err != nil {
		return err
	}
	dead, more, err := a.ledger.Dead(r.Context(), ask)
	if err != nil {
		return err
	}
	form := func(c ledger.Corpse) deliveryAnswer { return newDelivery(c, stateDead) }
	return wire.Answer(w, http.StatusOK, span(dead, more, func(c ledger.Corpse) uint64 { return c.Seq }, form))
}

// deliveryNamed returns the dead delivery that the path names. Another
// extension's is not there.
func (a *API) deliveryNamed(r *http.Request, of invocation.Slug) (ledger.Corpse, error) {
	c, err := a.ledger.DeadByID(r.Context(), r.PathValue("deliveryId"))
	if err == nil && of != "" && c.Delivery.Extension != of {
		return ledger.Corpse{}, invocation.Refuse(invocation.ResourceNotFound)
	}
	return c, err
}

func (a *API) getDelivery(w http.ResponseWriter, r *http.Request, of invocation.Slug) error {
	c, err := a.deliveryNamed(r, of)
	return ok(w, http.StatusOK, newDetail(c), err)
}

func (a *API) replayDelivery(w http.ResponseWriter, r *http.Request, of invocation.Slug) error {
	c, err := a.deliveryNamed(r, of)
	if err != nil {
		return err
	}
	if err := a.reachable(r, c.Delivery); err != nil {
		return err
	}
	err = a.ledger.Revive(r.Context(), c)
	return ok(w, http.StatusAccepted, newDelivery(c, statePending), err)
}

// reachable refuses to send to an extension that gets nothing: the worker drops
// what has nobody to go to, and then it would be lost.
func (a *API) reachable(r *http.Request, d ledger.Delivery) error {
	s, err := a.registry.Session(r.Context(), d.Session)
	if invocation.CodeOf(err) == invocation.SessionNotFound || err == nil && (s.Slug != d.Extension || s.Lock != d.Lock) {
		return invocation.Refusef(invocation.ResourceConflict, "the extension is not installed on the lock any more")
	}
	if err != nil {
		return err
	}
	e, err := a.registry.Extension(r.Context(), d.Extension)
	switch {
	case err != nil:
		return err
	case !e.Listens():
		return invocation.Refuse(invocation.Unavailable).With("reason", string(lock.ExtensionDisabled))
	case e.WebhookURL == "":
		return invocation.Refuse(invocation.Unavailable).With("reason", string(lock.EndpointNotConfigured))
	}
	return nil
}

// A replayAnswer says what a replay of many did, or would do.
type replayAnswer struct {
	DryRun  bool `json:"dryRun"`
	Matched int  `json:"matched"`
	// Replayed were sent again; Skipped have nobody to go to and stay dead.
	Replayed int     `json:"replayed"`
	Skipped  int     `json:"skipped"`
	Next     *string `json:"next"`
}

// replayDeliveries sends the selected dead deliveries again, or counts them.
func (a *API) replayDeliveries(w http.ResponseWriter, r *http.Request, of invocation.Slug) error {
	f, err := door.Object(w, r, "")
	if err != nil {
		return err
	}
	s, after, dryRun := readReplay(f, of)
	if err := f.Err(); err != nil {
		return err
	}
	dead, more, err := a.ledger.Dead(r.Context(), ledger.DeadQuery{Limit: maxReplayed, Extension: s.endpoint, After: after, Match: s.has})
	if err != nil {
		return err
	}
	out := replayAnswer{DryRun: dryRun, Matched: len(dead)}
	if more {
		out.Next = cursor(strconv.FormatUint(dead[len(dead)-1].Seq, 10))
	}
	slices.SortFunc(dead, func(a, b ledger.Corpse) int { return a.Delivery.Compare(b.Delivery) })
	nobody := make(map[invocation.SessionID]error)
	for _, c := range dead {
		session := c.Delivery.Session
		why, known := nobody[session]
		if !known {
			why = a.reachable(r, c.Delivery)
			nobody[session] = why
		}
		switch {
		case why != nil && !refused(why):
			return why
		case why != nil:
			out.Skipped++
		case dryRun:
		default:
			if err := a.ledger.Revive(r.Context(), c); err != nil {
				return err
			}
			out.Replayed++
		}
	}
	return wire.Answer(w, http.StatusOK, out)
}

// refused reports whether an error says that a delivery has nobody to go to.
func refused(err error) bool {
	return slices.Contains([]invocation.Code{invocation.Unavailable, invocation.ExtensionNotFound, invocation.ResourceConflict}, invocation.CodeOf(err))
}

// readReplay reads what is to be replayed.
func readReplay(f *door.Fields, of invocation.Slug) (s selection, after uint64, dryRun bool) {
	s.endpoint = of
	if of == "" {
		if endpoint, found := f.Text("endpoint"); found {
			if !invocation.ValidSlug(endpoint) {
				f.Wrong("endpoint", slugPattern)
			}
			s.endpoint = invocation.Slug(endpoint)
		}
	}
	if kind, found := f.Text("type"); found {
		f.Within("type", kind, 1, maxType)
		s.types = []string{kind}
	}
	s.from, _ = f.Time("from")
	s.to, _ = f.Time("to")
	dryRun, _ = f.Bool("dryRun")
	if text, found := f.Text("cursor"); found {
		place, err := parseCursor(text)
		if err == nil {
			after, err = parseSeq(place)
		}
		if err != nil {
			f.Wrong("cursor", "must be the next of the page before")
		}
	}
	return s, after, dryRun
}
