package invocation_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func noon() time.Time { return time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC) }

func outcomes() map[string]invocation.Outcome {
	return map[string]invocation.Outcome{
		"completed": invocation.Completes(json.RawMessage(`{"left":3}`)),
		"rejected":  invocation.Rejects("not-today", "not on Sundays"),
		"failed":    invocation.Fails(invocation.TargetError),
		"unknown":   invocation.LeavesUnknown(invocation.TargetTimeout),
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	for name, o := range outcomes() {
		t.Run("pending becomes "+name, func(t *testing.T) {
			t.Parallel()
			inv := invocation.Invocation{ID: "i", Status: invocation.Pending, CreatedAt: noon()}
			got := inv.Settle(o, noon().Add(1500*time.Microsecond).In(time.FixedZone("somewhere", 3600)))
			want := inv
			want.Status, want.Result, want.Error, want.SettledAt = o.Status, o.Result, o.Failure, noon().Add(time.Millisecond)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if inv.Status != invocation.Pending {
				t.Error("the invocation that was settled from has changed")
			}
		})
	}
}

func TestSettleNeverChangesWhatIsSettled(t *testing.T) {
	t.Parallel()
	for first, a := range outcomes() {
		for second, b := range outcomes() {
			settled := invocation.Invocation{ID: "i", Status: invocation.Pending}.Settle(a, noon())
			if got := settled.Settle(b, noon().Add(time.Hour)); !reflect.DeepEqual(got, settled) {
				t.Errorf("%s after %s: got %+v, want %+v", second, first, got, settled)
			}
		}
	}
}

func TestSettleTakesOnlyOutcomes(t *testing.T) {
	t.Parallel()
	for _, o := range []invocation.Outcome{{}, {Status: invocation.Pending}, {Status: "done"}} {
		inv := invocation.Invocation{ID: "i", Status: invocation.Pending}
		if got := inv.Settle(o, noon()); !reflect.DeepEqual(got, inv) {
			t.Errorf("status %q: got %+v, want no change", o.Status, got)
		}
	}
}

func TestStatusesAreSettledOrNot(t *testing.T) {
	t.Parallel()
	for status, want := range map[invocation.Status]bool{
		invocation.Pending: false, invocation.Completed: true, invocation.Rejected: true, invocation.Failed: true,
		invocation.Unknown: true, "": false, "done": false,
	} {
		if got := status.Settled(); got != want {
			t.Errorf("%q: got %t, want %t", status, got, want)
		}
	}
}

func TestOutcomesSayWhatTheContractNeeds(t *testing.T) {
	t.Parallel()
	if o := invocation.Completes(nil); string(o.Result) != "{}" || o.Failure != nil {
		t.Errorf("got %+v without a result, want {}", o)
	}
	o := invocation.Completes(nil, invocation.Emission{Type: "a.b"})
	if len(o.Events) != 1 || o.Events[0].Type != "a.b" {
		t.Errorf("got the events %+v, want a.b", o.Events)
	}
	for name, o := range outcomes() {
		if (o.Status == invocation.Completed) != (o.Result != nil) || (o.Status == invocation.Completed) != (o.Failure == nil) {
			t.Errorf("%s: got result %s and failure %+v, want one of them", name, o.Result, o.Failure)
		}
		if string(o.Status) != name || !o.Status.Settled() {
			t.Errorf("got the status %q, want %s", o.Status, name)
		}
	}
}

func TestOurFailuresHaveASentence(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		invocation.TargetError, invocation.TargetUnreachable, invocation.TargetTimeout, invocation.InvalidResponse,
		invocation.DispatchInterrupted, invocation.DispatchExpired,
	} {
		for _, o := range []invocation.Outcome{invocation.Fails(code), invocation.LeavesUnknown(code)} {
			if o.Failure.Code != code || o.Failure.Message == "" || o.Failure.Message == code {
				t.Errorf("got %+v for %s, want the code and a sentence", *o.Failure, code)
			}
			if len(o.Failure.Code) > invocation.MaxFailureCode || len(o.Failure.Message) > invocation.MaxFailureText {
				t.Errorf("%s is longer than the contract allows", code)
			}
		}
	}
	if o := invocation.Fails("other"); o.Failure.Message != "other" {
		t.Errorf("got %q for an unknown code, want the code", o.Failure.Message)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after time.Duration
		want  bool
	}{
		"at once":                  {0, false},
		"just before 15 min":       {15*time.Minute - time.Millisecond, false},
		"at 15 min":                {15 * time.Minute, true},
		"a day later":              {24 * time.Hour, true},
		"before it was even there": {-time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, over := invocation.Expired(noon(), noon().Add(tc.after))
			if over != tc.want {
				t.Fatalf("got %t, want %t", over, tc.want)
			}
			if over && (o.Status != invocation.Failed || o.Failure.Code != invocation.DispatchExpired) {
				t.Errorf("got %+v, want failed with dispatch-expired", o)
			}
			if !over && !reflect.DeepEqual(o, invocation.Outcome{}) {
				t.Errorf("got %+v, want nothing", o)
			}
		})
	}
}

func TestTimesAreWholeMillisecondsInUTC(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("somewhere", 2*3600)
	for name, tc := range map[string]struct {
		in   time.Time
		want string
	}{
		"whole seconds have three decimals": {noon(), "2026-11-04T12:00:00.000Z"},
		"another zone":                      {noon().In(zone), "2026-11-04T12:00:00.000Z"},
		"cut, not rounded":                  {noon().Add(1999 * time.Microsecond), "2026-11-04T12:00:00.001Z"},
		"one decimal":                       {noon().Add(100 * time.Millisecond), "2026-11-04T12:00:00.100Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := invocation.FormatTime(tc.in); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			instant := invocation.Instant(tc.in)
			if got := invocation.FormatTime(instant); got != tc.want || instant.Location() != time.UTC || instant.Nanosecond()%1e6 != 0 {
				t.Errorf("got the instant %s, want %s", instant, tc.want)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pattern string
		event   invocation.CapabilityID
		want    bool
	}{
		"everything":                      {"*", "a.b", true},
		"an exact id":                     {"a.b", "a.b", true},
		"another id":                      {"a.c", "a.b", false},
		"all of a slug":                   {"a.*", "a.b", true},
		"all of another slug":             {"b.*", "a.b", false},
		"the beginning of a slug":         {"tas.*", "tasks.done", false},
		"the beginning of an id":          {"a.b", "a.bc", false},
		"a slug is no pattern":            {"a", "a.b", false},
		"nothing matches the empty text":  {"", "a.b", false},
		"an empty slug matches no slug":   {".*", "a.b", false},
		"a star in the middle is a star":  {"a.*.c", "a.b", false},
		"a star for the slug is no star":  {"*.b", "a.b", false},
		"a name that begins with a star":  {"a.*b", "a.b", false},
		"upper case is another id":        {"A.B", "a.b", false},
		"a pattern of white space":        {" * ", "a.b", false},
		"an id whose slug has no dot yet": {"a.*", "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := invocation.Matches(tc.pattern, tc.event); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
			if got := invocation.MatchesAny([]string{"x.y", tc.pattern, "x.*"}, tc.event); got != tc.want {
				t.Errorf("got %t among others, want %t", got, tc.want)
			}
		})
	}
	if invocation.MatchesAny(nil, "a.b") {
		t.Error("no pattern selects something")
	}
}
