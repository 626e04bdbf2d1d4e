package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
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
	JSONRPC jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// params is what the methods that are served take.
type params struct {
	Name            jsontext.Value `json:"name"`
	URI             jsontext.Value `json:"uri"`
	Arguments       jsontext.Value `json:"arguments"`
	Cursor          jsontext.Value `json:"cursor"`
	ProtocolVersion jsontext.Value `json:"protocolVersion"`
	Meta            jsontext.Value `json:"_meta"`
}

// parse reads a body (MCP-08, MCP-22). The message that comes with an error has
// the id, if it could be read. The bytes of a message are its own.
func parse(body []byte) (*message, *rpcError) {
	m := &message{}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return m, invalidRequest("batches are not served")
	}
	var e envelope
	bad := strictjson.Check(body, strictjson.Limits{Depth: maxDepth, Values: maxValues})
	switch reason := strictjson.ReasonOf(bad); {
	case reason == strictjson.Malformed:
		return m, &rpcError{Code: codeParse, Message: "Parse error: the body is no JSON text", status: http.StatusBadRequest}
	case reason == strictjson.DuplicateName:
		return m, invalidRequest("an object has two equal names")
	case jsonv2.Unmarshal(body, &e) != nil:
		return m, invalidRequest("must be an object")
	}
	if e.Method == nil && (e.Result != nil || e.Error != nil) {
		return m, nil // a response, which nobody waits for
	}
	if e.ID != nil {
		if !validID(e.ID) {
			return m, invalidRequest("id must be a string of at most 256 bytes or an integer within 2^53")
		}
		m.id = e.ID
	}
	if bad != nil {
		return m, invalidRequest(bad.Error())
	}
	if string(e.JSONRPC) != `"2.0"` {
		return m, invalidRequest(`jsonrpc must be "2.0"`)
	}
	var ok bool
	if m.method, ok = text(e.Method); !ok || m.method == "" {
		return m, invalidRequest("method must be a string")
	}
	if e.Params != nil && e.Params.Kind() != 'n' {
		m.badly = e.Params.Kind() != '{' || jsonv2.Unmarshal(e.Params, &m.params) != nil
	}
	return m, nil
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
	Version      jsontext.Value `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities jsontext.Value `json:"io.modelcontextprotocol/clientCapabilities"`
	Client       jsontext.Value `json:"io.modelcontextprotocol/clientInfo"`
	LogLevel     jsontext.Value `json:"io.modelcontextprotocol/logLevel"`
	Traceparent  jsontext.Value `json:"traceparent"`
}

func (p params) meta() meta {
	var m meta
	if p.Meta.Kind() == '{' && jsonv2.Unmarshal(p.Meta, &m) != nil {
		return meta{}
	}
	return m
}

// arguments returns what a tool is given; left out and null stand for none
// (MCP-45, S-10).
func (p params) arguments() (json.RawMessage, bool) {
	switch {
	case !given(p.Arguments):
		return json.RawMessage("{}"), true
	case p.Arguments.Kind() == '{':
		return json.RawMessage(p.Arguments), true
	}
	return nil, false
}
