package lock_test

import (
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

func TestAFrozenTimerStandsStill(t *testing.T) {
	t.Parallel()
	s := frozen(t, mustNew(t, hourLeft()), after(10*time.Minute))
	if got, want := s.Remaining(after(5*time.Hour)), 50*time.Minute; got != want {
		t.Errorf("got %v left while frozen, want %v", got, want)
	}
	if got, want := s.EndsAt(after(20*time.Minute)), after(70*time.Minute); !got.Equal(want) {
		t.Errorf("got end %v as of now while frozen, want %v", got, want)
	}
	s = mustApply(t, s, act("lock.unfreeze", "{}"), after(25*time.Minute)).State
	if got, want := s.EndDate, after(75*time.Minute); !got.Equal(want) {
		t.Errorf("got end %v after 15 minutes frozen, want %v", got, want)
	}
	if got, want := s.Remaining(after(25*time.Minute)), 50*time.Minute; got != want {
		t.Errorf("got %v left after unfreezing, want %v", got, want)
	}
	s = frozen(t, s, after(30*time.Minute))
	s = mustApply(t, s, act("lock.toggle-freeze", "{}"), after(30*time.Minute+1500*time.Millisecond)).State
	if got, want := s.FrozenMS, (15*time.Minute + 1500*time.Millisecond).Milliseconds(); got != want {
		t.Errorf("got %d ms frozen in all, want %d", got, want)
	}
}

func TestAnEndedTimerHasNothingLeft(t *testing.T) {
	t.Parallel()
	s := mustNew(t, hourLeft())
	if got := s.Remaining(after(2 * time.Hour)); got != 0 {
		t.Errorf("got %v left, want 0", got)
	}
	if s = frozen(t, s, after(2*time.Hour)); s.Remaining(after(3*time.Hour)) != 0 {
		t.Errorf("got %v left on a lock frozen after its end, want 0", s.Remaining(after(3*time.Hour)))
	}
}

func TestUnfreezingMayPassTheMaximumDate(t *testing.T) {
	t.Parallel()
	spec := hourLeft()
	spec.MaxDate = new(after(time.Hour))
	s := frozen(t, mustNew(t, spec), noon())
	s = mustApply(t, s, act("lock.unfreeze", "{}"), after(time.Minute)).State
	if got, want := s.EndDate, after(61*time.Minute); !got.Equal(want) {
		t.Errorf("got end %v, want %v", got, want)
	}
	_, refusal := lock.Apply(s, act("lock.add-time", `{"duration":1}`), after(time.Minute))
	if refusal == nil || refusal.Code != lock.BeyondMaxDate {
		t.Errorf("got refusal %+v, want %s", refusal, lock.BeyondMaxDate)
	}
}

func TestAFreezeThatSeemsToBeginLaterLosesNoTime(t *testing.T) {
	t.Parallel()
	s := frozen(t, mustNew(t, hourLeft()), after(time.Second))
	s = mustApply(t, s, act("lock.unfreeze", "{}"), noon()).State
	if got, want := s.EndDate, after(time.Hour); !got.Equal(want) {
		t.Errorf("got end %v, want %v", got, want)
	}
	if s.FrozenMS != 0 {
		t.Errorf("got %d ms frozen, want 0", s.FrozenMS)
	}
}

func TestFreezeAndVisibilityShowInTheHistoryOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		frozen  bool
		command invocation.CapabilityID
		input   string
		history string
		after   bool // frozen afterwards
		display bool
	}{
		"freezing":             {false, "lock.freeze", "{}", `"lock_frozen" {}`, true, true},
		"unfreezing":           {true, "lock.unfreeze", "{}", `"lock_unfrozen" {"frozenMs":60000}`, false, true},
		"toggling a running":   {false, "lock.toggle-freeze", "{}", `"lock_frozen" {}`, true, true},
		"toggling a frozen":    {true, "lock.toggle-freeze", "{}", `"lock_unfrozen" {"frozenMs":60000}`, false, true},
		"hiding the timer":     {false, "lock.set-display-remaining-time", `{"displayRemainingTime":false}`, `"timer_visibility_changed" {"displayRemainingTime":false}`, false, false},
		"showing a shown one":  {false, "lock.set-display-remaining-time", `{"displayRemainingTime":true}`, `"timer_visibility_changed" {"displayRemainingTime":true}`, false, true},
		"hiding while frozen":  {true, "lock.set-display-remaining-time", `{"displayRemainingTime":false}`, `"timer_visibility_changed" {"displayRemainingTime":false}`, true, false},
		"fields of other case": {false, "lock.set-display-remaining-time", `{"DISPLAYREMAININGTIME":true,"displayRemainingTime":false}`, `"timer_visibility_changed" {"displayRemainingTime":false}`, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustNew(t, hourLeft())
			if tt.frozen {
				s = frozen(t, s, noon())
			}
			before := text(t, s)
			a := act(tt.command, tt.input)
			a.Actor = invocation.ActorKeyholder
			c := mustApply(t, s, a, after(time.Minute))
			if got := text(t, s); got != before {
				t.Errorf("the given state became %s, want it untouched: %s", got, before)
			}
			if len(c.Events) != 0 {
				t.Errorf("got events %s, want none", text(t, c.Events))
			}
			if len(c.History) != 1 {
				t.Fatalf("got %d history lines, want 1", len(c.History))
			}
			line := c.History[0]
			if got := `"` + line.Type + `" ` + string(line.Payload); got != tt.history {
				t.Errorf("got history %s, want %s", got, tt.history)
			}
			if line.Extension != "wheel" || line.Actor != invocation.ActorKeyholder {
				t.Errorf("got history by %q as %q, want by wheel as keyholder", line.Extension, line.Actor)
			}
			if c.State.Frozen() != tt.after || c.State.DisplayRemainingTime != tt.display {
				t.Errorf("got frozen %t, display %t, want %t, %t",
					c.State.Frozen(), c.State.DisplayRemainingTime, tt.after, tt.display)
			}
			if got := string(c.Result); got != "{}" {
				t.Errorf("got result %s, want {}", got)
			}
		})
	}
}

func TestVisibilityTakesBooleansOnly(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`{"displayRemainingTime":1}`, `{"displayRemainingTime":"true"}`, `{}`, `[]`, ``} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			_, refusal := lock.Apply(mustNew(t, hourLeft()), act("lock.set-display-remaining-time", input), noon())
			if refusal == nil || refusal.Code != lock.InvalidInput {
				t.Errorf("got refusal %+v, want %s", refusal, lock.InvalidInput)
			}
		})
	}
}
