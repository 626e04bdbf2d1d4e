package strictjson

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Reason says why a JSON text was refused, so that each door can choose its
// own code (contract section 9: over-deep input and bad numbers are
// invalid-input on REST, everything else is malformed-request).
type Reason string

// The reasons. The set is closed.
const (
	// Malformed is a text that is no JSON text at all, invalid UTF-8 included.
	Malformed Reason = "malformed"
	// DuplicateName is an object with two equal names.
	DuplicateName Reason = "duplicate-name"
	// TooLarge is a text of more than Limits.Bytes bytes.
	TooLarge Reason = "too-large"
	// TooDeep is a text nested more than Limits.Depth levels deep.
	TooDeep Reason = "too-deep"
	// TooManyValues is a text of more than Limits.Values values.
	TooManyValues Reason = "too-many-values"
	// NumberOutOfRange is a number that is too long, or that no float64 holds.
	NumberOutOfRange Reason = "number-out-of-range"
	// WrongType is a value that does not fit the Go value given to [Decode].
	WrongType Reason = "wrong-type"
)

// maxPath bounds a path in an error: names come from the sender.
const maxPath = 512

// An Error is a refused JSON text.
type Error struct {
	// Reason is the class of the refusal.
	Reason Reason
	// Path is a JSON Pointer to the value at fault, empty for the root and where
	// a limit of the whole text (bytes, depth, values) is passed. Where
	// it would be longer than 512 bytes it points at the nearest value around
	// it that is not.
	Path string

	message string
	cause   error
}

// Error says what is wrong with the value at Path, in the style of Ajv
// (contract section 9). It never quotes the text.
func (e *Error) Error() string { return e.message }

// Unwrap returns the parser's own error, which may quote the text: log it, do
// not show it.
func (e *Error) Unwrap() error { return e.cause }

// ReasonOf returns the reason of the first [*Error] in err's tree, or the empty
// Reason.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

func refuse(reason Reason, path jsontext.Pointer, format string, args ...any) *Error {
	return &Error{Reason: reason, Path: clip(string(path)), message: fmt.Sprintf(format, args...)}
}

// clip shortens a pointer by whole tokens.
func clip(path string) string {
	if len(path) <= maxPath {
		return path
	}
	return path[:strings.LastIndexByte(path[:maxPath+1], '/')]
}

// syntax turns an error of the parser into ours.
func syntax(err error) *Error {
	e := &Error{Reason: Malformed, message: "must be valid JSON", cause: err}
	bad, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return e
	}
	e.Path = clip(string(bad.JSONPointer))
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Reason, e.message = DuplicateName, "must NOT have duplicate property names"
		e.Path = clip(string(bad.JSONPointer.Parent()))
	case bad.ByteOffset > 0:
		e.message = fmt.Sprintf("must be valid JSON (error after byte %d)", bad.ByteOffset)
	}
	return e
}

// mismatch turns an error of the decoder into ours.
func mismatch(err error) *Error {
	bad, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return syntax(err)
	}
	e := &Error{Reason: WrongType, Path: clip(string(bad.JSONPointer)), message: "must be of another type", cause: err}
	if bad.GoType != nil {
		if name := typeName(bad.GoType); name != "" {
			e.message = "must be " + name
		}
	}
	return e
}

func typeName(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the other kinds have no JSON type
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	}
	return ""
}
