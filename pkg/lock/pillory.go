package lock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Pillory is the state of the extension.
type Pillory struct {
	// TimePerVote is how many seconds a vote adds.
	TimePerVote int64            `json:"timePerVote"`
	Sessions    []PillorySession `json:"sessions"` // running, oldest first
}

// A PillorySession is one time in the pillory.
type PillorySession struct {
	ID        string    `json:"id"`
	Votes     int64     `json:"votes"`
	Added     int64     `json:"added"` // seconds, given when the session ends
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"createdAt"`
	EndsAt    time.Time `json:"endsAt"`
}

// maxPillories bounds the sessions that run at a time.
const maxPillories = 10

func installPillory(a *Apps, config json.RawMessage) []invocation.Problem {
	c := struct {
		TimePerVote int64 `json:"timePerVote"`
	}{TimePerVote: 15 * 60}
	problems := readConfig(config, &c)
	within(&problems, "timePerVote", c.TimePerVote, 1, day)
	a.Pillory = &Pillory{TimePerVote: c.TimePerVote}
	return problems
}

func (s State) withPillory(change func(*Pillory)) State {
	p := *s.Apps.Pillory
	change(&p)
	s.Apps.Pillory = &p
	return s
}

// startPillory puts the wearer in the pillory: lock.pillory.
func startPillory(s State, a Act, now time.Time) (Change, *Refusal) {
	n, refusal := durationOf(a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	in, refusal := inputOf[struct {
		Reason string `json:"reason"`
	}](a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	running := s.Apps.Pillory.Sessions
	if len(running) >= maxPillories {
		return Change{}, &Refusal{Code: TooMany, Message: fmt.Sprintf("at most %d sessions run at a time", maxPillories)}
	}
	session := PillorySession{
		ID: s.derived("pillory "+strconv.Itoa(len(running)), now), Reason: in.Reason, CreatedAt: now, EndsAt: now.Add(seconds(n)),
	}
	s = s.withPillory(func(p *Pillory) { p.Sessions = append(slices.Clone(p.Sessions), session) })
	payload := encoded(struct {
		Duration int64   `json:"duration"`
		Reason   *string `json:"reason"`
	}{n, orNull(in.Reason)})
	c := a.does(s, "pillory_started", payload)
	c.Events = []invocation.Emission{emission("pillory.started", payload)}
	return c, nil
}

func pilloryPlays() map[string]play {
	return map[string]play{"pillory.vote": {visitors(), voteInPillory}}
}

// voteInPillory counts a vote in a session, or in the oldest where none is named.
func voteInPillory(s State, p Play, _ time.Time) (Change, *Refusal) {
	in, refusal := inputOf[struct {
		ID string `json:"id"`
	}](p.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	pil := s.Apps.Pillory
	i := slices.IndexFunc(pil.Sessions, func(x PillorySession) bool { return in.ID == "" || x.ID == in.ID })
	if i < 0 {
		return Change{}, notRunning("no such session runs")
	}
	sessions := slices.Clone(pil.Sessions)
	sessions[i].Votes++
	sessions[i].Added = min(MaxDuration, sessions[i].Added+pil.TimePerVote)
	s = s.withPillory(func(x *Pillory) { x.Sessions = sessions })
	return p.did(s, "pillory_voted", fmt.Sprintf(`{"duration":%d}`, pil.TimePerVote)), nil
}

// pilloryTimers end sessions, with the time that was voted.
func (s State) pilloryTimers() []timer {
	if s.Apps.Pillory == nil {
		return nil
	}
	var all []timer
	for i, session := range s.Apps.Pillory.Sessions {
		all = append(all, timer{pillory, session.EndsAt, func(s State, now time.Time) Change {
			s = s.withPillory(func(p *Pillory) { p.Sessions = slices.Delete(slices.Clone(p.Sessions), i, i+1) })
			s, moved := s.shift(session.Added, now)
			payload := fmt.Sprintf(`{"timeAdded":%d}`, moved)
			return byItself(s, "pillory_ended", payload, append([]invocation.Emission{emission("pillory.ended", payload)}, timeChanged(moved)...)...)
		}})
	}
	return all
}

func pilloryQueries() map[invocation.CapabilityID]query {
	return map[invocation.CapabilityID]query{"pillory.status": pilloryStatus}
}

func pilloryStatus(s State) json.RawMessage {
	type vote struct {
		ID       string  `json:"_id"`
		Votes    int64   `json:"nbVotes"`
		Added    int64   `json:"totalDurationAdded"`
		EndsAt   string  `json:"voteEndsAt"`
		Reason   *string `json:"reason"`
		CreateAt string  `json:"createdAt"`
	}
	votes := []vote{}
	for _, x := range s.Apps.Pillory.Sessions {
		votes = append(votes, vote{x.ID, x.Votes, x.Added, invocation.FormatTime(x.EndsAt), orNull(x.Reason), invocation.FormatTime(x.CreatedAt)})
	}
	return json.RawMessage(encoded(map[string]any{"votes": votes}))
}
