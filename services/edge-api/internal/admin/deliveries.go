package admin

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// The states of a delivery that operators are shown.
const (
	stateDead    = "dead"
	statePending = "pending"
)

const maxLastError = 200

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
	if runes := []rune(c.Reason); len(runes) > 0 {
		out.LastError = wire.OrNull(string(runes[:min(len(runes), maxLastError)]))
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

func (a *API) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	q := door.ReadQuery(r)
	p := placeOf(q)
	ask := ledger.DeadQuery{Limit: p.limit}
	if endpoint, found := q.Text("endpoint"); found {
		if !invocation.ValidSlug(endpoint) {
			q.Wrong("endpoint", `must match pattern "^[a-z0-9-]{1,40}$"`)
		}
		ask.Extension = invocation.Slug(endpoint)
	}
	if state, found := q.Text("state"); found && state != stateDead {
		q.Wrong("state", "must be equal to one of the allowed values")
	}
	if p.after != "" {
		var err error
		if ask.After, err = strconv.ParseUint(p.after, 10, 64); err != nil {
			q.Wrong("cursor", "must be the next of the page before")
		}
	}
	if err := q.Err(); err != nil {
		return err
	}
	dead, more, err := a.ledger.Dead(r.Context(), ask)
	if err != nil {
		return err
	}
	out := through(whole(dead), func(c ledger.Corpse) deliveryAnswer { return newDelivery(c, stateDead) })
	if more {
		out.Next = cursor(strconv.FormatUint(dead[len(dead)-1].Seq, 10))
	}
	return wire.Answer(w, http.StatusOK, out)
}

func (a *API) replayDelivery(w http.ResponseWriter, r *http.Request) error {
	c, err := a.ledger.DeadByID(r.Context(), r.PathValue("deliveryId"))
	if err != nil {
		return err
	}
	e, err := a.registry.Extension(r.Context(), c.Delivery.Extension)
	if err != nil {
		return err
	}
	// The worker drops what has nobody to go to, and then it would be lost.
	switch {
	case e.Disabled:
		return invocation.Refuse(invocation.Unavailable).With("reason", string(lock.ExtensionDisabled))
	case e.WebhookURL == "":
		return invocation.Refuse(invocation.Unavailable).With("reason", string(lock.EndpointNotConfigured))
	}
	err = a.ledger.Revive(r.Context(), c)
	return ok(w, http.StatusAccepted, newDelivery(c, statePending), err)
}
