package partner

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

func (a *API) options(w http.ResponseWriter, r *http.Request, c intake.Caller) error {
	q := door.ReadQuery(r)
	q.Require("field")
	field, _ := q.Text("field")
	search, _ := q.Text("search")
	if err := q.Err(); err != nil {
		return err
	}
	options, err := a.cfg.Intake.Options(r.Context(), intake.FieldQuery{
		Caller: c, Command: invocation.CapabilityID(r.PathValue("commandId")), Field: field, Search: search,
	})
	if err != nil {
		return err
	}
	return wire.Answer(w, http.StatusOK, wire.NewOptions(options))
}
