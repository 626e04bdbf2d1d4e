package lock

import (
	"maps"
	"slices"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A command is what one built-in command does.
type command struct {
	// blocked says why an active lock can't run the command; nil never blocks.
	blocked func(State) Reason
	// run does the command on a lock that may run it. Now is in whole
	// milliseconds.
	run func(s State, a Act, now time.Time) (Change, *Refusal)
}

// commandsOf returns the commands of a built-in extension, or nil when it has
// no behaviour here.
func commandsOf(slug invocation.Slug) map[invocation.CapabilityID]command {
	if slug == Self {
		return lockCommands()
	}
	return nil
}

// BuiltIns lists the built-in extensions that have behaviour here, in the
// order of their slugs.
func BuiltIns() []invocation.Slug { return []invocation.Slug{Self} }

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
func Available(s State, id invocation.CapabilityID) Reason {
	if s.Status != Active {
		return LockNotActive
	}
	if c := commandsOf(id.Slug())[id]; c.blocked != nil {
		return c.blocked(s)
	}
	return ""
}

// Apply runs a command. It refuses what is not available on the state it is
// given, which may have changed since admission, and leaves that state alone.
func Apply(s State, a Act, now time.Time) (Change, *Refusal) {
	if r := Available(s, a.Command); r != "" {
		return Change{}, unavailable(r)
	}
	c, known := commandsOf(a.Command.Slug())[a.Command]
	if !known {
		return Change{}, &Refusal{Code: UnknownCapability, Message: "this command has no behaviour here"}
	}
	return c.run(s, a, invocation.Instant(now))
}
