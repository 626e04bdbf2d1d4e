package admin

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// A deadMessageAnswer is a message that no handler could deal with.
type deadMessageAnswer struct {
	Stream  string `json:"stream"`
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
	At      string `json:"at"`
}

func newDeadMessage(m ledger.DeadMessage) deadMessageAnswer {
	return deadMessageAnswer{m.Stream, m.Subject, m.Reason, invocation.FormatTime(m.At)}
}

func (a *API) listDeadMessages(w http.ResponseWriter, r *http.Request) error {
	q := door.ReadQuery(r)
	p := placeOf(q)
	after := readSeq(q, p.after)
	if err := q.Err(); err != nil {
		return err
	}
	dead, more, err := a.ledger.DeadMessages(r.Context(), after, p.limit)
	if err != nil {
		return err
	}
	return wire.Answer(w, http.StatusOK, span(dead, more, func(m ledger.DeadMessage) uint64 { return m.Seq }, newDeadMessage))
}
