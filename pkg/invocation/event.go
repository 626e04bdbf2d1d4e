package invocation

import (
	"encoding/json"
	"time"
)

// An Event is one thing that happened on a lock (contract section 8).
type Event struct {
	ID      ID
	Seq     Seq
	Lock    LockID
	Type    CapabilityID
	Payload json.RawMessage
	Source  Source
	Chain   Chain

	CreatedAt time.Time
}

// A Source is where an event came from.
type Source struct {
	Extension Slug
	// Partner is the partner extension's id, empty for a built-in.
	Partner ExtensionID
	// Invocation is the call that made the event, empty when none did.
	Invocation ID
	Actor      Actor
}

// A HistoryLine is one line of a lock's visible history: an act, or a block
// by a limit, attributed to who acted.
type HistoryLine struct {
	// Type is "prefix_name" for people who read and filter, such as
	// "time_changed".
	Type string
	// Extension is whose act it was; empty for a person's own or the platform's.
	Extension Slug
	Actor     Actor
	Payload   json.RawMessage
}

// Matches reports whether an event of type t is selected by one entry of a
// subscription or filter: "*", "slug.*" or an exact id (contract section 5).
func Matches(pattern string, t CapabilityID) bool {
	if pattern == "*" || pattern == string(t) {
		return true
	}
	n := len(pattern)
	return n > 2 && pattern[n-2:] == ".*" && t.Slug() == Slug(pattern[:n-2])
}

// MatchesAny reports whether any of the patterns selects t.
func MatchesAny(patterns []string, t CapabilityID) bool {
	for _, p := range patterns {
		if Matches(p, t) {
			return true
		}
	}
	return false
}
