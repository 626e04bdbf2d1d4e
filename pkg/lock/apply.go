package lock

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A command is what one built-in command does.
type command struct {
	// blocked says why an active lock can't run the command; nil never blocks.
	blocked func(s State, now time.Time) Reason
	// run does the command on a lock that may run it. Now is in whole
	// milliseconds.
	run func(s State, a Act, now time.Time) (Change, *Refusal)
}

// A query answers from the state, which it leaves as it is. Its result is an
// object.
type query func(State) json.RawMessage

func commandsOf(slug invocation.Slug) map[invocation.CapabilityID]command {
	b, _ := builtOf(slug)
	return b.commands
}

// Implemented reports whether a built-in extension has behaviour here. One
// without must not be installed on a lock.
func Implemented(slug invocation.Slug) bool { return slices.Contains(BuiltIns(), slug) }

// Commands lists the commands that a built-in extension runs, sorted. They
// equal the commands of its manifest (contract section 12).
func Commands(slug invocation.Slug) []invocation.CapabilityID {
	return slices.Sorted(maps.Keys(commandsOf(slug)))
}

// Available returns why the capability can't be invoked on this lock right
// now, or the empty Reason. Nothing is available on a lock that is not active.
// It judges the lock only: a partner's capability on an active lock is
// available as far as the lock goes, and who may call is not asked here
// (contract section 4).
func Available(s State, id invocation.CapabilityID, now time.Time) Reason {
	if s.Status != Active {
		return LockNotActive
	}
	if c := commandsOf(id.Slug())[id]; c.blocked != nil && s.Installed(id.Slug()) {
		return c.blocked(s, now)
	}
	return ""
}

// Apply runs a command. It refuses what is not available on the state it is
// given, which may have changed since admission, and leaves that state alone.
func Apply(s State, a Act, now time.Time) (Change, *Refusal) {
	now = invocation.Instant(now)
	if r := Available(s, a.Command, now); r != "" {
		return Change{}, unavailable(r)
	}
	c, known := commandsOf(a.Command.Slug())[a.Command]
	if !known || !s.Installed(a.Command.Slug()) {
		return Change{}, &Refusal{Code: UnknownCapability, Message: "this command has no behaviour here"}
	}
	return c.run(s, a, now)
}

// Ask answers a query of a built-in extension. It refuses one that does not
// exist on this lock. Queries can be asked of a finished lock, too.
func Ask(s State, id invocation.CapabilityID) (json.RawMessage, *Refusal) {
	b, _ := builtOf(id.Slug())
	q, known := b.queries[id]
	if !known || !s.Installed(id.Slug()) {
		return nil, &Refusal{Code: UnknownCapability, Message: "this query has no behaviour here"}
	}
	return q(s), nil
}
