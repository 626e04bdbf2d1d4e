package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The headers of the protocol.
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// eraOf decides which revision a request is of, or refuses it: the decision
// table of a URL that serves both eras. What the body says is the truth, headers
// mirror it.
func eraOf(h http.Header, m meta) (version string, refused *rpcError) {
	named, given := "", m.version != nil
	if given {
		var ok bool
		if named, ok = text(m.version); !ok {
			return "", badMeta("_meta io.modelcontextprotocol/protocolVersion must be a string")
		}
	}
	headers := h.Values(versionHeader)
	switch {
	case len(headers) > 1:
		return "", headerMismatch("MCP-Protocol-Version is repeated")
	case len(headers) == 0 && !given:
		return assumed, nil
	case len(headers) == 0 && isLegacy(named):
		return named, nil
	case len(headers) == 0:
		return "", headerMismatch("MCP-Protocol-Version is missing")
	}
	header := strings.TrimSpace(headers[0])
	switch {
	case given && header != named:
		return "", headerMismatch("MCP-Protocol-Version is not that of _meta")
	case isLegacy(header):
		return header, nil
	case header != Modern:
		return "", unsupported(header)
	case !given:
		return "", badMeta("_meta must have io.modelcontextprotocol/protocolVersion")
	}
	return Modern, nil
}

// checkModern checks what a request of the modern era owes beyond its version
// (MCP-15 to MCP-25).
func checkModern(h http.Header, msg *message, m meta) *rpcError {
	if method, ok := single(h, methodHeader); !ok || method != msg.method {
		return headerMismatch("Mcp-Method must be the method of the body")
	}
	if err := checkName(h, msg); err != nil {
		return err
	}
	if m.capabilities.Kind() != '{' {
		return badMeta("_meta must have io.modelcontextprotocol/clientCapabilities")
	}
	if m.client != nil && !isImplementation(m.client) {
		return badMeta("_meta io.modelcontextprotocol/clientInfo must have a name and a version")
	}
	if m.logLevel != nil && !isLogLevel(m.logLevel) {
		return badMeta("_meta io.modelcontextprotocol/logLevel is unknown")
	}
	return nil
}

// checkName compares Mcp-Name with what the method is about (MCP-16, MCP-17).
// Where the body names nothing, the method itself has to say so.
func checkName(h http.Header, msg *message) *rpcError {
	var about jsontext.Value
	switch msg.method {
	case "tools/call", "prompts/get":
		about = msg.params.name
	case "resources/read":
		about = msg.params.uri
	default:
		return nil
	}
	name, ok := text(about)
	if !ok {
		return nil
	}
	header, ok := single(h, nameHeader)
	if header, ok = decodeSentinel(header, ok); !ok || header != name {
		return headerMismatch("Mcp-Name must be the name in the body")
	}
	return nil
}

// single returns a header that stands there exactly once: two of a kind may be
// read differently by a proxy (MCP-20).
func single(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return strings.TrimSpace(values[0]), true
}

func decodeSentinel(v string, ok bool) (string, bool) {
	encoded, prefixed := strings.CutPrefix(v, "=?base64?")
	encoded, suffixed := strings.CutSuffix(encoded, "?=")
	if !ok || !prefixed || !suffixed {
		return v, ok
	}
	b, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(b), err == nil
}

func isImplementation(v jsontext.Value) bool {
	var i struct {
		Name    *string `json:"name"`
		Version *string `json:"version"`
	}
	return v.Kind() == '{' && jsonv2.Unmarshal(v, &i) == nil && i.Name != nil && i.Version != nil
}

func isLogLevel(v jsontext.Value) bool {
	level, ok := text(v)
	return ok && slices.Contains([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, level)
}
