package mcp_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/latchwire/latchwire/pkg/mcp"
)

// The official Go client lists the tools and calls them, in either era.
func TestTheOfficialClient(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(mcp.Guard{}.Wrap(newServer(t, nil)))
	defer srv.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, version := range append(mcp.Versions(), "") { // left out: the client finds out by itself
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: transport}},
			&sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 4 || list.Tools[0].Name != "echo" || !list.Tools[0].Annotations.ReadOnlyHint {
			t.Errorf("%s: got %+v, %v", version, list, err)
		}
		if got := session.InitializeResult(); got.Instructions != "First echo." || got.ProtocolVersion != cmp.Or(version, mcp.Modern) {
			t.Errorf("%s: got %+v", version, got)
		}
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1}})
		if err != nil || result.IsError || len(result.Content) != 1 {
			t.Errorf("%s: got %+v, %v", version, result, err)
		}
		if result, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "refuse"}); err != nil || !result.IsError {
			t.Errorf("%s: got %+v, %v, want a refusal as a result", version, result, err)
		}
		if _, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
			t.Errorf("%s: got %v, want the unknown tool named", version, err)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", version, err)
		}
	}
}
