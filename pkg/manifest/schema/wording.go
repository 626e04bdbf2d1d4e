package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// maxNames is how many missing names one object is told; far fewer are shown.
const maxNames = 100

// A wording puts one error of the library into Ajv's words (contract section 9,
// S-28).
type wording struct {
	node  *node // nil for errors of a metaschema
	value any   // the whole value
	at    []string
}

// messages returns the words for one error, none for an error that only groups
// others. Ajv repeats itself for each name that is missing, and so does this.
func (w wording) messages(e jsonschema.ErrorKind) []string {
	switch e := e.(type) {
	case *kind.Required:
		var out []string
		for _, name := range e.Missing[:min(len(e.Missing), maxNames)] {
			out = append(out, fmt.Sprintf("must have required property '%s'", name))
		}
		return out
	case *kind.Type:
		return one("must be %s", w.types(e.Want))
	case *kind.Enum:
		return one("must be equal to one of the allowed values")
	case *kind.Const:
		return one("must be equal to constant")
	case *kind.Format:
		return one(`must match format "%s"`, e.Want)
	case *kind.FalseSchema:
		return one("boolean schema is false")
	case *kind.Not:
		return one("must NOT be valid")
	case *kind.AnyOf:
		return one("must match a schema in anyOf")
	case *kind.OneOf:
		return one("must match exactly one schema in oneOf")
	case *kind.RefCycle:
		return one("must NOT be validated in a circle")
	case *kind.InvalidJsonValue:
		return one("must be a JSON value")
	}
	if out := w.number(e); out != nil {
		return out
	}
	if out := w.array(e); out != nil {
		return out
	}
	return w.textOrObject(e)
}

func one(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }

func (w wording) number(e jsonschema.ErrorKind) []string {
	switch e := e.(type) {
	case *kind.Minimum:
		return one("must be >= %s", decimal(e.Want))
	case *kind.Maximum:
		return one("must be <= %s", decimal(e.Want))
	case *kind.ExclusiveMinimum:
		return one("must be > %s", decimal(e.Want))
	case *kind.ExclusiveMaximum:
		return one("must be < %s", decimal(e.Want))
	case *kind.MultipleOf:
		return one("must be multiple of %s", decimal(e.Want))
	}
	return nil
}

func (w wording) array(e jsonschema.ErrorKind) []string {
	switch e := e.(type) {
	case *kind.MinItems:
		return one("must NOT have fewer than %d items", e.Want)
	case *kind.MaxItems:
		return one("must NOT have more than %d items", e.Want)
	case *kind.AdditionalItems:
		allowed := 0
		if w.node != nil {
			allowed = len(w.node.prefix)
		}
		return one("must NOT have more than %d items", allowed)
	case *kind.UniqueItems:
		i, j := w.duplicates(e.Duplicates)
		return one("must NOT have duplicate items (items ## %d and %d are identical)", i, j)
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return one("%s", w.contains())
	}
	return nil
}

func (w wording) textOrObject(e jsonschema.ErrorKind) []string {
	switch e := e.(type) {
	case *kind.MinLength:
		return one("must NOT have fewer than %d characters", e.Want)
	case *kind.MaxLength:
		return one("must NOT have more than %d characters", e.Want)
	case *kind.Pattern:
		return one(`must match pattern "%s"`, e.Want)
	case *kind.MinProperties:
		return one("must NOT have fewer than %d properties", e.Want)
	case *kind.MaxProperties:
		return one("must NOT have more than %d properties", e.Want)
	case *kind.AdditionalProperties:
		return one("must NOT have additional properties")
	case *kind.PropertyNames:
		return one("property name must be valid")
	case *kind.DependentRequired:
		return w.dependency(e.Prop, e.Missing)
	case *kind.Dependency:
		return w.dependency(e.Prop, e.Missing)
	}
	return nil
}

// types lists the types a schema asks for in the order it does.
func (w wording) types(want []string) string {
	if w.node != nil && len(w.node.types) == len(want) {
		want = w.node.types
	}
	return strings.Join(want, ",")
}

// contains says how many items must fit: Ajv names both bounds, whichever is
// missed.
func (w wording) contains() string {
	least, most := 1, -1
	if w.node != nil {
		least, most = count(w.node.minContains, 1), count(w.node.maxContains, -1)
	}
	if most < 0 {
		return fmt.Sprintf("must contain at least %d valid item(s)", least)
	}
	return fmt.Sprintf("must contain at least %d and no more than %d valid item(s)", least, most)
}

// dependency names everything that a property requires, not only what is
// missing.
func (w wording) dependency(property string, missing []string) []string {
	if w.node != nil && w.node.dependents[property] != nil {
		missing = w.node.dependents[property]
	}
	noun := "properties"
	if len(missing) == 1 {
		noun = "property"
	}
	return one("must have %s %s when property %s is present", noun, strings.Join(missing, ", "), property)
}

// duplicates returns the pair of equal items that Ajv finds: it looks from the
// end and names the later one first. The library's pair is kept if the array
// can't be read.
func (w wording) duplicates(found [2]int) (int, int) {
	items, ok := lookup(w.value, w.at).([]any)
	if !ok {
		return found[0], found[1]
	}
	seen := make(map[string]int, len(items))
	for i, item := range slices.Backward(items) {
		text, err := json.Marshal(item)
		if err != nil {
			return found[0], found[1]
		}
		if text, err = strictjson.Canonical(text); err != nil {
			return found[0], found[1]
		}
		if j, ok := seen[string(text)]; ok {
			return j, i
		}
		seen[string(text)] = i
	}
	return found[0], found[1]
}

// lookup returns the value at a location, or nil.
func lookup(v any, at []string) any {
	for _, token := range at {
		switch in := v.(type) {
		case map[string]any:
			v = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// decimal writes a number of a schema as JavaScript does, but keeps the digits
// of whole numbers that JavaScript would round.
func decimal(r *big.Rat) string {
	const plain = 21 // digits that JavaScript writes without an exponent
	if text := r.Num().String(); r.IsInt() && len(strings.TrimPrefix(text, "-")) <= plain {
		return text
	}
	f, _ := r.Float64()
	if abs := max(f, -f); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	return strings.Replace(strings.Replace(text, "e-0", "e-", 1), "e+0", "e+", 1)
}
