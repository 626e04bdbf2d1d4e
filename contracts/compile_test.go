package contracts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// refusals says everything that is wrong as "/pointer keyword", sorted, each
// once; nil if nothing is. Members that are missing or too many are named.
func refusals(t *testing.T, s *jsonschema.Schema, v any) []string {
	t.Helper()
	err := s.Validate(v)
	if err == nil {
		return nil
	}
	ve, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // Validate documents this very type
	if !ok {
		t.Fatal(err)
	}
	found := leaves(ve)
	slices.Sort(found)
	return slices.Compact(found)
}

func leaves(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		pointer := ""
		for _, part := range e.InstanceLocation {
			pointer += "/" + part
		}
		return []string{strings.TrimSpace(pointer + " " + keyword(e))}
	}
	var found []string
	for _, cause := range e.Causes {
		found = append(found, leaves(cause)...)
	}
	return found
}

// keyword is the schema keyword that refused.
func keyword(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Not:
		return "not"
	case *kind.Required:
		return "required " + strings.Join(k.Missing, ",")
	case *kind.AdditionalProperties:
		return "additionalProperties " + strings.Join(k.Properties, ",")
	}
	path := e.ErrorKind.KeywordPath()
	if len(path) == 0 {
		return fmt.Sprintf("%T", e.ErrorKind)
	}
	return path[len(path)-1]
}
