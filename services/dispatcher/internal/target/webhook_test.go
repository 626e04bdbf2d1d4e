package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/latchwire/latchwire/contracts/contracttest"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// What has failed surely never left; of everything else nobody knows (contract
// section 7).
func TestUnanswered(t *testing.T) {
	t.Parallel()
	const unreachable, timeout, invalid, interrupted = invocation.TargetUnreachable, invocation.TargetTimeout, invocation.InvalidResponse, invocation.DispatchInterrupted
	type codes struct{ unsent, sent, unsentGone, sentGone string } // gone: the worker is being stopped
	want := map[egress.Kind]codes{
		egress.KindURL:       {unreachable, timeout, unreachable, timeout},
		egress.KindRequest:   {unreachable, timeout, unreachable, timeout},
		egress.KindForbidden: {unreachable, timeout, unreachable, timeout},
		egress.KindDNS:       {unreachable, timeout, unreachable, timeout},
		egress.KindConnect:   {unreachable, timeout, unreachable, timeout},
		egress.KindTLS:       {unreachable, timeout, unreachable, timeout},
		egress.KindTimeout:   {unreachable, timeout, unreachable, timeout},
		egress.KindCanceled:  {unreachable, interrupted, interrupted, interrupted},
		egress.KindLost:      {unreachable, timeout, unreachable, timeout},
		egress.KindSwitch:    {unreachable, invalid, unreachable, invalid},
		egress.KindEncoding:  {unreachable, invalid, unreachable, invalid},
		egress.KindTooLarge:  {unreachable, invalid, unreachable, invalid},
		egress.KindMalformed: {unreachable, invalid, unreachable, invalid},
		"of a newer release": {unreachable, timeout, unreachable, timeout},
	}
	for _, kind := range egress.Kinds() {
		if _, listed := want[kind]; !listed {
			t.Errorf("%s is not in the table", kind)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, codes := range want {
		for _, tc := range []struct {
			ctx  context.Context //nolint:containedctx // a case of a table
			sent bool
			code string
		}{
			{t.Context(), false, codes.unsent}, {t.Context(), true, codes.sent}, {gone, false, codes.unsentGone}, {gone, true, codes.sentGone},
		} {
			got := unanswered(tc.ctx, fmt.Errorf("more: %w", &egress.CallError{Kind: kind, Sent: tc.sent}))
			status := invocation.Unknown
			if tc.code == unreachable {
				status = invocation.Failed
			}
			if got.Status != status || got.Failure.Code != tc.code {
				t.Errorf("%s, sent %t, stopping %t: got %s %s, want %s %s", kind, tc.sent, tc.ctx.Err() != nil, got.Status, got.Failure.Code, status, tc.code)
			}
			if tc.sent && got.Status == invocation.Failed {
				t.Errorf("%s: a call that was sent has failed", kind)
			}
		}
	}
	if got := unanswered(t.Context(), errors.New("dial tcp 10.0.0.7:443")); got.Status != invocation.Unknown || strings.Contains(got.Failure.Message, "10.0") {
		t.Errorf("got %+v for an error that nobody knows, want unknown without its text", got.Failure)
	}
}

func anInvocation() invocation.Invocation {
	return invocation.Invocation{
		ID: "0123456789abcdef01234567", Lock: "00aabbccddeeff0011223344",
		Caller:  invocation.Party{Slug: "caller", Partner: "aaaaaaaaaaaaaaaaaaaaaaaa", Session: "ses_caller"},
		Target:  invocation.Party{Slug: "t", Partner: "bbbbbbbbbbbbbbbbbbbbbbbb", Session: "ses_target"},
		Command: "t.open", Capability: invocation.Command, Revision: 3, Input: json.RawMessage(`{"n":9007199254740993,"m":1.0,"e":1E2,"x":"<&>"}`),
		Actor: invocation.ActorWearer, Via: invocation.REST,
		Chain:  invocation.Chain{Causation: "cccccccccccccccccccccccc", Correlation: "dddddddddddddddddddddddd", Depth: 2, Inferred: true},
		Status: invocation.Pending, CreatedAt: time.Date(2026, 11, 4, 12, 0, 0, 120_000_000, time.UTC),
	}
}

func TestRequestsFitTheContract(t *testing.T) {
	t.Parallel()
	schema := contracttest.Compile(t, "webhook-invocation")
	for name, change := range map[string]func(*invocation.Invocation){
		"a command":           func(*invocation.Invocation) {},
		"a query":             func(inv *invocation.Invocation) { inv.Capability = invocation.Query },
		"a root":              func(inv *invocation.Invocation) { inv.Chain = invocation.Root(inv.ID, invocation.Starter{}) },
		"depth 8":             func(inv *invocation.Invocation) { inv.Chain.Depth = 8 },
		"an empty input":      func(inv *invocation.Invocation) { inv.Input = json.RawMessage("{}") },
		"the keyholder's act": func(inv *invocation.Invocation) { inv.Actor = invocation.ActorKeyholder },
		"in another zone":     func(inv *invocation.Invocation) { inv.CreatedAt = inv.CreatedAt.In(time.FixedZone("", 3600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := anInvocation()
			change(&inv)
			r, err := request(registry.Extension{Slug: "t"}, inv, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Body))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("got %s: %v", r.Body, err)
			}
			event := "extension." + string(inv.Capability) + "_invoked"
			if !strings.HasPrefix(string(r.Body), `{"event":"`+event+`"`) || r.Header.Get("X-Chaster-Event") != event {
				t.Errorf("got %s, header %q, want %s", r.Body, r.Header.Get("X-Chaster-Event"), event)
			}
		})
	}
}

// The target sees its own session, the caller's name and nothing else of it:
// no key, no token, no session of the caller.
func TestRequestSaysWhatTheTargetMayKnow(t *testing.T) {
	t.Parallel()
	inv := anInvocation()
	now := time.Date(2026, 11, 4, 12, 0, 1, 0, time.UTC)
	r, err := request(registry.Extension{Slug: "t", WebhookURL: "https://t.example/hook?key=1"}, inv, now)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ RequestID string }
	if err := json.Unmarshal(r.Body, &got); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"extension.command_invoked","sentAt":"2026-11-04T12:00:01.000Z","requestId":"` + got.RequestID + `",` +
		`"data":{"sessionId":"ses_target","extension":{"slug":"t"},"lockId":"00aabbccddeeff0011223344","invocation":{` +
		`"invocationId":"0123456789abcdef01234567","commandId":"t.open","capability":"command","revision":3,` +
		`"input":{"n":9007199254740993,"m":1.0,"e":1E2,"x":"<&>"},"actor":"wearer",` + // to the byte (S-03)
		`"caller":{"slug":"caller","partnerExtensionId":"aaaaaaaaaaaaaaaaaaaaaaaa"},` +
		`"causationId":"cccccccccccccccccccccccc","correlationId":"dddddddddddddddddddddddd","depth":2,"createdAt":"2026-11-04T12:00:00.120Z"}}}`
	if string(r.Body) != want {
		t.Errorf("got  %s\nwant %s", r.Body, want)
	}
	if r.URL != "https://t.example/hook?key=1" || !r.Credentials.IsZero() {
		t.Errorf("got the URL %s and credentials %t", r.URL, !r.Credentials.IsZero())
	}
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"Webhook-Id", "Webhook-Timestamp", "X-Chaster-Event"}; !slices.Equal(names, want) {
		t.Errorf("got the headers %v, want %v and no idempotency key", names, want) // S-29
	}
	again, err := request(registry.Extension{Slug: "t"}, inv, now)
	if err != nil || string(again.Body) == string(r.Body) {
		t.Errorf("got the same request id twice, %v", err)
	}
}

// Every live secret signs, and the verifier of Standard Webhooks takes any one
// of them (SEC-23, SEC-25, SEC-29).
func TestRequestsAreSigned(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old, new_, dead := egress.NewSecret().Reveal(), egress.NewSecret().Reveal(), egress.NewSecret().Reveal()
	ext := registry.Extension{Slug: "t", BasicUser: "user", BasicSecret: "pass", Secrets: []registry.SigningSecret{
		{Secret: dead, ExpiresAt: now.Add(-time.Second)}, {Secret: old, ExpiresAt: now.Add(time.Hour)}, {Secret: new_},
	}}
	inv := anInvocation()
	r, err := request(ext, inv, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Header.Get("Webhook-Id"); got != string(inv.ID) {
		t.Errorf("got the id %q, want the invocation's", got)
	}
	if n := len(strings.Fields(r.Header.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("got %d signatures, want 2", n)
	}
	for secret, valid := range map[string]bool{old: true, new_: true, dead: false, egress.NewSecret().Reveal(): false} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(r.Body, r.Header); (err == nil) != valid {
			t.Errorf("got %v, want valid: %t", err, valid)
		}
		if err := verifier.Verify(append(slices.Clone(r.Body), ' '), r.Header); err == nil {
			t.Error("a body with more behind it is valid")
		}
	}
	if r.Credentials != (egress.Credentials{User: "user", Password: "pass"}) {
		t.Error("the Basic credentials are not those of the extension")
	}
	ext.Secrets = append(ext.Secrets, registry.SigningSecret{Secret: "whsec_broken"})
	if _, err := request(ext, inv, now); err == nil || strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v for a broken secret, want an error that does not quote it", err)
	}
}

func BenchmarkRead(b *testing.B) {
	offered := compiled(b, "t", testManifest)
	for name, body := range map[string]string{
		"empty":  completedEmpty,
		"events": ofEvents(2, `{"type":"t.counted","payload":{"n":1}}`),
		"4KiB":   `{"status":"completed","result":` + object(4<<10) + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(body)
			b.ReportAllocs()
			for b.Loop() {
				if o := Read(200, raw, "t.open", offered); o.Status != invocation.Completed {
					b.Fatal(o)
				}
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	ext := registry.Extension{Slug: "t", WebhookURL: "https://t.example/", Secrets: []registry.SigningSecret{{Secret: egress.NewSecret().Reveal()}}}
	inv, now := anInvocation(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := request(ext, inv, now); err != nil {
			b.Fatal(err)
		}
	}
}
