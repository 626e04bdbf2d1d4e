package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/latchwire/latchwire/pkg/mcp"
)

// tools is what the tests call.
func tools() []mcp.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{}}`)
	hints := mcp.Annotations{ReadOnly: true, Idempotent: true}
	return []mcp.Tool{
		{Name: "echo", Title: "Echo", Description: "Says it again.", InputSchema: schema, Annotations: hints, Call: echo},
		{Name: "refuse", Description: "Says no.", InputSchema: schema, Annotations: hints, Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{Structured: json.RawMessage(`{"error":{"code":"no"}}`), Text: "no", IsError: true}, nil
		}},
		{Name: "fail", Description: "Fails.", InputSchema: schema, Annotations: hints, Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{}, errors.New("a secret of ours")
		}},
		{Name: "panic", Description: "Panics.", InputSchema: schema, Annotations: hints, Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			panic("a secret of ours")
		}},
	}
}

func echo(_ context.Context, c mcp.Call) (mcp.Result, error) {
	structured := append(append([]byte(`{"arguments":`), c.Arguments...), `,"version":"`+c.Version+`"}`...)
	return mcp.Result{Structured: structured, Text: string(structured)}, nil
}

func newServer(tb testing.TB, change func(*mcp.Config)) *mcp.Server {
	tb.Helper()
	cfg := mcp.Config{
		Info:         mcp.Implementation{Name: "test", Title: "A test", Version: "1.0"},
		Instructions: "First echo.", Tools: tools(),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := mcp.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
