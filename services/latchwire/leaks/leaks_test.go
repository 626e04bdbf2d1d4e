package leaks

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/ledger/sealed"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
	"github.com/latchwire/latchwire/services/latchwire"
	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

// mark is in every text that must not show.
const mark = "CANARY"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A house is a pipeline that is watched.
type house struct {
	e2etest.Pipeline
	server  string // NATS
	printed *telemetrytest.Printed
	spans   *telemetrytest.Recorder
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{printed: &telemetrytest.Printed{}}
	tel, spans := telemetrytest.New(t)
	h.spans = spans
	bound := make(chan string, 1)
	var cfg latchwire.Config
	cfg.Server = broker.ServerConfig{Dir: t.TempDir(), Port: -1}
	cfg.HTTP = service.HTTPConfig{Addr: "127.0.0.1:0", OnListen: func(a net.Addr) { bound <- latchwire.BaseURL(a) }}
	cfg.Edge.AdminToken = "operator-" + mark
	cfg.Webhooks = webhookworker.Config{Retries: []time.Duration{50 * time.Millisecond}}
	cfg.Platform.Egress.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	cfg.Platform.Secrets = platform.SecretsConfig{Key: service.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, sealed.KeySize)))}
	log := slog.New(telemetry.LogHandler(slog.NewJSONHandler(h.printed, &slog.HandlerOptions{Level: slog.LevelDebug})))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stack, err := latchwire.New(ctx, cfg, tel, log)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	h.server = stack.NATSURL()
	ended := make(chan error, 1)
	go func() { ended <- stack.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case base := <-bound:
		h.Bases, h.Models = []string{base}, []string{base}
	case err := <-ended:
		t.Fatal(err)
	}
	h.Admin = cfg.Edge.AdminToken.Reveal()
	return h
}

// Nothing that is secret, and nothing that a stranger sent, is in what the
// pipeline prints, traces and counts; nor is a secret in what it stores.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var target *e2etest.Partner
	target = h.NewPartner(t, e2etest.Offers{Commands: []string{"do"}, Events: []string{"done"}}, func(w http.ResponseWriter, _ *http.Request, hook e2etest.Hook) {
		answer(w, target.Slug, string(hook.Data.Invocation.Input))
	})
	heard := 0
	var mu sync.Mutex
	listener := h.NewPartner(t, e2etest.Offers{Subscriptions: []string{"*"}}, func(w http.ResponseWriter, _ *http.Request, _ e2etest.Hook) {
		mu.Lock()
		defer mu.Unlock()
		if heard++; heard%3 == 0 {
			w.Header().Set("X-Note", mark)
			http.Error(w, mark, http.StatusInternalServerError)
		}
	})
	caller := h.NewPartner(t, e2etest.Offers{Events: []string{"said"}}, nil)
	lock := h.NewLock(t, caller, target, listener)
	secrets := h.secrets(t, target)
	secrets = append(secrets, h.Admin, caller.Token, target.Token, listener.Token, mark)
	h.provoke(t, caller, target, lock)
	e2etest.Eventually(t, "the events are delivered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard > 4
	})
	if lines, spans := strings.Count(h.printed.String(), "\n"), len(h.spans.Ended()); lines < 50 || spans < 50 {
		t.Errorf("got %d lines and %d spans, want those of all that was done", lines, spans)
	}
	for _, secret := range secrets {
		if secret == "" {
			t.Fatalf("got %q, want all secrets", secrets)
		}
		h.wantAbsent(t, secret)
	}
	for _, secret := range secrets[:len(secrets)-1] { // what was said is stored, as it must be
		h.wantUnstored(t, secret)
	}
}

// answer answers a call in the way that its input asks for.
func answer(w http.ResponseWriter, slug, input string) {
	switch {
	case strings.Contains(input, "reject"):
		_, _ = fmt.Fprintf(w, `{"status":"rejected","error":{"code":"no","message":"%s"}}`, mark)
	case strings.Contains(input, "fail"):
		http.Error(w, mark, http.StatusInternalServerError)
	case strings.Contains(input, "garble"):
		_, _ = fmt.Fprintf(w, `{"status":"%s`, mark)
	case strings.Contains(input, "move"):
		w.Header().Set("Location", "http://127.0.0.1:1/?key="+mark)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case strings.Contains(input, "break"):
		panic(http.ErrAbortHandler)
	default:
		e2etest.Complete(w, `{"said":"`+mark+`"}`, `{"type":"`+slug+`.done","payload":{"said":"`+mark+`"}}`)
	}
}

// secrets gives the target every kind of secret that there is, and returns them.
func (h *house) secrets(t *testing.T, target *e2etest.Partner) []string {
	t.Helper()
	path := "/api/admin/extensions/" + target.Slug
	var extension struct {
		WebhookURL string `json:"webhookUrl"`
	}
	h.Operate(t, e2etest.Request{Method: http.MethodGet, Path: path}, &extension)
	h.Operate(t, e2etest.Request{Method: http.MethodPatch, Path: path, Body: map[string]any{
		"webhookUrl": extension.WebhookURL + "hook?key=" + mark, "basic": map[string]string{"user": "u", "password": "p-" + mark},
	}}, nil)
	var made struct {
		SigningSecret string `json:"signingSecret"`
		Token         string `json:"token"`
	}
	h.Operate(t, e2etest.Request{Method: http.MethodPost, Path: path + "/signing-secrets", Body: map[string]string{"scheme": "v1"}}, &made)
	h.Operate(t, e2etest.Request{Method: http.MethodPost, Path: path + "/signing-secrets", Body: map[string]string{"scheme": "v1a"}}, nil) // never shown
	h.Operate(t, e2etest.Request{Method: http.MethodPost, Path: "/api/admin/tokens", Body: map[string]string{"role": "read-only"}}, &made)
	return []string{made.SigningSecret, made.Token, "p-" + mark, "whsk_"}
}

// provoke sends what goes well and all that goes wrong, each with the mark in it.
func (h *house) provoke(t *testing.T, caller, target *e2etest.Partner, lock string) {
	t.Helper()
	said := map[string]string{"said": mark}
	for _, as := range []string{"", "reject", "fail", "garble", "move", "break"} {
		caller.Call(t, lock, target.Slug+".do", map[string]any{"input": map[string]string{"as": as, "said": mark}, "idempotencyKey": mark + as})
	}
	action := caller.Path(lock, "/actions/"+target.Slug+".do")
	requests := []e2etest.Request{
		{Token: mark, Method: http.MethodPost, Path: action, Body: said},
		{Token: "cdt_" + mark, Method: http.MethodGet, Path: caller.Path(lock, "/events?access_token="+mark)},
		{Token: caller.Token, Method: http.MethodGet, Path: "/" + mark + "?" + mark},
		{Token: caller.Token, Method: http.MethodGet, Path: caller.Path(lock, "/events?types="+mark)},
		{Token: caller.Token, Method: http.MethodGet, Path: caller.Path(lock, "/actions/"+target.Slug+".do/options?field=x&search="+mark)},
		{Token: caller.Token, Method: http.MethodGet, Path: "/api/extensions/sessions/" + mark + "/events"},
		{Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/actions/"+mark), Body: said},
		{Token: caller.Token, Method: http.MethodPost, Path: action, Body: []byte(`{"` + mark + `":`)},
		{Token: caller.Token, Method: http.MethodPost, Path: action, Body: map[string]any{mark: mark, "input": mark, "idempotencyKey": 1}},
		{Token: caller.Token, Method: http.MethodPost, Path: action, Body: map[string]any{"actor": mark, "idempotencyKey": mark + "2"}},
		{Token: caller.Token, Method: http.MethodPost, Path: action, Body: map[string]any{"causationId": mark, "idempotencyKey": mark + "3"}},
		{Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/events"), Body: map[string]any{"type": caller.Slug + ".said", "payload": said}},
		{Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/events"), Body: map[string]any{"type": mark, "payload": said}},
		{Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/action"), Body: map[string]any{"action": map[string]any{"name": mark}}},
		{Token: target.Token, Method: http.MethodPut, Path: "/api/extensions/" + target.Slug + "/manifest", Body: map[string]any{"commands": mark, mark: mark}},
		{Token: h.Admin, Method: http.MethodPost, Path: "/api/admin/extensions", Body: map[string]any{"slug": mark, mark: mark}},
		{Token: h.Admin, Method: http.MethodPatch, Path: "/api/admin/extensions/" + mark, Body: map[string]any{"displayName": mark}},
		{Token: h.Admin, Method: http.MethodDelete, Path: "/api/admin/tokens/" + mark},
	}
	for _, arguments := range []map[string]any{
		{"id": target.Slug + ".do", "input": said}, {"id": mark}, {mark: mark}, {"id": target.Slug + ".do", "input": map[string]string{"as": "fail"}},
	} {
		requests = append(requests, e2etest.Request{Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/mcp/v2"), Body: map[string]any{
			"jsonrpc": "2.0", "id": mark, "method": "tools/call", "params": map[string]any{"name": "invoke_action", "arguments": arguments},
		}})
	}
	for _, method := range []string{mark, "tools/call"} {
		requests = append(requests, e2etest.Request{Token: caller.Token, Method: http.MethodPost, Path: caller.Path(lock, "/mcp/v2"), Body: map[string]any{
			"jsonrpc": "2.0", "id": mark, "method": method, "params": map[string]any{"name": mark},
		}})
	}
	for _, r := range requests {
		if a := h.Send(t, r); a.Status >= 500 && a.Status != http.StatusBadGateway {
			t.Errorf("%s %s: got %d %s", r.Method, r.Path, a.Status, a.Body)
		}
	}
}

// wantAbsent fails if a text is in what was printed, traced or counted.
func (h *house) wantAbsent(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(h.printed.String()) {
		if strings.Contains(line, text) {
			t.Errorf("SEC-117: %q is in the log: %s", text, line)
		}
	}
	for _, s := range h.spans.Ended() {
		if raw, err := json.Marshal(s); err != nil || bytes.Contains(raw, []byte(text)) {
			t.Errorf("SEC-117: %q is in a span: %s, %v", text, raw, err)
		}
	}
	if a := h.Send(t, e2etest.Request{Method: http.MethodGet, Path: "/metrics"}); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(text)) {
		t.Errorf("SEC-117: got %d; %q is in the metrics", a.Status, text)
	}
}

// wantUnstored fails if a secret is in any message of any stream.
func (h *house) wantUnstored(t *testing.T, secret string) {
	t.Helper()
	conn, err := broker.Connect(broker.Config{URL: h.server}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	names := conn.JS.StreamNames(t.Context())
	for name := range names.Name() {
		s, err := conn.JS.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for seq := s.CachedInfo().State.FirstSeq; seq <= s.CachedInfo().State.LastSeq && seq > 0; seq++ {
			m, err := s.GetMsg(t.Context(), seq)
			if err != nil {
				continue // taken meanwhile, or replaced
			}
			if headers := fmt.Sprint(m.Header); bytes.Contains(m.Data, []byte(secret)) || strings.Contains(headers, secret) {
				t.Errorf("SEC-28: %q is stored in %s on %s: %s %s", secret, name, m.Subject, headers, m.Data)
			}
		}
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
}
