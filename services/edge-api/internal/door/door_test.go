package door

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
)

func refusal(t *testing.T, err error) (*httptest.ResponseRecorder, string) {
	t.Helper()
	w := httptest.NewRecorder()
	Refuse(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), err)
	return w, w.Body.String()
}

func TestRefusalsBecomeProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		want   string
		header map[string]string
	}{
		"a code stands for a message": {
			invocation.Refuse(invocation.SessionNotFound),
			`{"statusCode":404,"error":"Not Found","code":"session-not-found","message":"session-not-found"}`, nil,
		},
		"a message of its own": {
			invocation.Refusef(invocation.Forbidden, "not %s", "you"),
			`{"statusCode":403,"error":"Forbidden","code":"forbidden","message":"not you"}`, nil,
		},
		"problems of a value": {
			&invocation.Error{Code: invocation.InvalidInput, Problems: []invocation.Problem{{InstancePath: "/a", Message: "must be <b>"}}},
			`{"statusCode":400,"error":"Bad Request","code":"invalid-input","message":"invalid-input","details":[{"instancePath":"/a","message":"must be <b>"}]}`, nil,
		},
		"facts of a refusal": {
			invocation.Refuse(invocation.Unavailable).With("reason", "not-frozen"),
			`{"statusCode":409,"error":"Conflict","code":"unavailable","message":"unavailable","details":{"reason":"not-frozen"}}`, nil,
		},
		"a fact that the contract has not is left out": {
			invocation.Refuse(invocation.ResourceConflict).With("revision", "7"),
			`{"statusCode":409,"error":"Conflict","code":"conflict","message":"conflict"}`, nil,
		},
		"seconds are rounded up": {
			invocation.Refuse(invocation.RateLimited).With("bucket", "lock").After(1001 * time.Millisecond),
			`{"statusCode":429,"error":"Too Many Requests","code":"rate-limited","message":"rate-limited","details":{"bucket":"lock","retryAfterSeconds":2}}`,
			map[string]string{"Retry-After": "2"},
		},
		"advice is a second at least": {
			invocation.Wrap(invocation.ServiceUnavailable, errors.New("nats: no responders at 10.0.0.1")),
			`{"statusCode":503,"error":"Service Unavailable","code":"service-unavailable","message":"service-unavailable"}`,
			map[string]string{"Retry-After": "1"},
		},
		"a challenge": {
			invocation.Refuse(invocation.Unauthorized),
			`{"statusCode":401,"error":"Unauthorized","code":"unauthorized","message":"unauthorized"}`,
			map[string]string{"WWW-Authenticate": "Bearer"},
		},
		"the rest of a body is not wanted": {
			invocation.Refuse(invocation.PayloadTooLarge),
			`{"statusCode":413,"error":"Request Entity Too Large","code":"payload-too-large","message":"payload-too-large"}`,
			map[string]string{"Connection": "close"},
		},
		"a server error tells nothing": {
			invocation.Refusef(invocation.ServerError, "password is %s", "x").With("reason", "secret").After(time.Hour),
			`{"statusCode":500,"error":"Internal Server Error","code":"server-error","message":"server-error"}`, nil,
		},
		"nor does a code that nobody knows": {
			invocation.Refusef("brand-new", "password is %s", "x"),
			`{"statusCode":500,"error":"Internal Server Error","code":"server-error","message":"server-error"}`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, body := refusal(t, test.err)
			if body != test.want {
				t.Errorf("got %s, want %s", body, test.want)
			}
			for h, want := range test.header {
				if got := w.Header().Get(h); got != want {
					t.Errorf("got %s %q, want %q", h, got, want)
				}
			}
		})
	}
}

func TestEveryCodeHasAStatusOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range invocation.Codes() {
		status := wire.Status(c)
		if http.StatusText(status) == "" || (status == 500) != (c == invocation.ServerError) {
			t.Errorf("%s: got status %d", c, status)
		}
	}
}

func TestALongListOfProblemsIsCut(t *testing.T) {
	t.Parallel()
	e := invocation.Refuse(invocation.InvalidInput)
	e.Problems = slices.Repeat([]invocation.Problem{{Message: "must be integer"}}, 1000)
	if _, body := refusal(t, e); strings.Count(body, "instancePath") != wire.MaxDetails {
		t.Errorf("got %d problems, want %d", strings.Count(body, "instancePath"), wire.MaxDetails)
	}
}

func TestFieldsTellShapeFromValue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		read func(*Fields)
		code invocation.Code
		want string
	}{
		"what is right":                {`{"a":"x","b":true,"c":{"d":1},"e":null}`, func(f *Fields) { f.Text("a"); f.Bool("b"); f.Raw("c"); f.Null("e") }, "", ""},
		"false is a boolean":           {`{"b":false}`, func(f *Fields) { f.Bool("b") }, "", ""},
		"a text is no boolean":         {`{"b":"true"}`, func(f *Fields) { f.Bool("b") }, "malformed-request", "/b must be boolean"},
		"null is no boolean":           {`{"b":null}`, func(f *Fields) { f.Bool("b") }, "malformed-request", "/b must be boolean"},
		"a null that nobody expects":   {`{"e":null}`, func(f *Fields) { f.Text("e") }, "malformed-request", "/e must be string"},
		"a value that is no null":      {`{"e":1}`, func(f *Fields) { f.Null("e") }, "malformed-request", "/e must NOT have additional properties"},
		"a list is no object":          {`{"c":[]}`, func(f *Fields) { f.Nested("c", "d") }, "malformed-request", "/c must be object"},
		"what is missing below":        {`{"c":{}}`, func(f *Fields) { f.Nested("c", "d") }, "malformed-request", "/c must have required property 'd'"},
		"what is too much below":       {`{"c":{"x":1}}`, func(f *Fields) { f.Nested("c") }, "malformed-request", "/c/x must NOT have additional properties"},
		"a value below":                {`{"c":{"x":""}}`, func(f *Fields) { n, _ := f.Nested("c"); n.Text("x"); n.Wrong("x", "must be long") }, "invalid-input", "/c/x must be long"},
		"shape comes before value":     {`{"a":1}`, func(f *Fields) { f.Text("a"); f.Wrong("a", "must be nice") }, "malformed-request", "/a must be string"},
		"a value that is not taken":    {`{"a":"x"}`, func(f *Fields) { f.OneOf("a", "y") }, "invalid-input", "/a must be equal to one of the allowed values"},
		"a value that is taken":        {`{"a":"y"}`, func(f *Fields) { f.OneOf("a", "y") }, "", ""},
		"too few characters":           {`{}`, func(f *Fields) { f.Within("a", "é", 2, 3) }, "invalid-input", "/a must NOT have fewer than 2 characters"},
		"too many characters":          {`{}`, func(f *Fields) { f.Within("a", "éééé", 2, 3) }, "invalid-input", "/a must NOT have more than 3 characters"},
		"as many characters as may be": {`{}`, func(f *Fields) { f.Within("a", "ééé", 3, 3) }, "", ""},
		"a time":                       {`{"t":"2026-11-04T12:00:00.123456+02:00"}`, func(f *Fields) { f.Time("t") }, "", ""},
		"a date is no time":            {`{"t":"2026-11-04"}`, func(f *Fields) { f.Time("t") }, "invalid-input", `/t must match format "date-time"`},
		"the 30th of February":         {`{"t":"2026-02-30T00:00:00Z"}`, func(f *Fields) { f.Time("t") }, "invalid-input", `/t must match format "date-time"`},
		"the object itself":            {`{}`, func(f *Fields) { f.Wrong("", "must be more") }, "invalid-input", " must be more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := ParseObject([]byte(test.body), "")
			if err != nil {
				t.Fatal(err)
			}
			test.read(f)
			if err = f.Err(); test.want == "" {
				if err != nil {
					t.Errorf("got %v, want nil", err)
				}
				return
			}
			got := invocation.AsError(err)
			if got.Code != test.code || len(got.Problems) != 1 || got.Problems[0].InstancePath+" "+got.Problems[0].Message != test.want {
				t.Errorf("got %s %v, want %s %q", got.Code, got.Problems, test.code, test.want)
			}
		})
	}
}

// Whatever the body, it is read or refused as the contract says, and never with
// an error of ours.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"input":{"a":[1,{"b":null}]}}`, `[`, `{"input":1e999}`, `{"a":1,"a":2}`, "\xef\xbb\xbf{}", strings.Repeat(`{"input":`, 70)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fields, err := ParseObject(body, "input")
		if err != nil {
			e := invocation.AsError(err)
			if e.Code != invocation.MalformedRequest && e.Code != invocation.InvalidInput || len(e.Problems) != 1 {
				t.Fatalf("got %v with %v for %q", e.Code, e.Problems, body)
			}
			return
		}
		fields.Raw("input")
		fields.Text("actor")
		if err := fields.Err(); err != nil && invocation.CodeOf(err) != invocation.MalformedRequest {
			t.Fatalf("got %v for %q", err, body)
		}
	})
}
