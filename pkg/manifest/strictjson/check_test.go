package strictjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

var repeat = strings.Repeat

func nested(levels int) string {
	return repeat(`{"a":`, levels-1) + "{}" + repeat("}", levels-1)
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text   string
		limits strictjson.Limits
		reason strictjson.Reason
		path   string
	}{
		"SEC-30: invalid UTF-8 is not repaired":               {text: "{\"input\":{\"a\":\"\xff\"}}", reason: strictjson.Malformed, path: "/input/a"},
		"SEC-30: a lone surrogate is not repaired":            {text: `{"input":{"a":"\ud800"}}`, reason: strictjson.Malformed, path: "/input/a"},
		"SEC-31: a name occurs once":                          {text: `{"b":{"a":1,"a":2}}`, reason: strictjson.DuplicateName, path: "/b"},
		"SEC-31: an escaped name is the same name":            {text: `{"\u0061":1,"a":2}`, reason: strictjson.DuplicateName},
		"SEC-32: 65 levels are one too many":                  {text: nested(65), reason: strictjson.TooDeep},
		"SEC-32: 10,000 levels are refused":                   {text: nested(10_000), reason: strictjson.TooDeep},
		"SEC-32: 100,000 brackets without an end are refused": {text: repeat("[", 100_000), reason: strictjson.TooDeep},
		"S-15: the outermost array is level 1":                {text: "[[]]", limits: strictjson.Limits{Depth: 1}, reason: strictjson.TooDeep},
		"SEC-33: NaN is no number":                            {text: `{"x":NaN}`, reason: strictjson.Malformed, path: "/x"},
		"SEC-33: Infinity is no number":                       {text: `[Infinity]`, reason: strictjson.Malformed, path: "/0"},
		"SEC-33: 1e400 is no float64":                         {text: `{"x":1e400}`, reason: strictjson.NumberOutOfRange, path: "/x"},
		"SEC-33: 1e1000001 crashed the validator":             {text: `{"a":[0,1e1000001]}`, reason: strictjson.NumberOutOfRange, path: "/a/1"},
		"SEC-33: -1e-1000001 crashed it too":                  {text: `{"x":-1e-1000001}`, reason: strictjson.NumberOutOfRange, path: "/x"},
		"SEC-33: zero with such an exponent is refused":       {text: `0E+1000001`, reason: strictjson.NumberOutOfRange},
		"SEC-33: an exponent longer than an int is refused":   {text: `1e99999999999999999999`, reason: strictjson.NumberOutOfRange},
		"SEC-33: 41 digits are one too many":                  {text: `{"x":` + repeat("9", 41) + `}`, reason: strictjson.NumberOutOfRange, path: "/x"},
		"SEC-33: 100,000 digits are refused":                  {text: `{"x":` + repeat("9", 100_000) + `}`, reason: strictjson.NumberOutOfRange, path: "/x"},
		"SEC-33: 100,000 decimals are refused":                {text: `[0.` + repeat("1", 100_000) + `]`, reason: strictjson.NumberOutOfRange, path: "/0"},
		"SEC-33: long digits are finite or refused":           {text: repeat("9", 310), limits: strictjson.Limits{NumberLen: 400}, reason: strictjson.NumberOutOfRange},
		"SEC-37: two texts are not one":                       {text: `{}{}`, reason: strictjson.Malformed},
		"SEC-37: nothing may follow":                          {text: `{}x`, reason: strictjson.Malformed},
		"SEC-37: a byte order mark is no JSON":                {text: "\xef\xbb\xbf{}", reason: strictjson.Malformed},
		"SEC-37: an empty body is no JSON":                    {text: "", reason: strictjson.Malformed},
		"SEC-37: spaces are no JSON":                          {text: " \n ", reason: strictjson.Malformed},
		"SEC-42: 20,001 values are one too many":              {text: "[" + repeat("0,", 19_999) + "0]", reason: strictjson.TooManyValues},
		"a text of one byte more than allowed is too large":   {text: `[1,2]`, limits: strictjson.Limits{Bytes: 4}, reason: strictjson.TooLarge},
		"a text that breaks off is malformed":                 {text: `{"a":[1,`, reason: strictjson.Malformed, path: "/a"},
		"a comma at the end is malformed":                     {text: `[1,]`, reason: strictjson.Malformed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := strictjson.Check([]byte(test.text), test.limits)
			refused, ok := err.(*strictjson.Error) //nolint:errorlint // the very error is documented
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if refused.Reason != test.reason || strictjson.ReasonOf(err) != test.reason {
				t.Errorf("got reason %q (%v), want %q", refused.Reason, err, test.reason)
			}
			if test.path != "" && refused.Path != test.path {
				t.Errorf("got path %q, want %q", refused.Path, test.path)
			}
			if len(err.Error()) > 100 {
				t.Errorf("got a message of %d bytes, want a short one", len(err.Error()))
			}
			if _, err := strictjson.Value([]byte(test.text), test.limits); strictjson.ReasonOf(err) != test.reason {
				t.Errorf("Value: got %v, want reason %q", err, test.reason)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"SEC-32: 64 levels":                         nested(64),
		"SEC-34: an integer above 2^53":             `{"duration":9007199254740993}`,
		"SEC-35: whole numbers in other spellings":  `[1.0,3.6e3,-0]`,
		"SEC-35: a number below the least float64":  `1e-400`,
		"SEC-33: 40 digits":                         repeat("9", 40),
		"SEC-41: escaped zero bytes and bidi marks": `{"a\u0000":"\u0000` + "\u202e" + `\n"}`,
		"SEC-42: 20,000 values":                     "[" + repeat("0,", 19_998) + "0]",
		"S-15: brackets in strings are text":        `{"s":"` + repeat(`{[\"`, 200) + `"}`,
		"every kind of value":                       `{"é":"😀","n":null,"t":true,"f":false,"a":[{}]}`,
		"white space around the value":              " {\"a\":1} \n",
		"the largest float64":                       `1.7976931348623157e308`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := strictjson.Check([]byte(text), strictjson.Limits{}); err != nil {
				t.Errorf("got %v, want nil", err)
			}
			if _, err := strictjson.Value([]byte(text), strictjson.Default()); err != nil {
				t.Errorf("Value: got %v, want nil", err)
			}
		})
	}
}

func TestCheckAllowsALimitAndRefusesOneMore(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a":[1,22,"x"]}`) // 16 bytes, 2 levels, 5 values, 2 bytes a number
	fits := strictjson.Limits{Bytes: 16, Depth: 2, Values: 5, NumberLen: 2}
	if err := strictjson.Check(text, fits); err != nil {
		t.Fatalf("got %v, want nil at the limits", err)
	}
	tests := map[string]struct {
		shrink func(*strictjson.Limits)
		reason strictjson.Reason
	}{
		"bytes":   {func(l *strictjson.Limits) { l.Bytes-- }, strictjson.TooLarge},
		"depth":   {func(l *strictjson.Limits) { l.Depth-- }, strictjson.TooDeep},
		"values":  {func(l *strictjson.Limits) { l.Values-- }, strictjson.TooManyValues},
		"numbers": {func(l *strictjson.Limits) { l.NumberLen-- }, strictjson.NumberOutOfRange},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fits
			test.shrink(&l)
			if err := strictjson.Check(text, l); strictjson.ReasonOf(err) != test.reason {
				t.Errorf("got %v, want reason %q", err, test.reason)
			}
		})
	}
}

func TestDepthCountsNestingOutsideStrings(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		`1`: 0, `{}`: 1, `[[],[[]]]`: 3, `{"a":"[[[{"}`: 1, `"\"[["`: 0, `{"\\":[1]}`: 2, `[`: 1, `"[`: 0, `"\`: 0,
		nested(64): 64, `{"input":` + nested(64) + `}`: 65, repeat("[", 100_000): 100_000,
	}
	for text, want := range tests {
		if got := strictjson.Depth([]byte(text)); got != want {
			t.Errorf("%.30s: got %d, want %d", text, got, want)
		}
	}
}

func TestErrorPathsAreCutAtAToken(t *testing.T) {
	t.Parallel()
	text := `{"a":{"` + repeat("k", 600) + `":1e999}}`
	err := strictjson.Check([]byte(text), strictjson.Limits{})
	refused, ok := err.(*strictjson.Error) //nolint:errorlint // the very error is documented
	if !ok || refused.Path != "/a" {
		t.Errorf("got %#v, want path /a", err)
	}
}

// Everything that passes must mean the same to the standard library, and what
// it refuses must not pass.
func FuzzCheckAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"b":null}]}`, `1e308`, `"\u00e9"`, `{"a":1,"a":2}`, `[1e400]`, "\"\xff\"", `{}{}`, ` -0.0e+1 `, `[true,false]`, `"\ud800"`, `0.1000000000000000000000000000000000001`,
		`{"input":{"a":"` + "\xff" + `"}}`, `{"\u0061":1,"a":2}`, `{"IDEMPOTENCYKEY":"B","idempotencyKey":"A"}`, "\ufeff{}", `{}x`, ``, `NaN`, `Infinity`,
		`1e1000001`, `-1e-1000001`, `1e-400`, `9007199254740993`, `3.6e3`, `"\u0000"`, nested(64), nested(65), `[` + repeat("1,", 20_001) + `1]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := strictjson.Check(b, strictjson.Limits{})
		if err == nil && !json.Valid(b) {
			t.Fatalf("accepted %q, which is not valid", b)
		}
		if strictjson.ReasonOf(err) == strictjson.TooDeep && strictjson.Depth(b) <= strictjson.DefaultDepth {
			t.Fatalf("refused %q as too deep at %d levels", b, strictjson.Depth(b))
		}
		tree, treeErr := strictjson.Value(b, strictjson.Limits{})
		if (err == nil) != (treeErr == nil) {
			t.Fatalf("Check says %v and Value %v for %q", err, treeErr, b)
		}
		if err != nil {
			return
		}
		var want any
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("accepted %q, encoding/json says %v", b, err)
		}
		again, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		assertSameCanonical(t, b, again)
		canonical, err := strictjson.Canonical(b)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(canonical, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q: %v", b, canonical, err)
		}
	})
}

func assertSameCanonical(t *testing.T, a, b []byte) {
	t.Helper()
	x, err := strictjson.Canonical(a)
	if err != nil {
		t.Fatalf("%q: %v", a, err)
	}
	y, err := strictjson.Canonical(b)
	if err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	if string(x) != string(y) {
		t.Fatalf("%q and %q are one value, got %q and %q", a, b, x, y)
	}
	if z, err := strictjson.Canonical(x); err != nil || string(z) != string(x) {
		t.Fatalf("canonical %q becomes %q (%v)", x, z, err)
	}
}

func BenchmarkCheck110Bytes(b *testing.B) {
	text := []byte(`{"task":{"task":"Write 100 lines","points":5,"verify":true,"tags":["a","b","c"]},"note":"hello world","n":3600}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := strictjson.Check(text, strictjson.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck64KiB(b *testing.B) {
	text := []byte("[" + repeat(`{"a":1,"b":"xyz"},`, 3600) + "0]")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := strictjson.Check(text, strictjson.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
