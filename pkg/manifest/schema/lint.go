package schema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
)

// A linter turns a schema document into nodes and reports what may not be
// published.
type linter struct {
	report report.List
	byPath map[string]*node
	nodes  []*node // in the order they were met, the root first
	full   bool    // MaxSubschemas was reported
}

// lint returns the nodes of a schema document, the root first. They are only
// fit for use if nothing was reported. It removes formats that are annotations
// from the document, so that the library does not assert them.
func (l *linter) lint(doc map[string]any) *node {
	root := l.visit(doc, "", nil)
	for _, n := range l.nodes {
		l.resolve(n)
	}
	if !l.report.Empty() {
		return root
	}
	c := coster{report: &l.report, known: make(map[*node]int)}
	for _, n := range l.nodes { // definitions that nothing refers to as well
		if cost := c.cost(n); n == root && cost > MaxCost && l.report.Empty() {
			l.report.Add("", "must be less complex: one value may need more than %d evaluations", MaxCost)
		}
	}
	for _, n := range l.nodes {
		l.unique(n)
	}
	return root
}

// visit makes the node of v and of everything below it.
func (l *linter) visit(v any, path string, into func(*node)) *node {
	n := &node{path: path}
	if len(l.nodes) > MaxSubschemas { // the root is none
		if !l.full {
			l.full = true
			l.report.Add("", "must NOT have more than %d subschemas", MaxSubschemas)
		}
		return n
	}
	if l.byPath == nil {
		l.byPath = make(map[string]*node)
	}
	l.byPath[path] = n
	l.nodes = append(l.nodes, n)
	if into != nil {
		into(n)
	}
	switch v := v.(type) {
	case bool:
		n.never = !v
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(v)) {
			l.keyword(n, keyword, v[keyword])
			l.subschemas(n, keyword, v[keyword])
		}
		if format, ok := v["format"].(string); ok && !asserted(format) {
			delete(v, "format")
		}
	}
	return n
}

// subschemas visits the schemas under one keyword. Values of the wrong shape
// are left to the metaschema.
func (l *linter) subschemas(n *node, keyword string, v any) {
	path := n.path + report.Escape(keyword)
	child := func(v any, path, name string) {
		l.visit(v, path, func(c *node) { n.adopt(c, keyword, name) })
	}
	switch keyword {
	case "$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies":
		m, _ := v.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if _, names := m[name].([]any); !names {
				child(m[name], path+report.Escape(name), name)
			}
			if keyword == "patternProperties" {
				l.patternProperty(n, path+report.Escape(name), name)
			}
		}
	case "allOf", "anyOf", "oneOf", "prefixItems", "items":
		if list, ok := v.([]any); ok {
			for i, x := range list {
				child(x, path+report.Escape(strconv.Itoa(i)), strconv.Itoa(i))
			}
			return
		}
		if keyword == "items" {
			child(v, path, "")
		}
	case "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems",
		"unevaluatedProperties", "unevaluatedItems", "contentSchema":
		child(v, path, "")
	}
}

// keyword records what one keyword says and reports what it may not say.
func (l *linter) keyword(n *node, keyword string, v any) {
	path := n.path + report.Escape(keyword)
	switch keyword {
	case "$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor", "$vocabulary":
		l.report.Add(path, "keyword is not supported: a schema refers to its own document by JSON Pointer only")
	case "$schema":
		if n.path != "" {
			l.report.Add(path, "must stand at the root only")
		}
	case "$ref":
		n.ref, _ = v.(string)
		if n.ref == "" {
			l.report.Add(path, "must be a non-empty string")
		}
	case "type":
		n.types = names(v)
	case "enum":
		values, _ := v.([]any)
		if len(values) > MaxEnum {
			l.report.Add(path, "must NOT have more than %d items", MaxEnum)
		}
		n.enum, n.enumDeep = len(values), n.enumDeep+countValues(v)-1
	case "const":
		n.enumDeep += countValues(v)
	case "pattern":
		text, _ := v.(string)
		_, n.pattern = l.compilePattern(path, text)
	case "patternProperties":
		if m, _ := v.(map[string]any); len(m) > MaxPatternProperties {
			l.report.Add(path, "must NOT have more than %d properties", MaxPatternProperties)
		}
	case "required":
		n.required += len(names(v))
	case "dependentRequired", "dependencies":
		n.depend(v)
	case "uniqueItems":
		n.unique, _ = v.(bool)
	case "x-chaster-options":
		n.options = v != nil && v != false
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		l.count(n, path, keyword, v)
	}
}

// depend records which names the presence of another one requires.
func (n *node) depend(v any) {
	m, _ := v.(map[string]any)
	for name, wants := range m {
		if _, ok := wants.([]any); !ok {
			continue
		}
		if n.dependents == nil {
			n.dependents = make(map[string][]string)
		}
		n.dependents[name] = names(wants)
		n.required += len(n.dependents[name])
	}
}

// names returns the strings of a list, or of a string that stands for a list of
// one.
func names(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// count records a keyword that counts and reports values the library would
// misread (SEC-53).
func (l *linter) count(n *node, path, keyword string, v any) {
	number, ok := v.(json.Number)
	f, err := strconv.ParseFloat(string(number), 64)
	switch {
	case !ok || err != nil || f != math.Trunc(f):
		l.report.Add(path, "must be integer")
	case f < 0:
		l.report.Add(path, "must be >= 0")
	case f > MaxCount:
		l.report.Add(path, "must be <= %d", MaxCount)
	}
	switch keyword {
	case "maxItems":
		n.maxItems = number
	case "minContains":
		n.minContains = number
	case "maxContains":
		n.maxContains = number
	}
}

// asserted reports whether a format is checked (contract section 5). The others
// are annotations, whatever the library could do with them.
func asserted(format string) bool {
	switch format {
	case "date-time", "date", "uri", "email", "uuid":
		return true
	}
	return false
}
