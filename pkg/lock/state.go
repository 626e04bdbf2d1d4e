package lock

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// The bounds that keep a stored state small and its times in range.
const (
	// MaxExtensions is how many extensions one lock may have installed.
	MaxExtensions = 50
	// MaxName is the length of a person's name in code points; longer names
	// are cut.
	MaxName = 100
	// MaxState is the size of a state's JSON in bytes (design section 3).
	MaxState = 32 << 10
	// Horizon is how far ahead an end may lie, whether or not the lock has a
	// maximum date: 100 years.
	Horizon = 100 * 365 * 24 * time.Hour
)

// Self is the slug of the lock's own capabilities, which every lock offers
// without an installation (contract section 4).
const Self invocation.Slug = "lock"

// A Status is where a lock is in its life.
type Status string

// The statuses. Active goes to Finished and never back.
const (
	Active   Status = "active"
	Finished Status = "finished"
)

// A Person is who wears or keeps a lock, as the platform knows them.
type Person struct {
	// ID has the form of a session id: 1 to 64 of A-Z, a-z, 0-9, "_", "-".
	ID string `json:"id"`
	// Name is printable text of 1 to MaxName code points.
	Name string `json:"name"`
}

// An Installed is one extension on the lock.
type Installed struct {
	Slug        invocation.Slug      `json:"slug"`
	Session     invocation.SessionID `json:"sessionId"`
	InstalledAt time.Time            `json:"installedAt"`
}

// A State is everything that is known of a lock. Its JSON is stored as part of
// the last message of the lock's log (design section 3); the functions of this
// package never change the State they are given, and share with it what stays
// the same.
type State struct {
	ID        invocation.LockID `json:"id"`
	Status    Status            `json:"status"`
	Wearer    Person            `json:"wearer"`
	Keyholder *Person           `json:"keyholder"` // nil for a lock without one
	StartDate time.Time         `json:"startDate"`
	// EndDate is where the timer ends if it is not frozen; see EndsAt.
	EndDate time.Time `json:"endDate"`
	// MaxDate is what no added time may pass; nil sets no bound but Horizon.
	// Time spent frozen may pass it.
	MaxDate *time.Time `json:"maxDate"`
	// FrozenAt is when the running freeze began; nil while the timer runs.
	FrozenAt *time.Time `json:"frozenAt"`
	// FrozenMS is the length of all ended freezes, in milliseconds.
	FrozenMS int64 `json:"frozenMs"`
	// DisplayRemainingTime says whether the wearer sees the timer.
	DisplayRemainingTime bool `json:"displayRemainingTime"`
	// Extensions are in the order of their slugs.
	Extensions []Installed `json:"extensions"`
	// Apps is what the installed built-in ones remember.
	Apps       Apps       `json:"apps,omitzero"`
	CreatedAt  time.Time  `json:"createdAt"`
	FinishedAt *time.Time `json:"finishedAt"` // nil while active
}

// Frozen reports whether the timer stands still.
func (s State) Frozen() bool { return s.FrozenAt != nil }

// EndsAt returns the lock's end as of now. While frozen it moves along with
// now, as if the freeze were lifted at this moment. It may lie in the past:
// a lock whose timer ran out stays active until it is finished.
func (s State) EndsAt(now time.Time) time.Time {
	return s.EndDate.Add(s.frozenFor(invocation.Instant(now)))
}

// Remaining returns the time left on the timer as of now, never negative.
// While frozen it is what was left when the freeze began.
func (s State) Remaining(now time.Time) time.Duration {
	from := invocation.Instant(now)
	if s.FrozenAt != nil {
		from = *s.FrozenAt
	}
	return max(0, s.EndDate.Sub(from))
}

// frozenFor returns the length of the running freeze, 0 without one. Clocks of
// two replicas may differ, so a freeze may seem to begin in the future.
func (s State) frozenFor(now time.Time) time.Duration {
	if s.FrozenAt == nil {
		return 0
	}
	return max(0, now.Sub(*s.FrozenAt))
}

// Installed reports whether the lock offers the extension's capabilities. The
// lock's own are always there.
func (s State) Installed(slug invocation.Slug) bool {
	_, found := s.find(slug)
	return found || slug == Self
}

// SessionOf returns the session of an installed extension, or false. The lock
// itself has none.
func (s State) SessionOf(slug invocation.Slug) (invocation.SessionID, bool) {
	i, found := s.find(slug)
	if !found {
		return "", false
	}
	return s.Extensions[i].Session, true
}

// find returns where the extension is, or where it belongs.
func (s State) find(slug invocation.Slug) (int, bool) {
	return slices.BinarySearchFunc(s.Extensions, slug, func(x Installed, slug invocation.Slug) int {
		return strings.Compare(string(x.Slug), string(slug))
	})
}

// cleanName returns printable text of at most MaxName code points: no control,
// bidirectional, invisible or tag characters, white space as single spaces.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > MaxName {
		name = strings.TrimSpace(string(runes[:MaxName]))
	}
	return name
}
