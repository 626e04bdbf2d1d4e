package conformance

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/services/latchwire/internal/e2etest"
)

// A recorded request is as it arrived, with a secret to verify it with.
type recorded struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// with returns a request that arrived, to be verified with a secret.
func with(secret string, h e2etest.Hit) recorded {
	r := recorded{Secret: secret, Headers: make(map[string]string), Body: string(h.Body)}
	for name, values := range h.Header {
		r.Headers[name] = strings.Join(values, ", ")
	}
	return r
}

// The official JavaScript library verifies whatever the pipeline sends: a
// command, a query, an event and a history line. During a rotation each of the
// two secrets verifies it, alone.
func TestTheOfficialLibraryVerifiesEveryWebhook(t *testing.T) {
	t.Parallel()
	cmd := node(t, "node", "verify.mjs")
	p := startPipeline(t)
	caller := p.NewPartner(t, e2etest.Offers{}, nil)
	target := p.NewPartner(t, e2etest.Offers{}, func(w http.ResponseWriter, _ *http.Request, _ e2etest.Hook) {
		e2etest.Complete(w, `{}`)
	})
	offerBoth(t, p, target)
	first := rotate(t, p, target)
	lock := p.NewLock(t, target, caller)
	before := provoke(t, target, caller, lock)
	second := rotate(t, p, target)
	during := provoke(t, target, caller, lock)

	var requests []recorded
	var valid []bool
	add := func(r recorded, verifies bool) { requests, valid = append(requests, r), append(valid, verifies) }
	everything := target.Received(func(e2etest.Hook) bool { return true })
	for _, h := range everything {
		add(with(first, h), true)
		add(with(egress.NewSecret().Reveal(), h), false)
		other := with(first, h)
		other.Body += " "
		add(other, false)
	}
	for _, h := range before {
		add(with(second, h), false)
	}
	for _, h := range during {
		add(with(second, h), true)
	}
	data, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "requests.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env, cmd.Stderr = append(cmd.Env, "FILE="+file), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []string
	e2etest.Decode(t, out, &verdicts)
	if len(verdicts) != len(requests) {
		t.Fatalf("got %d verdicts on %d requests", len(verdicts), len(requests))
	}
	for i, said := range verdicts {
		if (said == "") != valid[i] {
			t.Errorf("got the verdict %q, want it verified: %t, of %+v", said, valid[i], requests[i])
		}
	}
	t.Logf("%d verdicts on %d requests, of which %d were sent during the rotation for sure", len(verdicts), len(everything), len(during))
}

// offerBoth publishes a manifest with a command, a query and a subscription to
// everything.
func offerBoth(t *testing.T, p e2etest.Pipeline, x *e2etest.Partner) {
	t.Helper()
	open := json.RawMessage(`{"type":"object"}`)
	capability := func(name string) map[string]any {
		return map[string]any{
			"id": x.Slug + "." + name, "title": name, "description": name, "invocableBy": []string{"extension"},
			"inputSchema": open, "outputSchema": open, "deprecated": nil,
		}
	}
	command := capability("do")
	command["kind"] = "control"
	a := p.Send(t, e2etest.Request{
		Token: x.Token, Method: http.MethodPut, Path: "/api/extensions/" + x.Slug + "/manifest",
		Body: map[string]any{
			"commands": []any{command}, "queries": []any{capability("ask")}, "events": []any{}, "subscriptions": []string{"*"},
		},
	})
	if a.Status != http.StatusOK {
		t.Fatalf("publish: got HTTP %d %s", a.Status, a.Body)
	}
}

// rotate makes a new signing secret of an extension and returns it.
func rotate(t *testing.T, p e2etest.Pipeline, x *e2etest.Partner) string {
	t.Helper()
	var made struct{ SigningSecret string }
	p.Operate(t, e2etest.Request{
		Method: http.MethodPost, Path: "/api/admin/extensions/" + x.Slug + "/signing-secrets", Body: map[string]any{},
	}, &made)
	return made.SigningSecret
}

// provoke has a webhook of every kind sent to the target, and returns those.
func provoke(t *testing.T, target, caller *e2etest.Partner, lock string) (got []e2etest.Hit) {
	t.Helper()
	var ids []string
	for command, input := range map[string]any{
		target.Slug + ".do": map[string]any{}, target.Slug + ".ask": map[string]any{}, "lock.add-time": map[string]any{"duration": 60},
	} {
		inv := caller.Call(t, lock, command, map[string]any{"input": input, "idempotencyKey": e2etest.Key()}).Invocation(t)
		if inv.Status != "completed" {
			t.Fatalf("%s: got %s (%+v)", command, inv.Status, inv.Error)
		}
		ids = append(ids, inv.InvocationID)
	}
	kinds := []string{"action_log.created", "extension.command_invoked", "extension.query_invoked", "lock_event.created"}
	e2etest.Eventually(t, "a webhook of every kind arrives", func() bool {
		got = nil
		for _, h := range target.Received(func(e2etest.Hook) bool { return true }) {
			if slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(string(h.Body), id) }) {
				got = append(got, h)
			}
		}
		return len(got) >= len(kinds)
	})
	var seen []string
	for _, h := range got {
		seen = append(seen, h.Hook.Event)
	}
	if slices.Sort(seen); !slices.Equal(seen, kinds) {
		t.Fatalf("got %v, want %v", seen, kinds)
	}
	return got
}
