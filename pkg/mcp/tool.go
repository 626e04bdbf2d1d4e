package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Tool is what a model may call.
type Tool struct {
	// Name has 1 to 128 letters, digits and _ . - (MCP-54).
	Name        string
	Title       string
	Description string
	// InputSchema is a JSON Schema whose root has the type object and no
	// combining keywords, which model APIs refuse (MCP-50, MCP-51). Call judges
	// arguments by it: this package does not.
	InputSchema json.RawMessage
	// OutputSchema may be left out. What it says holds for errors too: some
	// clients drop an error that does not fit (MCP-49). Its root has the type
	// object (MCP-52).
	OutputSchema json.RawMessage
	Annotations  Annotations
	// Call runs the tool. Everything that the caller should read, refusals
	// included, is a [Result] (MCP-46); an error is our own failure, which the
	// caller only sees the fact of. When ctx is done nobody waits any more.
	Call func(context.Context, Call) (Result, error)
}

// Annotations are hints for clients, all of them sent always (MCP-55).
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// A Call is a request to run a tool.
type Call struct {
	// Arguments is the object that the caller sent, as it was written, or {}. How
	// deep it is and what its numbers are is not judged yet.
	Arguments json.RawMessage
	// Version is the revision that the request is of.
	Version string
	// Traceparent is the caller's trace context, unchecked, or empty (MCP-28).
	Traceparent string
}

// A Result is what a tool answers.
type Result struct {
	// Structured is a JSON object (MCP-47).
	Structured json.RawMessage
	// Text is what a model reads: the same data (MCP-48).
	Text string
	// IsError says that the call came to nothing, for a reason that the data
	// gives.
	IsError bool
}

// definition is a tool as tools/list shows it.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitzero"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitzero"`
	Annotations  Annotations     `json:"annotations"`
}

func (t Tool) definition() definition {
	return definition{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations}
}

// validate reports what clients could not use.
func (t Tool) validate() error {
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("tool %q: "+format, append([]any{t.Name}, args...)...))
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`).MatchString(t.Name) {
		bad("the name is not 1 to 128 letters, digits and _ . -")
	}
	if t.Description == "" {
		bad("there is no description")
	}
	if t.Call == nil {
		bad("there is nothing to call")
	}
	input, err := root(t.InputSchema)
	if err != nil {
		bad("input schema: %w", err)
	}
	for keyword := range input {
		if slices.Contains([]string{"anyOf", "oneOf", "allOf", "not", "if", "$ref", "enum"}, keyword) {
			bad("input schema: %s at the root", keyword)
		}
	}
	if bytes.Contains(t.InputSchema, []byte(`"x-mcp-header"`)) {
		bad("input schema: x-mcp-header asks for headers that are not compared (MCP-18)")
	}
	if t.OutputSchema != nil {
		if _, err := root(t.OutputSchema); err != nil {
			bad("output schema: %w", err)
		}
	}
	return errors.Join(problems...)
}

// root returns the members of a schema for objects.
func root(schema json.RawMessage) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := jsonv2.Unmarshal(schema, &members); err != nil {
		return nil, err
	}
	if string(members["type"]) != `"object"` {
		return nil, errors.New("the root is not of type object")
	}
	return members, nil
}
