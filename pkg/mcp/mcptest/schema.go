package mcptest

import (
	"bytes"
	"embed"
	"encoding/json"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/*.json
var schemas embed.FS

// An Exchange is a request for a revision, and what was answered.
type Exchange struct {
	// Version is the revision that the request is of; empty where it could not
	// be told.
	Version string
	Method  string
	Answer  []byte
}

// Check fails the test unless the answer is what the revision's schema says: a
// JSON-RPC response, and in it a result of the method.
func Check(tb testing.TB, x Exchange) {
	tb.Helper()
	var parts struct {
		ID     json.RawMessage
		Result json.RawMessage
	}
	if err := json.Unmarshal(x.Answer, &parts); err != nil {
		tb.Errorf("got %s, want a JSON-RPC response: %v", x.Answer, err)
		return
	}
	if x.Version == "" || parts.ID == nil { // older revisions cannot answer without an id
		x.Version = "2026-07-28"
	}
	modern := x.Version >= "2025-11-25"
	response := "JSONRPCResponse"
	if parts.Result == nil {
		response = map[bool]string{true: "JSONRPCErrorResponse", false: "JSONRPCError"}[modern]
	}
	validate(tb, x.Version, response, x.Answer)
	if parts.Result != nil {
		validate(tb, x.Version, resultOf(x.Method), parts.Result)
	}
}

func resultOf(method string) string {
	switch method {
	case "tools/call":
		return "CallToolResult"
	case "tools/list":
		return "ListToolsResult"
	case "server/discover":
		return "DiscoverResult"
	case "initialize":
		return "InitializeResult"
	}
	return "EmptyResult"
}

func validate(tb testing.TB, version, definition string, value []byte) {
	tb.Helper()
	s, err := compiled(version, definition)
	if err != nil {
		tb.Fatalf("the schema of revision %s: %v", version, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		tb.Errorf("got %s, no %s of revision %s: %v", value, definition, version, err)
	}
}

// known are schemas that were compiled before: they are large.
var known sync.Map //nolint:gochecknoglobals // a cache of what never changes

func compiled(version, definition string) (*jsonschema.Schema, error) {
	key := [2]string{version, definition}
	if s, ok := known.Load(key); ok {
		return s.(*jsonschema.Schema), nil //nolint:errcheck // nothing else is put there
	}
	raw, err := schemas.ReadFile("schema/" + version + ".json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://mcp.test/schema.json", doc); err != nil {
		return nil, err
	}
	place := "definitions"
	if version >= "2025-11-25" {
		place = "$defs"
	}
	s, err := c.Compile("https://mcp.test/schema.json#/" + place + "/" + definition)
	if err == nil {
		known.Store(key, s)
	}
	return s, err
}
