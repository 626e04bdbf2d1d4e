package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// Dice is the state of the extension.
type Dice struct {
	// Multiplier is how many seconds each point of difference is worth.
	Multiplier int64 `json:"multiplier"`
}

func installDice(a *Apps, config json.RawMessage) []invocation.Problem {
	c := Dice{Multiplier: 3600}
	problems := readConfig(config, &c)
	within(&problems, "multiplier", c.Multiplier, 1, 30*day)
	a.Dice = &c
	return problems
}

func dicePlays() map[string]play { return map[string]play{"dice.roll": {wearers(), roll}} }

// roll rolls a die for the wearer and one for the house: what the house has more
// adds time, what the wearer has more removes it.
func roll(s State, p Play, now time.Time) (Change, *Refusal) {
	player, house := int64(p.Luck%6)+1, int64(p.Luck/6%6)+1 //nolint:gosec // both are below 6
	s, moved := s.shift((house-player)*s.Apps.Dice.Multiplier, now)
	payload := fmt.Sprintf(`{"playerDice":%d,"adminDice":%d,"duration":%d}`, player, house, moved)
	return p.did(s, "dice_rolled", payload, append([]invocation.Emission{emission("dice.rolled", payload)}, timeChanged(moved)...)...), nil
}

// Link is the state of the shared link.
type Link struct {
	// TimeToAdd and TimeToRemove are what a vote moves, in seconds; 0 allows no
	// such vote.
	TimeToAdd    int64 `json:"timeToAdd"`
	TimeToRemove int64 `json:"timeToRemove"`
	// MaxVotes bounds all votes; 0 sets no bound.
	MaxVotes int64    `json:"maxVotes"`
	Votes    int64    `json:"votes"`
	Voters   []string `json:"voters"` // the newest, by a hash of their ids
}

// maxVoters is how many voters are remembered, so that nobody votes twice.
const maxVoters = 500

func installLink(a *Apps, config json.RawMessage) []invocation.Problem {
	c := struct {
		TimeToAdd    int64 `json:"timeToAdd"`
		TimeToRemove int64 `json:"timeToRemove"`
		MaxVotes     int64 `json:"maxVotes"`
	}{TimeToAdd: 3600, TimeToRemove: 3600}
	problems := readConfig(config, &c)
	within(&problems, "timeToAdd", c.TimeToAdd, 0, 30*day)
	within(&problems, "timeToRemove", c.TimeToRemove, 0, 30*day)
	within(&problems, "maxVotes", c.MaxVotes, 0, maxPoints)
	a.Link = &Link{TimeToAdd: c.TimeToAdd, TimeToRemove: c.TimeToRemove, MaxVotes: c.MaxVotes}
	return problems
}

func linkPlays() map[string]play { return map[string]play{"link.vote": {visitors(), voteByLink}} }

func voteByLink(s State, p Play, now time.Time) (Change, *Refusal) {
	in, refusal := inputOf[struct {
		Action string `json:"action"`
		Voter  string `json:"voter"`
	}](p.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	l := *s.Apps.Link
	n := map[string]int64{"add": l.TimeToAdd, "remove": -l.TimeToRemove}[in.Action]
	sum := sha256.Sum256([]byte(in.Voter))
	voter := hex.EncodeToString(sum[:4])
	switch {
	case n == 0:
		return Change{}, invalid("action", `one of those that the link allows, "add" or "remove"`)
	case in.Voter == "":
		return Change{}, invalid("voter", "the id of a visitor")
	case slices.Contains(l.Voters, voter):
		return Change{}, &Refusal{Code: AlreadyDone, Message: "this visitor has voted"}
	case l.MaxVotes > 0 && l.Votes >= l.MaxVotes:
		return Change{}, notRunning("there were as many votes as the link allows")
	}
	l.Votes++
	l.Voters = append(slices.Clone(l.Voters[max(0, len(l.Voters)-maxVoters+1):]), voter)
	s.Apps.Link = &l
	s, moved := s.shift(n, now)
	payload := fmt.Sprintf(`{"action":%q,"duration":%d}`, in.Action, moved)
	events := []invocation.Emission{emission("link.voted", payload)}
	if moved != 0 {
		events = append(append(events, emission("link.time-changed", fmt.Sprintf(`{"duration":%d}`, moved))), timeChanged(moved)...)
	}
	return p.did(s, "link_voted", payload, events...), nil
}

// Wheel is the state of the wheel of fortune.
type Wheel struct {
	Segments []Segment `json:"segments"`
}

// A Segment is where the wheel may stop.
type Segment struct {
	// Type is add-time, remove-time, freeze, unfreeze, toggle-freeze or text.
	Type     string  `json:"type"`
	Duration *int64  `json:"duration"` // seconds, of the first two
	Text     *string `json:"text"`     // of the last
}

func installWheel(a *Apps, config json.RawMessage) []invocation.Problem {
	hour := int64(3600)
	var w Wheel // decoding over default segments would mix them with those that were sent
	problems := readConfig(config, &w)
	if w.Segments == nil {
		w.Segments = []Segment{{Type: "add-time", Duration: &hour}, {Type: "remove-time", Duration: &hour}}
	}
	few(&problems, "segments", len(w.Segments))
	if len(w.Segments) == 0 {
		problems = append(problems, invocation.Problem{InstancePath: "/config/segments", Message: "must NOT have fewer than 1 items"})
	}
	for i, x := range w.Segments {
		at := "segments/" + strconv.Itoa(i)
		switch x.Type {
		case "add-time", "remove-time":
			if x.Duration == nil {
				problems = append(problems, invocation.Problem{InstancePath: "/config/" + at, Message: "must have required property 'duration'"})
				continue
			}
			within(&problems, at+"/duration", *x.Duration, 1, MaxDuration)
		case "text":
			if x.Text == nil {
				problems = append(problems, invocation.Problem{InstancePath: "/config/" + at, Message: "must have required property 'text'"})
				continue
			}
			texts(&problems, at+"/text", *x.Text, maxTask)
		case "freeze", "unfreeze", "toggle-freeze":
		default:
			problems = append(problems, invocation.Problem{InstancePath: "/config/" + at + "/type", Message: "must be equal to one of the allowed values"})
		}
	}
	a.Wheel = &w
	return problems
}

func wheelPlays() map[string]play {
	return map[string]play{"wheel-of-fortune.spin": {wearers(), spin}}
}

// spin stops the wheel at a segment, which does what it says as far as it can.
func spin(s State, p Play, now time.Time) (Change, *Refusal) {
	all := s.Apps.Wheel.Segments
	x := all[p.Luck%uint64(len(all))]
	payload := encoded(map[string]Segment{"segment": x})
	events := []invocation.Emission{emission("wheel-of-fortune.landed", payload)}
	switch {
	case x.Type == "add-time" || x.Type == "remove-time":
		n := *x.Duration
		if x.Type == "remove-time" {
			n = -n
		}
		var moved int64
		s, moved = s.shift(n, now)
		events = append(events, timeChanged(moved)...)
	case x.Type == "freeze" && !s.Frozen(), x.Type == "toggle-freeze" && !s.Frozen():
		s.FrozenAt = &now
	case x.Type == "unfreeze" && s.Frozen(), x.Type == "toggle-freeze" && s.Frozen():
		s, _ = s.thawed(now)
	}
	return p.did(s, "wheel_landed", payload, events...), nil
}
