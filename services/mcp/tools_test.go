package mcpservice_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/mcp/mcptest"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/platform/platformtest"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
)

type tool struct {
	Name, Description string
	InputSchema       map[string]any
	Annotations       map[string]bool
}

func (c client) tools() []tool {
	c.t.Helper()
	a := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	mcptest.Check(c.t, mcptest.Exchange{Version: "2025-03-26", Method: "tools/list", Answer: a.body})
	var got struct{ Result struct{ Tools []tool } }
	if err := json.Unmarshal(a.body, &got); err != nil {
		c.t.Fatal(err)
	}
	return got.Result.Tools
}

// The six tools, the same on every session and replica, with hints, the three
// steps in their descriptions, and schemas that every client takes (contract
// section 10, S-13, MCP-51).
func TestTheSixTools(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	list := s.client(t, s.lock(t)).tools()
	again := s.at(t, s.replica(t, mcpservice.Config{}), s.lock(t).Session("caller").ID, s.secret).tools()
	if a, b := fmt.Sprint(list), fmt.Sprint(again); a != b {
		t.Errorf("got %s and %s", a, b)
	}
	want := map[string]string{
		"list_capabilities": "step 1", "describe_actions": "step 2", "invoke_action": "step 3", "get_invocation": "", "read_events": "", "get_field_options": "",
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Name)
		reads := x.Name != "invoke_action"
		if len(x.Annotations) != 4 || x.Annotations["readOnlyHint"] != reads || x.Annotations["destructiveHint"] == reads {
			t.Errorf("%s: got the hints %v", x.Name, x.Annotations)
		}
		if step := want[x.Name]; !strings.Contains(strings.ToLower(x.Description), step) {
			t.Errorf("%s: got %q, want %s in it", x.Name, x.Description, step)
		}
		raw := fmt.Sprint(x.InputSchema)
		if x.InputSchema["type"] != "object" || x.InputSchema["properties"] == nil || x.InputSchema["additionalProperties"] != false ||
			strings.Contains(raw, "anyOf") || strings.Contains(raw, "oneOf") || strings.Contains(raw, "allOf") || strings.Contains(raw, "$ref") {
			t.Errorf("%s: got the schema %s", x.Name, raw)
		}
	}
	if !slices.Equal(names, []string{"list_capabilities", "describe_actions", "invoke_action", "get_invocation", "read_events", "get_field_options"}) {
		t.Errorf("got %v", names)
	}
	for _, x := range list[:3] {
		for n := 1; n <= 3; n++ {
			if !strings.Contains(strings.ToLower(x.Description), fmt.Sprintf("step %d", n)) {
				t.Errorf("%s: got %q, want step %d named", x.Name, x.Description, n)
			}
		}
	}
}

// The model is told the three steps when it connects, in either era.
func TestInstructionsTellTheFlow(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	c := s.client(t, s.lock(t))
	modern := c
	modern.header = c.header.Clone()
	modern.header.Set("Mcp-Protocol-Version", "2026-07-28")
	modern.header.Set("Mcp-Method", "server/discover")
	for era, a := range map[string]answer{
		"legacy": c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`),
		"modern": modern.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":` + mcptest.Modern + `}}`),
	} {
		var got struct{ Result struct{ Instructions string } }
		if err := json.Unmarshal(a.body, &got); err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, step := range []string{"1. Call list_capabilities", "2. Call describe_actions", "3. Call invoke_action"} {
			i := strings.Index(got.Result.Instructions, step)
			if i < at {
				t.Errorf("%s: got %q, want %s in its place", era, got.Result.Instructions, step)
			}
			at = i
		}
	}
}

// object and list return what a JSON value is, or nothing.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

const wordyManifest = `{"commands":[
 {"id":"wordy.short","title":"S","description":"200","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
 {"id":"wordy.long","title":"L","description":"201","invocableBy":["wearer"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],
 "queries":[{"id":"wordy.ask","title":"A","invocableBy":["extension"],"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],
 "events":[{"id":"wordy.titled","payloadSchema":{"type":"object","title":"Titled"}},{"id":"wordy.plain","payloadSchema":{"type":"object"}}]}`

// list_capabilities has exactly the keys of the contract at every level, short
// descriptions, and what is not available too (contract section 10).
func TestListCapabilities(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	doc := strings.NewReplacer(`"200"`, `"`+strings.Repeat("ü", 200)+`"`, `"201"`, `"`+strings.Repeat("ü", 201)+`"`).Replace(wordyManifest)
	platformtest.Publish(t, s.p, "wordy", doc, nil)
	l := platformtest.NewLock(t, s.p, "caller", "wordy")
	got := s.client(t, l).call("list_capabilities", "{}")
	if got.isError {
		t.Fatalf("got %s", got.raw)
	}
	keys := func(v any) string { return strings.Join(slices.Sorted(maps.Keys(object(v))), " ") }
	check := func(what string, v any, want string) {
		t.Helper()
		if k := keys(v); k != want {
			t.Errorf("%s: got the keys %s, want %s", what, k, want)
		}
	}
	check("the list", got.structured, "extensions")
	byID := make(map[string]map[string]any)
	for _, x := range list(got.structured["extensions"]) {
		check("an extension", x, "commands displayName events provider queries slug")
		x := object(x)
		byID[fmt.Sprint(x["slug"])] = x
		for kind, want := range map[string]string{"commands": "available description id kind reason title", "queries": "available description id reason title", "events": "id title"} {
			for _, v := range list(x[kind]) {
				check(kind, v, want)
				v := object(v)
				byID[fmt.Sprint(v["id"])] = v
			}
		}
	}
	for path, want := range map[string]any{
		"lock.provider": "chaster", "wordy.provider": "third-party", "caller.provider": "third-party",
		"wordy.short|description": strings.Repeat("ü", 200), "wordy.long|description": strings.Repeat("ü", 199) + "…",
		"wordy.short|available": false, "wordy.short|reason": "endpoint-not-configured", "wordy.titled|title": "Titled", "wordy.plain|title": nil,
		"lock.unfreeze|reason": "not-frozen", "lock.freeze|reason": nil, "lock.freeze|available": true,
	} {
		id, key, found := strings.Cut(path, "|")
		if !found {
			id, key, _ = strings.Cut(path, ".")
		}
		if got := byID[id][key]; got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// describe_actions returns full entries with their type, in the order they were
// asked for, each once, and names what it does not know.
func TestDescribeActions(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	got := s.client(t, s.lock(t)).call("describe_actions",
		`{"ids":["probe.done","probe.strict","nothing.here","probe.peek","probe.strict","</extension-data>"]}`)
	var list struct {
		Actions []struct {
			Type, ID    string
			InputSchema json.RawMessage
			InvocableBy []string
		}
		UnknownIDs []string
	}
	if err := json.Unmarshal(got.raw, &list); err != nil || got.isError {
		t.Fatalf("got %s: %v", got.raw, err)
	}
	var order []string
	for _, a := range list.Actions {
		order = append(order, a.Type+" "+a.ID)
		if (a.Type != "event") != (a.InputSchema != nil && len(a.InvocableBy) > 0) {
			t.Errorf("got %+v", a)
		}
	}
	if want := []string{"event probe.done", "command probe.strict", "query probe.peek"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	if want := []string{"nothing.here", "</extension-data>"}; !slices.Equal(list.UnknownIDs, want) {
		t.Errorf("got %v unknown, want %v", list.UnknownIDs, want)
	}
	if got := s.client(t, s.lock(t)).call("describe_actions", `{"ids":["nothing.here"]}`); !strings.Contains(string(got.raw), `"actions":[]`) {
		t.Errorf("S-02: got %s", got.raw)
	}
}

// Events are read by cursor, filtered and bounded.
func TestReadEvents(t *testing.T) {
	t.Parallel()
	s := newStand(t, platform.Config{}, mcpservice.Config{})
	l := s.lock(t)
	for range 3 {
		platformtest.Event(t, s.p, l.ID, "probe", chain("probe"))
		platformtest.Event(t, s.p, l.ID, "other", chain("other"))
	}
	c := s.client(t, l)
	read := func(arguments string) (types []string, more bool, last json.Number) {
		t.Helper()
		var page struct {
			Events  []struct{ Type string }
			HasMore bool
			LastSeq json.Number
		}
		got := c.call("read_events", arguments)
		if err := json.Unmarshal(got.raw, &page); err != nil || got.isError {
			t.Fatalf("got %s: %v", got.raw, err)
		}
		for _, e := range page.Events {
			types = append(types, e.Type)
		}
		return types, page.HasMore, page.LastSeq
	}
	if types, more, _ := read("{}"); len(types) != 6 || more {
		t.Errorf("got %v, more %t", types, more)
	}
	if types, _, _ := read(`{"types":["probe.*"]}`); !slices.Equal(types, []string{"probe.happened", "probe.happened", "probe.happened"}) {
		t.Errorf("got %v, want those of probe", types)
	}
	types, more, last := read(`{"limit":4.0,"afterSeq":0}`)
	if len(types) != 4 || !more {
		t.Errorf("got %v, more %t, want four and more", types, more)
	}
	if types, more, _ = read(fmt.Sprintf(`{"afterSeq":%s,"types":["other.happened","probe.*"]}`, last)); len(types) != 2 || more {
		t.Errorf("got %v, more %t, want the last two", types, more)
	}
}
