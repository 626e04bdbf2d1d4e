package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"
)

// call runs a tool. An unknown one is a protocol error, in band (MCP-44).
func (s *Server) call(ctx context.Context, msg *message, c Call) ([]byte, *rpcError) {
	name, ok := text(msg.params.name)
	if !ok {
		return nil, invalidParams("name must be a string")
	}
	tool, found := s.tools[name]
	if !found {
		return nil, &rpcError{Code: codeInvalidParams, Message: "Unknown tool: " + excerpt(name)}
	}
	if c.Arguments, ok = msg.params.object(); !ok {
		return nil, invalidParams("arguments must be an object")
	}
	bounded, cancel := context.WithTimeout(ctx, s.cfg.MaxWait)
	defer cancel()
	result, err := contained(bounded, tool, c)
	var b []byte
	if err == nil {
		b, err = s.result(result, c.Version)
	}
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled):
		// The client has left, which is no failure.
	default:
		s.log.LogAttrs(ctx, slog.LevelError, "tool failed", slog.String("tool", name), slog.Any("error", err))
	}
	return nil, &rpcError{Code: codeInternal, Message: "Internal error"}
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

// errNoObject is about a result that no client could read.
var errNoObject = errors.New("the structured result is no JSON object")

// result writes what a tool answered, in the form of the revision: legacy
// results have no more than legacy clients know (MCP-26, MCP-30, MCP-66).
func (s *Server) result(r Result, version string) ([]byte, error) {
	structured := jsontext.Value(r.Structured)
	if structured.Kind() != '{' || !structured.IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil, errNoObject
	}
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
		return nil, fmt.Errorf("the text: %w", err)
	}
	b = append(b, `}],"structuredContent":`...)
	b = append(b, r.Structured...)
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}
