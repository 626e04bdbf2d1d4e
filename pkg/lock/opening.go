package lock

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Opening is the state of the temporary opening.
type Opening struct {
	// OpeningTime is how many seconds the lock may stay open, PenaltyTime what
	// is added when it is relocked late, Every how many seconds lie between the
	// beginnings of two openings.
	OpeningTime int64 `json:"openingTime"`
	PenaltyTime int64 `json:"penaltyTime"`
	Every       int64 `json:"every"`
	// KeyholderOnly says that only the keyholder opens it.
	KeyholderOnly bool       `json:"keyholderOnly"`
	OpenedAt      *time.Time `json:"openedAt"` // nil while it is closed
	Late          bool       `json:"late"`     // the penalty was added
	LastOpenedAt  *time.Time `json:"lastOpenedAt"`
}

func installOpening(a *Apps, config json.RawMessage) []invocation.Problem {
	c := struct {
		OpeningTime   int64 `json:"openingTime"`
		PenaltyTime   int64 `json:"penaltyTime"`
		Every         int64 `json:"every"`
		KeyholderOnly bool  `json:"keyholderOnly"`
	}{OpeningTime: 15 * 60, PenaltyTime: 12 * 3600}
	problems := readConfig(config, &c)
	within(&problems, "openingTime", c.OpeningTime, 60, day)
	within(&problems, "penaltyTime", c.PenaltyTime, 0, MaxDuration)
	within(&problems, "every", c.Every, 0, MaxDuration)
	a.Opening = &Opening{OpeningTime: c.OpeningTime, PenaltyTime: c.PenaltyTime, Every: c.Every, KeyholderOnly: c.KeyholderOnly}
	return problems
}

func openingCommands() map[invocation.CapabilityID]command {
	return map[invocation.CapabilityID]command{"temporary-opening.open": {run: open, blocked: whenNotOpenable}}
}

func whenNotOpenable(s State, now time.Time) Reason {
	o := s.Apps.Opening
	if o.KeyholderOnly {
		return KeyholderOnly
	}
	return o.blocked(now)
}

func (o *Opening) blocked(now time.Time) Reason {
	switch {
	case o.OpenedAt != nil:
		return AlreadyOpen
	case o.LastOpenedAt != nil && now.Before(o.LastOpenedAt.Add(seconds(o.Every))):
		return OpeningNotReady
	}
	return ""
}

func (s State) withOpening(change func(*Opening)) State {
	o := *s.Apps.Opening
	change(&o)
	s.Apps.Opening = &o
	return s
}

func (s State) opened(now time.Time) (State, string) {
	o := s.Apps.Opening
	s = s.withOpening(func(x *Opening) { x.OpenedAt, x.LastOpenedAt, x.Late = &now, &now, false })
	return s, fmt.Sprintf(`{"openingTime":%d,"penaltyTime":%d}`, o.OpeningTime, o.PenaltyTime)
}

func open(s State, a Act, now time.Time) (Change, *Refusal) {
	s, payload := s.opened(now)
	c := a.does(s, "temporarily_opened", payload)
	c.Events = []invocation.Emission{emission("temporary-opening.opened", payload)}
	return c, nil
}

func openingPlays() map[string]play {
	return map[string]play{
		"temporary-opening.open":   {keyholders(), openAsKeyholder},
		"temporary-opening.relock": {people(), relock},
	}
}

// openAsKeyholder opens the lock also where only the keyholder may.
func openAsKeyholder(s State, p Play, now time.Time) (Change, *Refusal) {
	if r := s.Apps.Opening.blocked(now); r != "" {
		return Change{}, unavailable(r)
	}
	s, payload := s.opened(now)
	return p.did(s, "temporarily_opened", payload, emission("temporary-opening.opened", payload)), nil
}

func relock(s State, p Play, now time.Time) (Change, *Refusal) {
	o := s.Apps.Opening
	if o.OpenedAt == nil {
		return Change{}, notRunning("the lock is not open")
	}
	var events []invocation.Emission
	if ends := o.OpenedAt.Add(seconds(o.OpeningTime)); !o.Late && now.After(ends) { // before its timer
		late := s.late(ends)
		s, events = late.State, late.Events
	}
	penalty := int64(0)
	if s.Apps.Opening.Late {
		penalty = o.PenaltyTime
	}
	payload := fmt.Sprintf(`{"unlockedTime":%d,"penaltyTime":%d}`, wholeSeconds(now.Sub(*o.OpenedAt)), penalty)
	s = s.withOpening(func(x *Opening) { x.OpenedAt, x.Late = nil, false })
	return p.did(s, "relocked", payload, append(events, emission("temporary-opening.relocked", payload))...), nil
}

// late adds the penalty, once.
func (s State) late(now time.Time) Change {
	o := s.Apps.Opening
	s, moved := s.shift(o.PenaltyTime, now)
	s = s.withOpening(func(x *Opening) { x.Late = true })
	payload := fmt.Sprintf(`{"unlockedTime":%d,"penaltyTime":%d}`, wholeSeconds(now.Sub(*o.OpenedAt)), moved)
	return byItself(s, "relock_late", payload, append([]invocation.Emission{emission("temporary-opening.late", payload)}, timeChanged(moved)...)...)
}

// openingTimers are the time by which the lock has to be closed again, and the
// one from which it can be opened again.
func (s State) openingTimers() []timer {
	o := s.Apps.Opening
	switch {
	case o == nil:
		return nil
	case o.OpenedAt != nil && !o.Late:
		return []timer{{opening, o.OpenedAt.Add(seconds(o.OpeningTime)), func(s State, now time.Time) Change { return s.late(now) }}}
	case o.OpenedAt == nil && o.LastOpenedAt != nil && o.Every > 0:
		return []timer{{opening, o.LastOpenedAt.Add(seconds(o.Every)), func(s State, _ time.Time) Change {
			s = s.withOpening(func(x *Opening) { x.LastOpenedAt = nil })
			return byItself(s, "opening_ready", "{}", CapabilitiesChanged())
		}}}
	}
	return nil
}
