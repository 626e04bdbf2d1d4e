// Command mcp serves MCP as a process of its own.
package main

import (
	"os"

	"github.com/latchwire/latchwire/pkg/service"
	mcpservice "github.com/latchwire/latchwire/services/mcp"
)

func main() {
	os.Exit(service.Main("mcp", mcpservice.Program().Run))
}
