package lock_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

const lockID invocation.LockID = "016731b2c4e5f0a1b2c3d4e5"

// noon is when every lock of these tests is made.
func noon() time.Time { return time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC) }

// after returns noon plus d.
func after(d time.Duration) time.Time { return noon().Add(d) }

// hourLeft is the spec of a lock that ends an hour after noon.
func hourLeft() lock.Spec {
	return lock.Spec{
		ID: lockID, Wearer: lock.Person{ID: "w1", Name: "Wren"}, EndDate: after(time.Hour), DisplayRemainingTime: true,
	}
}

func mustNew(tb testing.TB, spec lock.Spec) lock.State {
	tb.Helper()
	c, err := lock.New(spec, noon())
	if err != nil {
		tb.Fatalf("New: %v, problems %v", err, invocation.AsError(err).Problems)
	}
	return c.State
}

func mustApply(tb testing.TB, s lock.State, a lock.Act, now time.Time) lock.Change {
	tb.Helper()
	c, refusal := lock.Apply(s, a, now)
	if refusal != nil {
		tb.Fatalf("Apply %s %s refused with %+v", a.Command, a.Input, *refusal)
	}
	return c
}

// act is a call of the command by the extension "wheel".
func act(id invocation.CapabilityID, input string) lock.Act {
	return lock.Act{Command: id, Input: json.RawMessage(input), Caller: "wheel", Actor: invocation.ActorExtension}
}

func frozen(tb testing.TB, s lock.State, at time.Time) lock.State {
	tb.Helper()
	return mustApply(tb, s, act("lock.freeze", "{}"), at).State
}

// text returns v's JSON, by which whole values are compared.
func text(tb testing.TB, v any) string {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatalf("marshal %T: %v", v, err)
	}
	return string(b)
}
