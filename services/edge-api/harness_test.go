package edgeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
	edgeapi "github.com/latchwire/latchwire/services/edge-api"
)

const adminSecret = "operator-secret-of-these-tests"

// A stack is the door on an embedded NATS, with a dispatcher that answers for
// every target: see dispatch.
type stack struct {
	platform *platform.Platform
	server   *httptest.Server
	logs     *telemetrytest.Printed
	stop     func()
}

// newStack starts a door. Its caller stops it.
func newStack(dir string, cfg platform.Config, edge edgeapi.Config) (*stack, error) {
	ctx, cancel := context.WithCancel(context.Background())
	ns, err := broker.StartServer(broker.ServerConfig{Dir: dir})
	if err != nil {
		cancel()
		return nil, err
	}
	cfg.Broker.Server = ns
	cfg.Ledger.Partitions = 2
	cfg.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s := &stack{logs: &telemetrytest.Printed{}}
	log := slog.New(telemetry.LogHandler(slog.NewJSONHandler(s.logs, nil)))
	if err := s.open(ctx, cfg, log); err != nil {
		cancel()
		ns.Shutdown()
		return nil, err
	}
	health := &service.Health{}
	health.Add("nats", s.platform.Conn.Check)
	parts, handler, err := edgeapi.New(s.platform, health, edge)
	if err != nil {
		cancel()
		s.platform.Conn.Close()
		ns.Shutdown()
		return nil, err
	}
	listening := make(chan struct{})
	all := append(s.platform.Parts(), parts...)
	all = append(all, service.Part{Name: "dispatch", Run: s.dispatch}, service.Part{Name: "questions", Run: s.answer}, health.Part(0), service.Part{Name: "up", Start: func(context.Context) error {
		close(listening)
		return nil
	}})
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx, 10*time.Second, all...) }()
	select {
	case <-listening:
	case err := <-ended:
		cancel()
		ns.Shutdown()
		return nil, errors.Join(errors.New("the parts did not start"), err)
	}
	s.server = httptest.NewServer(handler)
	s.stop = func() {
		s.server.Close()
		cancel()
		if err := <-ended; err != nil {
			log.InfoContext(ctx, "the stack ended", slog.Any("error", err)) // some are broken on purpose
		}
		_ = s.platform.Telemetry.Shutdown(context.Background())
		ns.Shutdown()
	}
	return s, nil
}

func (s *stack) open(ctx context.Context, cfg platform.Config, log *slog.Logger) error {
	conn, err := broker.Connect(cfg.Broker, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := platform.Setup(ctx, conn, cfg.Ledger); err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, telemetry.Config{Name: "edge-api", Version: "test", LookupEnv: func(string) (string, bool) { return "", false }, Log: log})
	if err != nil {
		return err
	}
	s.platform, err = platform.Open(ctx, cfg, tel, log)
	return err
}

// dispatch settles calls until ctx is done: those of a command that ends with
// echo complete with their input, those that end with reject are rejected, all
// others stay pending.
func (s *stack) dispatch(ctx context.Context) error {
	for p := range s.platform.Ledger.Partitions() {
		c, err := s.platform.Conn.JS.Consumer(ctx, ledger.InvocationStream(p), ledger.DispatchConsumer)
		if err != nil {
			return err
		}
		consuming, err := c.Consume(func(m jetstream.Msg) {
			if err := s.settle(ctx, m); err != nil && ctx.Err() == nil {
				s.platform.Log.ErrorContext(ctx, "not settled", slog.Any("error", err))
			}
		})
		if err != nil {
			return err
		}
		defer consuming.Stop()
	}
	<-ctx.Done()
	return nil
}

// answer answers questions for every target: with what was asked, unless it was
// for nothing.
func (s *stack) answer(ctx context.Context) error {
	return s.platform.Ledger.Answer(ctx, func(_ context.Context, q invocation.Question, _ map[string][]string) (invocation.Options, error) {
		if q.Search == "nothing" {
			return invocation.Options{}, errors.New("no answer")
		}
		value, err := json.Marshal(q.Field + "?" + q.Search)
		return invocation.Options{HasMore: true, List: []invocation.Option{{Value: value, Label: "One"}}}, err
	})
}

func (s *stack) settle(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	r, err := ledger.ParseRequest(broker.Delivery{
		Subject: m.Subject(), Data: m.Data(), Header: m.Headers(), Sequence: meta.Sequence.Stream, Attempt: meta.NumDelivered, Stored: meta.Timestamp,
	})
	if err != nil {
		return err
	}
	var o invocation.Outcome
	switch _, name, _ := strings.Cut(string(r.Invocation.Command), "."); name {
	case "echo":
		o = invocation.Completes(fmt.Appendf(nil, `{"echo":%s}`, r.Invocation.Input))
	case "reject":
		o = invocation.Rejects("not-today", "come back tomorrow")
	default:
		return m.Ack()
	}
	standing, err := s.platform.Ledger.Claim(ctx, r.Invocation, time.Now().Add(time.Minute), r.LockSeq)
	if err != nil {
		return err
	}
	settled := r.Invocation.Settle(o, s.platform.Ledger.Now())
	if err := s.platform.Ledger.Settle(ctx, standing.Claim, settled, nil); err != nil {
		return err
	}
	if err := s.platform.Ledger.Wake(settled, r.Reply); err != nil {
		return err
	}
	link, err := s.platform.Ledger.Index(settled.Chain.Correlation, ledger.Link{Kind: ledger.InvocationLink, ID: settled.ID, Lock: settled.Lock})
	if err != nil {
		return err
	}
	return errors.Join(link.Wait(ctx), m.Ack())
}

// shared is the stack of all tests that need nothing special.
var shared *stack

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "edge-api")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared, err = newStack(dir, platform.Config{}, edgeapi.Config{AdminToken: adminSecret, Wait: 300 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	shared.stop()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		return 1
	}
	return code
}

// An answer is a response that was read and checked against the contract.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// client sends requests with one credential.
type client struct {
	t      *testing.T
	base   string
	header http.Header
}

func (s *stack) client(t *testing.T, token string) client {
	t.Helper()
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return client{t, s.server.URL, h}
}

func (s *stack) admin(t *testing.T) client {
	t.Helper()
	return s.client(t, adminSecret)
}

// with returns a client that sends one more header.
func (c client) with(name, value string) client {
	c.header = c.header.Clone()
	c.header.Add(name, value)
	return c
}

// do sends a request; body is nil, text as it stands, or a value to encode. The
// answer is what the contract says it may be, or the test fails.
func (c client) do(method, path string, body any) answer {
	c.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	case io.Reader:
		reader = body
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = c.header.Clone()
	if _, set := req.Header["Content-Type"]; !set && body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := noRedirects().Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a := answer{resp.StatusCode, resp.Header, raw}
	checkContract(c.t, req, a)
	return a
}

// noRedirects shows a redirect as the answer that it is.
func noRedirects() *http.Client {
	return &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// want fails the test unless the answer has this status.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("got %d %s, want %d", a.status, a.body, status)
	}
	return a
}

// refused fails the test unless the answer is this problem.
func (a answer) refused(t *testing.T, status int, code invocation.Code) problem {
	t.Helper()
	var p problem
	a.into(t, &p)
	if a.status != status || p.Code != code {
		t.Fatalf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
	return p
}

func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

type problem struct {
	StatusCode int
	Error      string
	Code       invocation.Code
	Message    string
	Details    json.RawMessage
}

// paths returns where the problems of a submitted value lie, with what is wrong.
func (p problem) paths(t *testing.T) map[string]string {
	t.Helper()
	var list []struct{ InstancePath, Message string }
	if err := json.Unmarshal(p.Details, &list); err != nil {
		t.Fatalf("%s: %v", p.Details, err)
	}
	out := make(map[string]string)
	for _, d := range list {
		out[d.InstancePath] = d.Message
	}
	return out
}

// fact returns one fact of a refusal.
func (p problem) fact(t *testing.T, name string) any {
	t.Helper()
	var facts map[string]any
	if err := json.Unmarshal(p.Details, &facts); err != nil {
		t.Fatalf("%s: %v", p.Details, err)
	}
	return facts[name]
}
