package schema

import "encoding/json"

// A counter walks a schema and a value together and counts an upper bound of
// the work that a validation would do. It evaluates nothing, so it is cheap,
// and it gives up as soon as the limit is passed. One step stands for about a
// microsecond and a half of validation.
type counter struct {
	steps, limit int
}

// What one step pays for beside the evaluation of a subschema. The figures are
// on the safe side of what was measured on the library.
const (
	instructionsPerStep = 100 // of a pattern, times bytes of text
	comparisonsPerStep  = 8   // of names, or of items that must differ
	trackedPerStep      = 4   // members remembered for unevaluated keywords
)

// over reports whether the limit is passed.
func (c *counter) over() bool { return c.steps > c.limit }

// walk counts the evaluation of v by n. Tracked is true where a schema around n
// has to know which members n evaluates.
func (c *counter) walk(n *node, v any, tracked bool) {
	if n == nil {
		return
	}
	if c.steps++; c.over() {
		return
	}
	tracked = tracked || n.unevaluatedProperties != nil || n.unevaluatedItems != nil
	c.walk(n.target, v, tracked)
	for _, child := range n.same {
		if c.over() {
			return
		}
		c.walk(child, v, tracked)
	}
	switch v := v.(type) {
	case string:
		c.steps += n.enum + match(n.pattern, v)
	case json.Number, bool, nil:
		c.steps += n.enum
	case map[string]any:
		c.steps += n.enumDeep + n.required/comparisonsPerStep
		if tracked {
			c.steps += len(v) / trackedPerStep
		}
		c.object(n, v)
	case []any:
		c.steps += n.enumDeep
		if tracked {
			c.steps += len(v) / trackedPerStep
		}
		if n.unique { // hashes can be made to collide: count it as quadratic
			c.steps += len(v) * len(v) / comparisonsPerStep
		}
		c.array(n, v)
	}
}

func (c *counter) object(n *node, members map[string]any) {
	for name, v := range members {
		if c.over() {
			return
		}
		child, known := n.properties[name]
		c.walk(child, v, false)
		for _, p := range n.patterns {
			c.steps += match(p.instructions, name)
			c.walk(p.node, v, false)
		}
		if !known {
			c.walk(n.additional, v, false)
		}
		c.walk(n.names, name, false)
		c.walk(n.unevaluatedProperties, v, false)
	}
}

func (c *counter) array(n *node, items []any) {
	for i, v := range items {
		if c.over() {
			return
		}
		switch {
		case i < len(n.prefix):
			c.walk(n.prefix[i], v, false)
		case n.items != nil:
			c.walk(n.items, v, false)
		default:
			c.walk(n.rest, v, false)
		}
		c.walk(n.contains, v, false)
		c.walk(n.unevaluatedItems, v, false)
	}
}

// match is the cost of running a pattern on a text.
func match(instructions int, text string) int { return instructions * len(text) / instructionsPerStep }
