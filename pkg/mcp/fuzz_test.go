package mcp_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/mcp/mcptest"
)

// answer is a JSON-RPC response.
type answer struct {
	ID    json.RawMessage `json:"id"`
	Error *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// Whatever is sent, one response comes back that the schema of its revision
// allows, with the id that was sent or none (MCP-22, SEC-97), a status of the map
// and a code that is not made up (MCP-31).
func FuzzServe(f *testing.F) {
	modern := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":` + mcptest.Modern + params + `}}`
	}
	for _, body := range []string{
		callEcho, `{"jsonrpc":"2.0","id":"a","method":"ping"}`, `[]`, `{}`, `null`, `{"id":null}`, "", "{", `{"jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `{"jsonrpc":"2.0","id":1e0,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"\u0069d":-0,"jsonrpc":"2.0","method":"ping","a":{"b":1,"b":2}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, `{"jsonrpc":"2.0","id":"` + strings.Repeat("a", 257) + `","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`, modern("tools/list", ""),
	} {
		f.Add(body, "", "", "", "")
		f.Add(body, "2026-07-28", "tools/list", "", "text/event-stream")
		f.Add(body, "2025-11-25", "", "", "application/json")
	}
	f.Add(modern("tools/call", `,"name":"echo","arguments":{"a":[1.0]}`), "2026-07-28", "tools/call", "=?base64?ZWNobw==?=", "*/*")
	f.Add(modern("tools/call", `,"name":"panic"`), "2026-07-28", "tools/call", "panic", "text/event-stream")
	f.Add(modern("server/discover", ""), "2026-07-28", "server/discover", "", "")
	f.Add(modern("ping", ""), "2026-07-28", "ping", "", "")
	s := newServer(f, nil)
	f.Fuzz(func(t *testing.T, body, version, method, name, accept string) {
		r := post(t, body)
		for header, v := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name, "Accept": accept} {
			if v != "" {
				r.Header[header] = []string{v}
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if !slices.Contains([]int{200, 202, 400, 404}, w.Code) || (w.Code == 202) != (w.Body.Len() == 0) {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		mcptest.CheckAnswer(t, r, []byte(body), w)
		if w.Header().Get("Content-Type") != "application/json" {
			return
		}
		var got answer
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Error != nil && !slices.Contains([]int{-32700, -32600, -32601, -32602, -32603, -32020, -32022}, got.Error.Code) {
			t.Errorf("got the code %d", got.Error.Code)
		}
		if got.ID != nil && string(got.ID) != idOf(t, body) {
			t.Errorf("got the id %s for %s", got.ID, body)
		}
	})
}

// idOf returns the id of a body as it is written there, by another reader of
// JSON than the server's: a map keeps names in two cases apart.
func idOf(t *testing.T, body string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&members); err != nil {
		t.Fatalf("%s has no id that could be read: %v", body, err)
	}
	return string(members["id"])
}
