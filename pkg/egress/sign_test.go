package egress

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verify asks the reference library.
func verify(t *testing.T, s Secret, body []byte, h http.Header) error {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(s.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return hook.Verify(body, h)
}

func TestSignatureVerifies(t *testing.T) {
	t.Parallel()
	secret, other := NewSecret(), NewSecret()
	now := time.Now()
	body := []byte(`{"t":"é 😀 <&>"}`)
	changed := func(edit func(http.Header)) http.Header {
		h := Sign("65f0c0ffee", now, body, secret)
		edit(h)
		return h
	}
	for name, tc := range map[string]struct {
		header http.Header
		body   []byte
		with   Secret
		ok     bool
	}{
		"SEC-23 unchanged":         {header: Sign("65f0c0ffee", now, body, secret), body: body, with: secret, ok: true},
		"SEC-23 empty body":        {header: Sign("65f0c0ffee", now, nil, secret), with: secret, ok: true},
		"SEC-23 body changed":      {header: Sign("65f0c0ffee", now, body, secret), body: bytes.ToUpper(body), with: secret},
		"SEC-23 another secret":    {header: Sign("65f0c0ffee", now, body, secret), body: body, with: other},
		"SEC-23 id changed":        {header: changed(func(h http.Header) { h.Set("webhook-id", "65f0c0ffef") }), body: body, with: secret},
		"SEC-23 time changed":      {header: changed(func(h http.Header) { h.Set("webhook-timestamp", fmt.Sprint(now.Unix()+1)) }), body: body, with: secret},
		"SEC-24 too old":           {header: Sign("65f0c0ffee", now.Add(-6*time.Minute), body, secret), body: body, with: secret},
		"SEC-25 rotation, new one": {header: Sign("65f0c0ffee", now, body, secret, other), body: body, with: secret, ok: true},
		"SEC-25 rotation, old one": {header: Sign("65f0c0ffee", now, body, secret, other), body: body, with: other, ok: true},
		"SEC-25 rotation over":     {header: Sign("65f0c0ffee", now, body, secret), body: body, with: other},
		"a secret without a key":   {header: Sign("65f0c0ffee", now, body, Secret{}, secret), body: body, with: secret, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := verify(t, tc.with, tc.body, tc.header); (err == nil) != tc.ok {
				t.Errorf("got %v, want accepted %v", err, tc.ok)
			}
		})
	}
}

func TestSignatureHeaders(t *testing.T) {
	t.Parallel()
	newer, older := NewSecret(), NewSecret()
	at := time.Unix(1_700_000_000, 999_000_000)
	both := Sign("id", at, nil, newer, older).Get("Webhook-Signature")
	want := Sign("id", at, nil, newer).Get("Webhook-Signature") + " " + Sign("id", at, nil, older).Get("Webhook-Signature")
	if both != want {
		t.Errorf("SEC-25: got %q, want the newer first: %q", both, want)
	}
	first, second := Sign("id", at, nil, newer), Sign("id", at.Add(time.Minute), nil, newer)
	if first.Get("Webhook-Id") != second.Get("Webhook-Id") {
		t.Error("SEC-24: got another id for another attempt")
	}
	if first.Get("Webhook-Timestamp") != "1700000000" || second.Get("Webhook-Timestamp") != "1700000060" ||
		first.Get("Webhook-Signature") == second.Get("Webhook-Signature") {
		t.Errorf("SEC-24: got %v and %v", first, second)
	}
	for name, h := range map[string]http.Header{"no secret": Sign("id", at, nil), "an empty one": Sign("id", at, nil, Secret{})} {
		if _, ok := h["Webhook-Signature"]; ok || len(h) != 2 {
			t.Errorf("%s: got %v, want no signature", name, h)
		}
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	of := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"SEC-28 shortest":         {text: of(24), ok: true},
		"SEC-28 longest":          {text: of(64), ok: true},
		"SEC-28 8 bytes":          {text: of(8)},
		"SEC-28 one too short":    {text: of(23)},
		"SEC-28 one too long":     {text: of(65)},
		"no prefix":               {text: strings.TrimPrefix(of(24), "whsec_")},
		"a signing key of v1a":    {text: "whsk_" + strings.TrimPrefix(of(32), "whsec_")},
		"URL-safe base64":         {text: "whsec_" + strings.Repeat("-_", 16)},
		"no padding":              {text: strings.TrimRight(of(25), "=")},
		"a line break inside":     {text: of(24)[:20] + "\n" + of(24)[20:]},
		"a line break at the end": {text: of(24) + "\r\n"},
		"stray bits at the end":   {text: strings.Replace(of(25), "A==", "B==", 1)},
		"empty":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := ParseSecret(tc.text)
			if (err == nil) != tc.ok || s.IsZero() == tc.ok {
				t.Fatalf("got %v, want accepted %v", err, tc.ok)
			}
			if tc.ok && s.Reveal() != tc.text {
				t.Errorf("got %q, want %q", s.Reveal(), tc.text)
			}
			if err != nil && len(tc.text) > 8 && strings.Contains(err.Error(), tc.text[6:]) {
				t.Errorf("got %q, which quotes the secret", err)
			}
		})
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	one, two := NewSecret(), NewSecret()
	if one.Reveal() == two.Reveal() {
		t.Error("got the same secret twice")
	}
	if again, err := ParseSecret(one.Reveal()); err != nil || again.Reveal() != one.Reveal() {
		t.Errorf("got %v for a new secret's text", err)
	}
	if (Secret{}).Reveal() != "" {
		t.Error("got a text from no secret")
	}
}

// Neither secret shows, however it gets into a log line.
func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	secret, err := ParseSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte("CANARY-CANARY-CANARY-CANARY")))
	if err != nil {
		t.Fatal(err)
	}
	login := Credentials{User: "CANARY-user", Password: "CANARY-password"}
	type inside struct {
		Secret Secret
		Login  Credentials
		hidden Secret
	}
	holder := inside{Secret: secret, Login: login, hidden: secret}
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(h)
		log.Info("x", slog.Any("secret", secret), slog.Any("login", login), slog.Any("holder", holder), slog.Any("pointer", &holder))
		log.Info("x", slog.Any("secret", &secret), slog.Any("login", &login), slog.Any("list", []Secret{secret}))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+" "+verb+"\n", secret, login, holder, &holder)
	}
	out.WriteString(secret.String() + login.String())
	for _, canary := range []string{
		"CANARY", secret.Reveal()[6:20], base64.StdEncoding.EncodeToString([]byte("CANARY-user"))[:12],
		fmt.Sprintf("%x", "CANARY"), fmt.Sprintf("%X", "CANARY"), "67 65 78 65 82 89", "0x43, 0x41",
	} {
		if strings.Contains(out.String(), canary) {
			t.Errorf("SEC-117: got %q in:\n%s", canary, out.String())
		}
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in Credentials
		ok bool
	}{
		"none":                            {ok: true},
		"S-33 everything else is allowed": {in: Credentials{User: "a@b", Password: "p:ä/ß%40"}, ok: true},
		"no password":                     {in: Credentials{User: "key"}, ok: true},
		"S-33 colon in the user":          {in: Credentials{User: "a:b", Password: "p"}},
		"no user":                         {in: Credentials{Password: "p"}},
		"line break in the user":          {in: Credentials{User: "a\r\nb"}},
		"line break in the password":      {in: Credentials{User: "a", Password: "p\n"}},
		"not UTF-8":                       {in: Credentials{User: "a", Password: "\xff"}},
		"a C1 control character":          {in: Credentials{User: "a\u0085"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.in.Validate()
			if (err == nil) != tc.ok {
				t.Fatalf("got %v, want accepted %v", err, tc.ok)
			}
			if err != nil && tc.in.User != "" && strings.Contains(err.Error(), tc.in.User+" ") {
				t.Errorf("got %q, which quotes the user", err)
			}
		})
	}
}
