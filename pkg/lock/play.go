package lock

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Play is an act of the platform's own apps, by a person: a roll, a vote, a
// spin, a picture (contract section 12). No extension can call it.
type Play struct {
	// Name is the slug and the act, such as dice.roll.
	Name string
	// By is wearer, keyholder or system, the last for visitors and the platform.
	By invocation.Actor
	// Input is a JSON object; empty stands for {}.
	Input json.RawMessage
	// Luck decides what is left to chance. It is drawn once, so that an act that
	// is computed again comes out the same.
	Luck uint64
}

// A play is what one act does.
type play struct {
	by  []invocation.Actor
	run func(s State, p Play, now time.Time) (Change, *Refusal)
}

// The codes of acts that are refused beside the reasons.
const (
	UnknownAct  = "unknown-act"
	NotYours    = "not-yours"
	NotRunning  = "not-running"
	AlreadyDone = "already-done"
)

// Plays lists the acts of a built-in extension, sorted.
func Plays(slug invocation.Slug) []string {
	b, _ := builtOf(slug)
	return slices.Sorted(maps.Keys(b.plays))
}

// Perform performs an act of a person. It refuses what the lock's state or the
// person does not allow, and leaves that state alone.
func Perform(s State, p Play, now time.Time) (Change, *Refusal) {
	slug, _, _ := strings.Cut(p.Name, ".")
	b, _ := builtOf(invocation.Slug(slug))
	what, known := b.plays[p.Name]
	switch {
	case !known || !s.Installed(invocation.Slug(slug)):
		return Change{}, &Refusal{Code: UnknownAct, Message: "there is no such act on this lock"}
	case s.Status != Active:
		return Change{}, unavailable(LockNotActive)
	case p.By == invocation.ActorKeyholder && s.Keyholder == nil:
		return Change{}, unavailable(NoKeyholder)
	case !slices.Contains(what.by, p.By):
		return Change{}, &Refusal{Code: NotYours, Message: "this is for somebody else to do"}
	}
	if len(p.Input) == 0 {
		p.Input = json.RawMessage("{}")
	}
	return what.run(s, p, invocation.Instant(now))
}

// did returns the change of an act that was done, with its history line.
func (p Play) did(s State, line, payload string, events ...invocation.Emission) Change {
	return Change{
		State: s, Events: events,
		History: []invocation.HistoryLine{{Type: line, Actor: p.By, Payload: json.RawMessage(payload)}},
	}
}

func wearers() []invocation.Actor    { return []invocation.Actor{invocation.ActorWearer} }
func keyholders() []invocation.Actor { return []invocation.Actor{invocation.ActorKeyholder} }
func visitors() []invocation.Actor   { return []invocation.Actor{invocation.ActorSystem} }
func people() []invocation.Actor {
	return []invocation.Actor{invocation.ActorWearer, invocation.ActorKeyholder}
}

func notRunning(message string) *Refusal { return &Refusal{Code: NotRunning, Message: message} }

// lockPlays are what people do with the lock itself.
func lockPlays() map[string]play {
	return map[string]play{
		"lock.unlock": {people(), unlock},
		"lock.desert": {wearers(), desert},
	}
}

// unlock ends the lock: the keyholder may at any time, the wearer when the timer
// has run out and is not frozen.
func unlock(s State, p Play, now time.Time) (Change, *Refusal) {
	if p.By == invocation.ActorWearer && (s.Frozen() || s.Remaining(now) > 0) {
		return Change{}, &Refusal{Code: NotYours, Message: "the timer has not run out"}
	}
	return p.finish(s, "lock_unlocked", now), nil
}

// desert gives the lock up before its time.
func desert(s State, p Play, now time.Time) (Change, *Refusal) {
	return p.finish(s, "lock_deserted", now), nil
}

func (p Play) finish(s State, line string, now time.Time) Change {
	s.Status, s.FinishedAt = Finished, &now
	return p.did(s, line, "{}", CapabilitiesChanged())
}
