package edgeapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// nested returns an object of so many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

func TestBodiesThatAreNoRequest(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	const key = `"idempotencyKey":"k"`
	tests := map[string]struct {
		body string
		code invocation.Code
		path string
		says string
	}{
		"SEC-30: invalid UTF-8":                        {"{\"input\":{\"a\":\"\xff\"}}", "malformed-request", "/input/a", "must be valid JSON"},
		"SEC-30: a lone surrogate":                     {`{"input":{"a":"\ud800"}}`, "malformed-request", "/input/a", "must be valid JSON"},
		"SEC-31: a name twice":                         {`{` + key + `,"input":{"a":1,"a":2}}`, "malformed-request", "/input", "duplicate property names"},
		"SEC-31: a name twice in the body":             {`{` + key + `,` + key + `}`, "malformed-request", "", "duplicate property names"},
		"SEC-31: an escaped name is the same":          {`{"\u0069dempotencyKey":"x",` + key + `}`, "malformed-request", "", "duplicate property names"},
		"S-15: 65 levels are one too many":             {`{` + key + `,"input":` + nested(65) + `}`, "invalid-input", "/input", "must NOT be nested more than 64 levels deep"},
		"SEC-32: 10,000 levels":                        {`{` + key + `,"input":` + nested(10_000) + `}`, "invalid-input", "/input", "must NOT be nested more than 64 levels deep"},
		"S-15: 100,000 brackets in the input":          {`{"input":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "invalid-input", "/input", "must NOT be nested"},
		"SEC-32: 100,000 brackets are no object":       {strings.Repeat("[", 100_000), "malformed-request", "", "must NOT be nested"},
		"SEC-32: another member nested too deep":       {`{"actor":` + nested(70) + `}`, "malformed-request", "/actor", "must NOT be nested"},
		"SEC-33: NaN":                                  {`{` + key + `,"input":{"x":NaN}}`, "malformed-request", "/input/x", "must be valid JSON"},
		"SEC-33: 1e400":                                {`{` + key + `,"input":{"x":1e400}}`, "invalid-input", "/input/x", "must be a finite number"},
		"SEC-33: 1e1000001":                            {`{` + key + `,"input":{"x":1e1000001}}`, "invalid-input", "/input/x", "must be a finite number"},
		"SEC-33: -1e-1000001":                          {`{` + key + `,"input":{"x":-1e-1000001}}`, "invalid-input", "/input/x", "must be a finite number"},
		"SEC-33: 100,000 digits":                       {`{` + key + `,"input":{"x":` + strings.Repeat("9", 100_000) + `}}`, "invalid-input", "/input/x", "must be a finite number"},
		"SEC-33: a number where none belongs":          {`{` + key + `,"actor":1e400}`, "malformed-request", "/actor", "must be a finite number"},
		"SEC-37: two values":                           {`{}{}`, "malformed-request", "", "must be valid JSON"},
		"SEC-37: something behind":                     {`{}x`, "malformed-request", "", "must be valid JSON"},
		"SEC-37: a byte order mark":                    {"\xef\xbb\xbf{}", "malformed-request", "", "must be valid JSON"},
		"SEC-37: nothing":                              {"", "malformed-request", "", "must be valid JSON"},
		"SEC-37: blanks":                               {" \n", "malformed-request", "", "must be valid JSON"},
		"SEC-42: 20,001 values":                        {`{` + key + `,"input":{"a":[` + strings.Repeat("0,", 20_000) + `0]}}`, "invalid-input", "/input", "must NOT have more than 20000 values"},
		"a list is no object":                          {`[]`, "malformed-request", "", "must be object"},
		"null is no object":                            {`null`, "malformed-request", "", "must be object"},
		"S-01: a name in another case is unknown":      {`{` + key + `,"aCTOR":"keyholder"}`, "malformed-request", "/aCTOR", "must NOT have additional properties"},
		"SEC-36: the key in another case is none":      {`{"IDEMPOTENCYKEY":"B"}`, "malformed-request", "/IDEMPOTENCYKEY", "must NOT have additional properties"},
		"an unknown name is escaped in its path":       {`{` + key + `,"a/b~c":1}`, "malformed-request", "/a~1b~0c", "must NOT have additional properties"},
		"an unknown name is cut":                       {`{` + key + `,"` + strings.Repeat("n", 500) + `":1}`, "malformed-request", "/" + strings.Repeat("n", 100), "must NOT have additional properties"},
		"a missing key is named":                       {`{"input":{}}`, "malformed-request", "", "must have required property 'idempotencyKey'"},
		"an input that is a list":                      {`{` + key + `,"input":[]}`, "malformed-request", "/input", "must be object"},
		"an input that is null":                        {`{` + key + `,"input":null}`, "malformed-request", "/input", "must be object"},
		"a key that is a number":                       {`{"idempotencyKey":1}`, "malformed-request", "/idempotencyKey", "must be string"},
		"an actor that is null":                        {`{` + key + `,"actor":null}`, "malformed-request", "/actor", "must be string"},
		"a cause that is a number":                     {`{` + key + `,"causationId":7}`, "malformed-request", "/causationId", "must be string"},
		"a key of no character":                        {`{"idempotencyKey":""}`, "invalid-input", "/idempotencyKey", "must NOT have fewer than 1 characters"},
		"a key of 201 characters":                      {`{"idempotencyKey":"` + strings.Repeat("é", 201) + `"}`, "invalid-input", "/idempotencyKey", "must NOT have more than 200 characters"},
		"an input that its schema refuses is not here": {`{"idempotencyKey":"","actor":"wrong"}`, "invalid-input", "/idempotencyKey", "must NOT have fewer than 1 characters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := shared.client(t, s.token).do(http.MethodPost, s.action("echo"), strings.NewReader(test.body))
			p := a.refused(t, 400, test.code)
			says, found := p.paths(t)[test.path]
			if !found || !strings.Contains(says, test.says) {
				t.Errorf("got %s, want %q at %q", p.Details, test.says, test.path)
			}
			if len(a.body) > 2000 {
				t.Errorf("got a problem of %d bytes, want a short one", len(a.body))
			}
		})
	}
}

func TestEverythingWrongWithABodyIsListedAtOnce(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	p := shared.client(t, s.token).do(http.MethodPost, s.action("echo"), `{"input":[],"actor":1,"Actor":2}`).refused(t, 400, invocation.MalformedRequest)
	got := p.paths(t)
	for _, path := range []string{"", "/input", "/actor", "/Actor"} {
		if _, found := got[path]; !found {
			t.Errorf("got %s, want a problem at %q", p.Details, path)
		}
	}
}

func TestBodiesThatAreTaken(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	tests := map[string]struct{ input, result string }{
		"S-15: 64 levels":                     {nested(64), nested(64)},
		"S-15: brackets in a text":            {`{"s":"` + strings.Repeat("{[", 200) + `"}`, strings.Repeat("{[", 200)},
		"SEC-34: an integer above 2^53":       {`{"n":9007199254740993}`, `9007199254740993`},
		"SEC-35: a number keeps its spelling": {`{"n":3.6e3}`, `3.6e3`},
		"SEC-41: escaped controls":            {`{"a\u0000":"\u202e\u0000"}`, `\u0000`},
		"SEC-42: not quite 20,000 values":     {`{"a":[` + strings.Repeat("0,", 19_900) + `0]}`, `0,0`},
		"S-22: 200,000 times <":               {`{"a":"` + strings.Repeat("<", 200_000) + `"}`, strings.Repeat("<", 200_000)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := shared.client(t, s.token).do(http.MethodPost, s.action("echo"), call(`,"input":`+test.input)).want(t, 200)
			if !strings.Contains(string(a.body), test.result) {
				t.Errorf("got %.300s, want it to hold %.100s", a.body, test.result)
			}
		})
	}
}

func TestBodiesOfAnotherMediaType(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	tests := map[string]struct {
		contentType, encoding string
		taken                 bool
	}{
		"plain JSON":                     {"application/json", "", true},
		"JSON in UTF-8":                  {"application/json; charset=utf-8", "", true},
		"in whatever case":               {"Application/JSON; Charset=UTF-8", "identity", true},
		"SEC-38: text":                   {"text/plain", "", false},
		"SEC-38: another charset":        {"application/json; charset=utf-16", "", false},
		"SEC-38: a form":                 {"multipart/form-data; boundary=x", "", false},
		"SEC-38: compressed":             {"application/json", "gzip", false},
		"a relative of JSON":             {"application/problem+json", "", false},
		"another parameter":              {"application/json; profile=x", "", false},
		"nothing":                        {"", "", false},
		"something that is no type":      {";;", "", false},
		"a body that is no JSON either":  {"text/html", "", false},
		"two codings of which one is no": {"application/json", "identity, gzip", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shared.client(t, s.token).with("Content-Type", test.contentType)
			if test.encoding != "" {
				c = c.with("Content-Encoding", test.encoding)
			}
			a := c.do(http.MethodPost, s.action("echo"), call(""))
			if test.taken {
				a.want(t, 200)
				return
			}
			a.refused(t, 415, invocation.UnsupportedMediaType)
		})
	}
}

// sized returns a call of so many bytes.
func sized(size int) string {
	body := call(`,"input":{"a":"`)
	return body[:len(body)-1] + strings.Repeat("y", size-len(body)-2) + `"}}`
}

// A byte over the limit is too many, however the body is sent (SEC-39).
func TestBodiesAtTheLimit(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	for _, more := range []int{-1, 0, 1, 1 << 20} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+d bytes, chunked: %t", more, chunked), func(t *testing.T) {
				t.Parallel()
				body := sized(invocation.MaxBody + more)
				var reader io.Reader = strings.NewReader(body)
				if chunked {
					reader = io.MultiReader(reader) // of unknown length
				}
				a := shared.client(t, s.token).do(http.MethodPost, s.action("echo"), reader)
				if more <= 0 {
					a.want(t, 200)
					return
				}
				a.refused(t, 413, invocation.PayloadTooLarge)
			})
		}
	}
}

// raw sends bytes and returns what comes back until the server closes.
func raw(t *testing.T, request string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", shared.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	_, err = all.ReadFrom(bufio.NewReader(conn))
	if err != nil && all.Len() == 0 {
		t.Fatal(err)
	}
	return all.String()
}

// What is not going to be read is not waited for (SEC-39).
func TestATooLargeBodyClosesTheConnection(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	head := "POST " + s.action("echo") + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.token + "\r\nContent-Type: application/json\r\n"
	for name, request := range map[string]string{
		"declared":     head + fmt.Sprintf("Content-Length: %d\r\n\r\n", invocation.MaxBody+1),
		"not declared": head + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", invocation.MaxBody+1, strings.Repeat("y", invocation.MaxBody+1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := raw(t, request) // returns since the server closes
			if !strings.HasPrefix(got, "HTTP/1.1 413 ") || !strings.Contains(got, "Connection: close") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestNoBodyIsReadForACallerWithoutAToken(t *testing.T) {
	t.Parallel()
	s := shared.newSession(t)
	// The body never comes, and 100 Continue is not asked for it.
	got := raw(t, "POST "+s.action("echo")+" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 401 ") {
		t.Errorf("got %q, want 401 at once", got)
	}
}
