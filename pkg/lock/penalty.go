package lock

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Habit is something that a wearer shall not do, or shall do in time, and what
// it costs.
type Habit struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// AddTime is how many seconds each occurrence adds.
	AddTime int64 `json:"addTime"`
	// Freeze says that an occurrence freezes the lock.
	Freeze bool `json:"freeze"`
	// TimeLimit is how many seconds a time limit lasts; 0 means that there are
	// none for this habit.
	TimeLimit int64 `json:"timeLimit"`
}

// A TimeLimit runs for a habit: when it is over, the habit is counted.
type TimeLimit struct {
	Habit  string    `json:"habit"`
	EndsAt time.Time `json:"endsAt"`
}

// Penalty is the state of the extension.
type Penalty struct {
	Habits []Habit          `json:"habits"`
	Counts map[string]int64 `json:"counts"` // by habit
	Limits []TimeLimit      `json:"limits"`
}

// The codes of refused penalties.
const (
	UnknownHabit = "unknown-habit"
	NoTimeLimit  = "no-time-limit"
	TooMany      = "too-many"
)

func installPenalty(a *Apps, config json.RawMessage) []invocation.Problem {
	c := struct {
		Habits []Habit `json:"habits"`
	}{}
	problems := readConfig(config, &c)
	few(&problems, "habits", len(c.Habits))
	name := regexp.MustCompile(`^[a-z0-9_-]{1,20}$`)
	for i, h := range c.Habits {
		at := "habits/" + strconv.Itoa(i)
		if !name.MatchString(h.Name) {
			problems = append(problems, invocation.Problem{InstancePath: "/config/" + at + "/name", Message: `must match pattern "` + name.String() + `"`})
		}
		if slices.IndexFunc(c.Habits, func(x Habit) bool { return x.Name == h.Name }) < i {
			problems = append(problems, invocation.Problem{InstancePath: "/config/" + at + "/name", Message: "must NOT be the name of another habit"})
		}
		texts(&problems, at+"/title", h.Title, MaxName)
		within(&problems, at+"/addTime", h.AddTime, 0, MaxDuration)
		within(&problems, at+"/timeLimit", h.TimeLimit, 0, MaxDuration)
	}
	a.Penalty = &Penalty{Habits: c.Habits, Counts: map[string]int64{}}
	return problems
}

func penaltyCommands() map[invocation.CapabilityID]command {
	return map[invocation.CapabilityID]command{
		"penalty.increment":         {run: increment},
		"penalty.create-time-limit": {run: createTimeLimit},
		"penalty.cancel-time-limit": {run: cancelTimeLimit, blocked: whenNoTimeLimit},
	}
}

func whenNoTimeLimit(s State, _ time.Time) Reason {
	if len(s.Apps.Penalty.Limits) == 0 {
		return NoActiveTimeLimit
	}
	return ""
}

func (s State) withPenalty(change func(*Penalty)) State {
	p := *s.Apps.Penalty
	change(&p)
	s.Apps.Penalty = &p
	return s
}

// habitOf reads which habit a command is about, and how many times.
func (s State) habitOf(input json.RawMessage) (Habit, int64, *Refusal) {
	in, refusal := inputOf[struct {
		Name  string      `json:"habitName"`
		Count json.Number `json:"count"`
	}](input)
	if refusal != nil {
		return Habit{}, 0, refusal
	}
	i := slices.IndexFunc(s.Apps.Penalty.Habits, func(h Habit) bool { return h.Name == in.Name })
	if i < 0 {
		return Habit{}, 0, &Refusal{Code: UnknownHabit, Message: "the habit is not configured on this lock"}
	}
	if in.Count == "" {
		return s.Apps.Penalty.Habits[i], 1, nil
	}
	n, ok := parseInteger(string(in.Count), maxPoints)
	if !ok {
		return Habit{}, 0, invalid("count", "an integer of at least 1")
	}
	return s.Apps.Penalty.Habits[i], n, nil
}

func increment(s State, a Act, now time.Time) (Change, *Refusal) {
	h, n, refusal := s.habitOf(a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	s, moved, froze := s.punish(h, n, now)
	c := a.does(s, "habit_counted", fmt.Sprintf(`{"habitName":%q,"count":%d,"timeAdded":%d,"frozen":%t}`, h.Name, n, moved, froze))
	c.Events = timeChanged(moved)
	return c, nil
}

// punish counts a habit and does what is configured for it.
func (s State) punish(h Habit, n int64, now time.Time) (next State, moved int64, froze bool) {
	s = s.withPenalty(func(p *Penalty) {
		p.Counts = maps.Clone(p.Counts)
		p.Counts[h.Name] = min(maxPoints, p.Counts[h.Name]+min(n, maxPoints-p.Counts[h.Name]))
	})
	s, moved = s.shift(h.AddTime*min(n, MaxDuration), now)
	if froze = h.Freeze && !s.Frozen(); froze {
		s.FrozenAt = &now
	}
	return s, moved, froze
}

func createTimeLimit(s State, a Act, now time.Time) (Change, *Refusal) {
	h, n, refusal := s.habitOf(a.Input)
	switch {
	case refusal != nil:
		return Change{}, refusal
	case h.TimeLimit == 0:
		return Change{}, &Refusal{Code: NoTimeLimit, Message: "no time limit is configured for this habit"}
	case n > int64(maxConfigured-len(s.Apps.Penalty.Limits)):
		return Change{}, &Refusal{Code: TooMany, Message: fmt.Sprintf("a lock has at most %d time limits", maxConfigured)}
	}
	ends := now.Add(seconds(h.TimeLimit))
	s = s.withPenalty(func(p *Penalty) {
		p.Limits = append(slices.Clone(p.Limits), slices.Repeat([]TimeLimit{{h.Name, ends}}, int(n))...)
	})
	return a.does(s, "time_limit_created", fmt.Sprintf(`{"habitName":%q,"count":%d,"endsAt":%q}`, h.Name, n, invocation.FormatTime(ends))), nil
}

// cancelTimeLimit takes back the newest time limits of a habit, as many as asked
// for or as there are.
func cancelTimeLimit(s State, a Act, _ time.Time) (Change, *Refusal) {
	h, n, refusal := s.habitOf(a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	var cancelled int64
	kept := slices.Clone(s.Apps.Penalty.Limits)
	for i := len(kept) - 1; i >= 0 && cancelled < n; i-- {
		if kept[i].Habit == h.Name {
			kept = slices.Delete(kept, i, i+1)
			cancelled++
		}
	}
	if cancelled == 0 {
		return Change{}, unavailable(NoActiveTimeLimit)
	}
	s = s.withPenalty(func(p *Penalty) { p.Limits = kept })
	return a.does(s, "time_limit_cancelled", fmt.Sprintf(`{"habitName":%q,"count":%d}`, h.Name, cancelled)), nil
}

// penaltyTimers count a habit when one of its time limits is over.
func (s State) penaltyTimers() []timer {
	if s.Apps.Penalty == nil {
		return nil
	}
	var all []timer
	for i, limit := range s.Apps.Penalty.Limits {
		all = append(all, timer{penalty, limit.EndsAt, func(s State, now time.Time) Change {
			s = s.withPenalty(func(p *Penalty) { p.Limits = slices.Delete(slices.Clone(p.Limits), i, i+1) })
			j := slices.IndexFunc(s.Apps.Penalty.Habits, func(h Habit) bool { return h.Name == limit.Habit })
			s, moved, froze := s.punish(s.Apps.Penalty.Habits[j], 1, now)
			events := timeChanged(moved)
			if len(s.Apps.Penalty.Limits) == 0 { // nothing is left to cancel
				events = append(events, CapabilitiesChanged())
			}
			return byItself(s, "time_limit_expired",
				fmt.Sprintf(`{"habitName":%q,"count":1,"timeAdded":%d,"frozen":%t}`, limit.Habit, moved, froze), events...)
		}})
	}
	return all
}
