package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

type call struct {
	Input          json.RawMessage `json:"input"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Actor          string          `json:"actor"`
	Limit          int             `json:"limit"`
	Types          []string        `json:"types"`
	Nested         struct {
		On bool `json:"on"`
	} `json:"nested"`
}

func TestDecodeMatchesNamesExactly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, key, actor string }{
		"SEC-36: a name in another case does not replace the real one": {`{"idempotencyKey":"A","IDEMPOTENCYKEY":"B"}`, "A", ""},
		"SEC-36: whatever the order":                                   {`{"IDEMPOTENCYKEY":"B","idempotencyKey":"A"}`, "A", ""},
		"S-01: aCTOR is not actor":                                     {`{"idempotencyKey":"A","aCTOR":"keyholder"}`, "A", ""},
		"unknown names are skipped":                                    {`{"idempotencyKey":"A","actor":"wearer","x":[{}]}`, "A", "wearer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got call
			if err := strictjson.Decode([]byte(test.text), &got, strictjson.Limits{}); err != nil {
				t.Fatal(err)
			}
			if got.IdempotencyKey != test.key || got.Actor != test.actor {
				t.Errorf("got key %q and actor %q, want %q and %q", got.IdempotencyKey, got.Actor, test.key, test.actor)
			}
		})
	}
}

func TestDecodeKeepsTheDigitsOfRawNumbers(t *testing.T) {
	t.Parallel()
	input := `{"id":9007199254740993,"f":12345678901234567890,"d":20.29,"one":1.0}`
	var got call
	if err := strictjson.Decode([]byte(`{"input": `+input+`}`), &got, strictjson.Limits{}); err != nil {
		t.Fatal(err)
	}
	if string(got.Input) != input {
		t.Errorf("S-03, SEC-34: got %s, want %s", got.Input, input)
	}
	tree, err := strictjson.Value(got.Input, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": json.Number("9007199254740993"), "f": json.Number("12345678901234567890"), "d": json.Number("20.29"), "one": json.Number("1.0"),
	}
	if !reflect.DeepEqual(tree, want) {
		t.Errorf("S-03: got %v, want %v", tree, want)
	}
}

func TestDecodeSaysWhichTypeItWants(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, path, message string }{
		"a string":                        {`{"actor":1}`, "/actor", "must be string"},
		"an integer":                      {`{"limit":"x"}`, "/limit", "must be integer"},
		"an integer and not a fraction":   {`{"limit":1.5}`, "/limit", "must be integer"},
		"an array":                        {`{"types":{}}`, "/types", "must be array"},
		"an element":                      {`{"types":["a",2]}`, "/types/1", "must be string"},
		"an object":                       {`{"nested":[]}`, "/nested", "must be object"},
		"a boolean":                       {`{"nested":{"on":0}}`, "/nested/on", "must be boolean"},
		"an object at the root":           {`[]`, "", "must be object"},
		"an object where null stands":     {` null`, "", "must be object"},
		"an object where a string stands": {`"{}"`, "", "must be object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := strictjson.Decode([]byte(test.text), new(call), strictjson.Limits{})
			refused, ok := errors.AsType[*strictjson.Error](err)
			if !ok || refused.Reason != strictjson.WrongType {
				t.Fatalf("got %v, want a wrong type", err)
			}
			if refused.Path != test.path || refused.Error() != test.message {
				t.Errorf("got %q at %q, want %q at %q", refused.Error(), refused.Path, test.message, test.path)
			}
		})
	}
	if err := strictjson.Decode([]byte(`{"a":1,"a":2}`), new(call), strictjson.Limits{}); strictjson.ReasonOf(err) != strictjson.DuplicateName {
		t.Errorf("got %v, want a duplicate name", err)
	}
}

func TestCanonicalSpellsEqualValuesAlike(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want  string
		texts []string
	}{
		"members in any order":              {`{"a":1,"b":[true,null]}`, []string{` { "b" : [ true , null ] , "a" : 1 } `, `{"\u0062":[true,null],"a":1}`}},
		"one":                               {`1`, []string{`1`, `1.0`, `1e0`, `10e-1`, `0.1e+1`, `1.000E0`}},
		"zero":                              {`0`, []string{`0`, `-0`, `0.000`, `0e999`, `-0.0e-5`}},
		"a price":                           {`20.29`, []string{`20.29`, `2029e-2`, `20.290`, `0.2029e2`}},
		"a negative fraction":               {`-0.0025`, []string{`-0.0025`, `-25e-4`, `-2.5e-3`}},
		"a thousand":                        {`1000`, []string{`1000`, `1e3`, `1E+03`, `1000.0`}},
		"2^53+1, which no float64 holds":    {`9007199254740993`, []string{`9007199254740993`, `9007199254740993.0`, `9.007199254740993e15`}},
		"a large power":                     {`1e300`, []string{`1e300`, `10e299`, `0.1e301`}},
		"a small power":                     {`1e-300`, []string{`1e-300`, `0.01e-298`}},
		"text with the fewest escapes":      {`"é/\n\u0000<"`, []string{`"\u00e9\/\n\u0000\u003c"`}},
		"an empty object and array":         {`[{},[]]`, []string{"[ { } ,\n[ ] ]"}},
		"order of an array is part of it":   {`[2,1]`, []string{`[2,1]`}},
		"names that differ only by a digit": {`{"a":1,"a1":2,"b":3}`, []string{`{"b":3,"a1":2,"a":1}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range test.texts {
				got, err := strictjson.Canonical([]byte(text))
				if err != nil || string(got) != test.want {
					t.Errorf("%s: got %s (%v), want %s", text, got, err, test.want)
				}
			}
			assertSameCanonical(t, []byte(test.want), []byte(test.texts[0]))
		})
	}
	if _, err := strictjson.Canonical([]byte(`{"a":1,"a":1}`)); strictjson.ReasonOf(err) != strictjson.DuplicateName {
		t.Errorf("got %v, want a duplicate name", err)
	}
}

// Two numbers have one canonical spelling exactly if they are equal.
func FuzzCanonicalNumbersByValue(f *testing.F) {
	f.Add("1.0", "1")
	f.Add("9007199254740993", "9007199254740992")
	f.Add("-0.10e-3", "-1e-4")
	f.Add("123456789012345678901234567890", "1.2345678901234567890123456789e29")
	f.Fuzz(func(t *testing.T, a, b string) {
		ra, ca, ok := rational(a)
		if !ok {
			return
		}
		rb, cb, ok := rational(b)
		if !ok {
			return
		}
		if (ra.Cmp(rb) == 0) != (ca == cb) {
			t.Fatalf("%q is %q and %q is %q", a, ca, b, cb)
		}
		if back, ok := new(big.Rat).SetString(ca); !ok || back.Cmp(ra) != 0 {
			t.Fatalf("%q became %q", a, ca)
		}
	})
}

func rational(text string) (*big.Rat, string, bool) {
	if text == "" || !strings.ContainsAny(text[:1], "-0123456789") {
		return nil, "", false
	}
	canonical, err := strictjson.Canonical([]byte(text))
	if err != nil {
		return nil, "", false
	}
	r, ok := new(big.Rat).SetString(strings.TrimSpace(text))
	return r, string(canonical), ok
}

func ExampleCanonical() {
	a, _ := strictjson.Canonical([]byte(`{ "points": 5.0, "id": 9007199254740993 }`))
	b, _ := strictjson.Canonical([]byte(`{"id":9007199254740993,"points":5}`))
	fmt.Println(string(a) == string(b), string(a))
	// Output: true {"id":9007199254740993,"points":5}
}

func ExampleCheck() {
	err := strictjson.Check([]byte(`{"input":{"duration":1e400}}`), strictjson.Default())
	refused, _ := errors.AsType[*strictjson.Error](err)
	fmt.Println(refused.Reason, refused.Path, refused)
	// Output: number-out-of-range /input/duration must be a finite number written with at most 40 characters
}
