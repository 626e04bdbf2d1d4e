package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
)

// A Config says where the demo runs.
type Config struct {
	// Dir is where demo.env is written and read again at the next start.
	Dir string
	// AdminToken is the operator's choice; empty keeps the last start's, or
	// makes one.
	AdminToken string
	// Bound gets the API's base URL once it listens.
	Bound <-chan string
	// Out is told what to try.
	Out io.Writer
	Log *slog.Logger
}

// A Demo is the demo extensions and what they were seeded with.
type Demo struct {
	cfg Config
	env env
}

// New prepares a demo. Part runs it.
func New(cfg Config) (*Demo, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	before, err := readEnv(filepath.Join(cfg.Dir, "demo.env"))
	if err != nil {
		return nil, err
	}
	d := &Demo{cfg: cfg, env: env{"LOCK": before["LOCK"]}}
	switch {
	case cfg.AdminToken != "":
		d.env["ADMIN_TOKEN"] = cfg.AdminToken
	case before["ADMIN_TOKEN"] != "":
		d.env["ADMIN_TOKEN"] = before["ADMIN_TOKEN"]
	default:
		d.env["ADMIN_TOKEN"] = "demo_" + rand.Text()
	}
	return d, nil
}

// AdminToken is the admin token that the API must know.
func (d *Demo) AdminToken() string { return d.env["ADMIN_TOKEN"] }

// Part runs the demo extensions: it starts after the API listens.
func (d *Demo) Part() service.Part {
	extensions := []*extension{wheel(), butler()}
	var servers []*http.Server
	return service.Part{
		Name: "demo",
		Start: func(ctx context.Context) error {
			for _, x := range extensions {
				x.log = d.cfg.Log
			}
			var err error
			servers, err = d.start(ctx, extensions)
			return err
		},
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			var errs []error
			for _, s := range servers {
				errs = append(errs, s.Shutdown(stop))
			}
			return errors.Join(errs...)
		},
	}
}

func (d *Demo) start(ctx context.Context, extensions []*extension) ([]*http.Server, error) {
	select {
	case base := <-d.cfg.Bound:
		d.env["BASE"] = base
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var servers []*http.Server
	urls := make(map[string]string)
	for _, x := range extensions {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return servers, fmt.Errorf("listen for the demo: %w", err)
		}
		s := &http.Server{Handler: x, ReadHeaderTimeout: 5 * time.Second}
		go func() { _ = s.Serve(ln) }() // Shutdown ends it
		servers = append(servers, s)
		urls[x.slug] = "http://" + ln.Addr().String() + "/"
	}
	if err := d.seed(ctx, extensions, urls); err != nil {
		return servers, fmt.Errorf("seed the demo: %w", err)
	}
	d.env["MCP"] = d.env["BASE"] + "/api/extensions/sessions/" + d.env["SESSION"] + "/mcp/v2"
	if err := d.env.write(filepath.Join(d.cfg.Dir, "demo.env")); err != nil {
		return servers, err
	}
	return servers, d.tell()
}

// tell prints what to try, in lines that work as they stand.
func (d *Demo) tell() error {
	_, err := fmt.Fprintf(d.cfg.Out, `
Latchwire is up at %[1]s

  source %[2]s

  # butler calls wheel's command; what follows from it goes six steps deep
  curl -sS "$BASE/api/extensions/sessions/$SESSION/actions/wheel.spin" \
    -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
    -d '{"input":{},"idempotencyKey":"spin-'$(date +%%s)'"}'

  # the whole chain, by the correlationId of that answer
  curl -sS "$BASE/api/admin/chains/CORRELATION_ID" -H "Authorization: Bearer $ADMIN_TOKEN"

  # what happened on the lock
  curl -sS "$BASE/api/extensions/sessions/$SESSION/events" -H "Authorization: Bearer $TOKEN"

  # the same lock for a language model, by any MCP client
  npx --yes @modelcontextprotocol/inspector@2.12.0 --cli "$MCP" --transport http \
    --header "Authorization: Bearer $TOKEN" --method tools/list

  # probe.echo calls whatever listens at %[3]s

Ctrl-C stops it; what was recorded is there again at the next start.

`, d.env["BASE"], filepath.Join(d.cfg.Dir, "demo.env"), probeURL)
	return err
}

// env is demo.env: one KEY=value a line.
type env map[string]string

// keys are the lines of demo.env, in their order.
func keys() []string {
	return []string{"BASE", "TOKEN", "SESSION", "ADMIN_TOKEN", "LOCK", "PUBLISH", "PUBLISH_TOKEN", "MCP"}
}

func readEnv(path string) (env, error) {
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the folder
	if errors.Is(err, os.ErrNotExist) {
		return env{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the last start's demo.env: %w", err)
	}
	e := env{}
	for line := range strings.Lines(string(b)) {
		if k, v, found := strings.Cut(strings.TrimSpace(line), "="); found {
			e[k] = v
		}
	}
	return e, nil
}

func (e env) write(path string) error {
	var b strings.Builder
	for _, k := range keys() {
		fmt.Fprintf(&b, "%s=%s\n", k, e[k])
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write demo.env: %w", err)
	}
	return nil
}
