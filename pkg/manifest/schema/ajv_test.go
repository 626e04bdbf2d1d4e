package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/latchwire/latchwire/pkg/manifest/schema"
)

// A group of the corpus is a schema and values that it judges. With V it is
// about a property of that name.
type group struct {
	Name   string
	Schema json.RawMessage
	V      json.RawMessage
	Values []json.RawMessage
}

func (g group) whole() json.RawMessage {
	if g.Schema != nil {
		return g.Schema
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{"v":%s}}`, g.V)
}

func (g group) instance(i int) json.RawMessage {
	if g.Schema != nil {
		return g.Values[i]
	}
	return fmt.Appendf(nil, `{"v":%s}`, g.Values[i])
}

// Why this package means to say something else than Ajv.
const (
	exact     = "decimals are divided as they are written, not as binary fractions (S-25)"
	typeFirst = "a value of a wrong type is told its type, not how large a right one must be"
	own       = "an object's members are its own: Ajv sees those that JavaScript gives every object"
	keyword   = "nullable is no keyword of JSON Schema (S-27)"
	nothing   = "a schema that fails has evaluated nothing, as JSON Schema says"
)

// The deviations from Ajv, by group and value.
var deviations = map[string]struct {
	reason string
	want   []string
}{
	"both ends, 2.5":          {typeFirst, []string{"/v: must be integer"}},
	"both ends, 7.5":          {typeFirst, []string{"/v: must be integer"}},
	"S-25: cents, 20.29":      {exact, nil},
	"S-25: cents, 4.35":       {exact, nil},
	"S-25: cents, -0.07":      {exact, nil},
	"a prototype's names, {}": {own, []string{"/v: must have required property 'constructor'", "/v: must have required property 'toString'"}},
	`a prototype's names, {"constructor": 1, "toString": 2}`: {own, nil},
	`a prototype's names, {"hasOwnProperty": 1}`: {own, []string{
		"/v/hasOwnProperty: must be string", "/v: must have required property 'constructor'", "/v: must have required property 'toString'",
	}},
	`unevaluatedProperties, {"a": 1}`:            {nothing, []string{"/v/a: must be string", "/v: must NOT have unevaluated properties"}},
	`S-27: unevaluated at the root, {"v": null}`: {keyword, []string{"/v: must be string"}},
}

// Verdict, paths and words are Ajv's, whose answers were recorded: make
// conformance asks it again (contract section 9, S-25, S-27, S-28). The order of
// what is wrong is ours, and nothing is said twice in the same words.
func TestTheCorpusIsJudgedAsByAjv(t *testing.T) {
	t.Parallel()
	var corpus []group
	var answers [][][]string
	for file, into := range map[string]any{"corpus.json": &corpus, "answers.json": &answers} {
		raw, err := os.ReadFile("testdata/ajv/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	pairs, met := 0, make(map[string]bool)
	for i, g := range corpus {
		s, err := schema.Compile(g.whole())
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			continue
		}
		for j := range g.Values {
			pairs++
			name := fmt.Sprintf("%s, %s", g.Name, g.Values[j])
			want, reason := answers[i][j], "as Ajv"
			if d, found := deviations[name]; found {
				want, reason = d.want, d.reason
				met[name] = true
			}
			got := spell(s.Validate(g.instance(j)))
			slices.Sort(got)
			slices.Sort(want)
			want = slices.Compact(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s:\n got %q\nwant %q (%s)", name, got, want, reason)
			}
		}
	}
	if pairs < 300 || len(met) != len(deviations) {
		t.Errorf("judged %d pairs, want 300 at least; met %d of %d deviations", pairs, len(met), len(deviations))
	}
}
