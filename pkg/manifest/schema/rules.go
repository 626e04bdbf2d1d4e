package schema

import (
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
)

// resolve links the $ref of n to its node (SEC-43, SEC-44, S-26).
func (l *linter) resolve(n *node) {
	if n.ref == "" {
		return
	}
	path := n.path + "/$ref"
	fragment, local := strings.CutPrefix(n.ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !local || err != nil || pointer != "" && pointer[0] != '/' {
		l.report.Add(path, "must refer to a schema within this document by JSON Pointer, such as #/$defs/name")
		return
	}
	if n.target = l.byPath[pointer]; n.target == nil && !l.full {
		l.report.Add(path, "must refer to a subschema of this document, such as one under $defs")
	}
}

// compilePattern returns a regular expression and the size of its program.
// Patterns come from third parties and must run in linear time: what RE2 can't
// run is refused with the reason (SEC-50, S-24).
func (l *linter) compilePattern(path, text string) (*regexp.Regexp, int) {
	if len(text) > MaxPatternBytes {
		l.report.Add(path, "must NOT be a regular expression of more than %d bytes", MaxPatternBytes)
		return nil, 0
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		l.report.Add(path, "must be a regular expression that RE2 can run, without look-around and back-references: %s", reason)
		return nil, 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > MaxInstructions {
		l.report.Add(path, "must be a simpler regular expression: its program has more than %d instructions", MaxInstructions)
		return nil, 0
	}
	re, err := regexp.Compile(text)
	if err != nil {
		l.report.Add(path, "must be a regular expression that RE2 can run")
	}
	return re, len(program.Inst)
}

// patternProperty completes the pattern that was adopted last.
func (l *linter) patternProperty(n *node, path, text string) {
	re, instructions := l.compilePattern(path, text)
	if len(n.patterns) == 0 {
		return // more subschemas than allowed
	}
	last := &n.patterns[len(n.patterns)-1]
	last.re, last.instructions = re, instructions
}

// unique reports uniqueItems that would cost too much: the library compares
// every pair if hashes collide, and an attacker makes them collide (SEC-51).
func (l *linter) unique(n *node) {
	if !n.unique {
		return
	}
	path := n.path + "/uniqueItems"
	if limit := count(n.maxItems, MaxUniqueItems+1); limit > MaxUniqueItems {
		l.report.Add(path, "must stand beside a maxItems of at most %d", MaxUniqueItems)
	}
	if n.items == nil || !n.items.scalar() {
		l.report.Add(path, "must stand beside items of type string, number, integer, boolean or null")
	}
}

// A coster finds references that lead back to themselves and counts what one
// value may trigger.
type coster struct {
	report *report.List
	known  map[*node]int // visiting while a node is being counted
}

const visiting = -1

// cost returns how many evaluations n stands for with every reference written
// out (SEC-47). A schema that contains itself is reported: the library compiles
// it and fails, or accepts everything, when it validates (SEC-46).
func (c *coster) cost(n *node) int {
	if cost, ok := c.known[n]; ok {
		return max(cost, 1)
	}
	c.known[n] = visiting
	total := 1
	for _, child := range n.children() {
		if c.known[child] == visiting {
			at := child.path
			if child == n.target {
				at = n.path + "/$ref"
			}
			c.report.Add(at, "must NOT refer to itself")
			continue
		}
		total = min(total+c.cost(child), 1<<30)
	}
	c.known[n] = total
	return total
}
