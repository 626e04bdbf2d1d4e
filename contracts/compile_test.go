package contracts_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/latchwire/latchwire/contracts"
)

const base = "https://contracts.test/schemas/"

// compiler returns a compiler that knows every schema of the contract and
// loads nothing from elsewhere.
func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.AssertFormat()
	for _, name := range contracts.Schemas() {
		data, err := contracts.Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(base+name+".json", decode(t, data)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := compiler(t).Compile(base + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

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
