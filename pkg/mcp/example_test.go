package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/latchwire/latchwire/pkg/mcp"
)

func Example() {
	greet := mcp.Tool{
		Name: "greet", Description: "Greets.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		Annotations: mcp.Annotations{ReadOnly: true},
		Call: func(context.Context, mcp.Call) (mcp.Result, error) {
			return mcp.Result{Structured: json.RawMessage(`{"greeting":"hello"}`), Text: `{"greeting":"hello"}`}, nil
		},
	}
	server, err := mcp.New(mcp.Config{Info: mcp.Implementation{Name: "example", Version: "1.0"}, Tools: []mcp.Tool{greet}}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet"}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mcp.Guard{}.Wrap(server).ServeHTTP(w, r)
	fmt.Println(w.Body)
	// Output:
	// {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"greeting\":\"hello\"}"}],"structuredContent":{"greeting":"hello"}}}
}
