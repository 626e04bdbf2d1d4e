package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/services/latchwire"
)

const adminToken = "bench-admin-token"

// pipeline is a whole stack with two targets and many locks.
type pipeline struct {
	base     string
	token    string
	sessions []string // the caller's, one on each lock
	http     *http.Client
	runID    string
	calls    atomic.Int64
	running
}

func newPipeline() *pipeline {
	return &pipeline{http: newHTTPClient(), runID: fmt.Sprint(time.Now().UnixNano())}
}

// startPipeline runs a stack in dir and seeds it. With tracing, one trace in ten
// is recorded and thrown away after the batches, as an exporter would send them.
func startPipeline(ctx context.Context, dir string, tracing bool, urls map[string]string) (*pipeline, error) {
	log := slog.New(slog.DiscardHandler)
	tel, err := providers(ctx, tracing)
	if err != nil {
		return nil, err
	}
	bound := make(chan string, 1)
	cfg := latchwire.Config{Platform: unlimited()}
	cfg.Server = broker.ServerConfig{Dir: dir}
	cfg.HTTP = service.HTTPConfig{Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- latchwire.BaseURL(a) }}
	cfg.Edge.AdminToken = adminToken
	stack, err := latchwire.New(ctx, cfg, tel, log)
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := newPipeline()
	p.running = running{stop: stop, done: make(chan error, 1)}
	go func() { p.done <- stack.Run(run) }()
	select {
	case p.base = <-bound:
	case err := <-p.done:
		return nil, err
	}
	if err := p.seed(ctx, urls); err != nil {
		return nil, fmt.Errorf("seed: %w (stop: %w)", err, p.close())
	}
	return p, nil
}

// unlimited returns a configuration whose limits nobody meets, and which may
// call the targets of this run.
func unlimited() (cfg platform.Config) {
	lots := invocation.Limit{Max: 1 << 40}
	cfg.Ledger.Limits = invocation.Limits{Extension: lots, Lock: lots, Events: lots}
	cfg.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return cfg
}

func providers(ctx context.Context, tracing bool) (*telemetry.Providers, error) {
	cfg := telemetry.Config{Name: "bench", Version: platform.Version, LookupEnv: func(name string) (string, bool) {
		v, found := map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}[name]
		return v, found
	}}
	if !tracing {
		return telemetry.New(ctx, cfg)
	}
	return telemetry.New(ctx, cfg, sdktrace.NewBatchSpanProcessor(nowhere{}))
}

// nowhere is an exporter that sends nothing.
type nowhere struct{}

// ExportSpans takes the spans and forgets them.
func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

// Shutdown has nothing to end.
func (nowhere) Shutdown(context.Context) error { return nil }

func (p *pipeline) close() error {
	p.http.CloseIdleConnections()
	return p.running.close()
}

// seed makes the caller, the targets and the locks, through the API.
func (p *pipeline) seed(ctx context.Context, urls map[string]string) error {
	if err := p.extension(ctx, "caller", "", nil); err != nil {
		return err
	}
	for slug, url := range urls {
		if err := p.extension(ctx, slug, url, []byte(fmt.Sprintf(manifest, slug))); err != nil {
			return err
		}
	}
	slugs := slices.Collect(maps.Keys(urls))
	for range manyLocks {
		session, err := p.lock(ctx, "caller", slugs...)
		if err != nil {
			return err
		}
		p.sessions = append(p.sessions, session)
	}
	return nil
}

// lock makes a lock with these extensions on it and returns the first one's
// session.
func (p *pipeline) lock(ctx context.Context, caller string, others ...string) (session string, err error) {
	var lock struct {
		ID string `json:"id"`
	}
	err = p.admin(ctx, "/api/admin/locks", map[string]any{
		"wearer": map[string]any{"id": "w", "name": "W"}, "endDate": invocation.FormatTime(time.Now().Add(24 * time.Hour)),
	}, &lock)
	if err != nil {
		return "", err
	}
	for _, slug := range others {
		if err := p.admin(ctx, "/api/admin/locks/"+lock.ID+"/sessions", map[string]any{"slug": slug}, nil); err != nil {
			return "", err
		}
	}
	var s struct {
		SessionID string `json:"sessionId"`
	}
	err = p.admin(ctx, "/api/admin/locks/"+lock.ID+"/sessions", map[string]any{"slug": caller}, &s)
	return s.SessionID, err
}

const manifest = `{"commands":[{"id":"%s.run","title":"Run","description":"Runs.","kind":"control","invocableBy":["extension"],
 "inputSchema":{"type":"object","additionalProperties":false,"required":["amount"],"properties":{"amount":{"type":"integer","minimum":1,"maximum":100000},"note":{"type":"string","maxLength":200}}},
 "outputSchema":{"type":"object"},"deprecated":null}],"queries":[],"events":[],"subscriptions":[]}`

func (p *pipeline) extension(ctx context.Context, slug, url string, doc []byte) error {
	in := map[string]any{"slug": slug, "displayName": slug}
	if url != "" {
		in["webhookUrl"] = url
	}
	if err := p.admin(ctx, "/api/admin/extensions", in, nil); err != nil {
		return err
	}
	var t struct {
		Token string `json:"token"`
	}
	if err := p.admin(ctx, "/api/admin/extensions/"+slug+"/tokens", map[string]any{}, &t); err != nil {
		return err
	}
	if url == "" {
		p.token = t.Token
	}
	if doc == nil {
		return nil
	}
	_, err := p.send(ctx, http.MethodPut, "/api/extensions/"+slug+"/manifest", t.Token, doc)
	return err
}

func (p *pipeline) admin(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	b, err := p.send(ctx, http.MethodPost, path, adminToken, body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(b, out)
}

func (p *pipeline) send(ctx context.Context, method, path, token string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	return do(p.http, req)
}

// invoke calls one target's command and wants it completed.
func (p *pipeline) invoke(ctx context.Context, slug string) error {
	n := p.calls.Add(1)
	body := fmt.Appendf(nil, `{"input":{"amount":%d,"note":"a call of the usual size, with a little text in it"},"idempotencyKey":"%s-%d"}`, n%1000+1, p.runID, n)
	b, err := p.send(ctx, http.MethodPost, "/api/extensions/sessions/"+p.sessions[int(n)%len(p.sessions)]+"/actions/"+slug+".run", p.token, body)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(`"status":"completed"`)) {
		return fmt.Errorf("not completed: %.300s", b)
	}
	return nil
}
