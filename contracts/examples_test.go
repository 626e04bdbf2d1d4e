package contracts_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/contracts/contracttest"
)

func TestEveryExampleIsJudgedAsItsNameSays(t *testing.T) {
	t.Parallel()
	want := reasons(t)
	judges := make(map[string]*jsonschema.Schema)
	c := contracttest.Compiler(t)
	for _, name := range contracts.Schemas() {
		s, err := c.Compile(contracttest.Base + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		judges[name] = s
	}
	for _, e := range contracts.Examples() {
		t.Run(e.File, func(t *testing.T) {
			t.Parallel()
			got := refusals(t, judges[e.Schema], contracttest.Decode(t, e.JSON))
			switch {
			case e.Valid && got != nil:
				t.Errorf("refused for %q", got)
			case !e.Valid && !slices.Equal(got, want[e.File]):
				t.Errorf("got refused for %q, want %q", got, want[e.File])
			}
		})
	}
}

func TestTheReasonsAreThoseOfTheInvalidExamples(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range contracts.Examples() {
		if !e.Valid {
			got = append(got, e.File)
		}
	}
	if want := slices.Sorted(maps.Keys(reasons(t))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for file, why := range reasons(t) {
		if len(why) == 0 {
			t.Errorf("%s has no reason", file)
		}
	}
}

func TestEverySchemaHasExamplesOfBothKinds(t *testing.T) {
	t.Parallel()
	plain, invalid := map[string]int{}, map[string]int{}
	for _, e := range contracts.Examples() {
		switch {
		case e.Valid && e.Case == "":
			plain[e.Schema]++
		case !e.Valid && e.Case == "":
			t.Errorf("%s does not say why it is invalid", e.File)
		case !e.Valid:
			invalid[e.Schema]++
		}
	}
	for _, name := range contracts.Schemas() {
		if name == "common" {
			continue
		}
		if plain[name] != 1 || invalid[name] < 2 {
			t.Errorf("%s: got %d plain valid and %d invalid examples, want 1 and several", name, plain[name], invalid[name])
		}
		delete(plain, name)
	}
	if len(plain) > 0 {
		t.Errorf("examples without a schema: %v", plain)
	}
}

// reasons is why each invalid example is refused, as refusals says it.
func reasons(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/refusals.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	return want
}
