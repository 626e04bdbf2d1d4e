package lock_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
	"github.com/latchwire/latchwire/pkg/manifest"
)

// declared returns the events that the built-in manifests declare.
func declared(t *testing.T) map[invocation.CapabilityID]*manifest.EventType {
	t.Helper()
	events := make(map[invocation.CapabilityID]*manifest.EventType)
	for _, slug := range lock.BuiltIns() {
		raw, found := contracts.Manifest(string(slug))
		if !found {
			t.Fatalf("%s has no manifest", slug)
		}
		doc, err := manifest.Parse(slug, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := manifest.Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Events {
			events[e.ID], _ = compiled.Event(e.ID)
		}
	}
	return events
}

// things are what may happen to a lock: commands and acts with inputs, most of
// which some state refuses.
func things() map[string][]string {
	return map[string][]string{
		"lock.add-time": {`{"duration":60}`, `{"duration":31536000}`}, "lock.remove-time": {`{"duration":45}`, `{"duration":31536000}`},
		"lock.freeze": {`{}`}, "lock.unfreeze": {`{}`}, "lock.toggle-freeze": {`{}`},
		"lock.pillory":   {`{"duration":300}`, `{"duration":86400,"reason":"x"}`},
		"tasks.assign":   {`{"task":{"task":"A","points":1}}`, `{"task":{"task":"B","points":2,"duration":60}}`, `{"task":{"task":"C","points":3,"verificationRequired":true}}`},
		"tasks.complete": {`{"isCompleted":true}`, `{"isCompleted":false}`}, "tasks.start-timer": {`{}`},
		"penalty.increment":         {`{"habitName":"late"}`, `{"habitName":"lie","count":3}`, `{"habitName":"none"}`},
		"penalty.create-time-limit": {`{"habitName":"late","count":2}`, `{"habitName":"lie"}`}, "penalty.cancel-time-limit": {`{"habitName":"late"}`},
		"verification-picture.request": {`{}`}, "temporary-opening.open": {`{}`},
		"!tasks.unassign": {``}, "!tasks.start-vote": {``}, "!tasks.vote": {`{"task":"A"}`}, "!tasks.end-vote": {``}, "!tasks.cancel-vote": {``},
		"!verification-picture.submit": {``}, "!verification-picture.judge": {`{"status":"verified"}`, `{"status":"rejected"}`},
		"!temporary-opening.relock": {``}, "!pillory.vote": {``}, "!dice.roll": {``}, "!wheel-of-fortune.spin": {``},
		"!link.vote": {`{"action":"add","voter":"a"}`, `{"action":"remove","voter":"b"}`, `{"action":"add","voter":"c"}`},
	}
}

// written returns a state as it is stored.
func written(s lock.State) string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Whatever happens to a lock: its end is its first end and all that moved it,
// frozen or not; there is one task at most; each act and each timer has one line
// and only declared events; a timer that has fired is gone; and the state can be
// stored and read again.
func TestWhateverHappensTimeIsConserved(t *testing.T) {
	t.Parallel()
	events := declared(t)
	start := everything(t, map[invocation.Slug]string{
		"tasks":             `{"tasks":[{"task":"A","points":1},{"task":"B","points":2}]}`,
		"penalty":           `{"habits":[{"name":"late","title":"L","addTime":30,"timeLimit":120},{"name":"lie","title":"L","freeze":true}]}`,
		"wheel-of-fortune":  `{"segments":[{"type":"add-time","duration":10},{"type":"remove-time","duration":9999},{"type":"freeze"},{"type":"unfreeze"},{"type":"toggle-freeze"}]}`,
		"temporary-opening": `{"openingTime":60,"penaltyTime":120,"every":300}`, "verification-picture": `{"timeout":600}`,
	})
	var names []string
	all := things()
	for name := range all {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, now := start, noon()
		var moved time.Duration
		take := func(c lock.Change) {
			if len(c.History) != 1 || len(c.Events) > invocation.MaxEvents {
				t.Fatalf("got %d lines and %d events", len(c.History), len(c.Events))
			}
			for _, e := range c.Events {
				kind := events[e.Type]
				if kind == nil {
					t.Fatalf("%s is not declared", e.Type)
				}
				if problems := kind.Payload.Validate(e.Payload); len(problems) > 0 {
					t.Fatalf("%s %s: %+v", e.Type, e.Payload, problems)
				}
				if e.Type == "lock.time-changed" {
					var p struct{ Duration int64 }
					if err := json.Unmarshal(e.Payload, &p); err != nil || p.Duration == 0 {
						t.Fatalf("got %s, %v", e.Payload, err)
					}
					moved += time.Duration(p.Duration) * time.Second
				}
			}
			stored, err := json.Marshal(c.State)
			if err != nil || len(stored) > lock.MaxState {
				t.Fatalf("got %d bytes, %v", len(stored), err)
			}
			s = lock.State{}
			if err := json.Unmarshal(stored, &s); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 200_000).Draw(t, "ms")) * time.Millisecond)
			for n := 0; ; n++ {
				at, found := s.NextTimer()
				if !found || at.After(now) {
					break
				}
				c, _, due := lock.Due(s, now)
				if !due || n > 200 {
					t.Fatalf("a timer of %s does not go away", at)
				}
				take(c)
			}
			name := rapid.SampledFrom(names).Draw(t, "what")
			input := json.RawMessage(rapid.SampledFrom(all[name]).Draw(t, "input"))
			var c lock.Change
			var refusal *lock.Refusal
			before := written(s)
			if name[0] == '!' {
				by := rapid.SampledFrom([]invocation.Actor{wearer, keyholder, visitor}).Draw(t, "by")
				c, refusal = lock.Perform(s, lock.Play{Name: name[1:], By: by, Input: input, Luck: rapid.Uint64().Draw(t, "luck")}, now)
			} else {
				reason := lock.Available(s, invocation.CapabilityID(name), now)
				c, refusal = lock.Apply(s, act(invocation.CapabilityID(name), string(input)), now)
				if reason != "" && (refusal == nil || refusal.Code != string(reason)) {
					t.Fatalf("%s: got %+v where capabilities say %s", name, refusal, reason)
				}
			}
			if after := written(s); after != before {
				t.Fatalf("%s changed the state it was given", name)
			}
			if refusal == nil {
				take(c)
			}
			if end := start.EndDate.Add(moved + time.Duration(s.FrozenMS)*time.Millisecond); !s.EndDate.Equal(end) {
				t.Fatalf("%s: got the end %s, want %s", name, s.EndDate, end)
			}
		}
	})
}
