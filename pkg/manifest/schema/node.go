package schema

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// A node is one subschema, with what linting, counting and wording need to know
// of it. Nodes are linked once, at compile time, and never change afterwards.
type node struct {
	path    string // JSON Pointer in the schema's document
	keyword string // the keyword it stands under
	parent  *node  // nil for the root and for definitions
	never   bool   // the schema false
	options bool   // x-chaster-options: its choices are asked for

	ref    string // as written; target is its node
	target *node

	same                                    []*node // applied to the same value: allOf, if, dependentSchemas and so on
	properties                              map[string]*node
	patterns                                []patternNode
	additional                              *node
	names                                   *node
	prefix                                  []*node // prefixItems, or items as a list
	items                                   *node
	rest                                    *node // additionalItems
	contains                                *node
	unevaluatedProperties, unevaluatedItems *node

	types       []string
	pattern     int // instructions of its pattern
	enum        int // values of its enum, counted one by one
	enumDeep    int // values of its enum and const, with everything inside them
	required    int // names that may be missing: required, dependentRequired
	unique      bool
	maxItems    json.Number
	minContains json.Number
	maxContains json.Number
	dependents  map[string][]string // dependentRequired, and dependencies on names
}

// A patternNode is a member of patternProperties.
type patternNode struct {
	re           *regexp.Regexp
	instructions int
	node         *node
}

// deeper reports whether a subschema under this keyword applies to a value
// inside the one its parent applies to, so that paths grow by one token.
func deeper(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
		"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems":
		return true
	}
	return false
}

// adopt links child, which stands under keyword and name, into n.
func (n *node) adopt(child *node, keyword, name string) {
	child.keyword, child.parent = keyword, n
	switch keyword {
	case "$defs", "definitions", "contentSchema":
		child.parent = nil // reached by $ref only, or not at all
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies":
		n.same = append(n.same, child)
	case "properties":
		if n.properties == nil {
			n.properties = make(map[string]*node)
		}
		n.properties[name] = child
	case "patternProperties":
		n.patterns = append(n.patterns, patternNode{node: child})
	case "additionalProperties":
		n.additional = child
	case "propertyNames":
		n.names = child
	case "prefixItems":
		n.prefix = append(n.prefix, child)
	case "items":
		if name != "" {
			n.prefix = append(n.prefix, child)
			return
		}
		n.items = child
	case "additionalItems":
		n.rest = child
	case "contains":
		n.contains = child
	case "unevaluatedProperties":
		n.unevaluatedProperties = child
	case "unevaluatedItems":
		n.unevaluatedItems = child
	}
}

// children returns every node that evaluating n may evaluate, in a stable order.
func (n *node) children() []*node {
	all := append([]*node{}, n.same...)
	for _, name := range slices.Sorted(maps.Keys(n.properties)) {
		all = append(all, n.properties[name])
	}
	for _, p := range n.patterns {
		all = append(all, p.node)
	}
	all = append(all, n.prefix...)
	for _, child := range []*node{
		n.target, n.additional, n.names, n.items, n.rest, n.contains, n.unevaluatedProperties, n.unevaluatedItems,
	} {
		if child != nil {
			all = append(all, child)
		}
	}
	return all
}

// resolved follows $ref to the node that says what a value is.
func (n *node) resolved() *node {
	for range MaxSubschemas {
		if n.target == nil {
			return n
		}
		n = n.target
	}
	return n
}

// scalar reports whether n admits nothing but strings, numbers, booleans and
// null.
func (n *node) scalar() bool {
	n = n.resolved()
	for _, t := range n.types {
		if t == "object" || t == "array" {
			return false
		}
	}
	return len(n.types) > 0 || n.enum > 0 && n.enum == n.enumDeep
}

// countValues returns how many values v holds, itself included.
func countValues(v any) int {
	count := 1
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			count += countValues(x)
		}
	case []any:
		for _, x := range v {
			count += countValues(x)
		}
	}
	return count
}

// count returns a keyword that counts as a number, or absent where it is
// missing.
func count(n json.Number, absent int) int {
	if f, err := strconv.ParseFloat(string(n), 64); err == nil {
		return int(f)
	}
	return absent
}
