package mcp_test

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/mcp/mcptest"
)

// Every row of the wire checklist that a request can show.
func TestWire(t *testing.T) {
	t.Parallel()
	mcptest.Transcripts(t, "testdata", newServer(t, nil))
}
