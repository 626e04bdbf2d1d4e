package egress

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The example of Standard Webhooks 1.0.0 (its section on headers), with the key
// and the text that it was made with.
const (
	goldenKey       = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	goldenPublic    = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	goldenID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	goldenTime      = 1_614_265_330
	goldenBody      = `{"test": 2432232314}`
	goldenSignature = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
)

func parse(t *testing.T, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestV1aGolden(t *testing.T) {
	t.Parallel()
	s := parse(t, goldenKey)
	if got := s.VerificationKey(); got != goldenPublic {
		t.Errorf("got the public key %s, want %s", got, goldenPublic)
	}
	h := Sign(goldenID, time.Unix(goldenTime, 0), []byte(goldenBody), s)
	if got := h.Get("Webhook-Signature"); got != goldenSignature {
		t.Errorf("SEC-26: got %s, want %s", got, goldenSignature)
	}
	if !verifiedV1a(t, s.VerificationKey(), []byte(goldenBody), h) {
		t.Error("SEC-26: the example does not verify")
	}
	if s.Reveal() != goldenKey || s.Scheme() != SchemeV1a {
		t.Errorf("got a key of %q that reads otherwise than it was given", s.Scheme())
	}
}

// verifiedV1a reports whether a v1a signature of the headers verifies, as a
// receiver would find out that has nothing but the public key.
func verifiedV1a(t *testing.T, public string, body []byte, h http.Header) bool {
	t.Helper()
	encoded, ok := strings.CutPrefix(public, "whpk_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !ok || len(key) != ed25519.PublicKeySize {
		t.Fatalf("got the public key %q, %v", public, err)
	}
	text := fmt.Appendf(nil, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), body)
	for one := range strings.SplitSeq(h.Get("webhook-signature"), " ") {
		encoded, ok := strings.CutPrefix(one, "v1a,")
		if !ok {
			continue
		}
		sig, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(sig) != ed25519.SignatureSize {
			t.Fatalf("got the signature %q, %v", one, err)
		}
		if ed25519.Verify(key, text, sig) {
			return true
		}
	}
	return false
}

func TestV1aVerifies(t *testing.T) {
	t.Parallel()
	key, other, shared := NewSigningKey(), NewSigningKey(), NewSecret()
	now := time.Now()
	body := []byte(`{"t":"é 😀 <&>"}`)
	changed := func(edit func(http.Header)) http.Header {
		h := Sign("65f0c0ffee", now, body, key)
		edit(h)
		return h
	}
	for name, tc := range map[string]struct {
		header http.Header
		body   []byte
		ok     bool
	}{
		"SEC-26 unchanged":        {header: Sign("65f0c0ffee", now, body, key), body: body, ok: true},
		"SEC-26 empty body":       {header: Sign("65f0c0ffee", now, nil, key), ok: true},
		"SEC-26 beside v1":        {header: Sign("65f0c0ffee", now, body, shared, key), body: body, ok: true},
		"SEC-26 before v1":        {header: Sign("65f0c0ffee", now, body, key, shared), body: body, ok: true},
		"SEC-26 rotation, newer":  {header: Sign("65f0c0ffee", now, body, key, other), body: body, ok: true},
		"SEC-26 rotation, older":  {header: Sign("65f0c0ffee", now, body, other, key), body: body, ok: true},
		"SEC-26 another key":      {header: Sign("65f0c0ffee", now, body, other), body: body},
		"SEC-26 v1 only":          {header: Sign("65f0c0ffee", now, body, shared), body: body},
		"SEC-23 body changed":     {header: Sign("65f0c0ffee", now, body, key), body: bytes.ToUpper(body)},
		"SEC-23 id changed":       {header: changed(func(h http.Header) { h.Set("webhook-id", "65f0c0ffef") }), body: body},
		"SEC-23 time changed":     {header: changed(func(h http.Header) { h.Set("webhook-timestamp", "1") }), body: body},
		"SEC-27 parts shifted":    {header: changed(func(h http.Header) { h.Set("webhook-id", "65f0c0ffee."+h.Get("webhook-timestamp")) }), body: body},
		"the body of a long text": {header: Sign("65f0c0ffee", now, bytes.Repeat(body, 1000), key), body: bytes.Repeat(body, 1000), ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := verifiedV1a(t, key.VerificationKey(), tc.body, tc.header); got != tc.ok {
				t.Errorf("got verified %t, want %t", got, tc.ok)
			}
		})
	}
}

// The reference library, which knows v1 only, takes a header of both schemes,
// whatever the order, and refuses one without its own.
func TestTheReferenceLibraryPassesOverV1a(t *testing.T) {
	t.Parallel()
	newer, older, key, other := NewSecret(), NewSecret(), NewSigningKey(), NewSigningKey()
	body := []byte(`{"a":1}`)
	now := time.Now()
	for name, tc := range map[string]struct {
		secrets      []Secret
		newer, older bool
	}{
		"v1 first":      {[]Secret{newer, key}, true, false},
		"v1a first":     {[]Secret{key, newer}, true, false},
		"between two":   {[]Secret{key, newer, other}, true, false},
		"both rotating": {[]Secret{key, newer, other, older}, true, true},
		"v1a alone":     {[]Secret{key, other}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Sign("65f0c0ffee", now, body, tc.secrets...)
			if got := len(strings.Split(h.Get("Webhook-Signature"), " ")); got != len(tc.secrets) {
				t.Errorf("got %d signatures, want one for each secret", got)
			}
			for s, want := range map[*Secret]bool{&newer: tc.newer, &older: tc.older} {
				if err := verify(t, *s, body, h); (err == nil) != want {
					t.Errorf("got %v, want accepted %t", err, want)
				}
			}
		})
	}
}

func TestParseSigningKey(t *testing.T) {
	t.Parallel()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(goldenKey, "whsk_"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(raw []byte) string { return "whsk_" + base64.StdEncoding.EncodeToString(raw) }
	torn := bytes.Clone(raw)
	torn[63] ^= 1
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"seed and public key":            {text: goldenKey, ok: true},
		"the seed alone":                 {text: of(raw[:32])},
		"another key's public half":      {text: of(torn)},
		"another key's seed":             {text: of(append(make([]byte, 32), raw[32:]...))},
		"one byte too many":              {text: of(append(bytes.Clone(raw), 0))},
		"a public key":                   {text: goldenPublic},
		"a public key under this prefix": {text: "whsk_" + strings.TrimPrefix(goldenPublic, "whpk_")},
		"a private key as a secret":      {text: "whsec_" + strings.TrimPrefix(goldenKey, "whsk_"), ok: true}, // 64 bytes are 64 bytes
		"no padding":                     {text: strings.TrimRight(goldenKey, "=")},
		"a line break":                   {text: goldenKey[:20] + "\n" + goldenKey[20:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := ParseSecret(tc.text)
			if (err == nil) != tc.ok || s.IsZero() == tc.ok {
				t.Fatalf("got %v, want accepted %v", err, tc.ok)
			}
			if tc.ok && s.Reveal() != tc.text {
				t.Error("got another text than was read")
			}
			if err != nil && strings.Contains(err.Error(), tc.text[6:20]) {
				t.Errorf("got %q, which quotes the key", err)
			}
		})
	}
}

func TestNewSigningKey(t *testing.T) {
	t.Parallel()
	one, two := NewSigningKey(), NewSigningKey()
	if one.Reveal() == two.Reveal() || one.VerificationKey() == two.VerificationKey() {
		t.Error("got the same key twice")
	}
	if again := parse(t, one.Reveal()); again.VerificationKey() != one.VerificationKey() {
		t.Error("got another public key from the same text")
	}
	if s := NewSecret(); s.VerificationKey() != "" || s.Scheme() != SchemeV1 {
		t.Errorf("got %q and the scheme %q for a secret of v1", s.VerificationKey(), s.Scheme())
	}
	if (Secret{}).VerificationKey() != "" || (Secret{}).Scheme() != "" {
		t.Error("got something from no key")
	}
}

// A private key does not show, however it gets into a log line (SEC-28).
func TestSigningKeysDoNotPrint(t *testing.T) {
	t.Parallel()
	key := parse(t, goldenKey)
	type inside struct {
		Key    Secret
		hidden Secret
	}
	holder := inside{key, key}
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("x", slog.Any("key", key), slog.Any("holder", holder), slog.Any("list", []Secret{key}), slog.Any("pointer", &holder))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", key, holder, &holder)
	}
	raw, _ := strings.CutPrefix(goldenKey, "whsk_")
	for _, shown := range []string{raw[:12], "e976ff742707", "233 118 255 116"} {
		if strings.Contains(out.String(), shown) {
			t.Errorf("got %q in:\n%s", shown, out.String())
		}
	}
}

func BenchmarkSignV1a(b *testing.B) {
	body := bytes.Repeat([]byte("a"), 800)
	key := NewSigningKey()
	b.ReportAllocs()
	for b.Loop() {
		Sign("65f0c0ffee65f0c0ffee65f0", time.Now(), body, key)
	}
}
