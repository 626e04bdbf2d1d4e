package lock

import (
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Spec is what a new lock is made of.
type Spec struct {
	ID        invocation.LockID
	Wearer    Person
	Keyholder *Person // nil for none
	// StartDate is when the wearer locked up; zero means now.
	StartDate time.Time
	EndDate   time.Time
	MaxDate   *time.Time // nil for none
	// DisplayRemainingTime says whether the wearer sees the timer.
	DisplayRemainingTime bool
}

// New returns an active lock with no extension installed, and the history line
// of its making. It refuses with InvalidInput, naming every problem: the end
// must lie after now and within Horizon, the maximum date not before the end,
// the start not after now.
func New(spec Spec, now time.Time) (Change, error) {
	now = invocation.Instant(now)
	s := State{
		ID:                   spec.ID,
		Status:               Active,
		Wearer:               cleaned(spec.Wearer),
		StartDate:            invocation.Instant(spec.StartDate),
		EndDate:              invocation.Instant(spec.EndDate),
		MaxDate:              instant(spec.MaxDate),
		DisplayRemainingTime: spec.DisplayRemainingTime,
		Extensions:           []Installed{},
		CreatedAt:            now,
	}
	if spec.StartDate.IsZero() {
		s.StartDate = now
	}
	if spec.Keyholder != nil {
		s.Keyholder = new(cleaned(*spec.Keyholder))
	}
	if err := refuse(append(s.peopleProblems(), s.dateProblems(now)...)); err != nil {
		return Change{}, err
	}
	return Change{State: s, History: []invocation.HistoryLine{byPlatform("lock_created", "{}")}}, nil
}

func cleaned(p Person) Person { return Person{ID: p.ID, Name: cleanName(p.Name)} }

func instant(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(invocation.Instant(*t))
}

// refuse returns nil when there is no problem.
func refuse(problems []invocation.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	e := invocation.Refuse(invocation.InvalidInput)
	e.Problems = problems
	return e
}

func (s State) peopleProblems() []invocation.Problem {
	var found []invocation.Problem
	if !invocation.ValidID(string(s.ID)) {
		found = append(found, invocation.Problem{InstancePath: "/id", Message: `must match pattern "^[0-9a-f]{24}$"`})
	}
	found = append(found, personProblems("/wearer", s.Wearer)...)
	if s.Keyholder != nil {
		found = append(found, personProblems("/keyholder", *s.Keyholder)...)
	}
	return found
}

func personProblems(path string, p Person) []invocation.Problem {
	var found []invocation.Problem
	if !invocation.ValidSession(p.ID) {
		found = append(found, invocation.Problem{
			InstancePath: path + "/id", Message: `must match pattern "^[A-Za-z0-9_-]{1,64}$"`,
		})
	}
	if p.Name == "" {
		found = append(found, invocation.Problem{
			InstancePath: path + "/name", Message: "must NOT have fewer than 1 characters",
		})
	}
	return found
}

func (s State) dateProblems(now time.Time) []invocation.Problem {
	const years = int(Horizon / (365 * 24 * time.Hour))
	var (
		found  []invocation.Problem
		latest = now.Add(Horizon)
	)
	check := func(wrong bool, path, format string, args ...any) {
		if wrong {
			found = append(found, invocation.Problem{InstancePath: path, Message: fmt.Sprintf(format, args...)})
		}
	}
	check(s.StartDate.After(now), "/startDate", "must NOT be after now")
	check(s.StartDate.Before(now.Add(-Horizon)), "/startDate", "must be within %d years", years)
	check(!s.EndDate.After(now), "/endDate", "must be after now")
	check(s.EndDate.After(latest), "/endDate", "must be within %d years", years)
	if s.MaxDate != nil {
		check(s.MaxDate.Before(s.EndDate), "/maxDate", "must NOT be before endDate")
		check(s.MaxDate.After(latest), "/maxDate", "must be within %d years", years)
	}
	return found
}
