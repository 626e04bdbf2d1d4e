package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// tool calls a tool at the i-th MCP replica and returns its data.
func tool(t *testing.T, i int, x *e2etest.Partner, lock, name string, arguments map[string]any, out any) (isError bool) {
	t.Helper()
	a := pipeline.Send(t, e2etest.Request{
		Base: pipeline.Models[i%len(pipeline.Models)], Token: x.Token, Method: http.MethodPost, Path: x.Path(lock, "/mcp/v2"),
		Body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments}},
	})
	var answer struct {
		Result struct {
			IsError           bool            `json:"isError"`
			StructuredContent json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	e2etest.Decode(t, a.Body, &answer)
	e2etest.Decode(t, answer.Result.StructuredContent, out)
	return answer.Result.IsError
}

// A model acts as its extension, by any replica: what it did stands in the
// lock's history under the extension's name, and its chain is one with what
// follows (contract section 10).
func TestAModelActsAsItsExtension(t *testing.T) {
	t.Parallel()
	caller, target, lock := echoing(t)
	for i := range 4 {
		var inv, again e2etest.Invocation
		if tool(t, i, caller, lock, "invoke_action", map[string]any{"id": target.Slug + ".do", "input": map[string]any{"i": i}}, &inv) || inv.Status != "completed" {
			t.Fatalf("got %+v", inv)
		}
		if tool(t, i+1, caller, lock, "get_invocation", map[string]any{"id": inv.InvocationID}, &again); again.InvocationID != inv.InvocationID || again.Status != "completed" {
			t.Errorf("got %+v from the other replica", again)
		}
	}
	var added e2etest.Invocation
	tool(t, 0, caller, lock, "invoke_action", map[string]any{"id": "lock.add-time", "input": map[string]any{"duration": 60}}, &added)
	var events e2etest.EventPage
	tool(t, 1, caller, lock, "read_events", map[string]any{"types": []string{"lock.time-changed"}}, &events)
	if len(events.Events) != 1 || events.Events[0].CorrelationID != added.CorrelationID {
		t.Errorf("got %+v, want the event of %s", events, added.InvocationID)
	}
	var history struct {
		Items []struct {
			Type, Extension, Actor, InvocationID string
		} `json:"items"`
	}
	pipeline.Operate(t, e2etest.Request{Method: http.MethodGet, Path: "/api/admin/locks/" + lock + "/history"}, &history)
	found := 0
	for _, line := range history.Items {
		if line.InvocationID == added.InvocationID && line.Extension == caller.Slug && line.Actor == "extension" {
			found++
		}
	}
	if found != 1 {
		t.Errorf("got %+v, want one line of %s by %s", history.Items, added.InvocationID, caller.Slug)
	}
}

// A slow target leaves the call pending, well before a client gives up.
func TestASlowTargetLeavesAModelWithAnID(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a call waits 12 seconds")
	}
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	target := pipeline.NewPartner(t, e2etest.Offers{Commands: []string{"hang"}}, func(_ http.ResponseWriter, r *http.Request, h e2etest.Hook) {
		if invoked(h) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	caller := pipeline.NewPartner(t, e2etest.Offers{}, nil)
	lock := pipeline.NewLock(t, caller, target)
	var inv e2etest.Invocation
	began := time.Now()
	isError := tool(t, 0, caller, lock, "invoke_action", map[string]any{"id": target.Slug + ".hang"}, &inv)
	if took := time.Since(began); isError || inv.InvocationID == "" || took > 30*time.Second {
		t.Errorf("got %+v after %s, want an id in time", inv, took)
	}
	e2etest.Within(t, time.Minute, "the call settles", func() bool {
		tool(t, 1, caller, lock, "get_invocation", map[string]any{"id": inv.InvocationID}, &inv)
		return inv.Status == "unknown"
	})
}
