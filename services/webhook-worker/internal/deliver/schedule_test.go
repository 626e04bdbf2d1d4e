package deliver

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

func TestNextJudgesAnAttempt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	retryAfter := func(v string) http.Header { return http.Header{"Retry-After": {v}} }
	failed := errors.New("no connection to the target")
	const middle = 0.5 // of the jitter: the figure itself
	for name, tc := range map[string]struct {
		attempt int
		outcome Outcome
		fate    Fate
		wait    time.Duration
	}{
		"200 acknowledges":                                 {1, Outcome{Status: 200}, Delivered, 0},
		"204 acknowledges":                                 {1, Outcome{Status: 204}, Delivered, 0},
		"299 acknowledges":                                 {3, Outcome{Status: 299}, Delivered, 0},
		"a 2xx whose body was cut off acknowledges":        {1, Outcome{Status: 200, Err: failed}, Delivered, 0},
		"the last attempt may acknowledge":                 {5, Outcome{Status: 200}, Delivered, 0},
		"199 is no acknowledgement":                        {1, Outcome{Status: 199, Chance: middle}, Again, time.Minute},
		"a redirect is no acknowledgement":                 {1, Outcome{Status: 302, Chance: middle}, Again, time.Minute},
		"300 is no acknowledgement":                        {1, Outcome{Status: 300, Chance: middle}, Again, time.Minute},
		"the second attempt comes after a minute":          {1, Outcome{Status: 500, Chance: middle}, Again, time.Minute},
		"the third comes after two":                        {2, Outcome{Status: 500, Chance: middle}, Again, 2 * time.Minute},
		"the fourth comes after four":                      {3, Outcome{Status: 500, Chance: middle}, Again, 4 * time.Minute},
		"the fifth comes after eight":                      {4, Outcome{Status: 500, Chance: middle}, Again, 8 * time.Minute},
		"after the fifth it is dead":                       {5, Outcome{Status: 500, Chance: middle}, Dead, 0},
		"beyond the fifth it is dead":                      {6, Outcome{Status: 500}, Dead, 0},
		"no answer is tried again":                         {1, Outcome{Err: failed, Chance: middle}, Again, time.Minute},
		"no answer kills at the last attempt":              {5, Outcome{Err: failed}, Dead, 0},
		"the jitter begins a tenth early":                  {1, Outcome{Status: 500, Chance: 0}, Again, 54 * time.Second},
		"the jitter ends a tenth late":                     {4, Outcome{Status: 500, Chance: 1}, Again, 528 * time.Second},
		"410 is final at the first attempt":                {1, Outcome{Status: 410}, Gone, 0},
		"410 is final at the last attempt":                 {5, Outcome{Status: 410}, Gone, 0},
		"404 is tried again":                               {1, Outcome{Status: 404, Chance: middle}, Again, time.Minute},
		"429 is kept waiting as long as it asks":           {1, Outcome{Status: 429, Header: retryAfter("300"), Chance: middle}, Again, 5 * time.Minute},
		"503 is kept waiting as long as it asks":           {2, Outcome{Status: 503, Header: retryAfter("600"), Chance: middle}, Again, 10 * time.Minute},
		"a date is respected":                              {1, Outcome{Status: 503, Header: retryAfter("Wed, 04 Nov 2026 12:10:00 GMT"), Chance: middle}, Again, 10 * time.Minute},
		"a short Retry-After does not use attempts up":     {1, Outcome{Status: 429, Header: retryAfter("1"), Chance: middle}, Again, time.Minute},
		"a date in the past is not at once":                {1, Outcome{Status: 429, Header: retryAfter("Wed, 04 Nov 2026 11:00:00 GMT"), Chance: middle}, Again, time.Minute},
		"a day is the most":                                {1, Outcome{Status: 429, Header: retryAfter("999999999"), Chance: middle}, Again, 24 * time.Hour},
		"garbage is ignored":                               {1, Outcome{Status: 429, Header: retryAfter("NaN"), Chance: middle}, Again, time.Minute},
		"a negative Retry-After is ignored":                {1, Outcome{Status: 429, Header: retryAfter("-5"), Chance: middle}, Again, time.Minute},
		"Retry-After on a 500 is ignored":                  {1, Outcome{Status: 500, Header: retryAfter("300"), Chance: middle}, Again, time.Minute},
		"Retry-After gives no attempt beyond the last one": {5, Outcome{Status: 503, Header: retryAfter("300")}, Dead, 0},
		"an attempt that was not counted is the first":     {0, Outcome{Status: 500, Chance: middle}, Again, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ContractSchedule().Next(tc.attempt, tc.outcome, now)
			if got.Fate != tc.fate {
				t.Errorf("got fate %d, want %d", got.Fate, tc.fate)
			}
			if want := now.Add(tc.wait); tc.fate == Again && !got.At.Equal(want) {
				t.Errorf("got the next attempt %s later, want %s", got.At.Sub(now), tc.wait)
			}
		})
	}
}

func TestNextWithoutRetriesKillsAtOnce(t *testing.T) {
	t.Parallel()
	if got := (Schedule{}).Next(1, Outcome{Status: 500}, time.Now()); got.Fate != Dead {
		t.Errorf("got fate %d, want dead", got.Fate)
	}
}

func TestReasonsHoldNoAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome Outcome
		want    string
	}{
		"an answer":           {Outcome{Status: 503}, "the receiver answered with status 503"},
		"an answer cut short": {Outcome{Status: 500, Err: errors.New("cut")}, "the receiver answered with status 500"},
		"no answer":           {Outcome{Err: errors.New("no connection to the target")}, "no connection to the target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.outcome.reason(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
