package lock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

func TestTimeIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	maxDate := after(2 * time.Hour)
	tests := map[string]struct {
		frozenAt time.Duration // 0: not frozen
		now      time.Duration
		command  invocation.CapabilityID
		duration int
		end      time.Duration // of EndDate after noon
		change   string        // in the event, empty for none
		code     string
	}{
		"adding moves the end":                                {now: 0, command: "lock.add-time", duration: 600, end: 70 * time.Minute, change: "600"},
		"adding up to the maximum date is allowed":            {command: "lock.add-time", duration: 3600, end: 2 * time.Hour, change: "3600"},
		"adding a second beyond the maximum date is refused":  {command: "lock.add-time", duration: 3601, code: lock.BeyondMaxDate},
		"adding after the end counts from the end":            {now: 90 * time.Minute, command: "lock.add-time", duration: 60, end: 61 * time.Minute, change: "60"},
		"removing moves the end":                              {command: "lock.remove-time", duration: 600, end: 50 * time.Minute, change: "-600"},
		"removing exactly what is left ends now":              {now: 30 * time.Minute, command: "lock.remove-time", duration: 1800, end: 30 * time.Minute, change: "-1800"},
		"removing more than is left ends now":                 {now: 30 * time.Minute, command: "lock.remove-time", duration: 7200, end: 30 * time.Minute, change: "-1800"},
		"removing leaves less than a second":                  {now: 500 * time.Millisecond, command: "lock.remove-time", duration: 7200, end: time.Second, change: "-3599"},
		"removing less than a second does nothing":            {now: time.Hour - time.Millisecond, command: "lock.remove-time", duration: 1, end: time.Hour},
		"removing after the end does nothing":                 {now: 2 * time.Hour, command: "lock.remove-time", duration: 60, end: time.Hour},
		"adding to a frozen lock":                             {frozenAt: time.Minute, now: 11 * time.Minute, command: "lock.add-time", duration: 600, end: 70 * time.Minute, change: "600"},
		"the running freeze counts against the maximum date":  {frozenAt: time.Minute, now: 2 * time.Minute, command: "lock.add-time", duration: 3541, code: lock.BeyondMaxDate},
		"a frozen lock reaches the maximum date exactly":      {frozenAt: time.Minute, now: 2 * time.Minute, command: "lock.add-time", duration: 3540, end: 119 * time.Minute, change: "3540"},
		"what was left when frozen is removed long after":     {frozenAt: 10 * time.Minute, now: 9 * time.Hour, command: "lock.remove-time", duration: 600, end: 50 * time.Minute, change: "-600"},
		"no more than was left when frozen is removed":        {frozenAt: 10 * time.Minute, now: 20 * time.Minute, command: "lock.remove-time", duration: 7200, end: 10 * time.Minute, change: "-3000"},
		"a clock behind the freeze removes no more than that": {frozenAt: 10 * time.Minute, now: 9 * time.Minute, command: "lock.remove-time", duration: 7200, end: 10 * time.Minute, change: "-3000"},
		"the longest duration of the schema reaches its rule": {command: "lock.add-time", duration: lock.MaxDuration, code: lock.BeyondMaxDate},
		"a duration beyond the schema is refused":             {command: "lock.add-time", duration: lock.MaxDuration + 1, code: lock.InvalidInput},
		"removing a duration beyond the schema is refused":    {command: "lock.remove-time", duration: lock.MaxDuration + 1, code: lock.InvalidInput},
		"removing nothing is refused":                         {command: "lock.remove-time", duration: 0, code: lock.InvalidInput},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := hourLeft()
			spec.MaxDate = &maxDate
			s := mustNew(t, spec)
			if tt.frozenAt > 0 {
				s = frozen(t, s, after(tt.frozenAt))
			}
			before := text(t, s)
			c, refusal := lock.Apply(s, act(tt.command, fmt.Sprintf(`{"duration":%d}`, tt.duration)), after(tt.now))
			if got := text(t, s); got != before {
				t.Errorf("the given state became %s, want it untouched: %s", got, before)
			}
			if refusal != nil || tt.code != "" {
				if refusal == nil || refusal.Code != tt.code {
					t.Fatalf("got refusal %+v, want code %q", refusal, tt.code)
				}
				return
			}
			if got := c.State.EndDate.Sub(noon()); got != tt.end {
				t.Errorf("got the end %v after noon, want %v", got, tt.end)
			}
			wantChange(t, c, tt.change)
		})
	}
}

// wantChange checks the event, the history line and the result of a command
// that moves the end by that many seconds.
func wantChange(t *testing.T, c lock.Change, seconds string) {
	t.Helper()
	events, line := "null", `{"duration":0}`
	if seconds != "" {
		line = `{"duration":` + seconds + `}`
		events = `[{"Type":"lock.time-changed","Payload":` + line + `}]`
	}
	if got := text(t, c.Events); got != events {
		t.Errorf("got events %s, want %s", got, events)
	}
	want := `[{"Type":"time_changed","Extension":"wheel","Actor":"extension","Payload":` + line + `}]`
	if got := text(t, c.History); got != want {
		t.Errorf("got history %s, want %s", got, want)
	}
	if got := string(c.Result); got != "{}" {
		t.Errorf("got result %s, want {}", got)
	}
	if c.State.Status != lock.Active {
		t.Errorf("got status %q, want a lock that stays active", c.State.Status)
	}
}

func TestJSONNumbersThatAreIntegers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		literal string
		seconds int // 0: refused
	}{
		"plain":                            {"1", 1},
		"with a fraction of zero":          {"1.0", 1},
		"with a positive exponent":         {"3.6e3", 3600},
		"with an upper-case exponent":      {"36E+2", 3600},
		"with a negative exponent":         {"36000e-1", 3600},
		"the longest duration":             {"31536000", lock.MaxDuration},
		"40 bytes":                         {"1." + strings.Repeat("0", 38), 1},
		"41 bytes":                         {"1." + strings.Repeat("0", 39), 0},
		"a second too long":                {"31536001", 0},
		"a bit too long":                   {"31536000.00000000000001", 0},
		"zero":                             {"0", 0},
		"minus zero":                       {"-0", 0},
		"negative":                         {"-1", 0},
		"a fraction":                       {"1.5", 0},
		"a fraction that rounds to one":    {"0.9999999999999999999999", 0},
		"a fraction close above one":       {"1.0000000000000000000001", 0},
		"tiny":                             {"1e-400", 0},
		"too tiny to be read exactly":      {"1e-999999999", 0},
		"huge":                             {"1e400", 0},
		"too huge to be read exactly":      {"1e999999999", 0},
		"zero with an exponent":            {"0e999999999", 0},
		"digits that wrap around an int64": {"18446744073709551617", 0},
		"a string":                         {`"60"`, 0},
		"null":                             {"null", 0},
		"an object":                        {"{}", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustNew(t, hourLeft())
			c, refusal := lock.Apply(s, act("lock.add-time", `{"duration":`+tt.literal+`}`), noon())
			if tt.seconds == 0 {
				if refusal == nil || refusal.Code != lock.InvalidInput {
					t.Fatalf("got refusal %+v, want %s", refusal, lock.InvalidInput)
				}
				return
			}
			if refusal != nil {
				t.Fatalf("got refusal %+v, want none", *refusal)
			}
			if got, want := c.State.EndDate, s.EndDate.Add(time.Duration(tt.seconds)*time.Second); !got.Equal(want) {
				t.Errorf("got end %v, want %v", got, want)
			}
			wantChange(t, c, fmt.Sprint(tt.seconds))
		})
	}
}

func TestNoEndLiesBeyondTheHorizon(t *testing.T) {
	t.Parallel()
	s := mustNew(t, hourLeft())
	year := act("lock.add-time", fmt.Sprintf(`{"duration":%d}`, lock.MaxDuration))
	years := 0
	for {
		c, refusal := lock.Apply(s, year, noon())
		if refusal != nil {
			if refusal.Code != lock.BeyondMaxDate {
				t.Errorf("got code %q, want %q", refusal.Code, lock.BeyondMaxDate)
			}
			break
		}
		s, years = c.State, years+1
	}
	if years != 99 {
		t.Errorf("got %d years added to an hour, want 99", years)
	}
}
