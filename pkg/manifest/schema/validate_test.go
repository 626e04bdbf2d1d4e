package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/schema"
)

func compile(tb testing.TB, text string) *schema.Schema {
	tb.Helper()
	s, err := schema.Compile(json.RawMessage(text))
	if err != nil {
		tb.Fatalf("%s: %v %v", text, err, invocation.AsError(err).Problems)
	}
	return s
}

// spell writes problems as "path: message" lines.
func spell(problems []invocation.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.InstancePath+": "+p.Message)
	}
	return out
}

// The words are Ajv's for allErrors and 2020-12, in the order of paths.
func TestProblemsAreInAjvsWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schema, value string
		want          []string
	}{
		"S-28: a minimum": {object(`{"type":"integer","minimum":1}`), `{"v":0}`, []string{"/v: must be >= 1"}},
		"S-28: a type":    {object(`{"type":"integer"}`), `{"v":"x"}`, []string{"/v: must be integer"}},
		"S-28: a missing property, at the parent": {`{"type":"object","required":["duration"]}`, `{}`, []string{": must have required property 'duration'"}},
		"S-28: one entry for each missing one":    {object(`{"type":"object","required":["a","b"]}`), `{"v":{}}`, []string{"/v: must have required property 'a'", "/v: must have required property 'b'"}},
		"the type of the root":                    {`{"type":"object"}`, `[]`, []string{": must be object"}},
		"types in the order of the schema":        {object(`{"type":["string","null"]}`), `{"v":1}`, []string{"/v: must be string,null"}},
		"types in another order":                  {object(`{"type":["null","string"]}`), `{"v":1}`, []string{"/v: must be null,string"}},
		"a maximum":                               {object(`{"maximum":5.5}`), `{"v":6}`, []string{"/v: must be <= 5.5"}},
		"an exclusive minimum":                    {object(`{"exclusiveMinimum":1.0}`), `{"v":1}`, []string{"/v: must be > 1"}},
		"an exclusive maximum":                    {object(`{"exclusiveMaximum":-1e3}`), `{"v":-1000}`, []string{"/v: must be < -1000"}},
		"a large limit keeps its digits":          {object(`{"maximum":9007199254740993}`), `{"v":9007199254740994}`, []string{"/v: must be <= 9007199254740993"}},
		"a limit above 1e21 as JavaScript":        {object(`{"minimum":1.5e22}`), `{"v":1}`, []string{"/v: must be >= 1.5e+22"}},
		"a small limit as JavaScript":             {object(`{"minimum":1.5e-7}`), `{"v":0}`, []string{"/v: must be >= 1.5e-7"}},
		"a divisor":                               {object(`{"multipleOf":0.01}`), `{"v":0.945}`, []string{"/v: must be multiple of 0.01"}},
		"a const":                                 {object(`{"const":{"secret":1}}`), `{"v":2}`, []string{"/v: must be equal to constant"}},
		"an enum, without its values":             {object(`{"enum":["a","b"]}`), `{"v":"CANARY"}`, []string{"/v: must be equal to one of the allowed values"}},
		"a short text":                            {object(`{"minLength":2}`), `{"v":"a"}`, []string{"/v: must NOT have fewer than 2 characters"}},
		"a long text, in code points":             {object(`{"maxLength":2}`), `{"v":"äöü"}`, []string{"/v: must NOT have more than 2 characters"}},
		"a pattern as it was written":             {object(`{"pattern":"^\"\\d$"}`), `{"v":"CANARY"}`, []string{`/v: must match pattern "^"\d$"`}},
		"SEC-61: an email":                        {object(`{"format":"email"}`), `{"v":"CANARY"}`, []string{`/v: must match format "email"`}},
		"few items":                               {object(`{"minItems":2}`), `{"v":[1]}`, []string{"/v: must NOT have fewer than 2 items"}},
		"many items":                              {object(`{"maxItems":0}`), `{"v":[1]}`, []string{"/v: must NOT have more than 0 items"}},
		"an item":                                 {object(`{"items":{"type":"string"}}`), `{"v":["a",1,2]}`, []string{"/v/1: must be string", "/v/2: must be string"}},
		"equal items, the later one first":        {object(`{"uniqueItems":true,"maxItems":9,"items":{"type":"number"}}`), `{"v":[1,2,1.0]}`, []string{"/v: must NOT have duplicate items (items ## 2 and 0 are identical)"}},
		"few properties":                          {object(`{"minProperties":1}`), `{"v":{}}`, []string{"/v: must NOT have fewer than 1 properties"}},
		"many properties":                         {object(`{"maxProperties":1}`), `{"v":{"a":1,"b":2}}`, []string{"/v: must NOT have more than 1 properties"}},
		"additional properties, once":             {object(`{"additionalProperties":false}`), `{"v":{"a":1,"b":2}}`, []string{"/v: must NOT have additional properties"}},
		"additional properties with a schema":     {object(`{"additionalProperties":{"type":"string"}}`), `{"v":{"a":1}}`, []string{"/v/a: must be string"}},
		"a property that may not be":              {object(`false`), `{"v":1}`, []string{"/v: boolean schema is false"}},
		"a name":                                  {object(`{"propertyNames":{"pattern":"^a"}}`), `{"v":{"b":1}}`, []string{`/v: must match pattern "^a"`, "/v: property name must be valid"}},
		"a pattern for names":                     {object(`{"patternProperties":{"^a":{"type":"string"}}}`), `{"v":{"a1":1,"b":1}}`, []string{"/v/a1: must be string"}},
		"not":                                     {object(`{"not":{"type":"string"}}`), `{"v":"a"}`, []string{"/v: must NOT be valid"}},
		"oneOf, none":                             {object(`{"oneOf":[{"type":"string"},{"minimum":5}]}`), `{"v":1}`, []string{"/v: must be >= 5", "/v: must be string", "/v: must match exactly one schema in oneOf"}},
		"oneOf, two":                              {object(`{"oneOf":[{"type":"integer"},{"minimum":0}]}`), `{"v":1}`, []string{"/v: must match exactly one schema in oneOf"}},
		"anyOf":                                   {object(`{"anyOf":[{"type":"string"},{"minimum":5}]}`), `{"v":1}`, []string{"/v: must be >= 5", "/v: must be string", "/v: must match a schema in anyOf"}},
		"allOf":                                   {object(`{"allOf":[{"minimum":2},{"minimum":3}]}`), `{"v":1}`, []string{"/v: must be >= 2", "/v: must be >= 3"}},
		"then":                                    {object(`{"if":{"type":"integer"},"then":{"minimum":5}}`), `{"v":1}`, []string{"/v: must be >= 5", `/v: must match "then" schema`}},
		"else, deep inside":                       {object(`{"if":{"required":["k"]},"else":{"properties":{"l":{"items":{"type":"string"}}}}}`), `{"v":{"l":["a",1]}}`, []string{`/v: must match "else" schema`, "/v/l/1: must be string"}},
		"then behind a reference":                 {`{"type":"object","$defs":{"d":{"required":["z"]}},"if":{"required":["k"]},"then":{"$ref":"#/$defs/d"}}`, `{"k":1}`, []string{": must have required property 'z'", `: must match "then" schema`}},
		"behind a reference":                      {`{"type":"object","properties":{"v":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"string"}}}`, `{"v":1}`, []string{"/v: must be string"}},
		"behind a reference with escapes":         {`{"type":"object","properties":{"v":{"$ref":"#/$defs/a~1b%20"}},"$defs":{"a/b ":{"properties":{"b/c~d":{"type":["string","null"]}}}}}`, `{"v":{"b/c~d":6}}`, []string{"/v/b~1c~0d: must be string,null"}},
		"contains":                                {object(`{"contains":{"type":"string"}}`), `{"v":[1]}`, []string{"/v: must contain at least 1 valid item(s)", "/v/0: must be string"}},
		"minContains":                             {object(`{"contains":{"type":"string"},"minContains":2}`), `{"v":["a"]}`, []string{"/v: must contain at least 2 valid item(s)"}},
		"maxContains":                             {object(`{"contains":{"type":"string"},"maxContains":1}`), `{"v":["a","b"]}`, []string{"/v: must contain at least 1 and no more than 1 valid item(s)"}},
		"dependentRequired, one":                  {object(`{"dependentRequired":{"a":["b"]}}`), `{"v":{"a":1}}`, []string{"/v: must have property b when property a is present"}},
		"dependentRequired, all of them":          {object(`{"dependentRequired":{"a":["b","c"]}}`), `{"v":{"a":1,"b":1}}`, []string{"/v: must have properties b, c when property a is present"}},
		"dependentSchemas":                        {object(`{"dependentSchemas":{"a":{"required":["b"]}}}`), `{"v":{"a":1}}`, []string{"/v: must have required property 'b'"}},
		"prefixItems":                             {object(`{"prefixItems":[{"type":"string"}]}`), `{"v":[1,2]}`, []string{"/v/0: must be string"}},
		"prefixItems and nothing else":            {object(`{"prefixItems":[{},{}],"items":false}`), `{"v":[1,2,3,4]}`, []string{"/v: must NOT have more than 2 items"}},
		"items that may not be":                   {object(`{"items":false}`), `{"v":[1]}`, []string{"/v/0: boolean schema is false"}},
		"unevaluatedProperties":                   {object(`{"properties":{"a":{}},"unevaluatedProperties":false}`), `{"v":{"a":1,"z":1}}`, []string{"/v: must NOT have unevaluated properties"}},
		"unevaluatedItems":                        {object(`{"prefixItems":[{}],"unevaluatedItems":false}`), `{"v":[1,2,3]}`, []string{"/v: must NOT have more than 1 items"}},
		"a property named like a keyword":         {object(`{"properties":{"unevaluatedProperties":false}}`), `{"v":{"unevaluatedProperties":1}}`, []string{"/v/unevaluatedProperties: boolean schema is false"}},
		"draft-07 tuples":                         {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"v":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"v":["a",1]}`, []string{"/v: must NOT have more than 1 items"}},
		"draft-07 dependencies":                   {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"]}}`, `{"a":1}`, []string{": must have property b when property a is present"}},
		"problems are sorted by path":             {`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}},"required":["z"]}`, `{"a":1,"b":1}`, []string{": must have required property 'z'", "/a: must be string", "/b: must be string"}},
		"SEC-30: text that is no strict JSON":     {`{"type":"object"}`, `{"a":1,"a":1}`, []string{": must NOT have duplicate property names"}},
		"SEC-33: a number that crashed":           {object(`{"minimum":1}`), `{"v":1e1000001}`, []string{"/v: must be a finite number written with at most 40 characters"}},
		"SEC-33: a number that crashed unique":    {object(`{"uniqueItems":true,"maxItems":9,"items":{"type":"number"}}`), `{"v":[-1e-1000001]}`, []string{"/v/0: must be a finite number written with at most 40 characters"}},
		"S-15: 65 levels":                         {`{"type":"object"}`, repeat(`{"a":`, 65) + "1" + repeat("}", 65), []string{": must NOT be nested more than 64 levels deep"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := spell(compile(t, test.schema).Validate(json.RawMessage(test.value)))
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestValidateJudges(t *testing.T) {
	t.Parallel()
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	s27 := `{"type":"object","properties":{"v":{"type":"string","nullable":true},"w":false},"unevaluatedProperties":false}`
	union := `{"type":"object","anyOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":false}`
	price := object(`{"type":"number","multipleOf":0.01}`)
	tests := map[string]struct {
		schema  string
		fits    []string
		refused []string
	}{
		"S-25: divisors are decimals":                 {price, []string{`{"v":0.94}`, `{"v":20.29}`, `{"v":19.99}`, `{"v":1070468.14}`, `{"v":1e2}`, `{"v":0.01}`}, []string{`{"v":0.945}`}},
		"S-27: draft-07 tuples":                       {`{` + draft7 + `"type":"object","properties":{"v":{"items":[{"type":"string"}],"additionalItems":false}}}`, []string{`{"v":["a"]}`}, []string{`{"v":[1]}`, `{"v":["a",1]}`}},
		"S-27: siblings of a reference count":         {`{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{"v":{"$ref":"#/$defs/n","minimum":5}}}`, []string{`{"v":7}`}, []string{`{"v":1}`, `{"v":"a"}`}},
		"S-27: siblings do not count in draft-07":     {`{` + draft7 + `"type":"object","definitions":{"n":{"type":"integer"}},"properties":{"v":{"$ref":"#/definitions/n","minimum":5}}}`, []string{`{"v":7}`, `{"v":1}`}, []string{`{"v":"a"}`}},
		"S-27: nullable is no keyword":                {s27, []string{`{"v":"a"}`, `{}`}, []string{`{"v":null}`, `{"w":1}`, `{"z":1}`}},
		"S-27: what anyOf evaluates is evaluated":     {union, []string{`{"a":1}`, `{"b":1}`, `{"a":1,"b":1}`}, []string{`{"a":"x","b":1}`, `{"a":1,"z":1}`, `{}`}},
		"S-03: 2^53+1 is not 2^53":                    {object(`{"const":9007199254740993}`), []string{`{"v":9007199254740993}`, `{"v":9007199254740993.0}`}, []string{`{"v":9007199254740992}`}},
		"SEC-35: whole numbers in other spellings":    {object(`{"type":"integer","minimum":1}`), []string{`{"v":1.0}`, `{"v":3.6e3}`}, []string{`{"v":-0}`, `{"v":1e-400}`, `{"v":1.5}`}},
		"SEC-61: the formats of the contract":         {object(`{"format":"email"}`), []string{`{"v":"a@b.example"}`, `{"v":7}`}, []string{`{"v":"a"}`}},
		"SEC-61: date-time":                           {object(`{"format":"date-time"}`), []string{`{"v":"2026-11-04T12:00:00.000Z"}`}, []string{`{"v":"2026-11-04"}`, `{"v":"2026-13-04T12:00:00Z"}`}},
		"SEC-61: date":                                {object(`{"format":"date"}`), []string{`{"v":"2026-11-04"}`}, []string{`{"v":"2026-02-30"}`}},
		"SEC-61: uri":                                 {object(`{"format":"uri"}`), []string{`{"v":"https://a.example/b"}`}, []string{`{"v":"/b"}`}},
		"SEC-61: uuid":                                {object(`{"format":"uuid"}`), []string{`{"v":"123e4567-e89b-12d3-a456-426614174000"}`}, []string{`{"v":"123e4567"}`}},
		"SEC-61: other formats are annotations":       {object(`{"anyOf":[{"format":"ipv4"}],"format":"regex"}`), []string{`{"v":"(?!"}`}, nil},
		"SEC-61: formats in draft-07":                 {`{` + draft7 + `"type":"object","properties":{"v":{"format":"email"},"w":{"format":"hostname"}}}`, []string{`{"v":"a@b.example","w":"-"}`}, []string{`{"v":"a"}`}},
		"S-24: a pattern that RE2 runs":               {object(`{"type":"string","pattern":"^[0-9]{4}$"}`), []string{`{"v":"1234"}`}, []string{`{"v":"12345"}`, `{"v":"1234\n"}`}},
		"an extension of ours is an annotation":       {object(`{"type":"string","x-chaster-options":{"search":true}}`), []string{`{"v":"a"}`}, []string{`{"v":1}`}},
		"S-15: 64 levels":                             {`{"type":"object"}`, []string{repeat(`{"a":`, 63) + "{}" + repeat("}", 63)}, nil},
		"SEC-41: zero bytes and bidi marks are data":  {object(`{"minLength":2}`), []string{`{"v":"\u0000\u202e"}`}, nil},
		"SEC-36: names match exactly":                 {object(`{"type":"string"}`), []string{`{"V":1}`}, nil},
		"if without then":                             {object(`{"if":{"type":"string"}}`), []string{`{"v":1}`, `{"v":"a"}`}, nil},
		"unevaluated items after a tuple":             {object(`{"prefixItems":[{}],"contains":{"const":7},"unevaluatedItems":false}`), []string{`{"v":[1,7,7]}`}, []string{`{"v":[1,7,8]}`}},
		"unevaluated properties through a reference":  {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{}}}},"unevaluatedProperties":false}`, []string{`{"a":1}`}, []string{`{"b":1}`}},
		"unevaluated properties see no cousins":       {`{"type":"object","allOf":[{"properties":{"a":{}}},{"unevaluatedProperties":false}]}`, []string{`{}`}, []string{`{"a":1}`}},
		"unevaluated properties after then and else":  {`{"type":"object","if":{"required":["k"]},"then":{"properties":{"k":{}}},"else":{"properties":{"e":{}}},"unevaluatedProperties":{"type":"string"}}`, []string{`{"k":1}`, `{"e":1}`, `{"k":1,"z":"s"}`}, []string{`{"k":1,"e":1}`, `{"z":1}`}},
		"a schema true and an empty one admit all":    {`{"type":"object","properties":{"a":true,"b":{}}}`, []string{`{"a":null,"b":[1]}`}, nil},
		"a list of names in dependencies of draft-07": {`{` + draft7 + `"type":"object","dependencies":{"a":{"required":["b"]}}}`, []string{`{"a":1,"b":1}`, `{}`}, []string{`{"a":1}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, test.schema)
			for _, value := range test.fits {
				if got := s.Validate(json.RawMessage(value)); got != nil {
					t.Errorf("%s: got %v, want none", value, got)
				}
			}
			for _, value := range test.refused {
				if got := s.Validate(json.RawMessage(value)); got == nil {
					t.Errorf("%s: got none, want a problem", value)
				}
			}
		})
	}
}

// The library gives the location of a bad name in memory that its neighbours
// overwrite.
func TestBadNamesAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","$defs":{"o":{"propertyNames":{"maxLength":1}}},
		"properties":{"a":{"$ref":"#/$defs/o"},"b":{"$ref":"#/$defs/o"},"l":{"items":{"additionalProperties":{"$ref":"#/$defs/o"}}}},
		"patternProperties":{"^p":{"$ref":"#/$defs/o"}}}`)
	want := []string{"/a", "/l/1/x", "/p1"}
	for range 20 { // the order of the library is random
		var got []string
		for _, p := range s.Validate(json.RawMessage(`{"a":{"xx":1},"b":{"y":1},"p1":{"zz":1},"q":{"xx":1},"l":[{"x":{"y":1}},{"x":{"yy":1}}]}`)) {
			if p.Message == "property name must be valid" {
				got = append(got, p.InstancePath)
			} else if p.Message != "must NOT have more than 1 characters" {
				t.Fatalf("got %v", p)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","properties":{"v":{"items":{"type":"string"}}},"required":["`+repeat("k", 5_000)+`"],"additionalProperties":{"enum":["CANARY"]}}`)
	value := `{"v":[` + repeat("1,", 5_000) + `1],"` + repeat("n", 5_000) + `":"CANARY2"}`
	got := s.Validate(json.RawMessage(value))
	if len(got) != schema.MaxProblems {
		t.Errorf("got %d problems, want %d", len(got), schema.MaxProblems)
	}
	for _, p := range got {
		if len(p.Message) > 200 || len(p.InstancePath) > 512 || strings.Contains(p.Message, "CANARY") {
			t.Errorf("got %q at %q, want short texts without values", p.Message, p.InstancePath)
		}
	}
	if again := s.Validate(json.RawMessage(value)); !slices.Equal(got, again) {
		t.Errorf("got another list the second time: %v", again)
	}
}

func TestANilSchemaAdmitsNothing(t *testing.T) {
	t.Parallel()
	var s *schema.Schema
	if got := s.Validate(json.RawMessage(`{}`)); len(got) != 1 {
		t.Errorf("got %v, want one problem", got)
	}
}

// SEC-60: a finished schema is shared.
func TestASchemaServesManyGoroutines(t *testing.T) {
	t.Parallel()
	s := compile(t, typical)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := s.Validate(json.RawMessage(typicalValue)); got != nil {
					t.Errorf("got %v, want none", got)
				}
				if got := s.Validate(json.RawMessage(`{"actor":1,"x":1}`)); len(got) != 2 {
					t.Errorf("got %v, want two", got)
				}
			}
		})
	}
	wg.Wait()
}

const (
	typical = `{"type":"object","properties":{"task":{"type":"object","properties":{"task":{"type":"string","minLength":1,"maxLength":200},` +
		`"points":{"type":"integer"},"tags":{"type":"array","items":{"type":"string","maxLength":32},"maxItems":10,"uniqueItems":true}},` +
		`"required":["task"],"additionalProperties":false},"actor":{"enum":["extension","wearer","keyholder"]},` +
		`"note":{"type":"string","maxLength":500,"pattern":"^[\\w \\-.,!?]*$"}},"additionalProperties":false}`
	typicalValue = `{"task":{"task":"Write 100 lines","points":5,"tags":["a","b","c"]},"actor":"extension","note":"hello world"}`
)

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, typical)
	}
}

func BenchmarkValidate(b *testing.B) {
	s := compile(b, typical)
	for name, value := range map[string]string{"Fits": typicalValue, "Refused": `{"task":{"points":"x"},"actor":"nobody","note":7}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Validate(json.RawMessage(value))
			}
		})
	}
}

func ExampleSchema_Validate() {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"duration":{"type":"integer","minimum":1}},"required":["duration"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, value := range []string{`{"duration":60}`, `{"duration":0}`, `{}`} {
		fmt.Println(s.Validate(json.RawMessage(value)))
	}
	// Output:
	// []
	// [{/duration must be >= 1}]
	// [{ must have required property 'duration'}]
}
