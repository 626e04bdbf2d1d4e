package deliver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
)

// A Schedule is how long to wait after each failed attempt but the last: there
// is one attempt more than delays.
type Schedule []time.Duration

// ContractSchedule returns the contract's four waits of about 1, 2, 4 and 8
// minutes (contract section 8).
func ContractSchedule() Schedule {
	return Schedule{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}
}

// jitter is how far a wait may lie from its figure, in either direction: a
// tenth, so that what failed together does not come back together.
const jitter = 0.1

// An Outcome is what one attempt came to.
type Outcome struct {
	// Status of the answer; 0 when there was none.
	Status int
	// Header of the answer, of which Retry-After is read.
	Header http.Header
	// Err is what went wrong; an answer other than 2xx is no error.
	Err error
	// Chance is a random number from 0 up to 1 that places the next attempt
	// within the jitter.
	Chance float64
}

// reason says in one line why the attempt failed. It holds no address.
func (o Outcome) reason() string {
	if o.Status == 0 && o.Err != nil {
		return o.Err.Error()
	}
	return fmt.Sprintf("the receiver answered with status %d", o.Status)
}

// A Step is what becomes of a delivery after an attempt.
type Step struct {
	Fate Fate
	At   time.Time // of the next attempt, with Again
}

// A Fate is one of the things that can become of a delivery.
type Fate uint8

// The fates.
const (
	Delivered Fate = iota // acknowledged
	Again                 // another attempt, later
	Dead                  // no attempt is left
	Gone                  // the endpoint wants nothing any more
)

// Next judges an attempt, counted from 1: any 2xx acknowledges, 410 means that
// the endpoint is gone, and everything else, redirects included, is tried again
// while attempts are left. The wait is the schedule's, or what a 429 or 503
// asks for in Retry-After where that is longer, up to a day (SEC-20).
func (s Schedule) Next(attempt int, o Outcome, now time.Time) Step {
	switch {
	case o.Status >= http.StatusOK && o.Status < http.StatusMultipleChoices:
		return Step{Fate: Delivered}
	case o.Status == http.StatusGone:
		return Step{Fate: Gone}
	case attempt > len(s):
		return Step{Fate: Dead}
	}
	wait := s[max(attempt, 1)-1]
	wait += time.Duration(float64(wait) * jitter * (2*o.Chance - 1))
	if o.Status == http.StatusTooManyRequests || o.Status == http.StatusServiceUnavailable {
		if asked, ok := egress.RetryAfter(o.Header, now); ok {
			wait = max(wait, asked)
		}
	}
	return Step{Fate: Again, At: now.Add(wait)}
}
