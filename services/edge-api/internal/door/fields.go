package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// Fields are the members of a JSON object. Each is asked for once by its exact
// name (S-01); what is left over in the end nobody knows, and is refused. What
// is wrong is collected and comes out of [Fields.Err], all at once.
type Fields struct {
	members map[string]json.RawMessage // those not asked for yet
	path    string
	shape   []invocation.Problem // wrong types, missing and unknown members
	values  []invocation.Problem // values that are not taken
	nested  []*Fields
}

func newFields(members map[string]json.RawMessage, path string) *Fields {
	return &Fields{members: members, path: path}
}

// Empty reports whether the object has no members at all. It is asked first.
func (f *Fields) Empty() bool { return len(f.members) == 0 }

// Require refuses an object without these members. It is asked before them.
func (f *Fields) Require(names ...string) {
	for _, name := range names {
		if _, found := f.members[name]; !found {
			f.shape = append(f.shape, invocation.Problem{InstancePath: f.path, Message: fmt.Sprintf("must have required property '%s'", name)})
		}
	}
}

// Null reports whether a member is there and null, and then counts it as asked
// for. A null that nobody asks for so is of the wrong type.
func (f *Fields) Null(name string) bool {
	raw, found := f.members[name]
	if !found || jsontext.Value(raw).Kind() != 'n' {
		return false
	}
	delete(f.members, name)
	return true
}

// Text returns a member that must be a string, and whether it is there.
func (f *Fields) Text(name string) (string, bool) {
	return read[string](f, name, '"', "string")
}

// Bool returns a member that must be true or false, and whether it is there.
func (f *Fields) Bool(name string) (value, found bool) {
	if raw := f.members[name]; jsontext.Value(raw).Kind() == 'f' {
		return read[bool](f, name, 'f', "boolean")
	}
	return read[bool](f, name, 't', "boolean")
}

// Int returns a member that must be a whole number within these bounds, and
// whether it is there. JSON tells 60 and 60.0 not apart.
func (f *Fields) Int(name string, least, most int) (int, bool) {
	n, found := read[float64](f, name, '0', "integer")
	switch {
	case !found:
		return 0, false
	case n != math.Trunc(n):
		f.shape = append(f.shape, invocation.Problem{InstancePath: f.path + "/" + name, Message: "must be integer"})
		return 0, false
	case n < float64(least):
		f.Wrong(name, "must be >= %d", least)
		return least, true
	case n > float64(most):
		f.Wrong(name, "must be <= %d", most)
		return most, true
	}
	return int(n), true
}

// Raw returns a member that must be an object, as it was written, and whether
// it is there.
func (f *Fields) Raw(name string) (json.RawMessage, bool) {
	raw, found := f.members[name]
	if !found {
		return nil, false
	}
	delete(f.members, name)
	if jsontext.Value(raw).Kind() != '{' {
		f.shape = append(f.shape, invocation.Problem{InstancePath: f.path + "/" + name, Message: "must be object"})
		return nil, false
	}
	return raw, true
}

// Take returns the members of these names that are there, as they were written.
func (f *Fields) Take(names ...string) map[string]json.RawMessage {
	taken := make(map[string]json.RawMessage)
	for _, name := range names {
		if raw, found := f.members[name]; found {
			taken[name] = raw
			delete(f.members, name)
		}
	}
	return taken
}

// Nested returns the fields of a member that must be an object. Where it is
// missing or something else they are empty, and what is asked of them refuses
// nothing.
func (f *Fields) Nested(name string, required ...string) (*Fields, bool) {
	members, found := read[map[string]json.RawMessage](f, name, '{', "object")
	n := newFields(members, f.path+"/"+name)
	if found {
		n.Require(required...)
		f.nested = append(f.nested, n)
	}
	return n, found
}

// read decodes a member of the kind that its JSON must have.
func read[T any](f *Fields, name string, kind jsontext.Kind, typeName string) (v T, found bool) {
	raw, found := f.members[name]
	if !found {
		return v, false
	}
	delete(f.members, name)
	err := errors.New("of another kind")
	if jsontext.Value(raw).Kind() == kind {
		err = strictjson.Decode(raw, &v, strictjson.Limits{})
	}
	if err != nil {
		f.shape = append(f.shape, invocation.Problem{InstancePath: f.path + "/" + name, Message: "must be " + typeName})
		return v, false
	}
	return v, true
}

// Within refuses a text that has fewer or more code points than these.
func (f *Fields) Within(name, text string, least, most int) {
	switch n := utf8.RuneCountInString(text); {
	case n < least:
		f.Wrong(name, "must NOT have fewer than %d characters", least)
	case n > most:
		f.Wrong(name, "must NOT have more than %d characters", most)
	}
}

// Time returns a member that must be an RFC 3339 time, with any offset and
// precision, and whether it is there.
func (f *Fields) Time(name string) (time.Time, bool) {
	text, found := f.Text(name)
	if !found {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		f.Wrong(name, `must match format "date-time"`)
		return time.Time{}, false
	}
	return t, true
}

// OneOf returns a member that must be one of these texts, and whether it is.
func (f *Fields) OneOf(name string, choices ...string) (string, bool) {
	text, found := f.Text(name)
	if found && !slices.Contains(choices, text) {
		f.Wrong(name, "must be equal to one of the allowed values")
		return "", false
	}
	return text, found
}

// Wrong refuses the value of a member, or with an empty name the object's.
func (f *Fields) Wrong(name, format string, args ...any) {
	path := f.path
	if name != "" {
		path += "/" + name
	}
	f.values = append(f.values, invocation.Problem{InstancePath: path, Message: fmt.Sprintf(format, args...)})
}

// maxName bounds how much of an unknown member's name is shown.
const maxName = 100

// Err returns what is wrong with the object: MalformedRequest for its shape,
// else InvalidInput for its values, or nil.
func (f *Fields) Err() error {
	shape, values := f.problems()
	switch {
	case len(shape) > 0:
		return &invocation.Error{Code: invocation.MalformedRequest, Problems: shape}
	case len(values) > 0:
		return &invocation.Error{Code: invocation.InvalidInput, Problems: values}
	}
	return nil
}

// problems returns everything that is wrong here and below. A member that
// nobody asked for is named by its path.
func (f *Fields) problems() (shape, values []invocation.Problem) {
	shape, values = slices.Clone(f.shape), slices.Clone(f.values)
	for name := range f.members {
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "")
		}
		path := jsontext.Pointer(f.path).AppendToken(name)
		shape = append(shape, invocation.Problem{InstancePath: string(path), Message: "must NOT have additional properties"})
	}
	for _, n := range f.nested {
		s, v := n.problems()
		shape, values = append(shape, s...), append(values, v...)
	}
	for _, list := range [][]invocation.Problem{shape, values} {
		slices.SortStableFunc(list, func(a, b invocation.Problem) int { return strings.Compare(a.InstancePath, b.InstancePath) })
	}
	return shape, values
}
