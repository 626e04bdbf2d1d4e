// Package timers has happen what happens on locks by itself: a task's time is
// over, a pillory ends, a relock is late (contract section 12).
//
// A lock's state says what is due and when the next thing is. The log's consumer
// schedules one message for that time; here the lock is looked at when it comes.
// What is due becomes a transition that compares with the state it was decided
// on, so it happens once, whichever replica gets the message, and however often.
package timers
