package lock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/lock"
)

func TestNew(t *testing.T) {
	t.Parallel()
	spec := hourLeft()
	spec.Keyholder = &lock.Person{ID: "k1", Name: " Kay\t\u202e of\x00\U000E0041 Kent\xff "}
	spec.MaxDate = new(after(time.Hour))
	c, err := lock.New(spec, noon())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"016731b2c4e5f0a1b2c3d4e5","status":"active","wearer":{"id":"w1","name":"Wren"},` +
		`"keyholder":{"id":"k1","name":"Kay of Kent"},"startDate":"2026-11-04T12:00:00Z","endDate":"2026-11-04T13:00:00Z",` +
		`"maxDate":"2026-11-04T13:00:00Z","frozenAt":null,"frozenMs":0,"displayRemainingTime":true,"extensions":[],` +
		`"createdAt":"2026-11-04T12:00:00Z","finishedAt":null}`
	if got := text(t, c.State); got != want {
		t.Errorf("got state\n%s, want\n%s", got, want)
	}
	if got, want := text(t, c.History), `[{"Type":"lock_created","Extension":"","Actor":"system","Payload":{}}]`; got != want {
		t.Errorf("got history %s, want %s", got, want)
	}
	if len(c.Events) != 0 || c.Result != nil {
		t.Errorf("got events %s and result %s, want none", text(t, c.Events), c.Result)
	}
}

func TestNewKeepsTheCallersValues(t *testing.T) {
	t.Parallel()
	spec := hourLeft()
	spec.Keyholder = &lock.Person{ID: "k1", Name: "Kay"}
	spec.MaxDate = new(after(2 * time.Hour))
	s := mustNew(t, spec)
	spec.Keyholder.Name = "changed"
	*spec.MaxDate = noon()
	if s.Keyholder.Name != "Kay" || !s.MaxDate.Equal(after(2*time.Hour)) {
		t.Errorf("got keyholder %q, maximum %v, want a state of its own", s.Keyholder.Name, s.MaxDate)
	}
}

func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	spec := hourLeft()
	spec.Wearer.Name = strings.Repeat("é", 101)
	if got, want := mustNew(t, spec).Wearer.Name, strings.Repeat("é", 100); got != want {
		t.Errorf("got name %q, want %q", got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec     func(*lock.Spec)
		problems string
	}{
		"an end that is now":        {func(s *lock.Spec) { s.EndDate = noon() }, "/endDate must be after now"},
		"no end":                    {func(s *lock.Spec) { s.EndDate = time.Time{} }, "/endDate must be after now"},
		"an end beyond the horizon": {func(s *lock.Spec) { s.EndDate = after(lock.Horizon + time.Second) }, "/endDate must be within 100 years"},
		"a maximum before the end":  {func(s *lock.Spec) { s.MaxDate = new(after(time.Hour - time.Millisecond)) }, "/maxDate must NOT be before endDate"},
		"a maximum beyond the horizon": {
			func(s *lock.Spec) { s.MaxDate = new(after(lock.Horizon + time.Second)) }, "/maxDate must be within 100 years",
		},
		"a start in the future":    {func(s *lock.Spec) { s.StartDate = after(time.Second) }, "/startDate must NOT be after now"},
		"a start in ancient times": {func(s *lock.Spec) { s.StartDate = after(-lock.Horizon - time.Second) }, "/startDate must be within 100 years"},
		"a malformed id":           {func(s *lock.Spec) { s.ID = "x" }, `/id must match pattern "^[0-9a-f]{24}$"`},
		"a wearer without an id": {
			func(s *lock.Spec) { s.Wearer.ID = "" }, `/wearer/id must match pattern "^[A-Za-z0-9_-]{1,64}$"`,
		},
		"a wearer without a printable name": {
			func(s *lock.Spec) { s.Wearer.Name = " \u200b\n" }, "/wearer/name must NOT have fewer than 1 characters",
		},
		"everything at once": {
			func(s *lock.Spec) {
				*s = lock.Spec{Keyholder: &lock.Person{Name: "Kay"}, Wearer: lock.Person{ID: "w"}, MaxDate: new(noon()), EndDate: noon()}
			},
			`/id must match pattern "^[0-9a-f]{24}$", /wearer/name must NOT have fewer than 1 characters, ` +
				`/keyholder/id must match pattern "^[A-Za-z0-9_-]{1,64}$", /endDate must be after now`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := hourLeft()
			tt.spec(&spec)
			c, err := lock.New(spec, noon())
			if !errors.Is(err, invocation.Refuse(invocation.InvalidInput)) {
				t.Fatalf("got error %v, want %s", err, invocation.InvalidInput)
			}
			var got []string
			for _, p := range invocation.AsError(err).Problems {
				got = append(got, p.InstancePath+" "+p.Message)
			}
			if strings.Join(got, ", ") != tt.problems {
				t.Errorf("got problems %q, want %q", got, tt.problems)
			}
			if c.History != nil {
				t.Errorf("got a change %s beside a refusal, want none", text(t, c))
			}
		})
	}
}
