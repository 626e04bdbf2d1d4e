package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/latchwire/latchwire/pkg/manifest/internal/report"
)

// maxVisited bounds the walk through an error tree: a crafted anyOf grows one
// with a great many leaves (SEC-48). The budget of steps keeps trees below it.
const maxVisited = 4 * MaxSteps

// A flattener turns the library's error tree into a list of problems. It looks
// at kinds of errors only: the library's texts are not Ajv's, and some quote the
// value.
type flattener struct {
	schema *Schema // nil for errors of a metaschema
	value  any
	report *report.List

	visited int
	surplus map[string]int // arrays with items that nothing evaluates: how many may stay
}

// walk reports e and its causes. The leaves say what is wrong; some of the inner
// errors do, too.
func (f *flattener) walk(e *jsonschema.ValidationError) {
	if f.visited++; f.visited > maxVisited {
		return
	}
	n := f.node(e.SchemaURL)
	if names, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		f.propertyNames(e, n, names.Property)
		return
	}
	for _, cause := range e.Causes {
		f.walk(cause)
	}
	f.own(e, n, e.InstanceLocation)
	f.branches(n, e.InstanceLocation)
}

// own reports what e itself says about the value at a location.
func (f *flattener) own(e *jsonschema.ValidationError, n *node, at []string) {
	if _, ok := e.ErrorKind.(*kind.FalseSchema); ok && n != nil && len(at) > 0 && f.closed(n, at) {
		return
	}
	w := wording{node: n, value: f.value, at: at}
	for _, message := range w.messages(e.ErrorKind) {
		f.report.Add(pointer(at), "%s", message)
	}
}

// closed reports a member or item that a schema false refuses, if Ajv speaks of
// the value around it.
func (f *flattener) closed(n *node, at []string) bool {
	around := pointer(at[:len(at)-1])
	switch {
	case n.keyword == "unevaluatedProperties":
		f.report.Add(around, "must NOT have unevaluated properties")
	case n.keyword == "unevaluatedItems":
		index, _ := strconv.Atoi(at[len(at)-1])
		if least, ok := f.surplus[around]; !ok || index < least {
			if f.surplus == nil {
				f.surplus = make(map[string]int)
			}
			f.surplus[around] = index
		}
	case n.keyword == "items" && n.parent != nil && n == n.parent.items && len(n.parent.prefix) > 0:
		f.report.Add(around, "must NOT have more than %d items", len(n.parent.prefix))
	default:
		return false
	}
	return true
}

// finish reports what only the whole tree tells.
func (f *flattener) finish() {
	for path, least := range f.surplus {
		f.report.Add(path, "must NOT have more than %d items", least)
	}
}

// branches reports the then and else that a failing schema stands in, as Ajv
// does. The library has no error of its own for them.
func (f *flattener) branches(n *node, at []string) {
	for ; n != nil; n = n.parent {
		if n.keyword == "then" || n.keyword == "else" {
			f.report.Add(pointer(at), "must match %q schema", n.keyword)
		}
		if deeper(n.keyword) {
			if len(at) == 0 {
				return
			}
			at = at[:len(at)-1]
		}
	}
}

// propertyNames reports a bad name. The library validates names as values of
// their own, and the location it gives shares memory with its neighbours', so
// the objects that have the name are looked for again: it is bad in each of
// them.
func (f *flattener) propertyNames(e *jsonschema.ValidationError, n *node, name string) {
	var locations [][]string
	if n != nil && n.parent != nil {
		find := finder{owner: n.parent, name: name, left: MaxSteps}
		find.walk(f.schema.root, f.value, nil)
		locations = find.found
	}
	if locations == nil {
		locations = [][]string{slices.Clone(e.InstanceLocation)}
	}
	for _, at := range locations {
		f.names(e.Causes, at)
		f.report.Add(pointer(at), "property name must be valid")
		f.branches(n, at)
	}
}

// names reports what is wrong with a name, at the object that has it.
func (f *flattener) names(causes []*jsonschema.ValidationError, at []string) {
	for _, cause := range causes {
		if f.visited++; f.visited > maxVisited {
			return
		}
		f.names(cause.Causes, at)
		f.own(cause, f.node(cause.SchemaURL), at)
	}
}

// node returns the node of a location in the schema, or nil.
func (f *flattener) node(location string) *node {
	if f.schema == nil {
		return nil
	}
	_, fragment, _ := strings.Cut(location, "#")
	path, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	return f.schema.byPath[path]
}

// pointer returns a location as a JSON Pointer.
func pointer(location []string) string {
	var b strings.Builder
	for _, token := range location {
		b.WriteString(report.Escape(token))
	}
	return b.String()
}

// A finder looks for the objects that one subschema applies to and that have a
// member of one name.
type finder struct {
	owner *node
	name  string
	left  int // steps
	found [][]string
}

func (f *finder) walk(n *node, v any, at []string) {
	if n == nil || f.left == 0 {
		return
	}
	f.left--
	f.walk(n.target, v, at)
	for _, child := range n.same {
		f.walk(child, v, at)
	}
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[f.name]; ok && n == f.owner {
			f.found = append(f.found, slices.Clone(at))
		}
		for name, x := range v {
			in := append(slices.Clip(at), name)
			child, known := n.properties[name]
			f.walk(child, x, in)
			for _, p := range n.patterns {
				if p.re.MatchString(name) {
					known = true
					f.walk(p.node, x, in)
				}
			}
			if !known {
				f.walk(n.additional, x, in)
			}
		}
	case []any:
		for i, x := range v {
			in := append(slices.Clip(at), strconv.Itoa(i))
			if i < len(n.prefix) {
				f.walk(n.prefix[i], x, in)
				continue
			}
			f.walk(n.items, x, in)
			f.walk(n.rest, x, in)
		}
	}
}
