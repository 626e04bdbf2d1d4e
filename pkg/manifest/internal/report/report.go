// Package report collects what is wrong with a submitted value. It keeps the
// promise of contract section 9 in one place: every problem once, in a stable
// order, and bounded, because both paths and messages repeat names that the
// sender chose.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// The bounds of one problem, in bytes.
const (
	MaxMessage = 200
	MaxPath    = 512
)

// Kept is how many problems a list keeps at most: the first ones by path and
// message, whatever the order they came in.
const Kept = 1_000

// A List is a growing set of problems. Its zero value is empty. It is owned by
// one goroutine.
type List struct {
	problems []invocation.Problem
	seen     map[invocation.Problem]bool
}

// Add records a problem at a JSON Pointer, unless it is there already.
func (l *List) Add(path, format string, args ...any) {
	l.AddProblem(invocation.Problem{InstancePath: path, Message: fmt.Sprintf(format, args...)})
}

// AddProblem records p, cut to the bounds, unless it is there already.
func (l *List) AddProblem(p invocation.Problem) {
	p = invocation.Problem{InstancePath: clipPath(p.InstancePath), Message: clipMessage(p.Message)}
	if l.seen[p] {
		return
	}
	if l.seen == nil {
		l.seen = make(map[invocation.Problem]bool)
	}
	l.seen[p] = true
	l.problems = append(l.problems, p)
	if len(l.problems) == 2*Kept {
		slices.SortFunc(l.problems, order)
		for _, last := range l.problems[Kept:] {
			delete(l.seen, last)
		}
		l.problems = l.problems[:Kept]
	}
}

// Empty reports whether nothing was recorded.
func (l *List) Empty() bool { return len(l.problems) == 0 }

// Sorted returns the first n problems by path and message, or nil if there are
// none.
func (l *List) Sorted(n int) []invocation.Problem {
	if l.Empty() {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(l.problems), order)
	return sorted[:min(n, Kept, len(sorted))]
}

func order(a, b invocation.Problem) int {
	return cmp.Or(strings.Compare(a.InstancePath, b.InstancePath), strings.Compare(a.Message, b.Message))
}

// Escape returns s as one token of a JSON Pointer, with the slash before it.
func Escape(s string) string {
	if strings.ContainsAny(s, "~/") {
		s = strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return "/" + s
}

// clipPath shortens a pointer by whole tokens: it then points at a value around
// the one at fault.
func clipPath(path string) string {
	if len(path) <= MaxPath {
		return path
	}
	return path[:strings.LastIndexByte(path[:MaxPath+1], '/')]
}

func clipMessage(message string) string {
	if len(message) <= MaxMessage {
		return message
	}
	const ellipsis = "…"
	cut := MaxMessage - len(ellipsis)
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + ellipsis
}
