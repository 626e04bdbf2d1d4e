package lock

import (
	"encoding/json"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Change is one transition of a lock: what stands in its log as one message
// (design section 3).
type Change struct {
	// State is the lock afterwards.
	State State
	// Events are what happened, at most invocation.MaxEvents of them.
	Events []invocation.Emission
	// History has exactly one line per act, naming who acted (contract
	// section 12).
	History []invocation.HistoryLine
	// Result is the command's result, an object; nil when no command ran.
	Result json.RawMessage
}

// A Refusal says why a command was not run. The lock stays as it was, and the
// invocation settles as rejected.
type Refusal struct {
	// Code is a Reason or one of the refusal codes of this package.
	Code string
	// Message is for people.
	Message string
}

// The codes of refusals that are no availability reasons.
const (
	// BeyondMaxDate refuses time that would move the end past the lock's
	// maximum date, or past Horizon.
	BeyondMaxDate = "beyond-max-date"
	// UnknownCapability refuses a command without behaviour here, such as one
	// that a newer release admitted.
	UnknownCapability = "unknown-capability"
	// InvalidInput refuses an input that its schema should have refused.
	InvalidInput = "invalid-input"
)

// Outcome returns the refusal as the outcome of its invocation.
func (r *Refusal) Outcome() invocation.Outcome { return invocation.Rejects(r.Code, r.Message) }

func unavailable(r Reason) *Refusal { return &Refusal{Code: string(r), Message: r.Sentence()} }

// An Act is one command run on a lock.
type Act struct {
	Command invocation.CapabilityID
	// Input has passed the command's input schema.
	Input json.RawMessage
	// Caller is the extension that called.
	Caller invocation.Slug
	// Actor is whom the history names (contract section 6).
	Actor invocation.Actor
}

// does returns the change of a command that ran.
func (a Act) does(s State, line, payload string) Change {
	return Change{
		State: s,
		History: []invocation.HistoryLine{
			{Type: line, Extension: a.Caller, Actor: a.Actor, Payload: json.RawMessage(payload)},
		},
		Result: json.RawMessage("{}"),
	}
}

// byPlatform returns the history line of what no extension did.
func byPlatform(line, payload string) invocation.HistoryLine {
	return invocation.HistoryLine{Type: line, Actor: invocation.ActorSystem, Payload: json.RawMessage(payload)}
}
