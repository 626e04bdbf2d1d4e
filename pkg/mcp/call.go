package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"
)

// call runs a tool. An unknown one is a protocol error, in band (MCP-44).
func (s *Server) call(ctx context.Context, msg *message, c Call) ([]byte, *rpcError) {
	name, ok := text(msg.params.Name)
	if !ok {
		return nil, invalidParams("name must be a string")
	}
	tool, found := s.tools[name]
	if !found {
		return nil, &rpcError{Code: codeInvalidParams, Message: "Unknown tool: " + excerpt(name)}
	}
	if c.Arguments, ok = msg.params.arguments(); !ok {
		return nil, invalidParams("arguments must be an object")
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.MaxWait)
	defer cancel()
	result, err := contained(ctx, tool, c)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "tool failed", slog.String("tool", name), slog.Any("error", err))
		return nil, &rpcError{Code: codeInternal, Message: "Internal error"}
	}
	b, err := s.result(result, c.Version)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "result not encoded", slog.String("tool", name), slog.Any("error", err))
		return nil, &rpcError{Code: codeInternal, Message: "Internal error"}
	}
	return b, nil
}

// contained makes an error of a panic (SEC-106). Its value is shown only where
// the runtime wrote it: any other may hold what no log shall have (SEC-117).
func contained(ctx context.Context, t Tool, c Call) (r Result, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("panic: %w\n%s", v, debug.Stack())
		default:
			err = fmt.Errorf("panic: a %T\n%s", v, debug.Stack())
		}
	}()
	return t.Call(ctx, c)
}

// result writes what a tool answered, in the form of the revision: legacy
// results have no more than legacy clients know (MCP-26, MCP-30, MCP-66).
func (s *Server) result(r Result, version string) ([]byte, error) {
	b := make([]byte, 0, len(r.Structured)+len(r.Text)+len(r.Text)/4+len(s.modernHead)+128)
	if version == Modern {
		b = append(b, s.modernHead[:len(s.modernHead)-1]...)
		b = append(b, ',')
	} else {
		b = append(b, '{')
	}
	b = append(b, `"content":[{"type":"text","text":`...)
	b, err := jsontext.AppendQuote(b, r.Text)
	if err != nil {
		return nil, err
	}
	b = append(b, `}],"structuredContent":`...)
	b = append(b, r.Structured...)
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}
