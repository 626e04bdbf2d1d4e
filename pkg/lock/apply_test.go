package lock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

func TestAvailability(t *testing.T) {
	t.Parallel()
	running := mustNew(t, hourLeft())
	cold := frozen(t, running, noon())
	done, err := lock.Finish(cold, noon())
	if err != nil {
		t.Fatal(err)
	}
	withPillory, err := lock.Install(running, "pillory", "ses_1", noon())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		state lock.State
		id    invocation.CapabilityID
		want  lock.Reason
	}{
		"time can be added":                            {running, "lock.add-time", ""},
		"time can be added while frozen":               {cold, "lock.add-time", ""},
		"time can be removed":                          {running, "lock.remove-time", ""},
		"a running lock can be frozen":                 {running, "lock.freeze", ""},
		"a frozen lock can't be frozen":                {cold, "lock.freeze", lock.AlreadyFrozen},
		"a running lock can't be unfrozen":             {running, "lock.unfreeze", lock.NotFrozen},
		"a frozen lock can be unfrozen":                {cold, "lock.unfreeze", ""},
		"a running lock can be toggled":                {running, "lock.toggle-freeze", ""},
		"a frozen lock can be toggled":                 {cold, "lock.toggle-freeze", ""},
		"the timer can be hidden":                      {running, "lock.set-display-remaining-time", ""},
		"the pillory needs its extension":              {running, "lock.pillory", lock.PilloryNotEnabled},
		"the pillory is there":                         {withPillory.State, "lock.pillory", ""},
		"a partner's command is no matter of the lock": {running, "probe.echo", ""},
		"nothing runs on a finished lock":              {done.State, "lock.add-time", lock.LockNotActive},
		"not active goes before any other reason":      {done.State, "lock.freeze", lock.LockNotActive},
		"no partner runs on a finished lock":           {done.State, "probe.echo", lock.LockNotActive},
		"nothing runs on no lock":                      {lock.State{}, "lock.add-time", lock.LockNotActive},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lock.Available(tt.state, tt.id, noon()); got != tt.want {
				t.Errorf("got reason %q, want %q", got, tt.want)
			}
			c, refusal := lock.Apply(tt.state, act(tt.id, `{"duration":60,"displayRemainingTime":false}`), noon())
			if tt.want != "" {
				if refusal == nil || refusal.Code != string(tt.want) || refusal.Message != tt.want.Sentence() {
					t.Errorf("got refusal %+v, want %q", refusal, tt.want)
				}
				if got := text(t, c); got != text(t, lock.Change{}) {
					t.Errorf("got change %s beside a refusal, want none", got)
				}
			}
		})
	}
}

func TestEveryCommandOfTheLockHasBehaviour(t *testing.T) {
	t.Parallel()
	want := []invocation.CapabilityID{
		"lock.add-time", "lock.freeze", "lock.pillory", "lock.remove-time", "lock.set-display-remaining-time",
		"lock.toggle-freeze", "lock.unfreeze",
	}
	if got := lock.Commands(lock.Self); !slices.Equal(got, want) {
		t.Fatalf("got commands %q, want %q", got, want)
	}
	running := mustNew(t, hourLeft())
	cold := frozen(t, running, noon())
	for _, id := range want {
		s := running
		if lock.Available(s, id, noon()) != "" {
			s = cold
		}
		_, refusal := lock.Apply(s, act(id, `{"duration":60,"displayRemainingTime":false}`), noon())
		if id == "lock.pillory" {
			if refusal == nil || refusal.Code != string(lock.PilloryNotEnabled) {
				t.Errorf("%s: got refusal %+v, want %s", id, refusal, lock.PilloryNotEnabled)
			}
			continue
		}
		if refusal != nil {
			t.Errorf("%s: got refusal %+v, want none", id, *refusal)
		}
	}
}

func TestCommandsWithoutBehaviourAreRefused(t *testing.T) {
	t.Parallel()
	s := mustNew(t, hourLeft())
	for _, id := range []invocation.CapabilityID{"lock.nope", "tasks.assign", "probe.echo", "lock", ""} {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			_, refusal := lock.Apply(s, act(id, "{}"), noon())
			if refusal == nil || refusal.Code != lock.UnknownCapability {
				t.Errorf("got refusal %+v, want %s", refusal, lock.UnknownCapability)
			}
		})
	}
}

func TestARefusalRejectsItsInvocation(t *testing.T) {
	t.Parallel()
	_, refusal := lock.Apply(mustNew(t, hourLeft()), act("lock.unfreeze", "{}"), noon())
	o := refusal.Outcome()
	if o.Status != invocation.Rejected || o.Failure.Code != "not-frozen" || o.Failure.Message != "the lock is not frozen" {
		t.Errorf("got outcome %+v with %+v, want rejected, not-frozen", o, *o.Failure)
	}
}

func TestBuiltInsWithBehaviour(t *testing.T) {
	t.Parallel()
	for slug, want := range map[invocation.Slug]bool{
		"lock": true, "tasks": true, "penalty": true, "verification-picture": true, "temporary-opening": true,
		"pillory": true, "dice": true, "link": true, "wheel-of-fortune": true, "probe": false, "": false,
	} {
		if got := lock.Implemented(slug); got != want {
			t.Errorf("got Implemented(%q) %t, want %t", slug, got, want)
		}
		if got := slices.Contains(lock.BuiltIns(), slug); got != want {
			t.Errorf("got %q among the built-ins %t, want %t", slug, got, want)
		}
	}
	if got := lock.Commands("probe"); len(got) != 0 {
		t.Errorf("got commands %q of a partner, want none", got)
	}
}

// TestReasons holds the set against the list of contract section 4.
func TestReasons(t *testing.T) {
	t.Parallel()
	want := []lock.Reason{
		"lock-not-active", "not-invocable", "extension-disabled", "endpoint-not-configured", "no-keyholder",
		"already-frozen", "not-frozen", "pillory-not-enabled", "no-task-assigned", "task-already-assigned",
		"task-not-timed", "timer-already-started", "timer-running", "verification-required",
		"verification-already-requested", "already-open", "keyholder-only", "opening-not-ready", "no-active-time-limit",
	}
	if got := lock.Reasons(); !slices.Equal(got, want) {
		t.Errorf("got reasons %q, want %q", got, want)
	}
	seen := map[string]bool{}
	for _, r := range append(want, "") {
		s := r.Sentence()
		if s == string(r) != (r == "") || seen[s] || len(s) > invocation.MaxFailureText {
			t.Errorf("got sentence %q for %q, want one of its own", s, r)
		}
		seen[s] = true
	}
}

func TestTimesAreWholeMilliseconds(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 3600)
	now := noon().Add(1234567 * time.Nanosecond).In(zone)
	spec := hourLeft()
	spec.MaxDate = new(after(3*time.Hour + 7).In(zone))
	spec.EndDate = after(2*time.Hour + 7).In(zone)
	c, err := lock.New(spec, now)
	if err != nil {
		t.Fatal(err)
	}
	s := frozen(t, c.State, now)
	installed, err := lock.Install(s, "dice", "ses_d", now)
	if err != nil {
		t.Fatal(err)
	}
	done, err := lock.Finish(s, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]time.Time{
		"startDate": s.StartDate, "endDate": s.EndDate, "maxDate": *s.MaxDate, "frozenAt": *s.FrozenAt, "createdAt": s.CreatedAt,
		"installedAt": installed.State.Extensions[0].InstalledAt, "finishedAt": *done.State.FinishedAt,
	} {
		if got != invocation.Instant(got) {
			t.Errorf("got %s %v, want UTC in whole milliseconds", name, got)
		}
	}
	if got, want := s.Remaining(now), 2*time.Hour-time.Millisecond; got != want {
		t.Errorf("got %v left, want %v", got, want)
	}
}
