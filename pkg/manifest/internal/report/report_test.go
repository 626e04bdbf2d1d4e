package report_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
)

func TestListIsSortedAndHoldsEachProblemOnce(t *testing.T) {
	t.Parallel()
	var l report.List
	if got := l.Sorted(9); got != nil || !l.Empty() {
		t.Fatalf("got %v, want nil", got)
	}
	l.Add("/b", "must be %s", "string")
	l.Add("/a", "z")
	l.Add("/a", "m")
	l.Add("/b", "must be string")
	got := l.Sorted(9)
	if len(got) != 3 || got[0].Message != "m" || got[1].Message != "z" || got[2].Message != "must be string" {
		t.Errorf("got %v, want three problems by path and message", got)
	}
	if got := l.Sorted(2); len(got) != 2 || got[1].InstancePath != "/a" {
		t.Errorf("got %v, want the first two", got)
	}
}

func TestAProblemIsCutAtWholeCharactersAndTokens(t *testing.T) {
	t.Parallel()
	var l report.List
	l.Add("/a/"+strings.Repeat("k", report.MaxPath), "%s", strings.Repeat("é", report.MaxMessage))
	l.Add("/"+strings.Repeat("k", report.MaxPath-1), "%s", strings.Repeat("m", report.MaxMessage))
	got := l.Sorted(9)
	if got[0].InstancePath != "/a" {
		t.Errorf("got path %q, want /a", got[0].InstancePath)
	}
	if m := got[0].Message; len(m) > report.MaxMessage || !utf8.ValidString(m) || !strings.HasSuffix(m, "é…") {
		t.Errorf("got message %q of %d bytes", m, len(m))
	}
	if len(got[1].InstancePath) != report.MaxPath || len(got[1].Message) != report.MaxMessage {
		t.Errorf("got %d and %d bytes, want what fits unchanged", len(got[1].InstancePath), len(got[1].Message))
	}
}

func TestAListKeepsTheFirstProblemsInAnyOrder(t *testing.T) {
	t.Parallel()
	var up, down report.List
	for i := range 5_000 {
		up.Add("", "problem %04d", i)
		down.Add("", "problem %04d", 4_999-i)
	}
	a, b := up.Sorted(5_000), down.Sorted(5_000)
	if len(a) != report.Kept || !slices.Equal(a, b) {
		t.Fatalf("got %d and %d problems, want the same %d", len(a), len(b), report.Kept)
	}
	if a[0].Message != "problem 0000" || a[report.Kept-1].Message != "problem 0999" {
		t.Errorf("got %v to %v, want the first ones", a[0], a[report.Kept-1])
	}
	up.Add("", "problem %04d", 0)
	if got := up.Sorted(2); got[1].Message != "problem 0001" {
		t.Errorf("got %v, want each problem once", got)
	}
}

func TestEscapeFollowsRFC6901(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "/a", "": "/", "a/b~c": "/a~1b~0c"} {
		if got := report.Escape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
