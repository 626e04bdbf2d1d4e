package telemetry_test

import (
	"errors"
	"testing"

	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// A tool call stands in the trace that its caller names, linked to the request
// that carried it, and else under that request.
func TestAToolCallStandsInItsCallersTrace(t *testing.T) {
	t.Parallel()
	const theirs = "0af7651916cd43dd8448eb211c80319c"
	for name, tc := range map[string]struct {
		traceparent string
		refused     bool
		err         error
		joins       bool
		failure     string
		status      string
	}{
		"with a trace":          {"00-" + theirs + "-b7ad6b7169203331-01", false, nil, true, "", ""},
		"without":               {"", false, nil, false, "", ""},
		"with one that is none": {"00-zz", false, nil, false, "", ""},
		"refused":               {"", true, nil, false, "tool_error", ""},
		"failed":                {"", false, errors.New("CANARY"), false, "_OTHER", "_OTHER"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, spans := telemetrytest.New(t)
			ctx, request := tel.Publish(t.Context(), "ambient")
			_, span := tel.Tool(ctx, telemetry.ToolCall{Tool: "invoke_action", Version: "2026-07-28", Traceparent: tc.traceparent})
			span.EndTool(tc.refused, tc.err)
			request.End(nil)
			ended := spans.Ended()
			tool, ambient := ended[0], ended[1]
			if tool.Name != "tools/call invoke_action" || tool.Kind != "server" || tool.Attrs["mcp.method.name"] != "tools/call" ||
				tool.Attrs["gen_ai.tool.name"] != "invoke_action" || tool.Attrs["mcp.protocol.version"] != "2026-07-28" ||
				tool.Attrs["error.type"] != tc.failure || tool.Error != tc.status {
				t.Errorf("got %+v", tool)
			}
			if joined := tool.TraceID == theirs; joined != tc.joins || !joined && tool.TraceID != ambient.TraceID {
				t.Errorf("got the trace %s", tool.TraceID)
			}
			if tc.joins && (len(tool.Links) != 1 || tool.Links[0].SpanID != ambient.SpanID || tool.Links[0].Type != "ambient") {
				t.Errorf("got the links %+v, want the request", tool.Links)
			}
		})
	}
	_, span := (*telemetry.Providers)(nil).Tool(t.Context(), telemetry.ToolCall{})
	span.EndTool(true, nil) // with telemetry off it is nothing
}
