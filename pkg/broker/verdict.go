package broker

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

type dropError struct{ error }

func (e dropError) Unwrap() error { return e.error }

// Retry marks err as worth another try, no sooner than after. It hands the
// message back and is no sign of poison: a message may come back like this
// any number of times.
func Retry(err error, after time.Duration) error {
	return retryError{cmp.Or(err, errors.New("not yet")), after}
}

// Drop marks err as permanent: the message goes to the dead letters.
func Drop(err error) error { return dropError{cmp.Or(err, errors.New("given up"))} }

// A Verdict is what becomes of a delivered message.
type Verdict struct {
	Action Action
	After  time.Duration // with HandBack: not before this has passed
}

// An Action is one of the things that can become of a delivered message.
type Action uint8

// The actions.
const (
	Ack      Action = iota // done, never again
	HandBack               // delivered again after a delay
	Bury                   // copied to the dead letters, then acknowledged
)

// MaxStrikes is how many failures that were no hand-back a message may have
// before it is taken for poison and buried (design section 3).
const MaxStrikes = 5

// Judge turns a handler's error into a verdict. Strikes counts the failures so
// far that were no hand-back, this one included.
func Judge(err error, strikes int) Verdict {
	if err == nil {
		return Verdict{Action: Ack}
	}
	if _, drop := errors.AsType[dropError](err); drop {
		return Verdict{Action: Bury}
	}
	if r, again := errors.AsType[retryError](err); again {
		return Verdict{Action: HandBack, After: r.after}
	}
	if strikes >= MaxStrikes {
		return Verdict{Action: Bury}
	}
	return Verdict{Action: HandBack, After: Backoff(strikes, time.Second, 30*time.Second)}
}

// isHandBack reports whether err only asks for another time.
func isHandBack(err error) bool {
	_, again := errors.AsType[retryError](err)
	return again
}

// Backoff returns a delay that doubles with each try from first to most, with
// up to a quarter of jitter. Tries count from 1.
func Backoff(try int, first, most time.Duration) time.Duration {
	d := min(first<<min(max(try-1, 0), 20), most)
	return d + rand.N(d/4+1)
}

// Backoff is [Backoff] by how often the message was delivered.
func (d Delivery) Backoff(first, most time.Duration) time.Duration {
	return Backoff(int(min(d.Attempt, 10)), first, most)
}

// WhileAway turns the error of a handler whose store was out of reach into a
// hand-back after a time. That is no fault of the message: counted as one, an
// outage would bury what has only to wait. Other errors stay as they are.
func WhileAway(err error, after time.Duration) error {
	if invocation.CodeOf(err) == invocation.ServiceUnavailable {
		return Retry(err, after)
	}
	return err
}

// A panicError is what a handler's panic becomes.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.value) }
