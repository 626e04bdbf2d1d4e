package lock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

func mustInstall(tb testing.TB, s lock.State, slug invocation.Slug, session invocation.SessionID) lock.State {
	tb.Helper()
	c, err := lock.Install(s, slug, session, noon())
	if err != nil {
		tb.Fatalf("install %s: %v", slug, err)
	}
	return c.State
}

func TestInstallAndRemove(t *testing.T) {
	t.Parallel()
	s := mustInstall(t, mustNew(t, hourLeft()), "wheel", "ses_w")
	before := text(t, s)
	c, err := lock.Install(s, "dice", "ses_d", after(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	wantRecomposed(t, c, "extension_installed")
	want := `[{"slug":"dice","sessionId":"ses_d","installedAt":"2026-11-04T12:01:00Z"},` +
		`{"slug":"wheel","sessionId":"ses_w","installedAt":"2026-11-04T12:00:00Z"}]`
	if got := text(t, c.State.Extensions); got != want {
		t.Errorf("got extensions %s, want %s in order", got, want)
	}
	if session, ok := c.State.SessionOf("dice"); session != "ses_d" || !ok || !c.State.Installed("dice") {
		t.Errorf("got session %q, %t of an installed extension, want ses_d", session, ok)
	}
	both := text(t, c.State)
	removed, err := lock.Remove(c.State, "dice")
	if err != nil {
		t.Fatal(err)
	}
	wantRecomposed(t, removed, "extension_removed")
	if got := text(t, removed.State); got != before {
		t.Errorf("got %s after removal, want %s", got, before)
	}
	if session, ok := removed.State.SessionOf("dice"); session != "" || ok || removed.State.Installed("dice") {
		t.Errorf("got session %q, %t of a removed extension, want none", session, ok)
	}
	if got := text(t, c.State); got != both {
		t.Errorf("removing changed the given state to %s, want %s", got, both)
	}
	if got := text(t, s); got != before {
		t.Errorf("installing changed the given state to %s, want %s", got, before)
	}
}

func wantRecomposed(t *testing.T, c lock.Change, line string) {
	t.Helper()
	if got, want := text(t, c.Events), `[{"Type":"lock.capabilities-changed","Payload":{}}]`; got != want {
		t.Errorf("got events %s, want %s", got, want)
	}
	want := `[{"Type":"` + line + `","Extension":"","Actor":"system","Payload":{"slug":"dice"}}]`
	if got := text(t, c.History); got != want {
		t.Errorf("got history %s, want %s", got, want)
	}
}

// TestInstallLeavesEveryGivenStateAlone goes through lists of all lengths,
// since a list with room left is the one that could be changed in place.
func TestInstallLeavesEveryGivenStateAlone(t *testing.T) {
	t.Parallel()
	s := mustNew(t, hourLeft())
	for i := range 9 {
		before := text(t, s)
		next := mustInstall(t, s, invocation.Slug(fmt.Sprintf("e%d", 9-i)), invocation.SessionID(fmt.Sprintf("s%d", i)))
		if got := text(t, s); got != before {
			t.Fatalf("installing changed the given state to %s, want %s", got, before)
		}
		s = next
	}
}

func TestTheLockItselfIsAlwaysThere(t *testing.T) {
	t.Parallel()
	s := mustNew(t, hourLeft())
	if !s.Installed("lock") {
		t.Error("got no lock capabilities on a lock, want them always")
	}
	if session, ok := s.SessionOf("lock"); session != "" || ok {
		t.Errorf("got session %q, %t, want none", session, ok)
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	base := mustInstall(t, mustNew(t, hourLeft()), "wheel", "ses_w")
	full := base
	for i := range lock.MaxExtensions - 1 {
		full = mustInstall(t, full, invocation.Slug(fmt.Sprintf("e%d", i)), invocation.SessionID(fmt.Sprintf("s%d", i)))
	}
	done := finished(t, base)
	tests := map[string]struct {
		state   lock.State
		slug    invocation.Slug
		session invocation.SessionID
		want    invocation.Code
	}{
		"an extension that is there":     {base, "wheel", "ses_x", invocation.ResourceConflict},
		"the lock itself":                {base, "lock", "ses_x", invocation.ResourceConflict},
		"a session that is taken":        {base, "dice", "ses_w", invocation.ResourceConflict},
		"one extension too many":         {full, "dice", "ses_x", invocation.ResourceConflict},
		"a malformed slug":               {base, "Dice", "ses_x", invocation.InvalidInput},
		"a malformed session":            {base, "dice", "ses x", invocation.InvalidInput},
		"anything on a finished lock":    {done, "dice", "ses_x", invocation.Unavailable},
		"malformed words come up before": {done, "Dice", "ses_x", invocation.InvalidInput},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := lock.Install(tt.state, tt.slug, tt.session, noon())
			if got := invocation.CodeOf(err); err == nil || got != tt.want {
				t.Errorf("got error %v with code %s, want %s", err, got, tt.want)
			}
			if c.History != nil {
				t.Errorf("got a change %s beside a refusal, want none", text(t, c))
			}
		})
	}
}

func finished(tb testing.TB, s lock.State) lock.State {
	tb.Helper()
	c, err := lock.Finish(s, after(time.Minute))
	if err != nil {
		tb.Fatal(err)
	}
	return c.State
}

func TestInstallNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := lock.Install(mustNew(t, hourLeft()), "", "", noon())
	want := []invocation.Problem{
		{InstancePath: "/slug", Message: `must match pattern "^[a-z0-9-]{1,40}$"`},
		{InstancePath: "/sessionId", Message: `must match pattern "^[A-Za-z0-9_-]{1,64}$"`},
	}
	if got := text(t, invocation.AsError(err).Problems); got != text(t, want) {
		t.Errorf("got problems %s, want %s", got, text(t, want))
	}
}

func TestRemoveRefuses(t *testing.T) {
	t.Parallel()
	base := mustInstall(t, mustNew(t, hourLeft()), "wheel", "ses_w")
	tests := map[string]struct {
		state lock.State
		slug  invocation.Slug
		want  invocation.Code
	}{
		"an extension that is not there": {base, "dice", invocation.ExtensionNotFound},
		"the lock itself":                {base, "lock", invocation.ResourceConflict},
		"anything on a finished lock":    {finished(t, base), "wheel", invocation.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lock.Remove(tt.state, tt.slug)
			if got := invocation.CodeOf(err); err == nil || got != tt.want {
				t.Errorf("got error %v with code %s, want %s", err, got, tt.want)
			}
		})
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	s := mustNew(t, hourLeft())
	c, err := lock.Finish(s, after(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if c.State.Status != lock.Finished || !c.State.FinishedAt.Equal(after(time.Minute)) || s.Status != lock.Active {
		t.Errorf("got status %q at %v from %q, want finished a minute past noon", c.State.Status, c.State.FinishedAt, s.Status)
	}
	if got, want := text(t, c.History), `[{"Type":"lock_finished","Extension":"","Actor":"system","Payload":{}}]`; got != want {
		t.Errorf("got history %s, want %s", got, want)
	}
	_, err = lock.Finish(c.State, after(time.Hour))
	if !errors.Is(err, invocation.Refuse(invocation.Unavailable)) {
		t.Fatalf("got error %v when finishing twice, want %s", err, invocation.Unavailable)
	}
	if got := invocation.AsError(err).Facts["reason"]; got != "lock-not-active" {
		t.Errorf("got reason %q, want lock-not-active", got)
	}
}

func TestTheLargestStateFits(t *testing.T) {
	t.Parallel()
	// A "<" takes six bytes in this JSON, more than any other code point.
	person := lock.Person{ID: strings.Repeat("p", 64), Name: strings.Repeat("<", lock.MaxName)}
	now := noon().Add(999 * time.Millisecond)
	s, err := lock.New(lock.Spec{
		ID: lockID, Wearer: person, Keyholder: &person,
		EndDate: now.Add(time.Hour), MaxDate: new(now.Add(time.Hour)),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	state := s.State
	for i := range lock.MaxExtensions {
		slug := fmt.Sprintf("%040d", i)
		c, err := lock.Install(state, invocation.Slug(slug), invocation.SessionID(fmt.Sprintf("%064d", i)), now)
		if err != nil {
			t.Fatal(err)
		}
		state = c.State
	}
	state = finished(t, frozen(t, state, now))
	if got := len(text(t, state)); got > lock.MaxState {
		t.Errorf("got %d bytes, want at most %d", got, lock.MaxState)
	}
}
