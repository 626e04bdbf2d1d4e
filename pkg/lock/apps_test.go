package lock_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

// everything returns a lock with a keyholder and every built-in extension.
func everything(t *testing.T, config map[invocation.Slug]string) lock.State {
	t.Helper()
	spec := hourLeft()
	spec.Keyholder = &lock.Person{ID: "kh", Name: "Kim"}
	s := mustNew(t, spec)
	for _, slug := range lock.BuiltIns() {
		if slug == lock.Self {
			continue
		}
		c, err := lock.Install(s, slug, invocation.SessionID("ses_"+slug), noon())
		if err != nil {
			t.Fatal(err)
		}
		if s, err = lock.Configure(c.State, slug, json.RawMessage(config[slug])); err != nil {
			t.Fatalf("configure %s: %+v", slug, invocation.AsError(err).Problems)
		}
	}
	return s
}

// A story is what happens to a lock, one step after the other.
type story struct {
	t     *testing.T
	state lock.State
	now   time.Time
	moved int64 // the sum of all lock.time-changed, in seconds
	said  []string
}

func (x *story) take(c lock.Change) {
	x.t.Helper()
	x.state, x.said = c.State, nil
	if len(c.History) != 1 || len(c.Events) > invocation.MaxEvents {
		x.t.Errorf("got %d history lines and %d events, want one line", len(c.History), len(c.Events))
	}
	for _, e := range c.Events {
		x.said = append(x.said, string(e.Type)+" "+string(e.Payload))
		var time struct{ Duration int64 }
		if e.Type == "lock.time-changed" {
			if err := json.Unmarshal(e.Payload, &time); err != nil {
				x.t.Fatal(err)
			}
			x.moved += time.Duration
		}
	}
	x.said = append(x.said, "history "+c.History[0].Type)
}

// Running a command wants these events and the line of the history, or its
// refusal, which begins with an exclamation mark.
func (x *story) run(id invocation.CapabilityID, input string, want ...string) {
	x.t.Helper()
	c, refusal := lock.Apply(x.state, act(id, input), x.now)
	x.settle(string(id), c, refusal, want)
}

// play performs an act.
func (x *story) play(by invocation.Actor, name, input string, luck uint64, want ...string) {
	x.t.Helper()
	c, refusal := lock.Perform(x.state, lock.Play{Name: name, By: by, Input: json.RawMessage(input), Luck: luck}, x.now)
	x.settle(name, c, refusal, want)
}

func (x *story) settle(what string, c lock.Change, refusal *lock.Refusal, want []string) {
	x.t.Helper()
	x.said = nil
	if refusal != nil {
		x.said = []string{"! " + refusal.Code}
	} else {
		x.take(c)
	}
	x.expect(what, want)
}

// wait lets time pass and wants what then happens by itself.
func (x *story) wait(d time.Duration, want ...string) {
	x.t.Helper()
	end := x.now.Add(d)
	var all []string
	for {
		at, found := x.state.NextTimer()
		if !found || at.After(end) {
			break
		}
		if _, _, early := lock.Due(x.state, at.Add(-time.Millisecond)); early {
			x.t.Errorf("a timer fired early")
		}
		c, of, due := lock.Due(x.state, at)
		if !due || of == "" {
			x.t.Fatalf("nothing is due at %s", at)
		}
		x.take(c)
		all = append(all, x.said...)
	}
	x.now, x.said = end, all
	x.expect("waiting", want)
}

func (x *story) expect(what string, want []string) {
	x.t.Helper()
	if got := strings.Join(x.said, "\n"); got != strings.Join(want, "\n") {
		x.t.Errorf("%s: got\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
	}
}

func tell(t *testing.T, config map[invocation.Slug]string) *story {
	t.Helper()
	return &story{t: t, state: everything(t, config), now: noon()}
}

const (
	wearer    = invocation.ActorWearer
	keyholder = invocation.ActorKeyholder
	visitor   = invocation.ActorSystem
)

func TestTasks(t *testing.T) {
	t.Parallel()
	x := tell(t, map[invocation.Slug]string{"tasks": `{"tasks":[{"task":"Sweep","points":2},{"task":"Write","points":5,"duration":60}]}`})
	x.run("tasks.complete", `{"isCompleted":true}`, "! no-task-assigned")
	x.run("tasks.start-timer", `{}`, "! no-task-assigned")
	x.run("tasks.assign", `{"task":{"task":"Plain","points":3}}`,
		`tasks.assigned {"task":{"task":"Plain","points":3,"verificationRequired":false,"duration":0}}`, "history task_assigned")
	x.run("tasks.assign", `{"task":{"task":"Again","points":3}}`, "! task-already-assigned")
	x.run("tasks.start-timer", `{}`, "! task-not-timed")
	x.run("tasks.complete", `{"isCompleted":true}`, `tasks.completed {"task":"Plain","points":3}`, "history task_completed")
	x.run("tasks.assign", `{"task":{"task":"Timed","points":1,"duration":90.0}}`,
		`tasks.assigned {"task":{"task":"Timed","points":1,"verificationRequired":false,"duration":90}}`, "history task_assigned")
	x.run("tasks.complete", `{"isCompleted":true}`, "! timer-running")
	x.run("tasks.start-timer", `{}`, "history task_timer_started")
	x.run("tasks.start-timer", `{}`, "! timer-already-started")
	x.wait(89 * time.Second)
	x.run("tasks.complete", `{"isCompleted":false}`, "! timer-running")
	x.wait(time.Second, "lock.capabilities-changed {}", "history task_timer_ended")
	x.wait(time.Hour)
	x.run("tasks.complete", `{"isCompleted":false}`, `tasks.failed {"task":"Timed","points":1}`, "history task_failed")
	x.play(wearer, "tasks.start-vote", "", 0, "history task_vote_started")
	x.play(visitor, "tasks.vote", `{"task":"Nothing"}`, 0, "! not-running")
	x.play(visitor, "tasks.vote", `{"task":"Write"}`, 0, "history task_voted")
	x.play(keyholder, "tasks.end-vote", "", 0, `tasks.vote-ended {"task":"Write"}`,
		`tasks.assigned {"task":{"task":"Write","points":5,"verificationRequired":false,"duration":60}}`, "history task_vote_ended")
	x.play(wearer, "tasks.unassign", "", 0, "! not-yours")
	x.play(keyholder, "tasks.unassign", "", 0, `tasks.unassigned {"task":"Write"}`, "history task_unassigned")
	x.play(wearer, "tasks.start-vote", "", 0, "history task_vote_started")
	x.play(wearer, "tasks.cancel-vote", "", 0, "tasks.vote-cancelled {}", "history task_vote_cancelled")
	x.run("tasks.assign", `{"task":{"task":"Proof","points":4,"verificationRequired":true}}`,
		`tasks.assigned {"task":{"task":"Proof","points":4,"verificationRequired":true,"duration":0}}`, "history task_assigned")
	x.run("tasks.complete", `{"isCompleted":true}`, "! verification-required")
	x.run("verification-picture.request", `{}`, "verification-picture.requested {}", "history verification_requested")
	code := x.state.Apps.Verification.Request.Code
	x.play(wearer, "verification-picture.submit", "", 0,
		`verification-picture.submitted {"verificationCode":"`+code+`","peerVerificationId":null}`, "history verification_submitted")
	x.play(keyholder, "verification-picture.judge", `{"status":"verified"}`, 0,
		`verification-picture.verdict {"status":"verified","peerVerificationId":null,"voteCounts":{}}`,
		`tasks.completed {"task":"Proof","points":4}`, "history verification_judged")
	if got := x.state.Apps.Tasks.Points; got != 7 {
		t.Errorf("got %d points, want 3 and 4", got)
	}
}

func TestPenalties(t *testing.T) {
	t.Parallel()
	x := tell(t, map[invocation.Slug]string{"penalty": `{"habits":[{"name":"late","title":"Late","addTime":60,"timeLimit":300},{"name":"lie","title":"Lie","freeze":true}]}`})
	x.run("penalty.increment", `{"habitName":"none"}`, "! unknown-habit")
	x.run("penalty.increment", `{"habitName":"late","count":3}`, `lock.time-changed {"duration":180}`, "history habit_counted")
	x.run("penalty.increment", `{"habitName":"lie"}`, "history habit_counted")
	if !x.state.Frozen() || x.state.Apps.Penalty.Counts["late"] != 3 || x.state.Apps.Penalty.Counts["lie"] != 1 {
		t.Errorf("got %+v", x.state.Apps.Penalty)
	}
	x.run("penalty.cancel-time-limit", `{"habitName":"late"}`, "! no-active-time-limit")
	x.run("penalty.create-time-limit", `{"habitName":"lie"}`, "! no-time-limit")
	x.run("penalty.create-time-limit", `{"habitName":"late","count":51}`, "! too-many")
	x.run("penalty.create-time-limit", `{"habitName":"late","count":2}`, "history time_limit_created")
	x.run("penalty.cancel-time-limit", `{"habitName":"lie"}`, "! no-active-time-limit")
	x.run("penalty.cancel-time-limit", `{"habitName":"late"}`, "history time_limit_cancelled")
	x.wait(299 * time.Second)
	x.wait(time.Second, `lock.time-changed {"duration":60}`, "lock.capabilities-changed {}", "history time_limit_expired")
	x.wait(time.Hour)
}

func TestVerificationPictures(t *testing.T) {
	t.Parallel()
	x := tell(t, map[invocation.Slug]string{"verification-picture": `{"peerVerification":true,"votes":3,"timeout":600}`})
	x.play(wearer, "verification-picture.submit", "", 0, "! not-running")
	x.run("verification-picture.request", `{}`, "verification-picture.requested {}", "history verification_requested")
	x.run("verification-picture.request", `{}`, "! verification-already-requested")
	x.play(visitor, "verification-picture.vote", `{"status":"verified"}`, 0, "! not-running")
	x.play(wearer, "verification-picture.submit", "", 0, `verification-picture.submitted {"verificationCode":"`+x.state.Apps.Verification.Request.Code+
		`","peerVerificationId":"`+submittedPeer(t, x)+`"}`, "history verification_submitted")
	x.play(wearer, "verification-picture.submit", "", 0, "! already-done")
	peer := x.state.Apps.Verification.Request.PeerID
	x.play(visitor, "verification-picture.vote", `{"status":"maybe"}`, 0, "! invalid-input")
	x.play(visitor, "verification-picture.vote", `{"status":"verified"}`, 0, "history verification_voted")
	x.play(visitor, "verification-picture.vote", `{"status":"rejected"}`, 0, "history verification_voted")
	x.play(visitor, "verification-picture.vote", `{"status":"verified"}`, 0,
		`verification-picture.verdict {"status":"verified","peerVerificationId":"`+peer+`","voteCounts":{"rejected":1,"verified":2}}`, "history verification_judged")
	x.run("verification-picture.request", `{}`, "verification-picture.requested {}", "history verification_requested")
	x.wait(10*time.Minute, `verification-picture.verdict {"status":"rejected","peerVerificationId":null,"voteCounts":{}}`, "lock.capabilities-changed {}", "history verification_timed_out")
}

// submittedPeer returns the id that a picture gets when it is submitted now.
func submittedPeer(t *testing.T, x *story) string {
	t.Helper()
	c, refusal := lock.Perform(x.state, lock.Play{Name: "verification-picture.submit", By: wearer}, x.now)
	if refusal != nil {
		t.Fatal(refusal.Code)
	}
	return c.State.Apps.Verification.Request.PeerID
}

func TestTemporaryOpenings(t *testing.T) {
	t.Parallel()
	x := tell(t, map[invocation.Slug]string{"temporary-opening": `{"openingTime":600,"penaltyTime":1200,"every":3600}`})
	x.play(wearer, "temporary-opening.relock", "", 0, "! not-running")
	x.run("temporary-opening.open", `{}`, `temporary-opening.opened {"openingTime":600,"penaltyTime":1200}`, "history temporarily_opened")
	x.run("temporary-opening.open", `{}`, "! already-open")
	x.wait(5 * time.Minute)
	x.play(wearer, "temporary-opening.relock", "", 0, `temporary-opening.relocked {"unlockedTime":300,"penaltyTime":0}`, "history relocked")
	x.run("temporary-opening.open", `{}`, "! opening-not-ready")
	x.wait(55*time.Minute, "lock.capabilities-changed {}", "history opening_ready")
	x.run("temporary-opening.open", `{}`, `temporary-opening.opened {"openingTime":600,"penaltyTime":1200}`, "history temporarily_opened")
	x.wait(15*time.Minute, `temporary-opening.late {"unlockedTime":600,"penaltyTime":1200}`, `lock.time-changed {"duration":1200}`, "history relock_late")
	x.play(wearer, "temporary-opening.relock", "", 0, `temporary-opening.relocked {"unlockedTime":900,"penaltyTime":1200}`, "history relocked")
	only := tell(t, map[invocation.Slug]string{"temporary-opening": `{"keyholderOnly":true}`})
	only.run("temporary-opening.open", `{}`, "! keyholder-only")
	only.play(keyholder, "temporary-opening.open", "", 0, `temporary-opening.opened {"openingTime":900,"penaltyTime":43200}`, "history temporarily_opened")
}

func TestPillories(t *testing.T) {
	t.Parallel()
	x := tell(t, map[invocation.Slug]string{"pillory": `{"timePerVote":30}`})
	x.play(visitor, "pillory.vote", "", 0, "! not-running")
	x.run("lock.pillory", `{"duration":300,"reason":"Late"}`, `pillory.started {"duration":300,"reason":"Late"}`, "history pillory_started")
	x.run("lock.pillory", `{"duration":600}`, `pillory.started {"duration":600,"reason":null}`, "history pillory_started")
	x.play(visitor, "pillory.vote", "", 0, "history pillory_voted")
	x.play(visitor, "pillory.vote", `{"id":"`+x.state.Apps.Pillory.Sessions[1].ID+`"}`, 0, "history pillory_voted")
	x.play(visitor, "pillory.vote", "", 0, "history pillory_voted")
	status, refusal := lock.Ask(x.state, "pillory.status")
	if refusal != nil || !strings.Contains(string(status), `"nbVotes":2,"reason":"Late","totalDurationAdded":60`) && !strings.Contains(string(status), `"nbVotes":2,"totalDurationAdded":60`) {
		t.Errorf("got %s, %v", status, refusal)
	}
	x.wait(5*time.Minute, `pillory.ended {"timeAdded":60}`, `lock.time-changed {"duration":60}`, "history pillory_ended")
	x.wait(5*time.Minute, `pillory.ended {"timeAdded":30}`, `lock.time-changed {"duration":30}`, "history pillory_ended")
	if status, _ := lock.Ask(x.state, "pillory.status"); string(status) != `{"votes":[]}` {
		t.Errorf("got %s", status)
	}
}

func TestGames(t *testing.T) {
	t.Parallel()
	x := tell(t, map[invocation.Slug]string{
		"dice": `{"multiplier":60}`, "link": `{"timeToAdd":100,"timeToRemove":50,"maxVotes":2}`,
		"wheel-of-fortune": `{"segments":[{"type":"add-time","duration":10},{"type":"remove-time","duration":20},{"type":"text","text":"Hi"},{"type":"freeze"},{"type":"unfreeze"}]}`,
	})
	x.play(keyholder, "dice.roll", "", 0, "! not-yours")
	x.play(wearer, "dice.roll", "", 5+6*2, `dice.rolled {"playerDice":6,"adminDice":3,"duration":-180}`, `lock.time-changed {"duration":-180}`, "history dice_rolled")
	x.play(wearer, "dice.roll", "", 0+6*5, `dice.rolled {"playerDice":1,"adminDice":6,"duration":300}`, `lock.time-changed {"duration":300}`, "history dice_rolled")
	x.play(wearer, "dice.roll", "", 0, `dice.rolled {"playerDice":1,"adminDice":1,"duration":0}`, "history dice_rolled")
	x.play(visitor, "link.vote", `{"action":"add","voter":"a"}`, 0, `link.voted {"action":"add","duration":100}`, `link.time-changed {"duration":100}`, `lock.time-changed {"duration":100}`, "history link_voted")
	x.play(visitor, "link.vote", `{"action":"add","voter":"a"}`, 0, "! already-done")
	x.play(visitor, "link.vote", `{"action":"double","voter":"b"}`, 0, "! invalid-input")
	x.play(visitor, "link.vote", `{"action":"remove","voter":"b"}`, 0, `link.voted {"action":"remove","duration":-50}`, `link.time-changed {"duration":-50}`, `lock.time-changed {"duration":-50}`, "history link_voted")
	x.play(visitor, "link.vote", `{"action":"remove","voter":"c"}`, 0, "! not-running")
	x.play(wearer, "wheel-of-fortune.spin", "", 0, `wheel-of-fortune.landed {"segment":{"type":"add-time","duration":10,"text":null}}`, `lock.time-changed {"duration":10}`, "history wheel_landed")
	x.play(wearer, "wheel-of-fortune.spin", "", 1, `wheel-of-fortune.landed {"segment":{"type":"remove-time","duration":20,"text":null}}`, `lock.time-changed {"duration":-20}`, "history wheel_landed")
	x.play(wearer, "wheel-of-fortune.spin", "", 2, `wheel-of-fortune.landed {"segment":{"type":"text","duration":null,"text":"Hi"}}`, "history wheel_landed")
	x.play(wearer, "wheel-of-fortune.spin", "", 3, `wheel-of-fortune.landed {"segment":{"type":"freeze","duration":null,"text":null}}`, "history wheel_landed")
	if !x.state.Frozen() {
		t.Error("the wheel did not freeze the lock")
	}
	x.play(wearer, "wheel-of-fortune.spin", "", 4, `wheel-of-fortune.landed {"segment":{"type":"unfreeze","duration":null,"text":null}}`, "history wheel_landed")
	if end := noon().Add(time.Hour + time.Duration(x.moved)*time.Second); !x.state.EndDate.Equal(end) {
		t.Errorf("got the end %s, want %s: the start and all changes", x.state.EndDate, end)
	}
}

func TestLocksEndByPeople(t *testing.T) {
	t.Parallel()
	x := tell(t, nil)
	x.play(wearer, "lock.unlock", "", 0, "! not-yours")
	x.wait(time.Hour)
	x.play(wearer, "lock.unlock", "", 0, "lock.capabilities-changed {}", "history lock_unlocked")
	x.play(wearer, "dice.roll", "", 0, "! lock-not-active")
	x.run("tasks.assign", `{"task":{"task":"A","points":0}}`, "! lock-not-active")
	if _, found := x.state.NextTimer(); found {
		t.Error("something happens on a lock that has ended")
	}
	early := tell(t, nil)
	early.play(keyholder, "lock.unlock", "", 0, "lock.capabilities-changed {}", "history lock_unlocked")
	given := tell(t, nil)
	given.play(wearer, "lock.desert", "", 0, "lock.capabilities-changed {}", "history lock_deserted")
	alone := mustNew(t, hourLeft())
	if _, refusal := lock.Perform(alone, lock.Play{Name: "lock.unlock", By: keyholder}, noon()); refusal == nil || refusal.Code != "no-keyholder" {
		t.Errorf("got %+v, want no-keyholder", refusal)
	}
	if _, refusal := lock.Perform(alone, lock.Play{Name: "dice.roll", By: wearer}, noon()); refusal == nil || refusal.Code != lock.UnknownAct {
		t.Errorf("got %+v for what is not installed", refusal)
	}
}

// Configurations name everything that is wrong with them.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		slug   invocation.Slug
		config string
		want   []string
	}{
		"a multiplier of 0":        {"dice", `{"multiplier":0}`, []string{"/config/multiplier must be >= 1"}},
		"another member":           {"dice", `{"sides":20}`, []string{"/config must be an object with the members of this extension's configuration"}},
		"a text for a number":      {"dice", `{"multiplier":"1"}`, []string{"/config/multiplier must be another type of value"}},
		"a task without a name":    {"tasks", `{"tasks":[{"task":"","points":-1,"duration":59}]}`, []string{"/config/tasks/0/task must NOT have fewer than 1 characters", "/config/tasks/0/points must be >= 0", "/config/tasks/0/duration must be >= 60"}},
		"two habits of one name":   {"penalty", `{"habits":[{"name":"a","title":"A"},{"name":"a","title":"B"}]}`, []string{"/config/habits/1/name must NOT be the name of another habit"}},
		"a habit with a bad name":  {"penalty", `{"habits":[{"name":"A b","title":"A"}]}`, []string{`/config/habits/0/name must match pattern "^[a-z0-9_-]{1,20}$"`}},
		"a wheel without segments": {"wheel-of-fortune", `{"segments":[]}`, []string{"/config/segments must NOT have fewer than 1 items"}},
		"a segment without time":   {"wheel-of-fortune", `{"segments":[{"type":"add-time"},{"type":"text"},{"type":"win"}]}`, []string{"/config/segments/0 must have required property 'duration'", "/config/segments/1 must have required property 'text'", "/config/segments/2/type must be equal to one of the allowed values"}},
		"votes":                    {"verification-picture", `{"votes":0,"timeout":59}`, []string{"/config/votes must be >= 1", "/config/timeout must be >= 60"}},
		"an opening of a moment":   {"temporary-opening", `{"openingTime":1}`, []string{"/config/openingTime must be >= 60"}},
		"a vote of a moment":       {"pillory", `{"timePerVote":0}`, []string{"/config/timePerVote must be >= 1"}},
		"a vote that takes":        {"link", `{"timeToAdd":-1}`, []string{"/config/timeToAdd must be >= 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lock.Configure(everything(t, nil), tc.slug, json.RawMessage(tc.config))
			var got []string
			for _, p := range invocation.AsError(err).Problems {
				got = append(got, p.InstancePath+" "+p.Message)
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if _, err := lock.Configure(everything(t, nil), lock.Self, nil); invocation.CodeOf(err) != invocation.ExtensionNotFound {
		t.Errorf("got %v for the lock itself", err)
	}
}

// What was installed is forgotten when it is removed, with what it was about to
// do.
func TestRemovedExtensionsForget(t *testing.T) {
	t.Parallel()
	x := tell(t, nil)
	x.run("verification-picture.request", `{}`, "verification-picture.requested {}", "history verification_requested")
	for _, slug := range lock.BuiltIns() {
		if slug != lock.Self {
			c, err := lock.Remove(x.state, slug)
			if err != nil {
				t.Fatal(err)
			}
			x.state = c.State
		}
	}
	if _, found := x.state.NextTimer(); found || x.state.Apps != (lock.Apps{}) {
		t.Errorf("got %+v left", x.state.Apps)
	}
}

func TestOptionsOfBuiltIns(t *testing.T) {
	t.Parallel()
	s := everything(t, map[invocation.Slug]string{
		"penalty": `{"habits":[{"name":"late","title":"Being late"},{"name":"lie","title":"Lying"}]}`, "tasks": `{"tasks":[{"task":"Sweep","points":1}]}`,
	})
	for name, tc := range map[string]struct {
		id            invocation.CapabilityID
		field, search string
		want          string
	}{
		"habits":           {"penalty.increment", "/habitName", "", `"late" Being late|"lie" Lying`},
		"some habits":      {"penalty.cancel-time-limit", "/habitName", "LY", `"lie" Lying`},
		"tasks":            {"tasks.assign", "/task/task", "", `"Sweep" Sweep`},
		"another field":    {"tasks.assign", "/task/points", "", "none"},
		"another commands": {"lock.add-time", "/duration", "", "none"},
	} {
		options, found := lock.Options(s, tc.id, tc.field, tc.search)
		var got []string
		for _, o := range options.List {
			got = append(got, string(o.Value)+" "+o.Label)
		}
		if !found {
			got = []string{"none"}
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
