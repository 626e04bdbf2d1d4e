package lock

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
)

// maxNumber is the length of a number literal in bytes (SEC-33).
const maxNumber = 40

// integerField returns a field of the input that is an integer from 1 to most.
// It refuses what the schema should have refused.
func integerField(input json.RawMessage, name string, most int64) (int64, *Refusal) {
	literal, refusal := field(input, name)
	if refusal != nil {
		return 0, refusal
	}
	n, ok := parseInteger(string(literal), most)
	if !ok {
		return 0, invalid(name, fmt.Sprintf("an integer from 1 to %d", most))
	}
	return n, nil
}

// parseInteger reads an integer from 1 to most, however JSON writes it: 1.0
// and 3.6e3 are integers (SEC-35). The approximate value is compared first, so
// that no exponent makes the exact one large.
func parseInteger(literal string, most int64) (int64, bool) {
	if len(literal) > maxNumber {
		return 0, false
	}
	near, err := strconv.ParseFloat(literal, 64)
	if err != nil || !(near >= 1 && near <= float64(most)) {
		return 0, false
	}
	exact, ok := new(big.Rat).SetString(literal)
	if !ok || !exact.IsInt() {
		return 0, false
	}
	return exact.Num().Int64(), true
}

// boolField returns a field of the input that is a boolean. It refuses what
// the schema should have refused.
func boolField(input json.RawMessage, name string) (value bool, refusal *Refusal) {
	literal, refusal := field(input, name)
	if refusal != nil {
		return false, refusal
	}
	switch string(literal) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalid(name, "a boolean")
}

// field returns the JSON of a field by its exact name, unlike decoding into a
// struct, which would take any case.
func field(input json.RawMessage, name string) (json.RawMessage, *Refusal) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, invalid("input", "an object")
	}
	return fields[name], nil
}

func invalid(name, want string) *Refusal {
	return &Refusal{Code: InvalidInput, Message: name + " must be " + want}
}

// inputOf reads an input that its schema has judged. It refuses what the schema
// should have refused.
func inputOf[T any](input json.RawMessage) (T, *Refusal) {
	var v T
	if err := json.Unmarshal(input, &v); err != nil {
		return v, invalid("input", "by its schema")
	}
	return v, nil
}
