package mcp

import (
	"encoding/json"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// The codes of JSON-RPC and of revision 2026-07-28 (MCP-31).
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// A rpcError is a protocol error (MCP-32). It never quotes more of a request
// than a name, and that only in part.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitzero"`

	status int // of HTTP; 0 is 200
}

func invalidRequest(message string) *rpcError {
	return &rpcError{Code: codeInvalidRequest, Message: "Invalid request: " + message, status: http.StatusBadRequest}
}

// invalidParams is about what a method was given, so it is in band: 200.
func invalidParams(message string) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: "Invalid params: " + message}
}

// badMeta is about a required field of _meta (MCP-23).
func badMeta(message string) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: "Invalid params: " + message, status: http.StatusBadRequest}
}

func headerMismatch(message string) *rpcError {
	return &rpcError{Code: codeHeaderMismatch, Message: "Header mismatch: " + message, status: http.StatusBadRequest}
}

func methodNotFound(method string) *rpcError {
	return &rpcError{Code: codeMethodNotFound, Message: "Method not found: " + excerpt(method), status: http.StatusNotFound}
}

func unsupported(requested string) *rpcError {
	data, err := jsonv2.Marshal(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{Versions(), excerpt(requested)})
	if err != nil {
		data = nil
	}
	return &rpcError{Code: codeUnsupportedVersion, Message: "Unsupported protocol version", Data: data, status: http.StatusBadRequest}
}

// maxExcerpt is how much of a name an error repeats: the longest name of a tool.
const maxExcerpt = 128

func excerpt(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxExcerpt {
		return s
	}
	return strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
}
