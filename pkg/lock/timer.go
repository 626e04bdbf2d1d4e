package lock

import (
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A timer is something that happens on a lock by itself.
type timer struct {
	of   invocation.Slug // whose it is
	at   time.Time
	fire func(s State, now time.Time) Change
}

// timers returns what will happen by itself.
func (s State) timers() []timer {
	if s.Status != Active {
		return nil
	}
	var all []timer
	all = append(all, s.taskTimers()...)
	all = append(all, s.penaltyTimers()...)
	all = append(all, s.openingTimers()...)
	all = append(all, s.pilloryTimers()...)
	return append(all, s.verificationTimers()...)
}

// NextTimer returns when the next thing happens by itself, or false.
func (s State) NextTimer() (time.Time, bool) {
	t, found := s.next()
	return t.at, found
}

func (s State) next() (timer, bool) {
	var first timer
	for _, t := range s.timers() {
		if first.fire == nil || t.at.Before(first.at) {
			first = t
		}
	}
	return first, first.fire != nil
}

// Due returns the change of the first timer that is due, and whose it is, or
// false. After it another one may be due.
func Due(s State, now time.Time) (c Change, of invocation.Slug, due bool) {
	now = invocation.Instant(now)
	t, found := s.next()
	if !found || t.at.After(now) {
		return Change{}, "", false
	}
	return t.fire(s, now), t.of, true
}

// byItself returns the change of what happened by itself.
func byItself(s State, line, payload string, events ...invocation.Emission) Change {
	return Change{State: s, Events: events, History: []invocation.HistoryLine{byPlatform(line, payload)}}
}
