package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest"
)

func compiled(t *testing.T) *manifest.Compiled {
	t.Helper()
	c, err := manifest.Compile(parse(t, `{"commands":[{"id":"my-ext.add","title":"Add","description":"D","kind":"k","invocableBy":["extension","wearer"],
		"inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]},"outputSchema":{"type":"object","additionalProperties":false},
		"deprecated":{"message":"m"}}],
		"queries":[`+command("my-ext.get", "")+`],
		"events":[{"id":"my-ext.done","payloadSchema":{"type":"object","title":"Done","required":["x"]}},{"id":"my-ext.add","payloadSchema":{"type":"object"}}]}`, nil))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompiledCapabilitiesAreFoundByIDAndKind(t *testing.T) {
	t.Parallel()
	c := compiled(t)
	add, ok := c.Command("my-ext.add")
	if !ok || add.Kind != invocation.Command || add.Title != "Add" || add.Description != "D" || add.Label != "k" || add.Deprecated.Message != "m" {
		t.Errorf("got %+v, want the command", add)
	}
	if !add.Invocable(invocation.ActorWearer) || add.Invocable(invocation.ActorKeyholder) {
		t.Errorf("SEC-58: got %v, want the wearer and not the keyholder", add.InvocableBy)
	}
	get, ok := c.Query("my-ext.get")
	if !ok || get.Kind != invocation.Query || get.Label != "" {
		t.Errorf("got %+v, want the query", get)
	}
	done, ok := c.Event("my-ext.done")
	if !ok || done.Title != "Done" {
		t.Errorf("got %+v, want the event", done)
	}
	if plain, ok := c.Event("my-ext.add"); !ok || plain.Title != "" {
		t.Errorf("got %+v, want the event without a title", plain)
	}
	for _, id := range []invocation.CapabilityID{"my-ext.add", "my-ext.get"} {
		if m, ok := c.Callable(id); !ok || m.ID != id {
			t.Errorf("got %+v, want %s", m, id)
		}
	}
	if _, ok := c.Query("my-ext.add"); ok {
		t.Error("got a command as a query")
	}
	if _, ok := c.Command("my-ext.nope"); ok {
		t.Error("got a command that does not exist")
	}
	if _, ok := c.Event("my-ext.get"); ok {
		t.Error("SEC-57: got a query as an event")
	}
	if len(c.Document().Commands) != 1 {
		t.Errorf("got %v, want the document", c.Document())
	}
}

func TestCompiledSchemasJudgeInputResultAndPayload(t *testing.T) {
	t.Parallel()
	c := compiled(t)
	add, _ := c.Command("my-ext.add")
	done, _ := c.Event("my-ext.done")
	tests := map[string]struct {
		schema *manifest.Schema
		value  string
		want   string
	}{
		"S-28: an input that is too small": {add.Input, `{"n":0}`, "[{/n must be >= 1}]"},
		"S-28: an input without a name":    {add.Input, `{}`, "[{ must have required property 'n'}]"},
		"an input that fits":               {add.Input, `{"n":1}`, "[]"},
		"a result that is too much":        {add.Output, `{"a":1}`, "[{ must NOT have additional properties}]"},
		"SEC-57: a payload off schema":     {done.Payload, `{}`, "[{ must have required property 'x'}]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(test.schema.Validate(json.RawMessage(test.value))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestCompileRefusesADocumentThatWasNotParsed(t *testing.T) {
	t.Parallel()
	bad, good := json.RawMessage(`{"type":"array"}`), json.RawMessage(object)
	for name, doc := range map[string]*manifest.Document{
		"input schema of a.c":   {Commands: []manifest.Command{{ID: "a.c", InputSchema: bad, OutputSchema: good}}},
		"output schema of a.q":  {Queries: []manifest.Query{{ID: "a.q", InputSchema: good, OutputSchema: bad}}},
		"payload schema of a.e": {Events: []manifest.Event{{ID: "a.e", PayloadSchema: bad}}},
	} {
		if _, err := manifest.Compile(doc); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("got %v, want an error about the %s", err, name)
		}
	}
	if _, err := manifest.Decode([]byte(`{"commands":7}`)); err == nil {
		t.Error("got nil, want an error")
	}
}

func TestSubscriptionsSelectEvents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		patterns []string
		event    invocation.CapabilityID
		want     bool
	}{
		"a star selects everything":          {[]string{"*"}, "lock.time-changed", true},
		"a slug selects its events":          {[]string{"tasks.*", "lock.*"}, "lock.time-changed", true},
		"a slug selects no longer slug":      {[]string{"lock.*"}, "lock-two.a", false},
		"an id selects itself":               {[]string{"dice.rolled"}, "dice.rolled", true},
		"an id selects nothing else":         {[]string{"dice.rolled"}, "dice.rolled-twice", false},
		"nothing selects nothing":            {nil, "dice.rolled", false},
		"a slug with a hyphen":               {[]string{"wheel-of-fortune.*"}, "wheel-of-fortune.landed", true},
		"a slug is not the start of another": {[]string{"wheel.*"}, "wheel-of-fortune.landed", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := &manifest.Document{Subscriptions: test.patterns}
			if got := doc.Subscribes(test.event); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCleanTextMakesThirdPartyTextFit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"plain text stays":                      {"Hello, <b>world</b> 👩‍👧", 99, "Hello, <b>world</b> 👩‍👧"},
		"SEC-22: escapes lose their control":    {"\x1b[31mred\x1b[0m\x00", 99, "[31mred[0m"},
		"SEC-22: bidi controls go":              {"a\u202eb\u2066c\u200fd\u061c", 99, "abcd"},
		"SEC-59: tag characters go":             {"a\U000e0041\U000e007fb", 99, "ab"},
		"line breaks become one space":          {"\r\na\r\n\t b\n\nc\u2028d\n", 99, "a b c d"},
		"invalid bytes are replaced":            {"a\xffb", 99, "a\ufffdb"},
		"SEC-22: 100 KB are cut at code points": {repeat("é", 50_000), 500, repeat("é", 500)},
		"what fits in code points is kept":      {repeat("é", 500), 500, repeat("é", 500)},
		"a space may be the last one":           {"ab\ncd", 3, "ab "},
		"nothing is left of nothing":            {"\x00\n", 9, ""},
		"no room":                               {"abc", 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.CleanText(test.text, test.limit)
			if got != test.want || !utf8.ValidString(got) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\u202e\n b\xff", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := manifest.CleanText(s, limit)
		if utf8.RuneCountInString(got) > max(limit, 0) || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\n\u202e") {
			t.Fatalf("got %q for %q and %d", got, s, limit)
		}
		if again := manifest.CleanText(got, limit); again != got {
			t.Fatalf("got %q, then %q", got, again)
		}
	})
}

func load(calls *atomic.Int32, text string) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) {
		calls.Add(1)
		return json.RawMessage(text), nil
	}
}

func TestCacheCompilesARevisionOnce(t *testing.T) {
	t.Parallel()
	cache := manifest.NewCache(0)
	var calls atomic.Int32
	var wg sync.WaitGroup
	got := make([]*manifest.Compiled, 20)
	for i := range got {
		wg.Go(func() {
			c, err := cache.Get("my-ext", 3, load(&calls, sample))
			if err != nil {
				t.Error(err)
			}
			got[i] = c
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("got %d loads, want 1", calls.Load())
	}
	for _, c := range got {
		if c != got[0] {
			t.Fatal("got two compiled manifests of one revision")
		}
	}
	other, err := cache.Get("my-ext", 4, load(&calls, `{"commands":[],"queries":[],"events":[],"subscriptions":[]}`))
	if err != nil || other == got[0] || calls.Load() != 2 {
		t.Errorf("SEC-56: got %v (%v) after %d loads, want another manifest for another revision", other, err, calls.Load())
	}
}

func TestCacheDoesNotKeepFailures(t *testing.T) {
	t.Parallel()
	cache := manifest.NewCache(2)
	failure := errors.New("out of reach")
	_, err := cache.Get("my-ext", 1, func() (json.RawMessage, error) { return nil, failure })
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), "my-ext revision 1") {
		t.Errorf("got %v, want the failure with its place", err)
	}
	var calls atomic.Int32
	if _, err := cache.Get("my-ext", 1, load(&calls, `{"commands":7}`)); err == nil {
		t.Error("got nil, want an error for a broken document")
	}
	if _, err := cache.Get("my-ext", 1, load(&calls, sample)); err != nil {
		t.Errorf("got %v, want the manifest after a failure", err)
	}
}

func TestCacheForgetsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	cache := manifest.NewCache(2)
	get := func(slug invocation.Slug) bool {
		var calls atomic.Int32
		if _, err := cache.Get(slug, 1, load(&calls, sample)); err != nil {
			t.Fatal(err)
		}
		return calls.Load() == 0
	}
	get("a")
	get("b")
	if !get("a") {
		t.Error("a was loaded again, want it kept")
	}
	get("c")
	if !get("a") || !get("c") {
		t.Error("got a or c loaded again, want both kept")
	}
	if get("b") {
		t.Error("b was kept, want it forgotten")
	}
	if cache.Len() != 2 {
		t.Errorf("got %d entries, want 2", cache.Len())
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := manifest.Parse("my-ext", []byte(sample), nil); err != nil {
			b.Fatal(err)
		}
	}
}
