package target

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest"
)

const testManifest = `{
 "commands":[
  {"id":"t.open","title":"Open","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
  {"id":"t.strict","title":"Strict","invocableBy":["extension"],"inputSchema":{"type":"object"},
   "outputSchema":{"type":"object","required":["left"],"additionalProperties":false,"properties":{"left":{"type":"integer","minimum":0}}}}],
 "queries":[{"id":"t.query","title":"Query","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],
 "events":[{"id":"t.done","payloadSchema":{"type":"object"}},
  {"id":"t.counted","payloadSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}]}`

func compiled(tb testing.TB, slug invocation.Slug, document string) *manifest.Compiled {
	tb.Helper()
	doc, err := manifest.Parse(slug, []byte(document), nil)
	if err != nil {
		tb.Fatalf("parse: %+v", invocation.AsError(err).Problems)
	}
	c, err := manifest.Compile(doc)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// nested returns objects in each other, this many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

func ofEvents(n int, event string) string {
	return `{"status":"completed","result":{},"events":[` + strings.TrimSuffix(strings.Repeat(event+",", n), ",") + `]}`
}

// object returns an object of this many bytes.
func object(n int) string { return `{"x":"` + strings.Repeat("<", n-8) + `"}` }

func refuses(code, message string) string {
	return fmt.Sprintf(`{"status":"rejected","error":{"code":%q,"message":%q}}`, code, message)
}

// A read is one HTTP answer and what it comes to.
type read struct {
	status  int
	command invocation.CapabilityID // t.open unless said
	body    string
	want    invocation.Status
	code    string // of the failure
	result  string
	message string // of a refusal
	events  int
}

const completedEmpty = `{"status":"completed","result":{}}`

// Every row of contract section 7 about an answer, and S-31, SEC-11, SEC-15,
// SEC-22.
func reads() map[string]read {
	const done, invalid = invocation.Completed, invocation.InvalidResponse
	unknown := func(body string) read { return read{status: 200, body: body, want: invocation.Unknown, code: invalid} }
	failed := func(status int) read {
		return read{status: status, body: completedEmpty, want: invocation.Failed, code: invocation.TargetError}
	}
	return map[string]read{
		"an empty result":                    {status: 200, body: completedEmpty, want: done, result: `{}`},
		"a result":                           {status: 200, body: `{"status":"completed","result":{"a":[1,null]}}`, want: done, result: `{"a":[1,null]}`},
		"a query":                            {status: 200, command: "t.query", body: completedEmpty, want: done, result: `{}`},
		"numbers as they are":                {status: 200, body: `{"status":"completed","result":{"n":9007199254740993,"m":1.0,"e":1E2}}`, want: done, result: `{"n":9007199254740993,"m":1.0,"e":1E2}`},
		"white space around":                 {status: 200, body: " \r\n" + completedEmpty + "\n\t ", want: done, result: `{}`},
		"members that nobody knows":          {status: 200, body: `{"status":"completed","result":{},"error":null,"took":3}`, want: done, result: `{}`},
		"status 201":                         {status: 201, body: completedEmpty, want: done, result: `{}`},
		"status 202":                         {status: 202, body: completedEmpty, want: done, result: `{}`},
		"status 299":                         {status: 299, body: completedEmpty, want: done, result: `{}`},
		"a result by its schema":             {status: 200, command: "t.strict", body: `{"status":"completed","result":{"left":3}}`, want: done, result: `{"left":3}`},
		"a result of 64 levels":              {status: 200, body: `{"status":"completed","result":` + nested(64) + `}`, want: done, result: nested(64)},
		"the largest answer":                 {status: 200, body: `{"status":"completed","result":` + object(invocation.MaxBody-len(completedEmpty)+2) + `}`, want: done, result: object(invocation.MaxBody - len(completedEmpty) + 2)},
		"no events":                          {status: 200, body: `{"status":"completed","result":{},"events":[]}`, want: done, result: `{}`},
		"an event":                           {status: 200, body: ofEvents(1, `{"type":"t.done","payload":{}}`), want: done, result: `{}`, events: 1},
		"an event with more":                 {status: 200, body: ofEvents(1, `{"type":"t.done","payload":{},"depth":0,"causationId":"x"}`), want: done, result: `{}`, events: 1},
		"16 events":                          {status: 200, body: ofEvents(16, `{"type":"t.counted","payload":{"n":1}}`), want: done, result: `{}`, events: 16},
		"a payload of 16 KiB":                {status: 200, body: ofEvents(1, `{"type":"t.done","payload":`+object(invocation.MaxPayload)+`}`), want: done, result: `{}`, events: 1},
		"a payload of 64 levels":             {status: 200, body: ofEvents(1, `{"type":"t.done","payload":`+nested(64)+`}`), want: done, result: `{}`, events: 1},
		"a refusal":                          {status: 200, body: refuses("not-today", "The wheel rests."), want: invocation.Rejected, code: "not-today", message: "The wheel rests."},
		"a refusal without words":            {status: 200, body: refuses("c", ""), want: invocation.Rejected, code: "c"},
		"a refusal with a code of 64":        {status: 200, body: refuses(strings.Repeat("ü", 64), ""), want: invocation.Rejected, code: strings.Repeat("ü", 64)},
		"a refusal with 500 letters":         {status: 200, body: refuses("c", strings.Repeat("ü", 500)), want: invocation.Rejected, code: "c", message: strings.Repeat("ü", 500)},
		"a refusal with 100 KB":              {status: 200, body: refuses("c", strings.Repeat("m", 100_000)), want: invocation.Rejected, code: "c", message: strings.Repeat("m", 500)},
		"a refusal in colour":                {status: 200, body: `{"status":"rejected","error":{"code":"c","message":"\u001b[31mred\u202e <b>x</b>\r\n\u0000end"}}`, want: invocation.Rejected, code: "c", message: "[31mred <b>x</b> end"},
		"a refusal with more":                {status: 200, body: `{"status":"rejected","result":{},"events":[{}],"error":{"code":"c","message":"m","details":{}}}`, want: invocation.Rejected, code: "c", message: "m"},
		"a refusal, status 207":              {status: 207, body: refuses("c", "m"), want: invocation.Rejected, code: "c", message: "m"},
		"status 300":                         failed(300),
		"status 301":                         failed(301),
		"status 302":                         failed(302),
		"status 307":                         failed(307),
		"status 308":                         failed(308),
		"status 400":                         failed(400),
		"status 401":                         failed(401),
		"status 404":                         failed(404),
		"status 409":                         failed(409),
		"status 410":                         failed(410),
		"status 422":                         failed(422),
		"status 429":                         failed(429),
		"status 500":                         failed(500),
		"status 501":                         failed(501),
		"status 503":                         failed(503),
		"status 599":                         failed(599),
		"status 999":                         failed(999),
		"an error that says completed":       failed(500),
		"an error without a body":            {status: 500, want: invocation.Failed, code: invocation.TargetError},
		"status 204":                         {status: 204, want: invocation.Unknown, code: invalid},
		"no body":                            unknown(``),
		"white space":                        unknown("  \n"),
		"HTML":                               unknown(`<html>ok</html>`),
		"null":                               unknown(`null`),
		"a list":                             unknown(`[]`),
		"a text":                             unknown(`"completed"`),
		"a number":                           unknown(`1`),
		"half an answer":                     unknown(`{"status":"completed","result":{}`),
		"more behind the answer":             unknown(completedEmpty + ` trailing`),
		"two answers":                        unknown(completedEmpty + completedEmpty),
		"a byte order mark":                  unknown("\ufeff" + completedEmpty),
		"invalid UTF-8":                      unknown(`{"status":"completed","result":{"a":"` + "\xff" + `"}}`),
		"a lone surrogate":                   unknown(`{"status":"completed","result":{"a":"\ud800"}}`),
		"the status twice":                   unknown(`{"status":"completed","status":"rejected","result":{}}`),
		"a name twice in the result":         unknown(`{"status":"completed","result":{"a":1,"a":2}}`),
		"a name twice in what nobody knows":  unknown(`{"status":"completed","result":{},"x":{"a":1,"a":2}}`),
		"a number beyond all":                unknown(`{"status":"completed","result":{"n":1e400}}`),
		"a number of 41 digits":              unknown(`{"status":"completed","result":{"n":` + strings.Repeat("1", 41) + `}}`),
		"too many values":                    unknown(`{"status":"completed","result":{"a":[` + strings.Repeat("1,", 20_000) + `1]}}`),
		"no status":                          unknown(`{"result":{}}`),
		"an unknown status":                  unknown(`{"status":"done","result":{}}`),
		"status pending":                     unknown(`{"status":"pending","result":{}}`),
		"status failed":                      unknown(`{"status":"failed","error":{"code":"c","message":"m"}}`),
		"a status in upper case":             unknown(`{"Status":"completed","result":{}}`),
		"a status that is no text":           unknown(`{"status":1,"result":{}}`),
		"no result":                          unknown(`{"status":"completed"}`),
		"a result that is null":              unknown(`{"status":"completed","result":null}`),
		"a result that is a number":          unknown(`{"status":"completed","result":5}`),
		"a result that is a list":            unknown(`{"status":"completed","result":[]}`),
		"a result of 65 levels":              unknown(`{"status":"completed","result":` + nested(65) + `}`),
		"a result off its schema":            {status: 200, command: "t.strict", body: `{"status":"completed","result":{"left":-1}}`, want: invocation.Unknown, code: invalid},
		"a result with too much":             {status: 200, command: "t.strict", body: `{"status":"completed","result":{"left":1,"x":1}}`, want: invocation.Unknown, code: invalid},
		"an empty result, off its schema":    {status: 200, command: "t.strict", body: completedEmpty, want: invocation.Unknown, code: invalid},
		"a command of no manifest":           {status: 200, command: "t.gone", body: completedEmpty, want: invocation.Unknown, code: invalid},
		"an answer of 256 KiB and one":       unknown(`{"status":"completed","result":` + object(invocation.MaxBody-len(completedEmpty)+3) + `}`),
		"events that are null":               unknown(`{"status":"completed","result":{},"events":null}`),
		"events that are no list":            unknown(`{"status":"completed","result":{},"events":{}}`),
		"17 events":                          unknown(ofEvents(17, `{"type":"t.done","payload":{}}`)),
		"an event that is null":              unknown(ofEvents(1, `null`)),
		"an event that is not declared":      unknown(ofEvents(1, `{"type":"t.other","payload":{}}`)),
		"an event of another extension":      unknown(ofEvents(1, `{"type":"lock.time-changed","payload":{}}`)),
		"a second event that is undeclared":  unknown(`{"status":"completed","result":{},"events":[{"type":"t.done","payload":{}},{"type":"t.other","payload":{}}]}`),
		"an event without a type":            unknown(ofEvents(1, `{"payload":{}}`)),
		"an event without a payload":         unknown(ofEvents(1, `{"type":"t.done"}`)),
		"a payload that is null":             unknown(ofEvents(1, `{"type":"t.done","payload":null}`)),
		"a payload that is a list":           unknown(ofEvents(1, `{"type":"t.done","payload":[]}`)),
		"a payload off its schema":           unknown(ofEvents(1, `{"type":"t.counted","payload":{}}`)),
		"a payload of 16 KiB and one":        unknown(ofEvents(1, `{"type":"t.done","payload":`+object(invocation.MaxPayload+1)+`}`)),
		"a payload of 65 levels":             unknown(ofEvents(1, `{"type":"t.done","payload":`+nested(65)+`}`)),
		"a refusal without an error":         unknown(`{"status":"rejected"}`),
		"a refusal with null":                unknown(`{"status":"rejected","error":null}`),
		"a refusal with a text":              unknown(`{"status":"rejected","error":"no"}`),
		"a refusal without a code":           unknown(`{"status":"rejected","error":{"message":"m"}}`),
		"a refusal without a message":        unknown(`{"status":"rejected","error":{"code":"c"}}`),
		"a refusal with an empty code":       unknown(refuses("", "m")),
		"a refusal with a code of 65":        unknown(refuses(strings.Repeat("c", 65), "m")),
		"a refusal whose code is a number":   unknown(`{"status":"rejected","error":{"code":1,"message":"m"}}`),
		"a refusal with a code null":         unknown(`{"status":"rejected","error":{"code":null,"message":"m"}}`),
		"a refusal with a message null":      unknown(`{"status":"rejected","error":{"code":"c","message":null}}`),
		"a refusal with a hidden code":       unknown(`{"status":"rejected","error":{"code":"c\u202e","message":"m"}}`),
		"a refusal with a code of two lines": unknown(`{"status":"rejected","error":{"code":"c\nd","message":"m"}}`),
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	offered := compiled(t, "t", testManifest)
	for name, tc := range reads() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := tc.command
			if command == "" {
				command = "t.open"
			}
			got := Read(tc.status, []byte(tc.body), command, offered)
			if got.Status != tc.want || string(got.Result) != tc.result || len(got.Events) != tc.events {
				t.Fatalf("got %s with %s and %d events, want %s with %s and %d", got.Status, got.Result, len(got.Events), tc.want, tc.result, tc.events)
			}
			if tc.code == "" {
				if got.Failure != nil {
					t.Errorf("got the failure %+v", *got.Failure)
				}
				return
			}
			if got.Failure == nil || got.Failure.Code != tc.code {
				t.Fatalf("got the failure %+v, want %s", got.Failure, tc.code)
			}
			if tc.want == invocation.Rejected && got.Failure.Message != tc.message {
				t.Errorf("got the message %q, want %q", got.Failure.Message, tc.message)
			}
			if n := utf8.RuneCountInString(got.Failure.Message); n > invocation.MaxFailureText {
				t.Errorf("got a message of %d code points", n)
			}
			if tc.want != invocation.Rejected && tc.body != "" && strings.Contains(tc.body, got.Failure.Message) {
				t.Errorf("got the target's own words %q", got.Failure.Message)
			}
		})
	}
}

// The answers that the contract's schema takes are read, and those that it
// refuses are not, but for a long message: the target has said no, whatever
// the length of its words (SEC-22).
func TestReadAgreesWithTheContractsExamples(t *testing.T) {
	t.Parallel()
	offered := compiled(t, "my-ext", strings.ReplaceAll(testManifest, `"t.`, `"my-ext.`))
	n := 0
	for _, e := range contracts.Examples() {
		if e.Schema != "webhook-answer" || e.Case == "long-message" {
			continue
		}
		n++
		got := Read(200, e.JSON, "my-ext.open", offered)
		if readable := got.Status == invocation.Completed || got.Status == invocation.Rejected; readable != e.Valid {
			t.Errorf("%s: got %s", e.File, got.Status)
		}
	}
	if n < 10 {
		t.Errorf("got %d examples, want them all", n)
	}
}

// Nothing that a target sends makes anything but a row of the contract.
func FuzzRead(f *testing.F) {
	for _, tc := range reads() {
		if len(tc.body) < 1000 {
			f.Add(tc.status, []byte(tc.body))
		}
	}
	offered := compiled(f, "t", testManifest)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		o := Read(status, body, "t.strict", offered)
		switch o.Status {
		case invocation.Completed:
			if status < 200 || status > 299 || o.Failure != nil || len(o.Result) == 0 || o.Result[0] != '{' || len(o.Events) > invocation.MaxEvents {
				t.Errorf("got %+v", o)
			}
		case invocation.Rejected:
			if o.Failure.Code == "" || utf8.RuneCountInString(o.Failure.Code) > invocation.MaxFailureCode || o.Result != nil || o.Events != nil {
				t.Errorf("got %+v", o)
			}
		case invocation.Failed:
			if o.Failure.Code != invocation.TargetError || status >= 200 && status <= 299 {
				t.Errorf("got %+v", o)
			}
		case invocation.Unknown:
			if o.Failure.Code != invocation.InvalidResponse || status < 200 || status > 299 {
				t.Errorf("got %+v", o)
			}
		case invocation.Pending:
			t.Errorf("got %+v", o)
		default:
			t.Errorf("got %+v", o)
		}
	})
}
