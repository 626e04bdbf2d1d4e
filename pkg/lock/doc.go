// Package lock is the lock's state machine and the behaviour of the built-in
// capabilities, as pure functions: a state, an act and the time come in; the
// next state, the events and the history lines go out, or a refusal. It knows
// no store, no transport and no clock, so the caller may run an act again on a
// newer state after a conflict (design section 3, the lock's log).
//
// The entry points are [New], [Apply] for commands, [Available] for what may
// run right now, and [Install], [Remove] and [Finish] for what operators do.
// None of them changes the state it is given.
//
// # Time
//
// All times are UTC in whole milliseconds. [State.EndDate] is where the end
// was last set. While the lock is frozen the timer stands still, so the end
// moves on by itself: [State.EndsAt] is the end as of now. Unfreezing moves
// EndDate by the time frozen and adds that time to [State.FrozenMS]. At every
// moment, frozen or not, EndDate − FrozenMS equals the first end date plus the
// durations of all lock.time-changed events: no time is ever lost.
//
// # Built-in extensions
//
// Each built-in extension is one file with a function that returns its table
// of commands, one case in commandsOf and its slug in [BuiltIns]. An extension
// that is not listed there has no behaviour here, which [Implemented] tells.
package lock
