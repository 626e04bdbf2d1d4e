package lock_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

// A wheel freezes a lock, adds time and asks for more than the lock allows.
func ExampleApply() {
	now := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	made, err := lock.New(lock.Spec{
		ID:      "016731b2c4e5f0a1b2c3d4e5",
		Wearer:  lock.Person{ID: "w1", Name: "Wren"},
		EndDate: now.Add(time.Hour),
		MaxDate: new(now.Add(3 * time.Hour)),
	}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	state := made.State
	for _, call := range []struct {
		command invocation.CapabilityID
		input   string
	}{
		{"lock.freeze", `{}`},
		{"lock.add-time", `{"duration":3.6e3}`},
		{"lock.unfreeze", `{}`},
		{"lock.add-time", `{"duration":7200}`},
	} {
		now = now.Add(10 * time.Minute)
		c, refusal := lock.Apply(state, lock.Act{
			Command: call.command, Input: json.RawMessage(call.input), Caller: "wheel", Actor: invocation.ActorExtension,
		}, now)
		if refusal != nil {
			fmt.Println(call.command, "rejected:", refusal.Code)
			continue
		}
		state = c.State
		fmt.Println(c.History[0].Type, string(c.History[0].Payload), "ends", state.EndsAt(now).Format("15:04"))
	}
	// Output:
	// lock_frozen {} ends 13:00
	// time_changed {"duration":3600} ends 14:10
	// lock_unfrozen {"frozenMs":1200000} ends 14:20
	// lock.add-time rejected: beyond-max-date
}
