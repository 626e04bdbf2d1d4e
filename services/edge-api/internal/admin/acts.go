package admin

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/wire"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// An actAnswer is what came of an act.
type actAnswer struct {
	Events  []wire.Event       `json:"events"`
	History []wire.HistoryLine `json:"history"`
}

// performAct performs an act of a person in one of the platform's own apps
// (contract section 12).
func (a *API) performAct(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.lock(r)
	if err != nil {
		return err
	}
	f, err := door.Object(w, r, "input")
	if err != nil {
		return err
	}
	p, err := playOf(f)
	if err != nil {
		return err
	}
	// A caller that hangs up leaves no half of it behind.
	entry, err := a.ledger.Change(context.WithoutCancel(r.Context()), ledger.Change{
		Lock: snap.State.ID, From: snap, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
			now := a.ledger.Now()
			c, refusal := lock.Perform(s.State, p, now)
			if refusal != nil {
				return ledger.Transition{}, refusedAct(refusal)
			}
			return ledger.Transition{
				State: c.State, Events: c.Events, History: c.History, At: now,
				Source: invocation.Source{Extension: invocation.CapabilityID(p.Name).Slug(), Actor: p.By},
			}, nil
		},
	})
	if err != nil {
		return err
	}
	var out actAnswer
	for _, e := range entry.Committed() {
		out.Events = append(out.Events, wire.NewEvent(e))
	}
	for i := range entry.History {
		out.History = append(out.History, wire.NewHistoryLine(entry, i))
	}
	return wire.Answer(w, http.StatusOK, out)
}

// playOf reads an act. Chance is drawn here, once.
func playOf(f *door.Fields) (lock.Play, error) {
	f.Require("act", "by")
	p := lock.Play{Luck: rand.Uint64()} //nolint:gosec // a game's chance is no secret
	p.Name, _ = f.Text("act")
	p.Input, _ = f.Raw("input")
	if !slices.Contains(plays(), p.Name) {
		f.Wrong("act", "must be equal to one of the allowed values")
	}
	by, _ := f.Text("by")
	p.By = invocation.Actor(by)
	if actors := []invocation.Actor{invocation.ActorWearer, invocation.ActorKeyholder, invocation.ActorSystem}; !slices.Contains(actors, p.By) {
		f.Wrong("by", "must be equal to one of the allowed values")
	}
	return p, f.Err()
}

// plays lists every act.
func plays() []string {
	var all []string
	for _, slug := range lock.BuiltIns() {
		all = append(all, lock.Plays(slug)...)
	}
	return all
}

// refusedAct says in the API's words why an act was refused.
func refusedAct(r *lock.Refusal) error {
	switch {
	case slices.Contains(lock.Reasons(), lock.Reason(r.Code)):
		return invocation.Refusef(invocation.Unavailable, "%s", r.Message).With("reason", r.Code)
	case r.Code == lock.UnknownAct:
		return invocation.Refusef(invocation.ResourceNotFound, "%s", r.Message)
	case r.Code == lock.InvalidInput:
		return &invocation.Error{Code: invocation.InvalidInput, Problems: []invocation.Problem{{InstancePath: "/input", Message: r.Message}}}
	}
	return invocation.Refusef(invocation.ResourceConflict, "%s", r.Message)
}
