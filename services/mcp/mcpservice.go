package mcpservice

import (
	"net/http"
	"time"

	"github.com/latchwire/latchwire/pkg/intake"
	"github.com/latchwire/latchwire/pkg/mcp"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/mcp/internal/tools"
)

// A Config says how the door works. Its zero value works, for clients on this
// machine.
type Config struct {
	// Hosts are the names that clients reach the service by, without a port;
	// none means loopback names only (SEC-94).
	Hosts []string
	// Origins are the web pages that may call; none means pages on loopback
	// only (SEC-93).
	Origins []string
	// Wait is how long a caller waits for the settlement; zero means the
	// contract's 12 s.
	Wait time.Duration
}

// Register adds the door's settings.
func (c *Config) Register(s *service.Settings) {
	s.StringList(&c.Hosts, "mcp-hosts", nil, "names that MCP clients reach the service by, without a port; none means loopback only")
	s.StringList(&c.Origins, "mcp-origins", nil, "web pages that may call the MCP service, such as https://app.example; none means pages on loopback only")
}

// Program returns the MCP service as a process.
func Program() platform.Program {
	var cfg Config
	return platform.Program{
		Name: "mcp", Summary: "Serves MCP, for language models.", Addr: "127.0.0.1:8084",
		Register: cfg.Register,
		Build: func(p *platform.Platform, h *service.Health) ([]service.Part, http.Handler, error) {
			handler, err := New(p, h, cfg)
			return nil, handler, err
		},
	}
}

// New returns the handler of the endpoints, with the probes and metrics of the
// process.
func New(p *platform.Platform, h *service.Health, cfg Config) (http.Handler, error) {
	if err := p.Ledger.Listen(); err != nil {
		return nil, err
	}
	in := intake.New(p.Ledger, p.Registry, p.Catalog, intake.Config{Wait: cfg.Wait, Record: p.Record, Ask: p.Ask})
	kit := tools.New(tools.Config{
		Intake: in, Invoke: p.Counted(telemetry.SourceMCP, in.Invoke), Telemetry: p.Telemetry,
	})
	six, err := kit.All()
	if err != nil {
		return nil, err
	}
	fixed, err := kit.Fixed()
	if err != nil {
		return nil, err
	}
	info := mcp.Implementation{Name: "latchwire", Title: "Latchwire", Version: platform.Version}
	current, err := mcp.New(mcp.Config{Info: info, Instructions: tools.Instructions, Tools: six}, p.Log)
	if err != nil {
		return nil, err
	}
	deprecated, err := mcp.New(mcp.Config{Info: info, Instructions: tools.FixedInstructions, Tools: fixed}, p.Log)
	if err != nil {
		return nil, err
	}
	return router(p, h, endpoints{in, mcp.Guard{Hosts: cfg.Hosts, Origins: cfg.Origins}, current, deprecated}), nil
}
