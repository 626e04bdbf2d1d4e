package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/latchwire/latchwire/pkg/mcp"
)

// protocol measures the protocol part of two tool calls: this server's layer
// and the official Go SDK, each through its HTTP handler, with the answers that
// the pipeline gave to the same calls.
func (r report) protocol(ctx context.Context, p *pipeline) error {
	invoked, err := p.tool(ctx, "invoke_action", `{"id":"lock.add-time","input":{"duration":60}}`)
	if err != nil {
		return err
	}
	read, err := p.tool(ctx, "get_invocation", fmt.Sprintf(`{"id":%q}`, invoked.id))
	if err != nil {
		return err
	}
	for _, call := range []toolCall{invoked, read} {
		ours, err := call.latchwire()
		if err != nil {
			return err
		}
		us, them := call.measure(ctx, ours), call.measure(ctx, call.sdk())
		r.print("%-28s %s, %d B/call; go-sdk %s, %d B   CPU %.1f and bytes %.1f times less than the SDK's\n",
			"protocol, "+call.tool, us.perCall, us.bytes, them.perCall, them.bytes,
			float64(them.perCall)/float64(us.perCall), float64(them.bytes)/float64(us.bytes))
	}
	return nil
}

// A toolCall is a call and what was answered.
type toolCall struct {
	tool, body string
	id         string // of the invocation in the answer
	structured json.RawMessage
	text       string
}

func (p *pipeline) tool(ctx context.Context, tool, arguments string) (toolCall, error) {
	c := toolCall{tool: tool, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)}
	b, err := p.send(ctx, http.MethodPost, "/api/extensions/sessions/"+p.sessions[0]+"/mcp/v2", p.token, []byte(c.body))
	if err != nil {
		return c, err
	}
	var answer struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured json.RawMessage `json:"structuredContent"`
			IsError    bool            `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return c, err
	}
	if answer.Result.IsError || len(answer.Result.Content) != 1 {
		return c, fmt.Errorf("%s: got %.300s", tool, b)
	}
	var inv struct {
		ID string `json:"invocationId"`
	}
	if err := json.Unmarshal(answer.Result.Structured, &inv); err != nil {
		return c, err
	}
	c.id, c.structured, c.text = inv.ID, answer.Result.Structured, answer.Result.Content[0].Text
	return c, nil
}

const anyObject = `{"type":"object","properties":{}}`

func (c toolCall) latchwire() (http.Handler, error) {
	return mcp.New(mcp.Config{Tools: []mcp.Tool{{
		Name: c.tool, Description: "Answers.", InputSchema: json.RawMessage(anyObject),
		Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{Structured: c.structured, Text: c.text}, nil
		},
	}}}, slog.New(slog.DiscardHandler))
}

func (c toolCall) sdk() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: c.tool, Description: "Answers.", InputSchema: json.RawMessage(anyObject)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: c.text}}, StructuredContent: c.structured}, nil
		})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

// cost is what one call takes.
type cost struct {
	perCall nanoseconds
	bytes   int64
}

type nanoseconds int64

// String writes the time in microseconds.
func (n nanoseconds) String() string { return fmt.Sprintf("%.1f µs", float64(n)/1000) }

var errNotAnswered = errors.New("the handler did not answer 200")

func (c toolCall) measure(ctx context.Context, h http.Handler) cost {
	got := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", bytes.NewReader([]byte(c.body)))
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			w := discard{header: http.Header{}, status: http.StatusOK}
			h.ServeHTTP(&w, r)
			if w.status != http.StatusOK {
				b.Fatal(errNotAnswered)
			}
		}
	})
	return cost{nanoseconds(got.NsPerOp()), got.AllocedBytesPerOp()}
}

// discard is a response that nobody reads.
type discard struct {
	header http.Header
	status int
}

// Header returns the headers.
func (d *discard) Header() http.Header { return d.header }

// Write takes a part of the body.
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader takes the status.
func (d *discard) WriteHeader(status int) { d.status = status }
