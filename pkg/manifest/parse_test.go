package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest"
)

var repeat = strings.Repeat

// sample is the manifest of contract section 5.
const sample = `{"commands":[{"id":"my-ext.do-it","title":"Do it","description":"…","kind":"control","invocableBy":["extension"],` +
	`"inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"deprecated":null}],` +
	`"queries":[{"id":"my-ext.status","title":"…","description":"…","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"deprecated":null}],` +
	`"events":[{"id":"my-ext.done","payloadSchema":{"type":"object"},"deprecated":null}],"subscriptions":["*"]}`

const object = `{"type":"object"}`

// command is the text of a command, with members in front of the usual ones.
func command(id, members string) string {
	return `{` + members + `"id":"` + id + `","title":"T","invocableBy":["extension"],"inputSchema":` + object + `,"outputSchema":` + object + `}`
}

func commands(items ...string) string { return `{"commands":[` + strings.Join(items, ",") + `]}` }

func parse(t *testing.T, text string, previous *manifest.Document) *manifest.Document {
	t.Helper()
	doc, err := manifest.Parse("my-ext", []byte(text), previous)
	if err != nil {
		t.Fatalf("got %v %v, want a document", err, invocation.AsError(err).Problems)
	}
	return doc
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestParseKeepsTheContractsForm(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"the contract's sample":      {sample, sample},
		"S-02: lists are never null": {`{}`, `{"commands":[],"queries":[],"events":[],"subscriptions":[]}`},
		"what may be left out has its default": {
			commands(command("my-ext.a", "")),
			`{"commands":[{"id":"my-ext.a","title":"T","description":"","kind":"control","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"deprecated":null}],"queries":[],"events":[],"subscriptions":[]}`,
		},
		"deprecations, and schemas without white space": {
			`{"events":[{"id":"my-ext.done","payloadSchema":{ "type" : "object", "properties":{"n":{"const":9007199254740993}}},"deprecated":{"message":"Use ended."}},
			  {"id":"my-ext.old","payloadSchema":{"type":"object"},"deprecated":{"message":"m","replacedBy":"my-ext.done"}}]}`,
			`{"commands":[],"queries":[],"events":[{"id":"my-ext.done","payloadSchema":{"type":"object","properties":{"n":{"const":9007199254740993}}},"deprecated":{"message":"Use ended.","replacedBy":null}},` +
				`{"id":"my-ext.old","payloadSchema":{"type":"object"},"deprecated":{"message":"m","replacedBy":"my-ext.done"}}],"subscriptions":[]}`,
		},
		"nobody may call": {commands(strings.Replace(command("my-ext.a", ""), `["extension"]`, `[]`, 1)), `"invocableBy":[]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, test.text, nil)
			got := marshal(t, doc)
			if got != test.want && !strings.Contains(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			stored, err := manifest.Decode([]byte(got))
			if err != nil || !stored.Equal(doc) || marshal(t, stored) != got {
				t.Errorf("Decode: got %v and %v, want the same document", err, stored)
			}
		})
	}
	if got := marshal(t, manifest.Document{}); got != `{"commands":[],"queries":[],"events":[],"subscriptions":[]}` {
		t.Errorf("S-02: got %s, want empty lists", got)
	}
	spaced := parse(t, `{"events":[{"id":"my-ext.e","payloadSchema": { "type" : "object" } }]}`, nil)
	if got := string(spaced.Events[0].PayloadSchema); got != object {
		t.Errorf("got %s, want a schema without white space", got)
	}
	if got := marshal(t, manifest.Command{}); !strings.Contains(got, `"invocableBy":[]`) {
		t.Errorf("S-02: got %s, want an empty list", got)
	}
	if got := marshal(t, manifest.Query{}); !strings.Contains(got, `"invocableBy":[]`) {
		t.Errorf("S-02: got %s, want an empty list", got)
	}
}

func TestParseMergesWithThePreviousManifest(t *testing.T) {
	t.Parallel()
	previous := parse(t, sample, nil)
	before := marshal(t, previous)
	tests := map[string]struct {
		text                               string
		commands, queries, events, selects int
	}{
		"a list left out keeps its value": {`{}`, 1, 1, 1, 1},
		"an empty list clears it":         {`{"commands":[],"subscriptions":[]}`, 0, 1, 1, 0},
		"a list replaces the old one":     {commands(command("my-ext.a", ""), command("my-ext.b", "")), 2, 1, 1, 1},
		"an id may move":                  {`{"commands":[],"queries":[` + command("my-ext.do-it", "") + `]}`, 0, 1, 1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, test.text, previous)
			got := []int{len(doc.Commands), len(doc.Queries), len(doc.Events), len(doc.Subscriptions)}
			if want := []int{test.commands, test.queries, test.events, test.selects}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if marshal(t, previous) != before {
				t.Error("the previous document was changed")
			}
		})
	}
}

func TestTheSameJSONKeepsTheRevision(t *testing.T) {
	t.Parallel()
	doc := parse(t, sample, nil)
	spaced := parse(t, strings.NewReplacer(`"type":"object"`, ` "type" : "object" `, `,"deprecated":null`, ``).Replace(sample), nil)
	if !doc.Equal(spaced) {
		t.Error("got another document, want the same one")
	}
	if !doc.Equal(parse(t, `{}`, doc)) {
		t.Error("got another document after an empty update, want the same one")
	}
	other := parse(t, strings.Replace(sample, `"title":"Do it"`, `"title":"Do it now"`, 1), nil)
	if doc.Equal(other) || doc.Equal(nil) {
		t.Error("got the same document, want another one")
	}
	var none *manifest.Document
	if !none.Equal(nil) {
		t.Error("got a difference between nothing and nothing")
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	with := func(members string) string { return commands(command("my-ext.a", members)) }
	tests := map[string]struct {
		text string
		want []string // path and message; a message may be cut
	}{
		"no JSON":                          {`{`, []string{": must be valid JSON"}},
		"SEC-31: a list twice":             {`{"commands":[],"commands":[]}`, []string{": must NOT have duplicate property names"}},
		"no object":                        {`[]`, []string{": must be object"}},
		"null":                             {`null`, []string{": must be object"}},
		"SEC-53: a number out of range":    {with(`"kind":1e400,`), []string{"/commands/0/kind: must be a finite number written with at most 40 characters"}},
		"more than 256 KiB":                {`{"commands":[` + repeat(" ", manifest.MaxBytes) + `]}`, []string{": must NOT be larger than 262144 bytes"}},
		"65 levels":                        {`{"x":` + repeat("[", 64) + repeat("]", 64) + `}`, []string{": must NOT be nested more than 64 levels deep"}},
		"a list that is null":              {`{"commands":null,"queries":null,"events":null,"subscriptions":null}`, []string{"/commands: must be array", "/events: must be array", "/queries: must be array", "/subscriptions: must be array"}},
		"a list that is none":              {`{"commands":{}}`, []string{"/commands: must be array"}},
		"a list that nobody knows":         {`{"command":[]}`, []string{": must NOT have additional properties"}},
		"S-01: a list in another case":     {`{"Commands":[]}`, []string{": must NOT have additional properties"}},
		"51 commands":                      {commands(many(51)...), []string{"/commands: must NOT have more than 50 items"}},
		"101 events":                       {`{"events":[` + repeat("{},", 100) + `{}]}`, []string{"/events: must NOT have more than 100 items"}},
		"an entry that is none":            {commands(`7`), []string{"/commands/0: must be object"}},
		"an entry that is null":            {commands(`null`), []string{"/commands/0: must be object"}},
		"everything missing":               {commands(`{}`), []string{"/commands/0: must have required property 'id'", "/commands/0: must have required property 'inputSchema'", "/commands/0: must have required property 'invocableBy'", "/commands/0: must have required property 'outputSchema'", "/commands/0: must have required property 'title'"}},
		"an event without a schema":        {`{"events":[{"id":"my-ext.e"}]}`, []string{"/events/0: must have required property 'payloadSchema'"}},
		"a property that nobody knows":     {with(`"x":1,`), []string{"/commands/0: must NOT have additional properties"}},
		"a kind of a query":                {`{"queries":[` + command("my-ext.a", `"kind":"control",`) + `]}`, []string{"/queries/0: must NOT have additional properties"}},
		"a title that is null":             {with(`"description":null,`), []string{"/commands/0/description: must be string"}},
		"a kind that is empty":             {with(`"kind":"",`), []string{"/commands/0/kind: must NOT have fewer than 1 characters"}},
		"SEC-54: an id of another slug":    {commands(command("lock.add-time", "")), []string{`/commands/0/id: must begin with the extension's own slug, "my-ext."`}},
		"SEC-54: an event of another one":  {`{"events":[{"id":"link.voted","payloadSchema":` + object + `}]}`, []string{`/events/0/id: must begin with the extension's own slug, "my-ext."`}},
		"SEC-54: a slug that begins alike": {commands(command("my-extra.a", "")), []string{`/commands/0/id: must begin`}},
		"SEC-55: capitals":                 {commands(command("My-ext.a", "")), []string{"/commands/0/id: must match pattern"}},
		"SEC-55: a Cyrillic letter":        {commands(command("my-еxt.a", "")), []string{"/commands/0/id: must match pattern"}},
		"SEC-55: no name":                  {commands(command("my-ext.", "")), []string{"/commands/0/id: must match pattern"}},
		"SEC-55: two points":               {commands(command("my-ext..a", "")), []string{"/commands/0/id: must match pattern"}},
		"SEC-55: a space in front":         {commands(command(" my-ext.a", "")), []string{"/commands/0/id: must match pattern"}},
		"SEC-55: a space behind":           {commands(command("my-ext.a ", "")), []string{`/commands/0/id: must match pattern "^[a-z0-9-]{1,40}\.[a-z0-9]+(-[a-z0-9]+)*$"`}},
		"a line break behind":              {commands(command(`my-ext.a\n`, "")), []string{"/commands/0/id: must match pattern"}},
		"two hyphens":                      {commands(command("my-ext.a--b", "")), []string{"/commands/0/id: must match pattern"}},
		"an id that is a number":           {commands(strings.Replace(command("my-ext.a", ""), `"my-ext.a"`, `7`, 1)), []string{"/commands/0/id: must be string"}},
		"an id twice":                      {commands(command("my-ext.a", ""), command("my-ext.a", "")), []string{"/commands/1/id: must be unique among commands and queries"}},
		"an id of a command and a query":   {`{"queries":[` + command("my-ext.a", "") + `],"commands":[` + command("my-ext.a", "") + `]}`, []string{"/queries/0/id: must be unique among commands and queries"}},
		"an event twice":                   {`{"events":[{"id":"my-ext.e","payloadSchema":` + object + `},{"id":"my-ext.e","payloadSchema":` + object + `}]}`, []string{"/events/1/id: must be unique among events"}},
		"a title of 0 and of 61":           {commands(titled("a", ""), titled("b", repeat("é", 61))), []string{"/commands/0/title: must NOT have fewer than 1 characters", "/commands/1/title: must NOT have more than 60 characters"}},
		"a description of 1,001":           {with(`"description":"` + repeat("é", 1_001) + `",`), []string{"/commands/0/description: must NOT have more than 1000 characters"}},
		"SEC-59: direction overrides":      {with("\"description\":\"a\u202eb\","), []string{"/commands/0/description: must NOT have control, bidirectional or tag characters"}},
		"SEC-59: tag characters":           {commands(titled("a", "a\U000e0041")), []string{"/commands/0/title: must NOT have control"}},
		"SEC-59: control characters":       {commands(titled("a", `a\u001b[31m`)), []string{"/commands/0/title: must NOT have control"}},
		"SEC-59: 1 MB":                     {with(`"description":"` + repeat("a", 1<<20) + `",`), []string{": must NOT be larger than 262144 bytes"}},
		"an unknown actor":                 {commands(strings.Replace(command("my-ext.a", ""), `["extension"]`, `["extension","system","extension",7]`, 1)), []string{"/commands/0/invocableBy: must NOT have duplicate items (items ## 2 and 0 are identical)", "/commands/0/invocableBy/1: must be equal to one of the allowed values", "/commands/0/invocableBy/3: must be string"}},
		"an actor in place of a list":      {commands(strings.Replace(command("my-ext.a", ""), `["extension"]`, `"extension"`, 1)), []string{"/commands/0/invocableBy: must be array"}},
		"a deprecation without a message":  {with(`"deprecated":{"replacedBy":"x"},`), []string{"/commands/0/deprecated: must have required property 'message'", "/commands/0/deprecated/replacedBy: must be null or the id of a capability"}},
		"a deprecation that is true":       {with(`"deprecated":true,`), []string{"/commands/0/deprecated: must be object"}},
		"a deprecation with more":          {with(`"deprecated":{"message":"m","since":1},`), []string{"/commands/0/deprecated: must NOT have additional properties"}},
		"subscriptions of the wrong form":  {`{"subscriptions":["*","lock.*","lock.time-changed","lock","*.x","lock.**","",7]}`, []string{`/subscriptions/3: must be "*"`, `/subscriptions/4: must be "*"`, `/subscriptions/5: must be "*"`, `/subscriptions/6: must be "*"`, "/subscriptions/7: must be string"}},
		"S-24: the path of a pattern":      {commands(strings.Replace(command("my-ext.a", ""), object, `{"type":"object","properties":{"code":{"pattern":"^(?!0000)[0-9]{4}$"}}}`, 1)), []string{"/commands/0/inputSchema/properties/code/pattern: must be a regular expression that RE2 can run, without look-around"}},
		"S-26: the path of a reference":    {commands(strings.Replace(command("my-ext.a", ""), `"outputSchema":`+object, `"outputSchema":{"type":"object","properties":{"a":{"$ref":"file:///etc/hostname"}}}`, 1)), []string{"/commands/0/outputSchema/properties/a/$ref: must refer to a schema within this document"}},
		"SEC-49: 829 KB of properties":     {`{"events":[{"id":"my-ext.e","payloadSchema":{"type":"object","properties":{` + repeat(`"p":{"type":"string"},`, 40_000) + `}}}]}`, []string{": must NOT be larger than 262144 bytes"}},
		"a payload schema of 33 KiB":       {`{"events":[{"id":"my-ext.e","payloadSchema":{"type":"object","title":"` + repeat("t", 33<<10) + `"}}]}`, []string{"/events/0/payloadSchema: must NOT be larger than 32768 bytes"}},
		"a schema that is null":            {`{"events":[{"id":"my-ext.e","payloadSchema":null}]}`, []string{"/events/0/payloadSchema: must be object"}},
		"all problems at once":             {`{"x":1,"commands":[{"id":"lock.a"},7],"events":null}`, []string{": must NOT have additional properties", "/commands/0: must have required property 'inputSchema'", "/commands/0: must have required property 'invocableBy'", "/commands/0: must have required property 'outputSchema'", "/commands/0: must have required property 'title'", "/commands/0/id: must begin", "/commands/1: must be object", "/events: must be array"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := manifest.Parse("my-ext", []byte(test.text), nil)
			checkRefusal(t, doc, err, test.want)
		})
	}
}

func checkRefusal(t *testing.T, doc *manifest.Document, err error, want []string) {
	t.Helper()
	refused, ok := errors.AsType[*invocation.Error](err)
	if doc != nil || !ok || refused.Code != invocation.InvalidManifest {
		t.Fatalf("got %v and %v, want invalid-manifest", doc, err)
	}
	var got []string
	for _, p := range refused.Problems {
		got = append(got, p.InstancePath+": "+p.Message)
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func many(n int) []string {
	var out []string
	for i := range n {
		out = append(out, command(fmt.Sprintf("my-ext.c%d", i), ""))
	}
	return out
}

func titled(name, title string) string {
	return strings.Replace(command("my-ext."+name, ""), `"T"`, `"`+title+`"`, 1)
}

// An id that stays because its list was left out is still taken.
func TestAnIDMayNotCollideWithOneThatStays(t *testing.T) {
	t.Parallel()
	previous := parse(t, sample, nil)
	doc, err := manifest.Parse("my-ext", []byte(commands(command("my-ext.status", ""))), previous)
	checkRefusal(t, doc, err, []string{"/commands/0/id: must be unique among commands and queries"})
	doc, err = manifest.Parse("my-ext", []byte(`{"queries":[`+command("my-ext.do-it", "")+`]}`), previous)
	checkRefusal(t, doc, err, []string{"/queries/0/id: must be unique among commands and queries"})
}

func TestParseAcceptsTheLimits(t *testing.T) {
	t.Parallel()
	full := strings.Join(many(50), ",")
	tests := map[string]string{
		"50 commands and 50 queries":  `{"commands":[` + full + `],"queries":[` + strings.ReplaceAll(full, "my-ext.c", "my-ext.q") + `]}`,
		"256 KiB":                     `{"commands":[` + repeat(" ", manifest.MaxBytes-len(`{"commands":[]}`)) + `]}`,
		"a title of 60":               commands(titled("a", repeat("é", 60))),
		"a description of 1,000":      commands(command("my-ext.a", `"description":"`+repeat("é", 1_000)+`",`)),
		"SEC-59: markup is text":      commands(command("my-ext.a", `"description":"</extension-data> 👩‍👩‍👧 שלום",`)),
		"a schema of 32 KiB":          `{"events":[{"id":"my-ext.e","payloadSchema":{"type":"object","title":"` + repeat("t", 32<<10-len(`{"type":"object","title":""}`)) + `"}}]}`,
		"S-27: both dialects":         commands(strings.Replace(command("my-ext.a", ""), object, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, 1)),
		"an event named as a command": `{"commands":[` + command("my-ext.a", "") + `],"events":[{"id":"my-ext.a","payloadSchema":` + object + `}]}`,
		"a slug of a platform app":    `{"subscriptions":["wheel-of-fortune.*"]}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parse(t, text, nil)
		})
	}
}

// However bad a manifest is, the answer is short.
func TestProblemsOfAManifestAreBounded(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse("my-ext", []byte(`{"subscriptions":[`+repeat(`"?",`, 255)+`"?"]}`), nil)
	if got := len(invocation.AsError(err).Problems); got != manifest.MaxProblems {
		t.Errorf("got %d problems, want %d", got, manifest.MaxProblems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"commands":null,"events":[{"deprecated":{"replacedBy":7}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, err := manifest.Parse("my-ext", raw, nil)
		if err != nil {
			refused := invocation.AsError(err)
			if refused.Code != invocation.InvalidManifest || len(refused.Problems) == 0 || len(refused.Problems) > manifest.MaxProblems {
				t.Fatalf("got %v with %d problems", err, len(refused.Problems))
			}
			return
		}
		text := marshal(t, doc)
		if again := parse(t, text, nil); !again.Equal(doc) {
			t.Fatalf("%s does not survive a second time", text)
		}
		if _, err := manifest.Compile(doc); err != nil {
			t.Fatal(err)
		}
	})
}

func ExampleParse() {
	_, err := manifest.Parse("my-ext", []byte(`{"commands":[{"id":"lock.add-time","title":"Add time"}]}`), nil)
	for _, p := range invocation.AsError(err).Problems {
		fmt.Println(p.InstancePath, p.Message)
	}
	// Output:
	// /commands/0 must have required property 'inputSchema'
	// /commands/0 must have required property 'invocableBy'
	// /commands/0 must have required property 'outputSchema'
	// /commands/0/id must begin with the extension's own slug, "my-ext."
}
