package strictjson

import (
	"encoding/json"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode checks b and stores it in the value v points to. Names match field
// tags exactly: actor is not filled by aCTOR (S-01). Unknown names are skipped.
// Where numbers must keep their digits, v holds [json.RawMessage], json.Number
// or an integer type; an any receives a float64 (S-03: use [Value] instead).
// A text that is null does not fit a struct, map or slice.
// The error is an [*Error].
func Decode(b []byte, v any, l Limits) error {
	if err := Check(b, l); err != nil {
		return err
	}
	if name := typeName(reflect.TypeOf(v).Elem()); jsontext.Value(b).Kind() == 'n' && (name == "object" || name == "array") {
		return refuse(WrongType, "", "must be %s", name)
	}
	if err := jsonv2.Unmarshal(b, v); err != nil {
		return mismatch(err)
	}
	return nil
}

// Value checks b and returns it as a tree of map[string]any, []any, string,
// json.Number, bool and nil: what a validator wants, with every number exactly
// as it was written. The error is an [*Error].
func Value(b []byte, l Limits) (any, error) {
	s, err := newScanner(b, l)
	if err != nil {
		return nil, err
	}
	t, err := s.next()
	if err != nil {
		return nil, err
	}
	v, err := s.value(t)
	if err != nil {
		return nil, err
	}
	return v, s.end()
}

// value returns the value that begins with t.
func (s *scanner) value(t jsontext.Token) (any, error) {
	switch t.Kind() { //nolint:exhaustive // no value begins with the other kinds
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	default:
		return nil, nil // nil is how a tree spells null
	}
}

func (s *scanner) object() (any, error) {
	m := make(map[string]any)
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		if t.Kind() == '}' {
			return m, nil
		}
		name := t.String()
		if t, err = s.next(); err != nil {
			return nil, err
		}
		if m[name], err = s.value(t); err != nil {
			return nil, err
		}
	}
}

func (s *scanner) array() (any, error) {
	a := []any{}
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		if t.Kind() == ']' {
			return a, nil
		}
		v, err := s.value(t)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
}
