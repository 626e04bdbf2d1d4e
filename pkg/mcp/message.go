package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
)

// maxDepth is how deeply a body may be nested. Tools judge the depth of what
// they are given themselves, so it is only a wall.
const maxDepth = 256

// maxValues is how many values a body may hold.
const maxValues = 100_000

// maxID is the longest id, in bytes, with its quotes (SEC-97).
const maxID = 258

// maxInteger is the largest integer that every JSON reader keeps.
const maxInteger = 1 << 53

// A message is a JSON-RPC message, its parts as they were written.
type message struct {
	id     jsontext.Value // nil: a notification or a response
	method string
	params params
	badly  bool // params stand there and are no object
}

// envelope is the outermost object. Other members are ignored, whatever their
// case (S-01).
type envelope struct {
	version, id, method, params jsontext.Value
	answers                     bool // has a result or an error
}

// open reads the outermost object and reports whether it is one, whatever else
// is wrong with it. An id that stands there twice is none.
func (e *envelope) open(body []byte) bool {
	ids := 0
	ok := each(body, func(name string, v jsontext.Value) {
		switch name {
		case "jsonrpc":
			e.version = v
		case "id":
			e.id = v
			ids++
		case "method":
			e.method = v
		case "params":
			e.params = v
		case "result", "error":
			e.answers = true
		}
	})
	if ids > 1 {
		e.id = nil
	}
	return ok
}

// params is what the methods that are served take.
type params struct {
	name, uri, arguments, cursor, protocolVersion, meta jsontext.Value
}

func (p *params) open(raw jsontext.Value) bool {
	return each(raw, func(name string, v jsontext.Value) {
		switch name {
		case "name":
			p.name = v
		case "uri":
			p.uri = v
		case "arguments":
			p.arguments = v
		case "cursor":
			p.cursor = v
		case "protocolVersion":
			p.protocolVersion = v
		case "_meta":
			p.meta = v
		}
	})
}

// each hands on the members of an object, names exactly as they are spelled and
// values as they were written. It reports whether raw is an object; of one with
// a broken end it hands on what stands before that.
func each(raw []byte, take func(name string, v jsontext.Value)) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return false
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return false
		}
		end := int(d.InputOffset()) // v itself lives no longer than the decoder's buffer
		take(name, raw[end-len(v):end:end])
	}
	_, err := d.ReadToken()
	return err == nil
}

// parse reads a body (MCP-08, MCP-22). The message that comes with an error has
// the id, if it could be read (MCP-32). A message refers to the body.
func parse(body []byte) (*message, *rpcError) {
	m := &message{}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return m, invalidRequest("batches are not served")
	}
	bad := strictjson.Check(body, strictjson.Limits{Depth: maxDepth, Values: maxValues})
	if strictjson.ReasonOf(bad) == strictjson.Malformed {
		return m, &rpcError{Code: codeParse, Message: "Parse error: the body is no JSON text", status: http.StatusBadRequest}
	}
	var e envelope
	whole := e.open(body)
	switch {
	case bad != nil && !whole: // it also ends badly, behind what was refused
		return m, invalid(bad)
	case !whole:
		return m, invalidRequest("must be an object")
	case e.method == nil && e.answers:
		return m, nil // a response, which nobody waits for
	}
	if e.id != nil {
		if !validID(e.id) {
			return m, invalidRequest("id must be a string of at most 256 bytes or an integer within 2^53")
		}
		m.id = e.id
	}
	toolJudges := ofArguments(bad) && string(e.method) == `"tools/call"` && jsontext.Value(body).IsValid()
	if bad != nil && !toolJudges {
		return m, invalid(bad)
	}
	if string(e.version) != `"2.0"` {
		return m, invalidRequest(`jsonrpc must be "2.0"`)
	}
	var ok bool
	if m.method, ok = text(e.method); !ok || m.method == "" {
		return m, invalidRequest("method must be a string")
	}
	m.badly = given(e.params) && !m.params.open(e.params)
	return m, nil
}

// ofArguments reports whether a refusal is about the depth or the numbers of
// what a tool is given, which the tool judges itself: bad values are no protocol
// error (MCP-46).
func ofArguments(bad error) bool {
	reason := strictjson.ReasonOf(bad)
	return reason == strictjson.TooDeep || reason == strictjson.NumberOutOfRange
}

// invalid makes an error of what strictjson refused.
func invalid(bad error) *rpcError {
	if strictjson.ReasonOf(bad) == strictjson.DuplicateName {
		return invalidRequest("an object has two equal names")
	}
	return invalidRequest(bad.Error())
}

func validID(id jsontext.Value) bool {
	switch id.Kind() { //nolint:exhaustive // nothing else is an id
	case '"':
		return len(id) <= maxID
	case '0':
		n, err := strconv.ParseInt(string(id), 10, 64)
		return err == nil && n >= -maxInteger && n <= maxInteger
	}
	return false
}

// text returns the string that v is.
func text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil
}

// given reports whether a member stands there and is not null.
func given(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// meta is what _meta says of a request (MCP-23 to MCP-28).
type meta struct {
	version, capabilities, client, logLevel, traceparent jsontext.Value
}

func (p params) readMeta() meta {
	var m meta
	if p.meta == nil {
		return m
	}
	each(p.meta, func(name string, v jsontext.Value) {
		switch name {
		case "io.modelcontextprotocol/protocolVersion":
			m.version = v
		case "io.modelcontextprotocol/clientCapabilities":
			m.capabilities = v
		case "io.modelcontextprotocol/clientInfo":
			m.client = v
		case "io.modelcontextprotocol/logLevel":
			m.logLevel = v
		case "traceparent":
			m.traceparent = v
		}
	})
	return m
}

// object returns what a tool is given; left out and null stand for none
// (MCP-45, S-10).
func (p params) object() (json.RawMessage, bool) {
	switch {
	case !given(p.arguments):
		return json.RawMessage("{}"), true
	case p.arguments.Kind() == '{':
		return json.RawMessage(p.arguments), true
	}
	return nil, false
}
