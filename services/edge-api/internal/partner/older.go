package partner

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// An olderAct is what one of the older endpoints asks for: a command or query,
// by a body in the endpoint's own format.
type olderAct struct {
	command invocation.CapabilityID
	input   json.RawMessage
	actor   invocation.Actor
}

// olderReader reads the body of an older endpoint.
type olderReader func(w http.ResponseWriter, r *http.Request) (olderAct, error)

// older returns the endpoints that were there before commands and queries. They
// keep their formats and pass through the same admission, each call with a fresh
// key and its cause inferred (contract section 3).
func (a *API) older() []door.Route {
	const session = "/api/extensions/sessions/{sessionId}"
	post := func(path string, read olderReader) door.Route {
		return door.Route{Method: http.MethodPost, Pattern: session + path, Serve: a.olderHandler(read, http.StatusCreated)}
	}
	return []door.Route{
		post("/action", readAction),
		post("/tasks/assign", fixed("tasks.assign", true, "task")),
		post("/tasks/start-timer", fixed("tasks.start-timer", false)),
		post("/tasks/complete", fixed("tasks.complete", true, "isCompleted")),
		post("/penalties/increment", fixed("penalty.increment", false, "habitName", "count")),
		post("/penalties/time-limit/create", fixed("penalty.create-time-limit", false, "habitName", "count")),
		post("/penalties/time-limit/cancel", fixed("penalty.cancel-time-limit", false, "habitName", "count")),
		post("/temporary-opening/open", fixed("temporary-opening.open", true)),
		post("/verification-picture/request", fixed("verification-picture.request", true)),
		{Method: http.MethodGet, Pattern: session + "/pillory/status", Serve: a.olderHandler(func(http.ResponseWriter, *http.Request) (olderAct, error) {
			return olderAct{command: "pillory.status"}, nil
		}, http.StatusOK)},
	}
}

func (a *API) olderHandler(read olderReader, success int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inv, err := a.runOlder(w, r, read)
		switch {
		case err != nil:
			refuseOlder(w, r, err)
		case inv.Status != invocation.Completed:
			refuseOlder(w, r, unsuccessful(inv))
		case success == http.StatusOK:
			_ = wire.Answer(w, success, inv.Result) // a result can be encoded
		default:
			w.WriteHeader(success)
		}
	})
}

func (a *API) runOlder(w http.ResponseWriter, r *http.Request, read olderReader) (invocation.Invocation, error) {
	c, err := a.caller(r)
	if err != nil {
		return invocation.Invocation{}, err
	}
	act, err := read(w, r)
	if err != nil {
		return invocation.Invocation{}, err
	}
	answer, err := a.cfg.Invoke(r.Context(), intake.Call{
		Caller: c, Command: act.command, Input: act.input, Actor: act.actor, Key: invocation.NewKey(), Via: invocation.REST,
	})
	if err == nil {
		noteOlder(r.Context(), w, answer.Invocation)
	}
	return answer.Invocation, err
}

func noteOlder(ctx context.Context, w http.ResponseWriter, inv invocation.Invocation) {
	telemetry.SetTraceID(w, string(inv.Chain.Correlation))
	telemetry.NoteChain(ctx, platform.ChainOf(inv))
}

// unsuccessful says in a refusal's words that a call did not do what it should.
func unsuccessful(inv invocation.Invocation) error {
	if inv.Error == nil {
		return invocation.Refusef(invocation.ServiceUnavailable, "the call is still running")
	}
	return invocation.Refusef(invocation.MalformedRequest, "%s", inv.Error.Message)
}

// fixed reads a body whose members are the command's input, beside the actor.
func fixed(command invocation.CapabilityID, actor bool, members ...string) olderReader {
	return func(w http.ResponseWriter, r *http.Request) (olderAct, error) {
		act := olderAct{command: command}
		f, err := door.OptionalObject(w, r)
		if err != nil {
			return act, err
		}
		if actor {
			f.Require("actor")
		}
		by, found := f.Text("actor")
		if found {
			act.actor = invocation.Actor(named(by))
		}
		act.input, err = json.Marshal(f.Take(members...))
		if err != nil {
			return act, err
		}
		return act, f.Err()
	}
}

// readAction reads the body of the oldest endpoint: an action by its name, with
// parameters of its own.
func readAction(w http.ResponseWriter, r *http.Request) (olderAct, error) {
	f, err := door.Object(w, r, "")
	if err != nil {
		return olderAct{}, err
	}
	f.Require("action")
	n, _ := f.Nested("action", "name")
	name, _ := n.Text("name")
	members := n.Take("params")
	params, given := members["params"]
	if !given {
		params = json.RawMessage("{}")
	}
	act, known := actionOf(name, params)
	if !known && name != "" {
		n.Wrong("name", "must be equal to one of the allowed values")
	}
	return act, f.Err()
}

func actionOf(name string, params json.RawMessage) (olderAct, bool) {
	member := func(command invocation.CapabilityID, name string) (olderAct, bool) {
		input, err := json.Marshal(map[string]json.RawMessage{name: params})
		return olderAct{command: command, input: input}, err == nil
	}
	switch name {
	case "add_time":
		return member("lock.add-time", "duration")
	case "remove_time":
		return member("lock.remove-time", "duration")
	case "set_display_remaining_time":
		return member("lock.set-display-remaining-time", "displayRemainingTime")
	case "freeze":
		return olderAct{command: "lock.freeze"}, true
	case "unfreeze":
		return olderAct{command: "lock.unfreeze"}, true
	case "toggle_freeze":
		return olderAct{command: "lock.toggle-freeze"}, true
	case "pillory":
		return olderAct{command: "lock.pillory", input: params}, true
	}
	return olderAct{}, false
}

// An olderProblem is the body of a refusal of the older endpoints.
type olderProblem struct {
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Error      string `json:"error"`
}

// refuseOlder answers with a refusal in the older form. What the lock does not
// allow now is a bad request there.
func refuseOlder(w http.ResponseWriter, r *http.Request, err error) {
	telemetry.NoteError(r.Context(), err)
	e := invocation.AsError(err)
	status := wire.Status(e.Code)
	if e.Code == invocation.Unavailable {
		status = http.StatusBadRequest
	}
	message := wire.NewRefusal(e).Message
	if reason := e.Facts["reason"]; reason != "" && message == string(e.Code) {
		message = reason
	}
	if len(e.Problems) > 0 {
		message = strings.TrimSpace(e.Problems[0].InstancePath + " " + e.Problems[0].Message)
	}
	wire.Refuse(w.Header(), e)
	_ = wire.Answer(w, status, olderProblem{status, message, http.StatusText(status)}) // a problem can be encoded
}
