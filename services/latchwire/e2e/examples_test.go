package e2e

const pageHead = `# The built-in capabilities by example

Every command and query of the built-in extensions, as an extension (here` + " `my-ext`" + `) calls it
on a lock that has all of them installed; then what people do. The tests make this page and compare
it with what the pipeline answers. Ids, times and keys stand for real ones; the same id is the same
thing throughout an example.

An answer of 200 that is rejected was recorded and keeps its key; any other refusal left nothing.
On a lock that has ended, every command is refused with 409` + " `unavailable`, `lock-not-active`" + `; queries still work.

# What extensions call
`

const actsHead = `
# What people do

The platform's own apps do these for the wearer, the keyholder, or a visitor (` + "`system`" + `). Extensions
hear of them; operators and tests play them through the admin API.
`

const pageTail = `
# What happens by itself

| when | on the lock | events | history |
|---|---|---|---|
| a timed task's time is over | the task can be completed | ` + "`lock.capabilities-changed` | `task_timer_ended`" + ` |
| a session in the pillory ends | the time that was voted is added | ` + "`pillory.ended`, `lock.time-changed` | `pillory_ended`" + ` |
| the lock is open for too long | the penalty is added | ` + "`temporary-opening.late`, `lock.time-changed` | `relock_late`" + ` |
| the next opening is due | it can be opened again | ` + "`lock.capabilities-changed` | `opening_ready`" + ` |
| nobody judged a picture in time | it is judged by the votes so far | ` + "`verification-picture.verdict`, `lock.capabilities-changed` | `verification_timed_out`" + ` |
| a time limit of a penalty is over | the penalty is given | ` + "`lock.time-changed`, `lock.capabilities-changed` | `time_limit_expired`" + ` |
`

// in is the input of a step.
type in = map[string]any

func command(id string, input in) step { return step{command: id, input: input} }

func act(by, name string, input in) step { return step{act: name, by: by, input: input} }

func refuse(why string, input in, before ...step) refusedStep {
	return refusedStep{why: why, before: before, step: step{input: input}}
}

func refuseBy(by, why string, input in, before ...step) refusedStep {
	return refusedStep{why: why, before: before, step: step{by: by, input: input}}
}

func task(duration int) in {
	return in{"task": in{"task": "Write 100 lines", "points": 5, "duration": duration}}
}

func verifiedTask() in {
	return in{"task": in{"task": "Write 100 lines", "points": 5, "verificationRequired": true}}
}

func capabilityExamples() []example {
	frozen, none := command("lock.freeze", nil), in{}
	assigned, opened := command("tasks.assign", task(0)), command("temporary-opening.open", nil)
	timed, started := command("tasks.assign", task(60)), command("tasks.start-timer", nil)
	limited := command("penalty.create-time-limit", in{"habitName": "late"})
	return []example{
		{step: command("lock.add-time", in{"duration": 600}), refused: []refusedStep{
			refuse("it is no time", in{"duration": 0}),
			refuse("it is more than a year", in{"duration": 31536001}),
			refuse("something else is sent", in{"duration": 60, "unit": "s"}),
		}},
		{step: step{command: "lock.remove-time", actor: "keyholder", input: in{"duration": 600}}, refused: []refusedStep{
			refuse("it is none", in{}),
		}},
		{step: command("lock.freeze", none), refused: []refusedStep{refuse("it is frozen", none, frozen)}},
		{step: command("lock.unfreeze", none), before: []step{frozen}, refused: []refusedStep{refuse("it is not frozen", none)}},
		{step: command("lock.toggle-freeze", none)},
		{step: command("lock.pillory", in{"duration": 900, "reason": "Late again"}), refused: []refusedStep{
			refuse("it is too short", in{"duration": 60}),
		}},
		{step: command("lock.set-display-remaining-time", in{"displayRemainingTime": false})},
		{step: command("tasks.assign", task(900)), refused: []refusedStep{
			refuse("there is one", task(0), assigned),
			refuse("its time is too short", task(30)),
		}},
		{step: command("tasks.start-timer", none), before: []step{timed}, refused: []refusedStep{
			refuse("there is no task", none),
			refuse("the task has no time", none, assigned),
			refuse("it runs", none, timed, started),
		}},
		{step: command("tasks.complete", in{"isCompleted": true}), before: []step{assigned}, refused: []refusedStep{
			refuse("there is no task", in{"isCompleted": true}),
			refuse("the task's time is not over", in{"isCompleted": true}, timed, started),
			refuse("a picture has to prove it", in{"isCompleted": true}, command("tasks.assign", verifiedTask())),
		}},
		{step: command("penalty.increment", in{"habitName": "late", "count": 2}), refused: []refusedStep{
			refuse("the lock knows no such habit", in{"habitName": "smoking"}),
			refuse("it is no name of a habit", in{"habitName": "Not one"}),
		}},
		{step: limited},
		{step: command("penalty.cancel-time-limit", in{"habitName": "late"}), before: []step{limited}, refused: []refusedStep{
			refuse("no time limit runs", in{"habitName": "late"}),
		}},
		{step: command("verification-picture.request", none), refused: []refusedStep{
			refuse("one is requested", none, command("verification-picture.request", nil)),
		}},
		{step: opened, refused: []refusedStep{refuse("it is open", none, opened)}},
		{step: command("pillory.status", none), before: []step{command("lock.pillory", in{"duration": 900}), act("system", "pillory.vote", nil)}},
	}
}

func actExamples() []example {
	assigned, requested := command("tasks.assign", task(0)), command("verification-picture.request", nil)
	submitted, voting := act("wearer", "verification-picture.submit", nil), act("wearer", "tasks.start-vote", nil)
	opened := command("temporary-opening.open", nil)
	return []example{
		{step: act("wearer", "dice.roll", nil), until: `"playerDice":2,"adminDice":5,`, refused: []refusedStep{refuseBy("keyholder", "it is somebody else", nil)}},
		{step: act("system", "link.vote", in{"action": "add", "voter": "visitor-1"}), refused: []refusedStep{
			refuseBy("system", "this visitor has voted", in{"action": "add", "voter": "visitor-1"}, act("system", "link.vote", in{"action": "add", "voter": "visitor-1"})),
		}},
		{step: act("wearer", "wheel-of-fortune.spin", nil)},
		{step: act("system", "pillory.vote", nil), before: []step{command("lock.pillory", in{"duration": 900})}, refused: []refusedStep{
			refuseBy("system", "nobody is in the pillory", nil),
		}},
		{step: act("keyholder", "tasks.unassign", nil), before: []step{assigned}, refused: []refusedStep{refuseBy("keyholder", "there is no task", nil)}},
		{step: voting, refused: []refusedStep{refuseBy("wearer", "there is a task", nil, assigned)}},
		{step: act("system", "tasks.vote", in{"task": "Sweep"}), before: []step{voting}, refused: []refusedStep{refuseBy("system", "no vote runs", in{"task": "Sweep"})}},
		{step: act("wearer", "tasks.end-vote", nil), before: []step{voting}},
		{step: act("wearer", "tasks.cancel-vote", nil), before: []step{voting}},
		{step: submitted, before: []step{requested}, refused: []refusedStep{
			refuseBy("wearer", "none is requested", nil),
			refuseBy("wearer", "one was submitted", nil, requested, submitted),
		}},
		{step: act("keyholder", "verification-picture.judge", in{"status": "verified"}), before: []step{requested, submitted}, refused: []refusedStep{
			refuseBy("keyholder", "none is submitted", in{"status": "verified"}),
		}},
		{step: act("wearer", "temporary-opening.relock", nil), before: []step{opened}, refused: []refusedStep{refuseBy("wearer", "it is not open", nil)}},
		{step: act("keyholder", "lock.unlock", nil), refused: []refusedStep{refuseBy("wearer", "the timer runs", nil)}},
		{step: act("wearer", "lock.desert", nil), refused: []refusedStep{refuseBy("keyholder", "it is somebody else", nil)}},
	}
}
