package lock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// A TaskSpec is a task that can be assigned.
type TaskSpec struct {
	Task                 string `json:"task"`
	Points               int64  `json:"points"`
	VerificationRequired bool   `json:"verificationRequired"`
	Duration             int64  `json:"duration"` // seconds; 0 is untimed
}

// A Task is the assigned one.
type Task struct {
	TaskSpec
	AssignedAt time.Time  `json:"assignedAt"`
	EndsAt     *time.Time `json:"endsAt"` // of its timer; nil before it starts
	TimerOver  bool       `json:"timerOver"`
}

// A TaskVote decides which of the configured tasks comes next.
type TaskVote struct {
	Votes []int64 `json:"votes"` // by configured task
}

// Tasks is the state of the extension.
type Tasks struct {
	Configured []TaskSpec `json:"tasks"`
	Points     int64      `json:"points"` // earned so far
	Assigned   *Task      `json:"assigned"`
	Vote       *TaskVote  `json:"vote"`
}

const (
	maxTask   = 1000
	maxPoints = 1<<53 - 1
)

func installTasks(a *Apps, config json.RawMessage) []invocation.Problem {
	t := struct {
		Tasks []TaskSpec `json:"tasks"`
	}{}
	problems := readConfig(config, &t)
	few(&problems, "tasks", len(t.Tasks))
	for i, spec := range t.Tasks {
		at := "tasks/" + strconv.Itoa(i)
		texts(&problems, at+"/task", spec.Task, maxTask)
		within(&problems, at+"/points", spec.Points, 0, maxPoints)
		if spec.Duration != 0 {
			within(&problems, at+"/duration", spec.Duration, 60, day)
		}
	}
	a.Tasks = &Tasks{Configured: t.Tasks}
	return problems
}

func taskCommands() map[invocation.CapabilityID]command {
	return map[invocation.CapabilityID]command{
		"tasks.assign":      {run: assign, blocked: whenAssigned},
		"tasks.start-timer": {run: startTimer, blocked: whenTimerCannotStart},
		"tasks.complete":    {run: complete, blocked: whenNotCompletable},
	}
}

func whenAssigned(s State, _ time.Time) Reason {
	if s.Apps.Tasks.Assigned != nil {
		return TaskAlreadyAssigned
	}
	return ""
}

func whenTimerCannotStart(s State, _ time.Time) Reason {
	switch t := s.Apps.Tasks.Assigned; {
	case t == nil:
		return NoTaskAssigned
	case t.Duration == 0:
		return TaskNotTimed
	case t.EndsAt != nil:
		return TimerAlreadyStarted
	}
	return ""
}

func whenNotCompletable(s State, now time.Time) Reason {
	switch t := s.Apps.Tasks.Assigned; {
	case t == nil:
		return NoTaskAssigned
	case t.VerificationRequired:
		return VerificationRequired
	case t.Duration > 0 && (t.EndsAt == nil || now.Before(*t.EndsAt)):
		return TimerRunning
	}
	return ""
}

// withTasks returns the lock with another state of the extension.
func (s State) withTasks(change func(*Tasks)) State {
	t := *s.Apps.Tasks
	change(&t)
	s.Apps.Tasks = &t
	return s
}

func (s State) assigned(spec TaskSpec, now time.Time) State {
	return s.withTasks(func(t *Tasks) { t.Assigned, t.Vote = &Task{TaskSpec: spec, AssignedAt: now}, nil })
}

func taskAssigned(spec TaskSpec) invocation.Emission {
	return emission("tasks.assigned", encoded(struct {
		Task TaskSpec `json:"task"`
	}{spec}))
}

func assign(s State, a Act, now time.Time) (Change, *Refusal) {
	in, refusal := inputOf[struct {
		Task struct {
			Task                 string      `json:"task"`
			Points               json.Number `json:"points"`
			VerificationRequired bool        `json:"verificationRequired"`
			Duration             json.Number `json:"duration"`
		} `json:"task"`
	}](a.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	spec := TaskSpec{Task: in.Task.Task, VerificationRequired: in.Task.VerificationRequired}
	spec.Points, _ = parseInteger(string(in.Task.Points), maxPoints) // 0 is none
	spec.Duration, _ = parseInteger(string(in.Task.Duration), day)
	c := a.does(s.assigned(spec, now), "task_assigned", encoded(spec))
	c.Events = []invocation.Emission{taskAssigned(spec)}
	return c, nil
}

func startTimer(s State, a Act, now time.Time) (Change, *Refusal) {
	ends := now.Add(seconds(s.Apps.Tasks.Assigned.Duration))
	s = s.withTasks(func(t *Tasks) {
		started := *t.Assigned
		started.EndsAt = &ends
		t.Assigned = &started
	})
	return a.does(s, "task_timer_started", fmt.Sprintf(`{"endsAt":%q}`, invocation.FormatTime(ends))), nil
}

func complete(s State, a Act, _ time.Time) (Change, *Refusal) {
	done, refusal := boolField(a.Input, "isCompleted")
	if refusal != nil {
		return Change{}, refusal
	}
	s, event := s.taskDone(done)
	c := a.does(s, map[bool]string{true: "task_completed", false: "task_failed"}[done], string(event.Payload))
	c.Events = []invocation.Emission{event}
	return c, nil
}

// taskDone ends the assigned task.
func (s State) taskDone(done bool) (State, invocation.Emission) {
	t := s.Apps.Tasks.Assigned
	kind := map[bool]invocation.CapabilityID{true: "tasks.completed", false: "tasks.failed"}[done]
	event := emission(kind, encoded(struct {
		Task   string `json:"task"`
		Points int64  `json:"points"`
	}{t.Task, t.Points}))
	return s.withTasks(func(x *Tasks) {
		if done {
			x.Points = min(maxPoints, x.Points+t.Points)
		}
		x.Assigned = nil
	}), event
}

// taskTimers is the timer of the assigned task: what the lock offers changes
// when it is over, since the task can then be completed.
func (s State) taskTimers() []timer {
	if s.Apps.Tasks == nil || s.Apps.Tasks.Assigned == nil {
		return nil
	}
	t := s.Apps.Tasks.Assigned
	if t.EndsAt == nil || t.TimerOver {
		return nil
	}
	return []timer{{tasks, *t.EndsAt, func(s State, _ time.Time) Change {
		s = s.withTasks(func(x *Tasks) {
			over := *x.Assigned
			over.TimerOver = true
			x.Assigned = &over
		})
		return byItself(s, "task_timer_ended", encoded(map[string]string{"task": t.Task}), CapabilitiesChanged())
	}}}
}

func taskPlays() map[string]play {
	return map[string]play{
		"tasks.unassign":    {keyholders(), unassign},
		"tasks.start-vote":  {people(), startVote},
		"tasks.vote":        {visitors(), voteForTask},
		"tasks.end-vote":    {people(), endVote},
		"tasks.cancel-vote": {people(), cancelVote},
	}
}

func unassign(s State, p Play, _ time.Time) (Change, *Refusal) {
	t := s.Apps.Tasks.Assigned
	if t == nil {
		return Change{}, unavailable(NoTaskAssigned)
	}
	payload := encoded(map[string]string{"task": t.Task})
	return p.did(s.withTasks(func(x *Tasks) { x.Assigned = nil }), "task_unassigned", payload, emission("tasks.unassigned", payload)), nil
}

func startVote(s State, p Play, now time.Time) (Change, *Refusal) {
	t := s.Apps.Tasks
	switch {
	case t.Assigned != nil:
		return Change{}, unavailable(whenAssigned(s, now))
	case t.Vote != nil || len(t.Configured) == 0:
		return Change{}, notRunning("a vote runs already, or there is nothing to vote on")
	}
	vote := &TaskVote{Votes: make([]int64, len(t.Configured))}
	return p.did(s.withTasks(func(x *Tasks) { x.Vote = vote }), "task_vote_started", "{}"), nil
}

func voteForTask(s State, p Play, _ time.Time) (Change, *Refusal) {
	t := s.Apps.Tasks
	in, refusal := inputOf[struct {
		Task string `json:"task"`
	}](p.Input)
	if refusal != nil {
		return Change{}, refusal
	}
	i := slices.IndexFunc(t.Configured, func(spec TaskSpec) bool { return spec.Task == in.Task })
	if t.Vote == nil || i < 0 {
		return Change{}, notRunning("no vote runs on this task")
	}
	votes := slices.Clone(t.Vote.Votes)
	votes[i]++
	return p.did(s.withTasks(func(x *Tasks) { x.Vote = &TaskVote{votes} }), "task_voted", encoded(in)), nil
}

// endVote assigns the task with the most votes, the first of those with as many.
func endVote(s State, p Play, now time.Time) (Change, *Refusal) {
	t := s.Apps.Tasks
	if t.Vote == nil {
		return Change{}, notRunning("no vote runs")
	}
	spec := t.Configured[slices.Index(t.Vote.Votes, slices.Max(t.Vote.Votes))]
	payload := encoded(map[string]string{"task": spec.Task})
	return p.did(s.assigned(spec, now), "task_vote_ended", payload, emission("tasks.vote-ended", payload), taskAssigned(spec)), nil
}

func cancelVote(s State, p Play, _ time.Time) (Change, *Refusal) {
	if s.Apps.Tasks.Vote == nil {
		return Change{}, notRunning("no vote runs")
	}
	return p.did(s.withTasks(func(x *Tasks) { x.Vote = nil }), "task_vote_cancelled", "{}", emission("tasks.vote-cancelled", "{}")), nil
}
