package mcptest

import (
	"bytes"
	"embed"
	"encoding/json"
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
	raw, err := schemas.ReadFile("schema/" + version + ".json")
	if err != nil {
		tb.Fatalf("no schema of revision %s: %v", version, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://mcp.test/schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	place := "definitions"
	if version >= "2025-11-25" {
		place = "$defs"
	}
	s, err := c.Compile("https://mcp.test/schema.json#/" + place + "/" + definition)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		tb.Errorf("got %s, no %s of revision %s: %v", value, definition, version, err)
	}
}
