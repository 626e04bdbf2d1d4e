package schema_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/schema"
)

var repeat = strings.Repeat

// object wraps a schema as the property v of an object.
func object(property string) string { return `{"type":"object","properties":{"v":` + property + `}}` }

// problems compiles a schema and returns why it was refused.
func problems(t *testing.T, text string) []invocation.Problem {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(text))
	if err == nil {
		if s == nil {
			t.Fatal("got neither a schema nor an error")
		}
		return nil
	}
	refused := invocation.AsError(err)
	if refused.Code != invocation.InvalidManifest || len(refused.Problems) == 0 {
		t.Fatalf("got %v with %v, want invalid-manifest with problems", err, refused.Problems)
	}
	return refused.Problems
}

// doubling is a schema of n levels that each evaluate the next one twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"type":"object"}}}`, n)
	return b.String()
}

func properties(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{},`, i)
	}
	return strings.TrimSuffix(b.String(), ",") + `}}`
}

func numbers(n int) string { return "[" + strings.TrimSuffix(repeat("7,", n), ",") + "]" }

type refusal struct{ schema, path, message string }

func TestCompileRefusesReferences(t *testing.T) {
	t.Parallel()
	checkRefused(t, map[string]refusal{
		"SEC-43, S-26: a file":                        {object(`{"$ref":"file:///etc/passwd"}`), "/properties/v/$ref", "within this document"},
		"S-26: a file in capitals":                    {object(`{"$ref":"FILE:/etc/passwd"}`), "/properties/v/$ref", "within this document"},
		"SEC-43: a metaschema in a file":              {`{"$schema":"file:///etc/passwd","type":"object"}`, "/$schema", "2020-12 or draft-07"},
		"SEC-43: a base and a relative reference":     {`{"type":"object","$id":"file:///x/","$ref":"secret.json"}`, "/$ref", "within this document"},
		"SEC-44, S-26: a URL":                         {object(`{"$ref":"http://169.254.169.254/latest/meta-data/"}`), "/properties/v/$ref", "within this document"},
		"S-26: a URL without a scheme":                {object(`{"$ref":"//127.0.0.1:18777/x"}`), "/properties/v/$ref", "within this document"},
		"S-26: a metaschema from the network":         {`{"$schema":"http://127.0.0.1:18777/meta.json","type":"object"}`, "/$schema", "2020-12 or draft-07"},
		"S-26: a metaschema below the root":           {object(`{"$schema":"http://127.0.0.1:18777/meta.json"}`), "/properties/v/$schema", "root only"},
		"SEC-45: a name for others to refer to":       {`{"type":"object","$id":"https://a.example/s"}`, "/$id", "not supported"},
		"SEC-45: an anchor":                           {object(`{"$anchor":"a"}`), "/properties/v/$anchor", "not supported"},
		"SEC-45: a dynamic reference":                 {object(`{"$dynamicRef":"#a"}`), "/properties/v/$dynamicRef", "not supported"},
		"a reference to an anchor":                    {object(`{"$ref":"#a"}`), "/properties/v/$ref", "within this document"},
		"a reference to nothing":                      {object(`{"$ref":"#/$defs/nope"}`), "/properties/v/$ref", "must refer to a subschema of this document"},
		"a reference to what is no schema":            {`{"type":"object","x-a":{"type":"string"},"properties":{"v":{"$ref":"#/x-a"}}}`, "/properties/v/$ref", "must refer to a subschema"},
		"a reference that is no string":               {object(`{"$ref":7}`), "/properties/v/$ref", "non-empty string"},
		"SEC-46: a root that refers to itself":        {`{"type":"object","$ref":"#"}`, "/$ref", "must NOT refer to itself"},
		"SEC-46: not around itself":                   {object(`{"not":{"$ref":"#"}}`), "/properties/v/not/$ref", "must NOT refer to itself"},
		"SEC-46: a to b to a":                         {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "/$defs/b/$ref", "must NOT refer to itself"},
		"SEC-46: a tree":                              {`{"type":"object","$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}}}`, "/$defs/n/properties/next/$ref", "must NOT refer to itself"},
		"S-27: draft-04":                              {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "/$schema", "2020-12 or draft-07"},
		"S-27: a metaschema that nobody knows":        {`{"$schema":"https://example.test/dialect","type":"object"}`, "/$schema", "2020-12 or draft-07"},
		"S-27: tuples of draft-07 in 2020-12":         {object(`{"items":[{"type":"string"}]}`), "/properties/v/items", "must be boolean,object"},
		"S-27: a metaschema that is no string":        {`{"$schema":7,"type":"object"}`, "/$schema", "2020-12 or draft-07"},
		"SEC-46: a reference in draft-07 to the root": {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"v":{"$ref":"#"}}}`, "/properties/v/$ref", "must NOT refer to itself"},
	})
}

func TestCompileRefusesWhatCostsTooMuch(t *testing.T) {
	t.Parallel()
	checkRefused(t, map[string]refusal{
		"SEC-47: doubling 2^20":                             {doubling(20), "", "less complex"},
		"SEC-47: doubling 2^24":                             {doubling(24), "", "less complex"},
		"SEC-49: 201 subschemas":                            {properties(201), "", "more than 200 subschemas"},
		"SEC-49: 1,000 subschemas":                          {properties(1_000), "", "more than 200 subschemas"},
		"SEC-49: 32 KiB and a byte":                         {`{"type":"object","title":"` + repeat("t", schema.MaxBytes-len(`{"type":"object","title":""}`)+1) + `"}`, "", "larger than 32768 bytes"},
		"SEC-50: a pattern that is large in RE2":            {object(`{"pattern":"` + repeat(`.{1000}`, 8) + `"}`), "/properties/v/pattern", "more than 1000 instructions"},
		"SEC-50, S-24: a lookahead":                         {object(`{"type":"string","pattern":"^(?!0000)[0-9]{4}$"}`), "/properties/v/pattern", "RE2 can run, without look-around and back-references: invalid or unsupported Perl syntax: `(?!`"},
		"SEC-50: a positive lookahead":                      {object(`{"pattern":"^(?=a)"}`), "/properties/v/pattern", "RE2 can run"},
		"SEC-50: a back-reference":                          {object(`{"pattern":"(a)\\1"}`), "/properties/v/pattern", "invalid escape sequence"},
		"SEC-50: an escape that RE2 lacks":                  {object(`{"pattern":"\\u00e9"}`), "/properties/v/pattern", "invalid escape sequence"},
		"SEC-50: more than 1,000 repeats":                   {object(`{"pattern":"a{1001}"}`), "/properties/v/pattern", "invalid repeat count"},
		"SEC-50: a long pattern":                            {object(`{"pattern":"` + repeat("a", schema.MaxPatternBytes+1) + `"}`), "/properties/v/pattern", "more than 1024 bytes"},
		"SEC-50: a pattern for names":                       {object(`{"patternProperties":{"(?=a)/~":{}}}`), "/properties/v/patternProperties/(?=a)~1~0", "RE2 can run"},
		"nine patterns for names":                           {object(`{"patternProperties":{"1":{},"2":{},"3":{},"4":{},"5":{},"6":{},"7":{},"8":{},"9":{}}}`), "/properties/v/patternProperties", "more than 8 properties"},
		"SEC-51: unique items without a number":             {object(`{"uniqueItems":true,"items":{"type":"integer"}}`), "/properties/v/uniqueItems", "maxItems of at most 256"},
		"SEC-51: 257 unique items":                          {object(`{"uniqueItems":true,"maxItems":257,"items":{"type":"integer"}}`), "/properties/v/uniqueItems", "maxItems of at most 256"},
		"SEC-51: unique arrays":                             {object(`{"uniqueItems":true,"maxItems":9,"items":{"type":"array"}}`), "/properties/v/uniqueItems", "items of type string"},
		"SEC-51: unique items of any type":                  {object(`{"uniqueItems":true,"maxItems":9}`), "/properties/v/uniqueItems", "items of type string"},
		"SEC-51: unique arrays behind a reference":          {`{"type":"object","$defs":{"a":{"enum":[[1],[2]]}},"properties":{"v":{"uniqueItems":true,"maxItems":9,"items":{"$ref":"#/$defs/a"}}}}`, "/properties/v/uniqueItems", "items of type string"},
		"SEC-52: 257 values":                                {object(`{"enum":` + numbers(257) + `}`), "/properties/v/enum", "more than 256 items"},
		"SEC-53: a limit the library drops":                 {object(`{"minimum":1e1000001}`), "/properties/v/minimum", "finite number"},
		"SEC-53: a divisor the library crashes on":          {object(`{"multipleOf":1e-1000001}`), "/properties/v/multipleOf", "finite number"},
		"SEC-53: a length of 2^64, which becomes 0":         {object(`{"maxLength":18446744073709551616}`), "/properties/v/maxLength", "must be <= 2147483647"},
		"SEC-53: a length of 2^63, which becomes less":      {object(`{"maxItems":9223372036854775808}`), "/properties/v/maxItems", "must be <= 2147483647"},
		"SEC-53: a length of 2^31":                          {object(`{"minProperties":2147483648}`), "/properties/v/minProperties", "must be <= 2147483647"},
		"a negative length":                                 {object(`{"minLength":-1}`), "/properties/v/minLength", "must be >= 0"},
		"half a length":                                     {object(`{"minLength":1.5}`), "/properties/v/minLength", "must be integer"},
		"a length in words":                                 {object(`{"minLength":"1"}`), "/properties/v/minLength", "must be integer"},
		"SEC-31: the same keyword twice":                    {`{"type":"object","type":"array"}`, "", "duplicate property names"},
		"a root of another type":                            {`{"type":"array"}`, "/type", `must be "object"`},
		"a root without a type":                             {`{}`, "/type", `must be "object"`},
		"a root of several types":                           {`{"type":["object","null"]}`, "/type", `must be "object"`},
		"a schema that is true":                             {`true`, "", "must be object"},
		"a schema that is null":                             {`null`, "", "must be object"},
		"no JSON":                                           {`{`, "", "must be valid JSON"},
		"a type that does not exist":                        {object(`{"type":"strin"}`), "/properties/v/type", "must be equal to one of the allowed values"},
		"required that is no list":                          {`{"type":"object","required":"a"}`, "/required", "must be array"},
		"properties that are a list":                        {`{"type":"object","properties":[]}`, "/properties", "must be object"},
		"a divisor of zero":                                 {object(`{"multipleOf":0}`), "/properties/v/multipleOf", "must be > 0"},
		"an error in a definition that nothing refers to":   {`{"type":"object","$defs":{"a":{"pattern":"("}}}`, "/$defs/a/pattern", "missing closing )"},
		"a pattern in what is only there for the metadata":  {object(`{"contentSchema":{"pattern":"("}}`), "/properties/v/contentSchema/pattern", "missing closing )"},
		"a name that is required twice":                     {`{"type":"object","required":["a","a"]}`, "/required", "duplicate items"},
		"a draft-07 keyword of the wrong type":              {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"v":{"dependencies":{"a":7}}}}`, "/properties/v/dependencies/a", "must be boolean,object"},
		"a limit on the number of properties in draft-07":   {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","maxProperties":-1}`, "/maxProperties", "must be >= 0"},
		"a schema below an unevaluated keyword is linted":   {object(`{"unevaluatedProperties":{"pattern":"("}}`), "/properties/v/unevaluatedProperties/pattern", "missing closing )"},
		"a schema below a list of names is linted":          {object(`{"propertyNames":{"pattern":"("}}`), "/properties/v/propertyNames/pattern", "missing closing )"},
		"an item of a list is named by its index":           {object(`{"anyOf":[{},{"pattern":"("}]}`), "/properties/v/anyOf/1/pattern", "missing closing )"},
		"a property that is named like a keyword is linted": {object(`{"properties":{"properties":{"pattern":"("}}}`), "/properties/v/properties/properties/pattern", "missing closing )"},
	})
}

func checkRefused(t *testing.T, tests map[string]refusal) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, test.schema)
			for _, p := range got {
				if p.InstancePath == test.path && strings.Contains(p.Message, test.message) {
					return
				}
			}
			t.Errorf("got %v, want %q at %q", got, test.message, test.path)
		})
	}
}

func TestCompileAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"the least schema":                              `{"type":"object"}`,
		"2020-12 by name":                               `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{}}}`,
		"draft-07 by name":                              `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{}}}`,
		"draft-07 without the hash":                     `{"$schema":"http://json-schema.org/draft-07/schema","type":"object"}`,
		"200 subschemas":                                properties(200),
		"32 KiB":                                        `{"type":"object","title":"` + repeat("t", schema.MaxBytes-len(`{"type":"object","title":""}`)) + `"}`,
		"32 KiB and white space":                        `{"type":"object","title":"` + repeat("t", schema.MaxBytes-len(`{"type":"object","title":""}`)) + `"` + repeat(" ", 5_000) + `}`,
		"256 values":                                    object(`{"enum":` + numbers(256) + `}`),
		"256 unique scalars":                            object(`{"uniqueItems":true,"maxItems":256,"items":{"type":["string","null"]}}`),
		"unique values of an enum":                      object(`{"uniqueItems":true,"maxItems":9,"items":{"enum":["a","b"]}}`),
		"uniqueItems that is false":                     object(`{"uniqueItems":false}`),
		"the largest length":                            object(`{"maxLength":2147483647,"minLength":0.0}`),
		"eight patterns for names":                      object(`{"patternProperties":{"1":{},"2":{},"3":{},"4":{},"5":{},"6":{},"7":{},"8":{}}}`),
		"S-27: keywords that the dialect does not know": object(`{"type":"string","nullable":true,"x-chaster-options":{"$ref":"http://127.0.0.1/"},"example":7}`),
		"S-27: unevaluated properties":                  `{"type":"object","properties":{"v":{"type":"string"}},"unevaluatedProperties":false}`,
		"a reference to a property":                     `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`,
		"a reference with escapes":                      `{"type":"object","$defs":{"a/b~c d":{}},"properties":{"v":{"$ref":"#/$defs/a~1b~0c%20d"}}}`,
		"a definition used twice":                       `{"type":"object","$defs":{"a":{}},"properties":{"v":{"$ref":"#/$defs/a"},"w":{"$ref":"#/$defs/a"}}}`,
		"properties named like keywords":                `{"type":"object","properties":{"$ref":{"type":"string"},"$id":{},"pattern":{},"enum":{}}}`,
		"data that looks like keywords":                 object(`{"const":{"$ref":"http://127.0.0.1/"},"default":{"$id":7},"examples":[{"$ref":"x"}]}`),
		"doubling 2^10":                                 doubling(10),
		"formats of every kind":                         object(`{"anyOf":[{"format":"date-time"},{"format":"regex"},{"format":"whatever"}]}`),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, text); got != nil {
				t.Errorf("got %v, want none", got)
			}
		})
	}
}

func TestCompileReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	got := problems(t, `{"type":"array","properties":{"a":{"pattern":"("},"b":{"$ref":"x"},"c":{"$id":"y","minLength":-1}}}`)
	want := []string{"/properties/a/pattern", "/properties/b/$ref", "/properties/c/$id", "/properties/c/minLength", "/type"}
	var paths []string
	for _, p := range got {
		paths = append(paths, p.InstancePath)
	}
	if strings.Join(paths, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", paths, want)
	}
}

// A pattern of 1,000 instructions passes and one of 1,001 does not.
func TestPatternsAreLimitedByInstructions(t *testing.T) {
	t.Parallel()
	pattern := func(n int) string { return object(fmt.Sprintf(`{"pattern":"a{%d}"}`, n)) }
	if got := problems(t, pattern(schema.MaxInstructions-2)); got != nil { // fail and match are instructions, too
		t.Errorf("got %v, want none", got)
	}
	if got := problems(t, pattern(schema.MaxInstructions-1)); got == nil {
		t.Error("got none, want a problem")
	}
	if got := problems(t, object(`{"pattern":"`+repeat("(a|)", schema.MaxPatternBytes/8)+`"}`)); got != nil {
		t.Errorf("got %v, want none", got)
	}
}

// SEC-43, SEC-44, S-26: nothing is read and nobody is called, and the text of
// the file is not in the answer.
func TestCompileLoadsNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{}, 9)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connected <- struct{}{}
			_ = c.Close()
		}
	}()
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{"const":"CANARY"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	for _, text := range []string{
		object(`{"$ref":"file://` + file + `"}`),
		`{"$schema":"file://` + file + `","type":"object"}`,
		`{"type":"object","$id":"file://` + filepath.Dir(file) + `/","$ref":"secret.json"}`,
		object(`{"$ref":"http://` + address + `/x.json"}`),
		object(`{"$ref":"//` + address + `/x"}`),
		`{"$schema":"http://` + address + `/meta.json","type":"object"}`,
		object(`{"$dynamicRef":"http://` + address + `/x.json"}`),
	} {
		for _, p := range problems(t, text) {
			if strings.Contains(p.Message, "CANARY") || strings.Contains(p.Message, file) {
				t.Errorf("%s: got %q, which tells about the file", text, p.Message)
			}
		}
	}
	_ = listener.Close()
	<-done
	if len(connected) > 0 {
		t.Errorf("got %d connections, want 0", len(connected))
	}
}

// SEC-45: two publishers can't meet, whatever names they use.
func TestSchemasDoNotShareACompiler(t *testing.T) {
	t.Parallel()
	a, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"v":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"v":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	value := json.RawMessage(`{"v":1}`)
	if a.Validate(value) == nil || b.Validate(value) != nil {
		t.Errorf("got %v and %v, want each schema to use its own definition", a.Validate(value), b.Validate(value))
	}
}
