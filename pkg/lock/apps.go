package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// The slugs of the built-in extensions.
const (
	dice         invocation.Slug = "dice"
	link         invocation.Slug = "link"
	penalty      invocation.Slug = "penalty"
	pillory      invocation.Slug = "pillory"
	tasks        invocation.Slug = "tasks"
	opening      invocation.Slug = "temporary-opening"
	verification invocation.Slug = "verification-picture"
	wheel        invocation.Slug = "wheel-of-fortune"
)

// Apps is what the installed built-in extensions remember of a lock, with how
// each was configured; nil for one that is not installed.
type Apps struct {
	Dice         *Dice         `json:"dice,omitempty"`
	Link         *Link         `json:"link,omitempty"`
	Penalty      *Penalty      `json:"penalty,omitempty"`
	Pillory      *Pillory      `json:"pillory,omitempty"`
	Tasks        *Tasks        `json:"tasks,omitempty"`
	Opening      *Opening      `json:"temporaryOpening,omitempty"`
	Verification *Verification `json:"verificationPicture,omitempty"`
	Wheel        *Wheel        `json:"wheelOfFortune,omitempty"`
}

// A built is a built-in extension: what it does, and how it is put on a lock.
type built struct {
	commands map[invocation.CapabilityID]command
	queries  map[invocation.CapabilityID]query
	plays    map[string]play
	// install puts the extension on a lock, configured; nil for the lock itself.
	install func(a *Apps, config json.RawMessage) []invocation.Problem
	// remove takes it off again.
	remove func(a *Apps)
}

// builtOf returns a built-in extension, or false.
func builtOf(slug invocation.Slug) (built, bool) {
	switch slug {
	case Self:
		return built{commands: lockCommands(), plays: lockPlays()}, true
	case dice:
		return built{plays: dicePlays(), install: installDice, remove: func(a *Apps) { a.Dice = nil }}, true
	case link:
		return built{plays: linkPlays(), install: installLink, remove: func(a *Apps) { a.Link = nil }}, true
	case penalty:
		return built{commands: penaltyCommands(), install: installPenalty, remove: func(a *Apps) { a.Penalty = nil }}, true
	case pillory:
		return built{queries: pilloryQueries(), plays: pilloryPlays(), install: installPillory, remove: func(a *Apps) { a.Pillory = nil }}, true
	case tasks:
		return built{commands: taskCommands(), plays: taskPlays(), install: installTasks, remove: func(a *Apps) { a.Tasks = nil }}, true
	case opening:
		return built{commands: openingCommands(), plays: openingPlays(), install: installOpening, remove: func(a *Apps) { a.Opening = nil }}, true
	case verification:
		return built{
			commands: verificationCommands(), plays: verificationPlays(), install: installVerification,
			remove: func(a *Apps) { a.Verification = nil },
		}, true
	case wheel:
		return built{plays: wheelPlays(), install: installWheel, remove: func(a *Apps) { a.Wheel = nil }}, true
	}
	return built{}, false
}

// BuiltIns lists the built-in extensions, in the order of their slugs.
func BuiltIns() []invocation.Slug {
	return []invocation.Slug{dice, link, Self, penalty, pillory, tasks, opening, verification, wheel}
}

// Configure replaces how an installed built-in extension is configured, and
// forgets what it remembers. An empty config is the default one. It refuses with
// InvalidInput, naming every problem, and with ExtensionNotFound for what is not
// installed or is a partner's.
func Configure(s State, slug invocation.Slug, config json.RawMessage) (State, error) {
	b, known := builtOf(slug)
	if !known || b.install == nil || !s.Installed(slug) {
		return s, invocation.Refuse(invocation.ExtensionNotFound)
	}
	if err := refuse(b.install(&s.Apps, config)); err != nil {
		return s, err
	}
	return s, s.mustFit()
}

// mustFit refuses a state that is too large to be stored (design section 3).
func (s State) mustFit() error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode a lock: %w", err)
	}
	if len(b) > MaxState {
		return invocation.Refusef(invocation.InvalidInput, "the lock's state would be larger than %d bytes", MaxState)
	}
	return nil
}

// readConfig reads a configuration over its defaults.
func readConfig(config json.RawMessage, into any) []invocation.Problem {
	if len(config) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(config))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return []invocation.Problem{{InstancePath: "/config/" + wrong.Field, Message: "must be another type of value"}}
		}
		return []invocation.Problem{{InstancePath: "/config", Message: "must be an object with the members of this extension's configuration"}}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return []invocation.Problem{{InstancePath: "/config", Message: "must be one object"}}
	}
	return nil
}

// within reports a number outside its bounds.
func within(problems *[]invocation.Problem, path string, n, least, most int64) {
	switch {
	case n < least:
		*problems = append(*problems, invocation.Problem{InstancePath: "/config/" + path, Message: fmt.Sprintf("must be >= %d", least)})
	case n > most:
		*problems = append(*problems, invocation.Problem{InstancePath: "/config/" + path, Message: fmt.Sprintf("must be <= %d", most)})
	}
}

// texts reports a text that is empty or too long.
func texts(problems *[]invocation.Problem, path, text string, most int) {
	switch n := len([]rune(text)); {
	case n == 0:
		*problems = append(*problems, invocation.Problem{InstancePath: "/config/" + path, Message: "must NOT have fewer than 1 characters"})
	case n > most:
		*problems = append(*problems, invocation.Problem{InstancePath: "/config/" + path, Message: fmt.Sprintf("must NOT have more than %d characters", most)})
	}
}

// maxConfigured bounds every list of a configuration.
const maxConfigured = 50

func few(problems *[]invocation.Problem, path string, n int) {
	if n > maxConfigured {
		*problems = append(*problems, invocation.Problem{InstancePath: "/config/" + path, Message: fmt.Sprintf("must NOT have more than %d items", maxConfigured)})
	}
}

const day = int64(24 * time.Hour / time.Second)
