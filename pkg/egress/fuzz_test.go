package egress

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Whatever is sent under whatever id, the reference library takes what is signed
// here with either secret of a rotation and with a key of v1a beside it, and
// refuses it with anything changed (SEC-23, SEC-25, SEC-26).
func FuzzSign(f *testing.F) {
	f.Add("65f0c0ffee65f0c0ffee65f0", []byte(`{"t":"é 😀 <&>"}`), []byte("0123456789abcdef01234567"), uint(3))
	f.Add("a.b", []byte("\x00\r\n"), bytes.Repeat([]byte{0xff}, MaxSecretSize), uint(0))
	f.Add("-", []byte{}, make([]byte, MinSecretSize), uint(1))
	signingKey, older := NewSigningKey(), NewSecret()
	f.Fuzz(func(t *testing.T, id string, body, raw []byte, at uint) {
		secret := holdSecret(SchemeV1, raw)
		again, err := ParseSecret(secret.Reveal())
		if fits := len(raw) >= MinSecretSize && len(raw) <= MaxSecretSize; (err == nil) != fits {
			t.Fatalf("SEC-28: got %v for %d bytes", err, len(raw))
		}
		if err != nil || id == "" {
			return
		}
		now := time.Now()
		h := Sign(id, now, body, again, signingKey, older)
		for _, s := range []Secret{secret, older} {
			if err := verify(t, s, body, h); err != nil {
				t.Fatalf("got %v for %v", err, h)
			}
		}
		if !verifiedV1a(t, signingKey.VerificationKey(), body, h) {
			t.Fatalf("got no signature of v1a in %v", h)
		}
		if got := len(strings.Fields(h.Get(HeaderSignature))); got != 3 {
			t.Fatalf("got %d signatures", got)
		}
		changed := append(bytes.Clone(body), 0)
		if len(body) > 0 {
			changed = bytes.Clone(body)
			changed[at%uint(len(body))] ^= 1
		}
		for name, tc := range map[string]struct {
			h    http.Header
			body []byte
		}{
			"the body":      {h, changed},
			"the id":        {with(h, HeaderID, id+"x"), body},
			"the signature": {with(h, HeaderSignature, strings.ToLower(h.Get(HeaderSignature))), body},
		} {
			if verify(t, secret, tc.body, tc.h) == nil || verifiedV1a(t, signingKey.VerificationKey(), tc.body, tc.h) {
				t.Fatalf("%s was changed and verifies: %v", name, tc.h)
			}
		}
	})
}

// with returns the headers with one of them changed.
func with(h http.Header, name, value string) http.Header {
	h = h.Clone()
	h.Set(name, value)
	return h
}

// Whatever a receiver asks for, it is waited for within the bounds or not at
// all, and digits alone mean seconds (SEC-20).
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"999999999", "-5", "NaN", "0", "120", "1e3", "Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", strings.Repeat("1", 65)} {
		f.Add(s, int64(1_700_000_000))
	}
	f.Fuzz(func(t *testing.T, value string, seconds int64) {
		now := time.Unix(seconds%(1<<33), 0)
		wait, ok := RetryAfter(http.Header{"Retry-After": {value}}, now)
		if ok != (wait != 0) || ok && (wait < MinRetryAfter || wait > MaxRetryAfter) {
			t.Fatalf("got %v, %v for %q", wait, ok, value)
		}
		number := strings.TrimSpace(value)
		if isNumber := number != "" && strings.Trim(number, "0123456789") == ""; isNumber && len(number) <= 4 {
			want, err := time.ParseDuration(number + "s")
			if err != nil || wait != max(want, MinRetryAfter) {
				t.Fatalf("got %v for %q", wait, value)
			}
		} else if at, err := http.ParseTime(number); ok && !isNumber && (err != nil || at.Sub(now) <= MaxRetryAfter && wait != max(at.Sub(now), MinRetryAfter)) {
			t.Fatalf("got %v for %q at %v", wait, value, now)
		}
	})
}
