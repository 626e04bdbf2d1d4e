package webhookworker_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// A timed lock has every built-in extension on it that does something by itself.
type timed struct {
	t *testing.T
	p *platform.Platform
	l platformtest.Lock
}

// does runs a command, or performs an act, as the dispatcher and the edge do.
func (x timed) does(decide func(lock.State, time.Time) (lock.Change, *lock.Refusal)) {
	x.t.Helper()
	_, err := x.p.Ledger.Change(x.t.Context(), ledger.Change{Lock: x.l.ID, Decide: func(s ledger.Snapshot) (ledger.Transition, error) {
		c, refusal := decide(s.State, x.p.Ledger.Now())
		if refusal != nil {
			x.t.Fatalf("refused: %+v", refusal)
		}
		return ledger.Transition{State: c.State, Events: c.Events, History: c.History, At: x.p.Ledger.Now(), Source: invocation.Source{Extension: "lock"}}, nil
	}})
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x timed) run(id invocation.CapabilityID, input string) {
	x.t.Helper()
	x.does(func(s lock.State, now time.Time) (lock.Change, *lock.Refusal) {
		return lock.Apply(s, lock.Act{Command: id, Input: json.RawMessage(input), Caller: "caller", Actor: invocation.ActorExtension}, now)
	})
}

// happened returns the types of what happened by itself, in order.
func (x timed) happened() []string {
	x.t.Helper()
	var types []string
	for _, e := range platformtest.Events(x.t, x.p, x.l.ID) {
		if e.Source.Actor == invocation.ActorSystem {
			types = append(types, string(e.Type))
			if e.Chain.Correlation != e.ID || e.Chain.Depth != 0 || e.Source.Extension == "" {
				x.t.Errorf("got %+v, want the root of a chain, from an extension", e)
			}
		}
	}
	return types
}

// What happens on a lock by itself happens once, in time, with two workers at
// work, and also where there was none when its time came.
func TestTimersFireOnce(t *testing.T) { //nolint:paralleltest // in a bubble, alone
	synctest.Test(t, func(t *testing.T) {
		w := platformtest.New(t, platform.Config{}, nil)
		x := timed{t: t, p: w.Open(t)}
		x.l = platformtest.NewLock(t, x.p, "tasks", "penalty", "verification-picture", "temporary-opening", "pillory")
		work := func() func() error {
			part, err := webhookworker.New(w.Open(t), webhookworker.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return platformtest.Run(t, part)
		}
		pass := func(d time.Duration) { <-time.NewTimer(d).C }
		one, other := work(), work()
		x.run("lock.pillory", `{"duration":300}`)
		x.does(func(s lock.State, now time.Time) (lock.Change, *lock.Refusal) {
			return lock.Perform(s, lock.Play{Name: "pillory.vote", By: invocation.ActorSystem}, now)
		})
		x.run("tasks.assign", `{"task":{"task":"Sweep","points":1,"duration":60}}`)
		x.run("tasks.start-timer", `{}`)
		x.run("temporary-opening.open", `{}`)
		pass(59 * time.Second)
		if got := x.happened(); len(got) != 0 {
			t.Errorf("got %v before anything is due", got)
		}
		pass(2 * time.Second)
		if got, want := x.happened(), []string{"lock.capabilities-changed"}; !slices.Equal(got, want) {
			t.Errorf("got %v after a minute, want %v", got, want)
		}
		pass(5 * time.Minute)
		if got, want := x.happened(), []string{"lock.capabilities-changed", "pillory.ended", "lock.time-changed"}; !slices.Equal(got, want) {
			t.Errorf("got %v after six minutes, want %v", got, want)
		}
		for _, stop := range []func() error{one, other} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		pass(20 * time.Minute) // the opening is over while nobody is there
		if got := x.happened(); len(got) != 3 {
			t.Errorf("got %v without a worker", got)
		}
		work()
		pass(5 * time.Second)
		want := []string{"lock.capabilities-changed", "pillory.ended", "lock.time-changed", "temporary-opening.late", "lock.time-changed"}
		if got := x.happened(); !slices.Equal(got, want) {
			t.Errorf("got %v once there is one, want %v", got, want)
		}
		pass(10 * time.Minute)
		if got := x.happened(); !slices.Equal(got, want) {
			t.Errorf("got %v later, want nothing twice", got)
		}
	})
}
