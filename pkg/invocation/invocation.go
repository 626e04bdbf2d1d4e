package invocation

import (
	"encoding/json"
	"time"
)

// A Status is where an invocation is in its life (contract section 6).
type Status string

// The statuses. Pending goes to exactly one of the other four; a settled
// invocation never changes.
const (
	Pending   Status = "pending"   // still running
	Completed Status = "completed" // it ran
	Rejected  Status = "rejected"  // the target refused
	Failed    Status = "failed"    // an error answer, or the target was not reached
	Unknown   Status = "unknown"   // nobody can tell whether it ran
)

// Settled reports whether the status is one of the four that are final.
func (s Status) Settled() bool {
	switch s {
	case Completed, Rejected, Failed, Unknown:
		return true
	case Pending:
	}
	return false
}

// A Kind says what a capability is.
type Kind string

// The kinds of capability that can be invoked.
const (
	Command Kind = "command" // changes something
	Query   Kind = "query"   // reads
)

// An Actor is whom the history names for an action (contract section 6).
type Actor string

// The actors. Callers may name the first three; ActorSystem is for what the
// platform does by itself.
const (
	ActorExtension Actor = "extension"
	ActorWearer    Actor = "wearer"
	ActorKeyholder Actor = "keyholder"
	ActorSystem    Actor = "system"
)

// A Door is the way a call came in. REST and MCP share idempotency keys but
// have limits of their own (contract section 9).
type Door string

// The doors.
const (
	REST Door = "rest"
	MCP  Door = "mcp"
)

// A Party is one side of an invocation: an extension on the lock.
type Party struct {
	Slug Slug
	// Partner is the partner extension's id, empty for a built-in.
	Partner ExtensionID
	// Session is the party's own session on the lock, empty for the lock
	// itself, which needs none.
	Session SessionID
}

// An Invocation is one recorded run of a command or query.
type Invocation struct {
	ID         ID
	Lock       LockID
	Caller     Party
	Target     Party
	Command    CapabilityID
	Capability Kind
	// Revision is the target's manifest revision that admitted the call; the
	// answer is judged by the same one (contract section 5).
	Revision int
	Input    json.RawMessage
	Actor    Actor
	Via      Door
	Chain    Chain

	Status    Status
	Result    json.RawMessage // an object when Completed, else nil
	Error     *Failure        // set when Rejected, Failed or Unknown
	CreatedAt time.Time
	SettledAt time.Time // zero while Pending
}

// A Failure says why an invocation did not complete.
type Failure struct {
	Code    string // the target's own when Rejected, else one of the constants below
	Message string
	// Details may carry the far error object of an MCP target (contract section 11).
	Details json.RawMessage
}

// The codes of failures that are ours (contract section 7).
const (
	TargetError         = "target-error"
	TargetUnreachable   = "target-unreachable"
	TargetTimeout       = "target-timeout"
	InvalidResponse     = "invalid-response"
	DispatchInterrupted = "dispatch-interrupted"
	DispatchExpired     = "dispatch-expired"
)

// An Outcome is what calling the target came to.
type Outcome struct {
	Status  Status // any but Pending
	Result  json.RawMessage
	Failure *Failure
	// Events are what the target says it caused; only a completed outcome has any.
	Events []Emission
}

// An Emission is an event before it has a place in a lock's log.
type Emission struct {
	Type    CapabilityID
	Payload json.RawMessage
}

// Completes returns the outcome of a run that worked. A nil result stands for {}.
func Completes(result json.RawMessage, events ...Emission) Outcome {
	if result == nil {
		result = json.RawMessage("{}")
	}
	return Outcome{Status: Completed, Result: result, Events: events}
}

// Rejects returns the outcome of a refusal by the target.
func Rejects(code, message string) Outcome {
	return Outcome{Status: Rejected, Failure: &Failure{Code: code, Message: message}}
}

// Fails returns the outcome of a call that surely had no valid answer: the
// target answered with an error or was never reached.
func Fails(code string) Outcome {
	return Outcome{Status: Failed, Failure: &Failure{Code: code, Message: describe(code)}}
}

// LeavesUnknown returns the outcome of a call of which nobody can tell whether
// the target ran it.
func LeavesUnknown(code string) Outcome {
	return Outcome{Status: Unknown, Failure: &Failure{Code: code, Message: describe(code)}}
}

// describe returns the sentence shown beside one of our failure codes.
func describe(code string) string {
	switch code {
	case TargetError:
		return "the target answered with an error"
	case TargetUnreachable:
		return "the target could not be reached"
	case TargetTimeout:
		return "the target gave no complete answer in time"
	case InvalidResponse:
		return "the target's answer was not valid"
	case DispatchInterrupted:
		return "the call was interrupted and is not repeated"
	case DispatchExpired:
		return "no worker took the call in time"
	}
	return code
}

// Settle returns the invocation with its outcome. It is pure, and refuses to
// change what is settled: the first settlement wins. Two replicas' clocks may
// differ a little; nothing settles before it was created.
func (inv Invocation) Settle(o Outcome, now time.Time) Invocation {
	if inv.Status.Settled() || !o.Status.Settled() {
		return inv
	}
	inv.Status = o.Status
	inv.Result = o.Result
	inv.Error = o.Failure
	inv.SettledAt = Instant(now)
	if inv.SettledAt.Before(inv.CreatedAt) {
		inv.SettledAt = inv.CreatedAt
	}
	return inv
}

// Expired returns the outcome of a request that no worker claimed in time, or
// false while it may still be taken. Recorded is when the request was stored,
// by the store's clock (design section 4).
func Expired(recorded, now time.Time) (Outcome, bool) {
	if now.Sub(recorded) < DispatchDeadline {
		return Outcome{}, false
	}
	return Fails(DispatchExpired), true
}

// Instant returns t as the contract writes times: UTC, whole milliseconds.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// TimeLayout is how the contract writes times: ISO-8601, UTC, always three
// decimals (contract section 1, S-35).
const TimeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime writes t as the contract does.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }
