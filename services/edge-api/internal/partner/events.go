package partner

import (
	"net/http"
	"strconv"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/manifest"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// The bounds of a page of events (contract section 3).
const (
	maxTypes     = 50
	maxPage      = 100
	defaultPage  = 20
	maxSeq       = 1<<53 - 1 // what every JSON reader can hold
	allSelection = "*"       // of subscriptions only
)

func (a *API) events(w http.ResponseWriter, r *http.Request, c intake.Caller) error {
	q, err := eventQueryOf(door.ReadQuery(r))
	if err != nil {
		return err
	}
	page, err := a.cfg.Intake.Events(r.Context(), c, q)
	if err != nil {
		return err
	}
	return wire.Answer(w, http.StatusOK, wire.NewEventsPage(page))
}

// eventQueryOf reads the parameters of a page of events.
func eventQueryOf(q *door.Query) (ledger.EventQuery, error) {
	out := ledger.EventQuery{
		After: invocation.Seq(q.Int("afterSeq", door.Range{Most: maxSeq})),
		Limit: int(q.Int("limit", door.Range{Least: 1, Most: maxPage, Otherwise: defaultPage})),
		Types: typesOf(q),
	}
	return out, q.Err()
}

// typesOf reads which events are wanted.
func typesOf(q *door.Query) []string {
	types := q.List("types")
	if len(types) > maxTypes {
		q.Wrong("types", "must NOT have more than %d items", maxTypes)
		return nil
	}
	for i, t := range types {
		if t == allSelection || !manifest.ValidPattern(t) {
			q.Wrong("types/"+strconv.Itoa(i), "must be the id of an event or slug.*")
		}
	}
	return types
}

func (a *API) emit(w http.ResponseWriter, r *http.Request, c intake.Caller) error {
	f, err := door.Object(w, r, "payload")
	if err != nil {
		return err
	}
	emission, err := emissionOf(f)
	if err != nil {
		return err
	}
	emission.Caller = c
	e, err := a.cfg.Intake.Emit(r.Context(), emission)
	if err != nil {
		return err
	}
	telemetry.SetTraceID(w, string(e.Chain.Correlation))
	telemetry.NoteChain(r.Context(), telemetry.Chain{
		CorrelationID: string(e.Chain.Correlation), Depth: e.Chain.Depth, EventID: string(e.ID),
	})
	return wire.Answer(w, http.StatusCreated, wire.NewEvent(e))
}

// emissionOf reads the body of an emission (contract section 3). A key may be
// left out and may not be empty.
func emissionOf(f *door.Fields) (intake.Emission, error) {
	var e intake.Emission
	f.Require("type", "payload")
	eventType, _ := f.Text("type")
	e.Type = invocation.CapabilityID(eventType)
	e.Payload, _ = f.Raw("payload")
	if cause, found := f.Text("causationId"); found {
		e.Causation = invocation.ID(named(cause))
	}
	key, found := f.Text("idempotencyKey")
	if err := f.Err(); err != nil {
		return e, err
	}
	if found {
		if problems := intake.CheckKey(key); problems != nil {
			return e, &invocation.Error{Code: invocation.InvalidInput, Problems: problems}
		}
	}
	e.Key = key
	return e, nil
}
