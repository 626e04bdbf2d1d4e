// Package contracttest compiles the contract's schemas for tests.
package contracttest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/contracts"
)

// Base is the URL that the schemas are compiled under, each as its name and
// ".json".
const Base = "https://contracts.test/schemas/"

// Compiler returns a compiler that knows every schema of the contract, asserts
// formats and loads nothing from elsewhere.
func Compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.AssertFormat()
	for _, name := range contracts.Schemas() {
		data, err := contracts.Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(Base+name+".json", Decode(t, data)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Compile returns the schema of a name that [contracts.Schemas] lists.
func Compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := Compiler(t).Compile(Base + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Decode returns a JSON value as schemas judge it.
func Decode(t *testing.T, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
