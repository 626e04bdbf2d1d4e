package lock

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// MaxDuration is the most seconds that one command adds or removes: a year
// (contract section 12).
const MaxDuration = 31_536_000

// lockCommands is what every lock can do by itself (contract section 12). The
// wearer's bans are in the manifest: they are asked at admission.
func lockCommands() map[invocation.CapabilityID]command {
	return map[invocation.CapabilityID]command{
		"lock.add-time":                   {run: addTime},
		"lock.remove-time":                {run: removeTime},
		"lock.freeze":                     {run: freeze, blocked: whenFrozen},
		"lock.unfreeze":                   {run: unfreeze, blocked: whenNotFrozen},
		"lock.toggle-freeze":              {run: toggleFreeze},
		"lock.pillory":                    {run: startPillory, blocked: withoutPillory},
		"lock.set-display-remaining-time": {run: setDisplayRemainingTime},
	}
}

func whenFrozen(s State, _ time.Time) Reason {
	if s.Frozen() {
		return AlreadyFrozen
	}
	return ""
}

func whenNotFrozen(s State, _ time.Time) Reason {
	if !s.Frozen() {
		return NotFrozen
	}
	return ""
}

func withoutPillory(s State, _ time.Time) Reason {
	if s.Apps.Pillory == nil {
		return PilloryNotEnabled
	}
	return ""
}

// addTime moves the end later, the whole duration or not at all, counted from
// the end date even where that has passed. On a frozen lock the end as of now
// counts against the maximum date.
func addTime(s State, a Act, now time.Time) (Change, *Refusal) {
	n, refusal := durationOf(a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	if s.EndsAt(now).Add(seconds(n)).After(s.latestEnd(now)) {
		return Change{}, &Refusal{Code: BeyondMaxDate, Message: "the end would lie beyond the lock's maximum date"}
	}
	return s.changeTime(a, n), nil
}

// removeTime moves the end earlier by whole seconds, as many as asked for or
// as are left: the end never comes to lie before now, less than a second may
// stay, and the lock never unlocks by itself. On a frozen lock what was left
// when the freeze began counts.
func removeTime(s State, a Act, now time.Time) (Change, *Refusal) {
	n, refusal := durationOf(a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	return s.changeTime(a, -min(n, int64(s.Remaining(now)/time.Second))), nil
}

// latestEnd returns what no added time may pass.
func (s State) latestEnd(now time.Time) time.Time {
	latest := now.Add(Horizon)
	if s.MaxDate != nil && s.MaxDate.Before(latest) {
		return *s.MaxDate
	}
	return latest
}

// changeTime moves the end by n seconds. The event and the history carry the
// real change; a change of 0 completes with its history line and no event,
// since nothing happened on the lock.
func (s State) changeTime(a Act, n int64) Change {
	s.EndDate = s.EndDate.Add(seconds(n))
	payload := fmt.Sprintf(`{"duration":%d}`, n)
	c := a.does(s, "time_changed", payload)
	if n != 0 {
		c.Events = []invocation.Emission{{Type: "lock.time-changed", Payload: json.RawMessage(payload)}}
	}
	return c
}

func freeze(s State, a Act, now time.Time) (Change, *Refusal) {
	s.FrozenAt = &now
	return a.does(s, "lock_frozen", "{}"), nil
}

// unfreeze moves the end by the whole time frozen, also beyond the maximum
// date: time is never lost.
func unfreeze(s State, a Act, now time.Time) (Change, *Refusal) {
	s, frozen := s.thawed(now)
	return a.does(s, "lock_unfrozen", fmt.Sprintf(`{"frozenMs":%d}`, frozen.Milliseconds())), nil
}

func (s State) thawed(now time.Time) (State, time.Duration) {
	frozen := s.frozenFor(now)
	s.EndDate = s.EndDate.Add(frozen)
	s.FrozenMS += frozen.Milliseconds()
	s.FrozenAt = nil
	return s, frozen
}

func toggleFreeze(s State, a Act, now time.Time) (Change, *Refusal) {
	if s.Frozen() {
		return unfreeze(s, a, now)
	}
	return freeze(s, a, now)
}

func setDisplayRemainingTime(s State, a Act, _ time.Time) (Change, *Refusal) {
	display, refusal := boolField(a.Input, "displayRemainingTime")
	if refusal != nil {
		return Change{}, refusal
	}
	s.DisplayRemainingTime = display
	payload := fmt.Sprintf(`{"displayRemainingTime":%t}`, display)
	return a.does(s, "timer_visibility_changed", payload), nil
}

func durationOf(input json.RawMessage) (int64, *Refusal) {
	return integerField(input, "duration", MaxDuration)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
