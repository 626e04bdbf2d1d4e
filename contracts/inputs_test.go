package contracts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/contracts/contracttest"
)

// The figures are those of contract section 12.
func TestBuiltInInputsAreTakenAndRefused(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for name, c := range map[string]struct {
		schema, json, refused string
	}{
		"one second is the least to add":           {"lock.add-time input", `{"duration":1}`, ""},
		"a year is the most to add":                {"lock.add-time input", `{"duration":31536000}`, ""},
		"an integer may be written as a decimal":   {"lock.add-time input", `{"duration":3.6e3}`, ""},
		"nothing is no time":                       {"lock.add-time input", `{"duration":0}`, "/duration minimum"},
		"more than a year is too much":             {"lock.add-time input", `{"duration":31536001}`, "/duration maximum"},
		"half a second is no duration":             {"lock.add-time input", `{"duration":0.5}`, "/duration type"},
		"text is no duration":                      {"lock.remove-time input", `{"duration":"60"}`, "/duration type"},
		"a duration is required":                   {"lock.remove-time input", `{}`, "required duration"},
		"freezing takes nothing":                   {"lock.freeze input", `{}`, ""},
		"freezing takes no duration":               {"lock.freeze input", `{"duration":1}`, "additionalProperties duration"},
		"five minutes is the least in the pillory": {"lock.pillory input", `{"duration":300}`, ""},
		"a day is the most in the pillory":         {"lock.pillory input", `{"duration":86400,"reason":""}`, ""},
		"less is too short for the pillory":        {"lock.pillory input", `{"duration":299}`, "/duration minimum"},
		"more is too long for the pillory":         {"lock.pillory input", `{"duration":86401}`, "/duration maximum"},
		"a reason may have 500 characters":         {"lock.pillory input", `{"duration":300,"reason":"` + strings.Repeat("é", 500) + `"}`, ""},
		"a longer reason is refused":               {"lock.pillory input", `{"duration":300,"reason":"` + strings.Repeat("é", 501) + `"}`, "/reason maxLength"},
		"the timer is shown or hidden":             {"lock.set-display-remaining-time input", `{"displayRemainingTime":false}`, ""},
		"null is neither shown nor hidden":         {"lock.set-display-remaining-time input", `{"displayRemainingTime":null}`, "/displayRemainingTime type"},
		"the reference's task is taken":            {"tasks.assign input", `{"task":{"task":"Write 100 lines","points":5}}`, ""},
		"a task may be untimed":                    {"tasks.assign input", `{"task":{"task":"t","points":0,"verificationRequired":true,"duration":0}}`, ""},
		"a minute is the least for a task":         {"tasks.assign input", `{"task":{"task":"t","points":0,"duration":60}}`, ""},
		"less than a minute is refused":            {"tasks.assign input", `{"task":{"task":"t","points":0,"duration":59}}`, "/task/duration const /task/duration minimum"},
		"more than a day is refused":               {"tasks.assign input", `{"task":{"task":"t","points":0,"duration":86401}}`, "/task/duration const /task/duration maximum"},
		"points are not negative":                  {"tasks.assign input", `{"task":{"task":"t","points":-1}}`, "/task/points minimum"},
		"points are required":                      {"tasks.assign input", `{"task":{"task":"t"}}`, "/task required points"},
		"a task is done or not":                    {"tasks.complete input", `{"isCompleted":true}`, ""},
		"whether it is done must be said":          {"tasks.complete input", `{}`, "required isCompleted"},
		"a habit is counted once by default":       {"penalty.increment input", `{"habitName":"late_2-bed"}`, ""},
		"a habit is counted at least once":         {"penalty.increment input", `{"habitName":"late","count":0}`, "/count minimum"},
		"a habit has a lower-case name":            {"penalty.create-time-limit input", `{"habitName":"Late"}`, "/habitName pattern"},
		"a habit is named":                         {"penalty.cancel-time-limit input", `{"count":1}`, "required habitName"},
		"a picture is requested with nothing":      {"verification-picture.request input", `{}`, ""},
		"opening takes nothing":                    {"temporary-opening.open input", `{"openingTime":1}`, "additionalProperties openingTime"},
		"the pillory may be empty":                 {"pillory.status output", `{"votes":[]}`, ""},
		"the pillory's votes are not null":         {"pillory.status output", `{"votes":null}`, "/votes type"},
		"a command's result is empty":              {"lock.add-time output", `{}`, ""},
		"time can be taken away":                   {"lock.time-changed payload", `{"duration":-60}`, ""},
		"the end date is not told":                 {"lock.time-changed payload", `{"duration":60,"endDate":"2026-11-04T12:00:00.000Z"}`, "additionalProperties endDate"},
		"a wheel lands on a segment":               {"wheel-of-fortune.landed payload", `{"segment":{"type":"text","duration":null,"text":"Sing."}}`, ""},
		"a segment has all its members":            {"wheel-of-fortune.landed payload", `{"segment":{"type":"text"}}`, "/segment required duration,text"},
		"votes are counted":                        {"verification-picture.verdict payload", `{"status":"verified","peerVerificationId":null,"voteCounts":{"verified":3}}`, ""},
		"votes are not negative":                   {"verification-picture.verdict payload", `{"status":"verified","peerVerificationId":null,"voteCounts":{"verified":-3}}`, "/voteCounts/verified minimum"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, found := all[c.schema]
			if !found {
				t.Fatalf("no schema %s", c.schema)
			}
			if got := strings.Join(refusals(t, s, contracttest.Decode(t, []byte(c.json))), " "); got != c.refused {
				t.Errorf("got refused for %q, want %q", got, c.refused)
			}
		})
	}
}

func TestEveryBuiltInCapabilityHasItsSchemas(t *testing.T) {
	t.Parallel()
	var got []string
	for name := range schemas(t) {
		got = append(got, name[strings.LastIndexByte(name, ' ')+1:])
	}
	slices.Sort(got)
	count := map[string]int{}
	for _, kind := range got {
		count[kind]++
	}
	if count["input"] != 16 || count["output"] != 16 || count["payload"] != 20 {
		t.Errorf("got %v, want 15 commands and 1 query, and 20 event types", count)
	}
}
