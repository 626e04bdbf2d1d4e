package lock_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

// A model is a lock as a kitchen timer would be: it knows how much is left and
// counts down unless it stands still. It shares no arithmetic with the state,
// which keeps dates.
type model struct {
	left    time.Duration // negative after the end
	frozen  bool
	visible bool
	maxDate *time.Time
	now     time.Time
}

func (m *model) tick(d time.Duration) {
	m.now = m.now.Add(d)
	if !m.frozen {
		m.left -= d
	}
}

// add returns whether that many seconds may be added, and adds them.
func (m *model) add(seconds int64) bool {
	d := time.Duration(seconds) * time.Second
	if m.maxDate != nil && m.now.Add(m.left+d).After(*m.maxDate) {
		return false
	}
	m.left += d
	return true
}

// remove takes up to that many whole seconds.
func (m *model) remove(seconds int64) {
	if m.left > 0 {
		m.left -= time.Duration(min(seconds, int64(m.left/time.Second))) * time.Second
	}
}

// A run holds a lock beside its model.
type run struct {
	model
	state    lock.State
	firstEnd time.Time
	events   time.Duration // the sum of all lock.time-changed
}

func newRun(t *rapid.T) *run {
	left := time.Duration(rapid.Int64Range(1, 7_200_000).Draw(t, "leftMs")) * time.Millisecond
	r := &run{model: model{left: left, visible: rapid.Bool().Draw(t, "visible"), now: noon()}}
	if rapid.Bool().Draw(t, "bounded") {
		spare := time.Duration(rapid.Int64Range(0, 7_200_000).Draw(t, "spareMs")) * time.Millisecond
		r.maxDate = new(noon().Add(left + spare))
	}
	c, err := lock.New(lock.Spec{
		ID: lockID, Wearer: lock.Person{ID: "w", Name: "W"}, EndDate: noon().Add(left), MaxDate: r.maxDate,
		DisplayRemainingTime: r.visible,
	}, noon())
	if err != nil {
		t.Fatal(err)
	}
	r.state, r.firstEnd = c.State, c.State.EndDate
	return r
}

// apply runs a command, which must be refused with the code or, where that is
// empty, leave one history line of the type.
func (r *run) apply(t *rapid.T, id invocation.CapabilityID, input, code, line string) {
	before, err := json.Marshal(r.state)
	if err != nil {
		t.Fatal(err)
	}
	c, refusal := lock.Apply(r.state, act(id, input), r.now)
	if untouched, err := json.Marshal(r.state); err != nil || string(untouched) != string(before) {
		t.Fatalf("%s turned the given state into %s, %v, want %s", id, untouched, err, before)
	}
	if refusal != nil || code != "" {
		if refusal == nil || refusal.Code != code {
			t.Fatalf("%s %s: got refusal %+v, want %q", id, input, refusal, code)
		}
		return
	}
	if len(c.History) != 1 || c.History[0].Type != line {
		t.Fatalf("%s: got history %+v, want one %s", id, c.History, line)
	}
	for _, e := range c.Events {
		var payload struct{ Duration int64 }
		if err := json.Unmarshal(e.Payload, &payload); err != nil || e.Type != "lock.time-changed" || payload.Duration == 0 {
			t.Fatalf("%s: got event %s %s, %v", id, e.Type, e.Payload, err)
		}
		r.events += time.Duration(payload.Duration) * time.Second
	}
	r.reload(t, c.State)
}

// reload takes the next state as the store would give it back.
func (r *run) reload(t *rapid.T, next lock.State) {
	stored, err := json.Marshal(next)
	if err != nil {
		t.Fatal(err)
	}
	r.state = lock.State{}
	if err := json.Unmarshal(stored, &r.state); err != nil {
		t.Fatal(err)
	}
}

// toggle returns what a freeze or unfreeze must come to, and does it.
func (r *run) toggle(to bool) (code, line string) {
	switch {
	case to && r.frozen:
		return string(lock.AlreadyFrozen), ""
	case !to && !r.frozen:
		return string(lock.NotFrozen), ""
	case to:
		r.frozen = true
		return "", "lock_frozen"
	}
	r.frozen = false
	return "", "lock_unfrozen"
}

func (r *run) actions() map[string]func(*rapid.T) {
	duration := rapid.OneOf(rapid.Int64Range(1, 30), rapid.Int64Range(1, 7200), rapid.Int64Range(1, lock.MaxDuration/100))
	return map[string]func(*rapid.T){
		"time passes": func(t *rapid.T) {
			r.tick(time.Duration(rapid.Int64Range(0, 1_800_000).Draw(t, "ms")) * time.Millisecond)
		},
		"add time": func(t *rapid.T) {
			n, code := duration.Draw(t, "seconds"), ""
			if !r.add(n) {
				code = lock.BeyondMaxDate
			}
			r.apply(t, "lock.add-time", fmt.Sprintf(`{"duration":%d}`, n), code, "time_changed")
		},
		"remove time": func(t *rapid.T) {
			n := duration.Draw(t, "seconds")
			r.remove(n)
			r.apply(t, "lock.remove-time", fmt.Sprintf(`{"duration":%d}`, n), "", "time_changed")
		},
		"freeze": func(t *rapid.T) {
			code, line := r.toggle(true)
			r.apply(t, "lock.freeze", "{}", code, line)
		},
		"unfreeze": func(t *rapid.T) {
			code, line := r.toggle(false)
			r.apply(t, "lock.unfreeze", "{}", code, line)
		},
		"toggle": func(t *rapid.T) {
			code, line := r.toggle(!r.frozen)
			r.apply(t, "lock.toggle-freeze", "{}", code, line)
		},
		"show or hide": func(t *rapid.T) {
			r.visible = rapid.Bool().Draw(t, "visible")
			r.apply(t, "lock.set-display-remaining-time", fmt.Sprintf(`{"displayRemainingTime":%t}`, r.visible), "",
				"timer_visibility_changed")
		},
		"": r.check,
	}
}

func (r *run) check(t *rapid.T) {
	if got, want := r.state.EndsAt(r.now), r.now.Add(r.left); !got.Equal(want) {
		t.Fatalf("got the end %v, want %v", got, want)
	}
	if got, want := r.state.Remaining(r.now), max(0, r.left); got != want {
		t.Fatalf("got %v left, want %v", got, want)
	}
	unfrozen := r.state.EndDate.Add(-time.Duration(r.state.FrozenMS) * time.Millisecond)
	if want := r.firstEnd.Add(r.events); !unfrozen.Equal(want) {
		t.Fatalf("got EndDate less the time frozen %v, want the first end plus all changes %v", unfrozen, want)
	}
	if r.state.Frozen() != r.frozen || r.state.DisplayRemainingTime != r.visible || r.state.Status != lock.Active {
		t.Fatalf("got frozen %t, visible %t, %s, want %t, %t, active",
			r.state.Frozen(), r.state.DisplayRemainingTime, r.state.Status, r.frozen, r.visible)
	}
	for id, blocked := range map[invocation.CapabilityID]bool{"lock.freeze": r.frozen, "lock.unfreeze": !r.frozen} {
		if got := lock.Available(r.state, id, r.now); (got != "") != blocked {
			t.Fatalf("got reason %q for %s, want blocked %t", got, id, blocked)
		}
	}
}

func TestALockKeepsTimeLikeATimer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(t)
		t.Repeat(r.actions())
	})
}
