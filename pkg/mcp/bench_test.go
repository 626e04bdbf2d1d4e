package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/latchwire/latchwire/pkg/mcp"
)

// recorder is a response that is thrown away.
type recorder struct{ header http.Header }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorder) WriteHeader(int)             {}

// The protocol part of one call, beside that of the official Go SDK with the
// same tool: aim 5 times fewer bytes and 4 times less time.
func BenchmarkToolsCall(b *testing.B) {
	const answer = `{"invocationId":"849f678423e7f319cfe6e620","commandId":"wheel.spin","status":"completed","result":{"segment":"5 more minutes"}}`
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_invocation","arguments":{"id":"849f678423e7f319cfe6e620"}}}`
	schema := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)
	ours, err := mcp.New(mcp.Config{Tools: []mcp.Tool{{
		Name: "get_invocation", Description: "Reads.", InputSchema: schema,
		Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{Structured: json.RawMessage(answer), Text: answer}, nil
		},
	}}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "get_invocation", Description: "Reads.", InputSchema: schema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer}}, StructuredContent: json.RawMessage(answer)}, nil
	})
	theirs := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	for name, h := range map[string]http.Handler{"latchwire": ours, "go-sdk": theirs} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := post(b, body)
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Body = io.NopCloser(strings.NewReader(body))
				h.ServeHTTP(&recorder{http.Header{}}, r)
			}
		})
	}
}
