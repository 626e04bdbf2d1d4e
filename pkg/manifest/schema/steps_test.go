package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// link makes nodes of a schema without judging it.
func link(tb testing.TB, text string) *node {
	tb.Helper()
	doc, err := strictjson.Value([]byte(text), strictjson.Limits{Values: 1 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	l := &linter{}
	root := l.visit(doc, "", nil)
	for _, n := range l.nodes {
		l.resolve(n)
	}
	return root
}

func steps(tb testing.TB, schema, value string, limit int) (int, bool) {
	tb.Helper()
	v, err := strictjson.Value([]byte(value), strictjson.Limits{Values: 1 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	c := counter{limit: limit}
	c.walk(link(tb, schema), v, false)
	return c.steps, !c.over()
}

func list(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }

func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"type":"object"}}}`, n)
	return b.String()
}

// alternatives is an anyOf that branches at each of n levels.
func alternatives(n int) string {
	s := `{"required":["z"]}`
	for range n {
		s = `{"anyOf":[{"properties":{"a":` + s + `},"required":["z"]},{"properties":{"a":` + s + `},"required":["y"]}]}`
	}
	return s
}

func TestStepsBoundTheWork(t *testing.T) {
	t.Parallel()
	nest := func(n int) string { return strings.Repeat(`{"a":`, n) + "{}" + strings.Repeat("}", n) }
	tests := map[string]struct {
		schema, value string
		fits          bool
	}{
		"SEC-47: doubling 2^24 is given up":                 {doubling(24), `{}`, false},
		"SEC-47: doubling 2^8 is fine":                      {doubling(8), `{}`, true},
		"SEC-48: alternatives at six levels are fine":       {alternatives(6), nest(6), true},
		"SEC-51: 2,000 unique items are given up":           {`{"uniqueItems":true}`, list("1", 2_000), false},
		"SEC-51: 256 unique items are fine":                 {`{"uniqueItems":true}`, list("1", 256), true},
		"SEC-52: an enum of 256 for 19,000 items":           {`{"items":{"enum":` + list("7", 256) + `}}`, list("1", 19_000), false},
		"SEC-52: an enum of large values for many arrays":   {`{"items":{"enum":[` + list("7", 10_000) + `]}}`, list("[7]", 20), false},
		"199 alternatives for 19,000 items":                 {`{"items":{"anyOf":` + list(`{"type":"string"}`, 199) + `}}`, list("1", 19_000), false},
		"199 alternatives for 90 items are fine":            {`{"items":{"anyOf":` + list(`{"type":"string"}`, 199) + `}}`, list("1", 90), true},
		"8,000 required names for 1,000 items":              {`{"items":{"required":` + list(`"a"`, 8_000) + `}}`, list("{}", 1_000), false},
		"8,000 dependent names for 1,000 items":             {`{"items":{"dependentRequired":{"a":` + list(`"a"`, 8_000) + `}}}`, list("{}", 1_000), false},
		"SEC-50: a large pattern on a long text":            {`{"pattern":".{400}.{400}x"}`, `"` + strings.Repeat("a", 60_000) + `"`, false},
		"SEC-50: a common pattern on a common text":         {`{"pattern":"^[\\w .,-]{1,200}$"}`, `"` + strings.Repeat("a", 200) + `"`, true},
		"SEC-50: a large pattern on a long name":            {`{"patternProperties":{".{400}.{400}x":{}}}`, `{"` + strings.Repeat("a", 60_000) + `":1}`, false},
		"SEC-50: a large pattern for long names":            {`{"propertyNames":{"pattern":".{400}.{400}x"}}`, `{"` + strings.Repeat("a", 60_000) + `":1}`, false},
		"S-27: unevaluated properties behind alternatives":  {`{"anyOf":` + list(`{}`, 190) + `,"unevaluatedProperties":false}`, members(1_000), false},
		"S-27: the same without them":                       {`{"anyOf":` + list(`{}`, 190) + `}`, members(1_000), true},
		"S-27: unevaluated items behind alternatives":       {`{"anyOf":` + list(`{}`, 190) + `,"unevaluatedItems":false}`, list("1", 1_000), false},
		"20,000 values are fine for a schema that is small": {`{"items":{"type":"integer"}}`, list("1", 19_998), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, fits := steps(t, test.schema, test.value, MaxSteps)
			if fits != test.fits {
				t.Errorf("got %d steps, want fits = %v", n, test.fits)
			}
			if n > 200*MaxSteps {
				t.Errorf("got %d steps, want the count to end soon after %d", n, MaxSteps)
			}
		})
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// Every keyword that holds a schema is counted: one step for the root and one
// for each subschema that a value meets.
func TestStepsCountEveryKeyword(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schema, value string
		want          int
	}{
		"none":                       {`{}`, `{}`, 1},
		"allOf, anyOf, oneOf":        {`{"allOf":[{},{}],"anyOf":[{}],"oneOf":[{}]}`, `1`, 5},
		"not, if, then, else":        {`{"not":{},"if":{},"then":{},"else":{}}`, `1`, 5},
		"dependentSchemas":           {`{"dependentSchemas":{"a":{}},"dependencies":{"b":{},"c":["d"]}}`, `{}`, 3},
		"$ref":                       {`{"$ref":"#/$defs/a","$defs":{"a":{}}}`, `1`, 2},
		"properties":                 {`{"properties":{"a":{},"b":{}}}`, `{"a":1}`, 2},
		"additionalProperties":       {`{"properties":{"a":{}},"additionalProperties":{}}`, `{"a":1,"b":1}`, 3},
		"patternProperties":          {`{"patternProperties":{"x":{}}}`, `{"a":1,"b":1}`, 3},
		"propertyNames":              {`{"propertyNames":{}}`, `{"a":1,"b":1}`, 3},
		"unevaluatedProperties":      {`{"unevaluatedProperties":{}}`, `{"a":1,"b":1}`, 3},
		"items":                      {`{"items":{}}`, `[1,2]`, 3},
		"prefixItems and items":      {`{"prefixItems":[{}],"items":{}}`, `[1,2,3]`, 4},
		"items as a tuple":           {`{"items":[{}],"additionalItems":{}}`, `[1,2,3]`, 4},
		"contains":                   {`{"contains":{}}`, `[1,2]`, 3},
		"unevaluatedItems":           {`{"unevaluatedItems":{}}`, `[1,2]`, 3},
		"an enum":                    {`{"enum":[1,2,3]}`, `1`, 4},
		"an enum and an object":      {`{"enum":[{"a":[1,2]}],"const":[1]}`, `{}`, 7},
		"schemas for the other type": {`{"items":{},"properties":{"a":{}},"pattern":"a"}`, `1`, 1},
		"definitions":                {`{"$defs":{"a":{}},"definitions":{"b":{}},"contentSchema":{}}`, `{}`, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := steps(t, test.schema, test.value, MaxSteps); got != test.want {
				t.Errorf("got %d steps, want %d", got, test.want)
			}
		})
	}
}

// A value is validated at MaxSteps and refused, without validation, above.
func TestValidateStopsAtTheBudget(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"v":{"items":{"allOf":[true,true,true]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	value := func(n int) json.RawMessage { return json.RawMessage(`{"v":` + list("1", n) + `}`) }
	if got := s.Validate(value((MaxSteps - 2) / 4)); got != nil { // the object and the list are two steps
		t.Errorf("got %v, want none at the budget", got)
	}
	got := s.Validate(value((MaxSteps-2)/4 + 1))
	if len(got) != 1 || got[0].InstancePath != "" || !strings.Contains(got[0].Message, "less complex") {
		t.Errorf("SEC-47: got %v, want one problem about complexity", got)
	}
}

// What is left of the library when it panics is a refusal.
func TestAPanicOfTheLibraryIsAProblem(t *testing.T) {
	t.Parallel()
	if err := run(nil, map[string]any{}); err == nil {
		t.Error("got nil, want an error")
	}
	broken := &Schema{root: &node{}}
	if got := broken.Validate(json.RawMessage(`{}`)); len(got) != 1 || got[0].Message != "must be a value that can be validated" {
		t.Errorf("got %v, want one problem", got)
	}
	if s, err := compile(nil, nil); err == nil {
		t.Errorf("got %v, want an error", s)
	}
}

// Whatever schema is accepted and whatever value is refused, the list is
// bounded, without empty messages, not empty, and quotes no text of the value
// (SEC-48).
func FuzzFlattenIsBounded(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"minimum":5}]}},"required":["b"]}`, `{"a":1}`)
	f.Add(`{"type":"object","additionalProperties":{"oneOf":[{"const":1},{"enum":[2]}]},"propertyNames":{"maxLength":1}}`, `{"aa":3}`)
	f.Add(`{"type":"object","unevaluatedProperties":false,"if":{"required":["a"]},"then":{"properties":{"a":false}},"else":{"$ref":"#/$defs/a"},"$defs":{"a":{"minProperties":2}}}`, `{"b":1}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[{"format":"date"}],"additionalItems":false,"contains":{"multipleOf":0.1}}}}`, `{"a":["x",0.05]}`)
	f.Add(`{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"items":{"pattern":"^x"}},"c":{"properties":{"d":{"format":"email"}}},"e":{"const":7}}}`, `1`)
	f.Add(`{"type":"object","properties":{"n":{"minimum":1,"multipleOf":0.01}}}`, `{"n":1e1000001}`)
	f.Add(`{"$ref":"file:///etc/passwd"}`, `{}`)
	f.Add(`{"type":"object","not":{"$ref":"#"}}`, `{}`)
	f.Add(`{"type":"object","properties":{"a":{"maxLength":18446744073709551616,"minimum":1e1000001,"multipleOf":1e-1000001}}}`, `{"a":""}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			checkBounded(t, invocation.AsError(err).Problems, maxLintProblems)
			return
		}
		if got := s.Validate(json.RawMessage(value)); got != nil {
			checkBounded(t, got, MaxProblems)
		}
		for _, p := range s.Validate(json.RawMessage(`{"a":"CANARY","b":["CANARY"],"c":{"d":"CANARY"},"e":` + value + `}`)) {
			if strings.Contains(p.Message, "CANARY") && !strings.Contains(schema+value, "CANARY") {
				t.Fatalf("got %q", p.Message)
			}
		}
	})
}

func checkBounded(t *testing.T, problems []invocation.Problem, most int) {
	t.Helper()
	if len(problems) == 0 || len(problems) > most {
		t.Fatalf("got %d problems, want 1 to %d", len(problems), most)
	}
	for _, p := range problems {
		if p.Message == "" || len(p.Message) > 200 || len(p.InstancePath) > 512 {
			t.Fatalf("got %q at %q", p.Message, p.InstancePath)
		}
	}
}

// The dearest validations that the budget admits; not part of the tests because
// the machine may be busy.
func BenchmarkValidateAtTheBudget(b *testing.B) {
	for name, test := range map[string]struct{ schema, item string }{
		"AnyOf":         {`{"items":{"anyOf":` + list(`{"type":"string","maxLength":1}`, 190) + `}}`, "1"},
		"Enum":          {`{"items":{"enum":` + list("7", 256) + `}}`, "1"},
		"Required":      {`{"items":{"required":[` + names8() + `]}}`, "{}"},
		"Pattern":       {`{"items":{"pattern":"(a|b|c)*d.{200}x"}}`, `"` + strings.Repeat("abc", 50) + `"`},
		"Unevaluated":   {`{"items":{"anyOf":` + list(`{}`, 100) + `,"unevaluatedProperties":{}}}`, members(50)},
		"Small":         {`{"items":{"type":"integer","multipleOf":0.01}}`, "1e-300"},
		"EnumOfObjects": {`{"items":{"enum":[` + list(`{"a":1,"b":2}`, 200) + `]}}`, list(`{"a":1,"b":2}`, 199)},
		"Unique":        {`{"items":{"items":{"type":"number"},"maxItems":256,"uniqueItems":true}}`, pairs(200)},
	} {
		s, err := Compile(json.RawMessage(`{"type":"object","properties":{"v":` + test.schema + `}}`))
		if err != nil {
			b.Fatal(name, invocation.AsError(err).Problems)
		}
		n, _ := steps(b, test.schema, list(test.item, 1), 1<<30)
		value := json.RawMessage(`{"v":` + list(test.item, min(19_000/n, 15_000)) + `}`)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, p := range s.Validate(value) {
					if strings.Contains(p.Message, "complex") {
						b.Fatal(p)
					}
				}
			}
		})
	}
}

func names8() string {
	var b strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&b, `,"n%06d"`, i)
	}
	return b.String()[1:]
}

// pairs lists numbers whose hashes collide in the library, which ignores signs.
func pairs(n int) string {
	var b strings.Builder
	for i := range n / 2 {
		fmt.Fprintf(&b, `,%d,-%d`, i+1, i+1)
	}
	return "[" + b.String()[1:] + "]"
}
