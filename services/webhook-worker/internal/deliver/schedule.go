package deliver

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/manifest"
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
	// Body is as much of the answer as was read.
	Body []byte
	// Err is what went wrong; an answer other than 2xx is no error.
	Err error
	// Begin and Took say when the attempt was and how long.
	Begin time.Time
	Took  time.Duration
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

// try returns the attempt as it is kept with the delivery. The answer is the
// receiver's own text: what can't be shown is taken out of it.
func (o Outcome) try() ledger.Try {
	t := ledger.Try{At: o.Begin.UnixMilli(), Status: o.Status, Duration: o.Took.Milliseconds()}
	if e, ok := errors.AsType[*egress.CallError](o.Err); ok {
		t.Error = string(e.Kind)
	}
	t.Answer = manifest.CleanText(string(o.Body[:min(len(o.Body), 2*ledger.MaxAnswer)]), ledger.MaxAnswer)
	return t
}

// shortest returns the wait before the second attempt.
func (s Schedule) shortest() time.Duration {
	if len(s) == 0 {
		return leastPause
	}
	return s[0]
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
	Untried   Fate = iota // no attempt was made
	Delivered             // acknowledged
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
	case o.acknowledged():
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
