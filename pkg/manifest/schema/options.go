package schema

import (
	"slices"
	"strconv"
)

// HasOptions reports whether the schema of an input says, by x-chaster-options,
// that the value at these tokens of a JSON Pointer is to be chosen from options
// (contract section 5). Items of a list are named by any index.
func (s *Schema) HasOptions(tokens []string) bool {
	at := s.root.alternatives(nil)
	for _, token := range tokens {
		var next []*node
		for _, n := range at {
			for _, child := range n.within(token) {
				next = child.alternatives(next)
			}
		}
		at = next
	}
	return len(tokens) > 0 && slices.ContainsFunc(at, func(n *node) bool { return n.options })
}

// alternatives appends n and every subschema that may apply to the same value.
func (n *node) alternatives(to []*node) []*node {
	if slices.Contains(to, n) {
		return to
	}
	to = append(to, n)
	for _, same := range n.same {
		to = same.alternatives(to)
	}
	if n.target != nil {
		to = n.target.alternatives(to)
	}
	return to
}

// within returns the subschemas of the member or item that a token names.
func (n *node) within(token string) []*node {
	var found []*node
	if child := n.properties[token]; child != nil {
		found = append(found, child)
	}
	index, err := strconv.ParseUint(token, 10, 31)
	switch {
	case err != nil:
	case index < uint64(len(n.prefix)):
		found = append(found, n.prefix[index])
	case n.items != nil:
		found = append(found, n.items)
	}
	return found
}
