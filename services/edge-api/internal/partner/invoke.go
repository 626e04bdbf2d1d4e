package partner

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// replayedHeader marks an answer whose idempotency key was used before
// (contract section 6).
const replayedHeader = "Idempotency-Replayed"

func (a *API) invoke(w http.ResponseWriter, r *http.Request, c intake.Caller) error {
	f, err := door.Object(w, r, "input")
	if err != nil {
		return err
	}
	call, err := callOf(f)
	if err != nil {
		return err
	}
	call.Caller, call.Command = c, invocation.CapabilityID(r.PathValue("commandId"))
	answer, err := a.cfg.Invoke(r.Context(), call)
	if err != nil {
		return err
	}
	if answer.Replayed {
		w.Header().Set(replayedHeader, "true")
	}
	return answerInvocation(w, r, answer.Invocation)
}

// callOf reads the body of a call (contract section 6). What its values are
// worth is decided at admission.
func callOf(f *door.Fields) (intake.Call, error) {
	call := intake.Call{Via: invocation.REST}
	f.Require("idempotencyKey")
	call.Key, _ = f.Text("idempotencyKey")
	call.Input, _ = f.Raw("input")
	if actor, found := f.Text("actor"); found {
		call.Actor = invocation.Actor(named(actor))
	}
	if cause, found := f.Text("causationId"); found {
		call.Causation = invocation.ID(named(cause))
	}
	return call, f.Err()
}

func (a *API) invocation(w http.ResponseWriter, r *http.Request, c intake.Caller) error {
	inv, err := a.cfg.Intake.Invocation(r.Context(), c, invocation.ID(r.PathValue("invocationId")))
	if err != nil {
		return err
	}
	return answerInvocation(w, r, inv)
}

func answerInvocation(w http.ResponseWriter, r *http.Request, inv invocation.Invocation) error {
	telemetry.SetTraceID(w, string(inv.Chain.Correlation))
	telemetry.NoteChain(r.Context(), platform.ChainOf(inv))
	return wire.Answer(w, http.StatusOK, wire.NewInvocation(inv))
}
