package telemetrytest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/latchwire/latchwire/pkg/telemetry"
)

// CheckChains fails the test for every promise about chains that the recorded
// spans break: see [Problems] and [Islands]. It also names spans that never
// ended.
func (r *Recorder) CheckChains(tb testing.TB) {
	tb.Helper()
	spans := r.Ended()
	for _, p := range slices.Concat(Problems(spans), Islands(spans)) {
		tb.Error(p)
	}
	for _, name := range r.Open() {
		tb.Errorf("span %q never ended", name)
	}
}

// Problems names the spans of chains that are outside their chain's trace or
// whose parent nobody recorded, and all spans with events, which are to be log
// lines.
func Problems(spans []Span) []string {
	recorded := make(map[string]bool, len(spans))
	for _, s := range spans {
		recorded[s.SpanID] = true
	}
	var out []string
	for _, s := range spans {
		if s.Events > 0 {
			out = append(out, fmt.Sprintf("span %q has events", s.Name))
		}
		chain := s.Attrs[chainAttr]
		if chain == "" {
			continue
		}
		if want := telemetry.TraceIDOf(chain); s.TraceID != want {
			out = append(out, fmt.Sprintf("span %q of chain %s is in a second trace %s, want %s", s.Name, chain, s.TraceID, want))
		}
		if s.ParentID != "" && !recorded[s.ParentID] {
			out = append(out, fmt.Sprintf("span %q of chain %s is an orphan: nobody recorded its parent %s", s.Name, chain, s.ParentID))
		}
	}
	return out
}

// Islands names the spans of chains that no path of parents and links, walked
// in either direction, leads to from the chain's first span.
func Islands(spans []Span) []string {
	next := map[string][]string{}
	join := func(a, b string) {
		next[a] = append(next[a], b)
		next[b] = append(next[b], a)
	}
	first := map[string]Span{}
	for _, s := range spans {
		if s.ParentID != "" {
			join(s.SpanID, s.ParentID)
		}
		for _, l := range s.Links {
			join(s.SpanID, l.SpanID)
		}
		if f, ok := first[s.Attrs[chainAttr]]; !ok || s.Start.Before(f.Start) {
			first[s.Attrs[chainAttr]] = s
		}
	}
	delete(first, "")
	seen := map[string]bool{}
	for _, f := range first {
		walk(f.SpanID, next, seen)
	}
	var out []string
	for _, s := range spans {
		if chain := s.Attrs[chainAttr]; chain != "" && !seen[s.SpanID] {
			out = append(out, fmt.Sprintf("span %q of chain %s can't be reached from the chain's first span", s.Name, chain))
		}
	}
	return out
}

// walk marks what can be reached from id.
func walk(id string, next map[string][]string, seen map[string]bool) {
	for todo := []string{id}; len(todo) > 0; {
		id, todo = todo[0], todo[1:]
		if !seen[id] {
			seen[id] = true
			todo = append(todo, next[id]...)
		}
	}
}
