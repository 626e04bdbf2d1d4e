package receiver_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	secret, other := egress.NewSecret(), egress.NewSecret()
	body := []byte(`{"t":"é 😀 <&>"}`)
	signed := func(ts time.Time, edit func(http.Header), secrets ...egress.Secret) http.Header {
		h := egress.Sign("65f0c0ffee", ts, body, secrets...)
		if edit != nil {
			edit(h)
		}
		return h
	}
	edited := func(edit func(http.Header)) http.Header { return signed(now(), edit, secret) }
	junk := strings.Repeat("v1,AAAA ", 15)
	for name, tc := range map[string]struct {
		header http.Header
		body   []byte
		keys   []egress.Secret
		want   error
	}{
		"as it came":               {header: edited(nil)},
		"a changed body":           {header: edited(nil), body: bytes.ToUpper(body), want: receiver.ErrSignature},
		"a longer body":            {header: edited(nil), body: append(bytes.Clone(body), ' '), want: receiver.ErrSignature},
		"another secret":           {header: edited(nil), keys: []egress.Secret{other}, want: receiver.ErrSignature},
		"two secrets, the first":   {header: edited(nil), keys: []egress.Secret{secret, other}},
		"two secrets, the second":  {header: edited(nil), keys: []egress.Secret{other, secret}},
		"rotation, newer known":    {header: signed(now(), nil, secret, other)},
		"rotation, older known":    {header: signed(now(), nil, other, secret)},
		"rotation is over":         {header: signed(now(), nil, other), want: receiver.ErrSignature},
		"another id":               {header: edited(func(h http.Header) { h.Set("Webhook-Id", "65f0c0ffef") }), want: receiver.ErrSignature},
		"another time":             {header: edited(func(h http.Header) { h.Set("Webhook-Timestamp", fmt.Sprint(now().Unix()+1)) }), want: receiver.ErrSignature},
		"five minutes old":         {header: signed(now().Add(-receiver.Tolerance), nil, secret)},
		"older":                    {header: signed(now().Add(-receiver.Tolerance-time.Second), nil, secret), want: receiver.ErrTimestamp},
		"five minutes ahead":       {header: signed(now().Add(receiver.Tolerance), nil, secret)},
		"further ahead":            {header: signed(now().Add(receiver.Tolerance+time.Second), nil, secret), want: receiver.ErrTimestamp},
		"the first time there is":  {header: edited(func(h http.Header) { h.Set("Webhook-Timestamp", "-9223372036854775808") }), want: receiver.ErrTimestamp},
		"the last time there is":   {header: edited(func(h http.Header) { h.Set("Webhook-Timestamp", "9223372036854775807") }), want: receiver.ErrTimestamp},
		"no time at all":           {header: edited(func(h http.Header) { h.Set("Webhook-Timestamp", "now") }), want: receiver.ErrHeaders},
		"no id":                    {header: edited(func(h http.Header) { h.Del("Webhook-Id") }), want: receiver.ErrHeaders},
		"a dot in the id":          {header: egress.Sign("a.b", now(), body, secret), want: receiver.ErrHeaders},
		"no timestamp":             {header: edited(func(h http.Header) { h.Del("Webhook-Timestamp") }), want: receiver.ErrHeaders},
		"no signature":             {header: signed(now(), nil), want: receiver.ErrHeaders},
		"two ids":                  {header: edited(func(h http.Header) { h.Add("Webhook-Id", "65f0c0ffee") }), want: receiver.ErrHeaders},
		"no headers":               {header: http.Header{}, want: receiver.ErrHeaders},
		"an empty signature":       {header: edited(func(h http.Header) { h.Set("Webhook-Signature", "v1,") }), want: receiver.ErrSignature},
		"no base64":                {header: edited(func(h http.Header) { h.Set("Webhook-Signature", "v1,!!!!") }), want: receiver.ErrHeaders},
		"an unknown scheme":        {header: edited(func(h http.Header) { h.Set("Webhook-Signature", "v9"+h.Get("Webhook-Signature")[2:]) }), want: receiver.ErrHeaders},
		"an unknown scheme beside": {header: edited(func(h http.Header) { h.Set("Webhook-Signature", "v9,AAAA "+h.Get("Webhook-Signature")) })},
		"the sixteenth signature":  {header: edited(func(h http.Header) { h.Set("Webhook-Signature", junk+h.Get("Webhook-Signature")) })},
		"one signature too many":   {header: edited(func(h http.Header) { h.Set("Webhook-Signature", junk+"v1,AAAA "+h.Get("Webhook-Signature")) }), want: receiver.ErrSignature},
		"a signature of v1 as v1a": {header: edited(func(h http.Header) { h.Set("Webhook-Signature", "v1a"+h.Get("Webhook-Signature")[2:]) }), want: receiver.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.body == nil {
				tc.body = body
			}
			if tc.keys == nil {
				tc.keys = []egress.Secret{secret}
			}
			id, err := keys(t, tc.keys...).Verify(tc.header, tc.body, now())
			if !errors.Is(err, tc.want) || (err == nil) != (id == "65f0c0ffee") {
				t.Errorf("got %q, %v, want %v", id, err, tc.want)
			}
		})
	}
	if _, err := (receiver.Keys{}).Verify(edited(nil), body, now()); !errors.Is(err, receiver.ErrSignature) {
		t.Errorf("got %v without a key", err)
	}
}

// The reference library signs, and this package agrees; the clock is the real
// one, for the library knows no other.
func TestVerifyAgreesWithTheReferenceLibrary(t *testing.T) {
	t.Parallel()
	secret := egress.NewSecret()
	reference, err := standardwebhooks.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	at, body := time.Now(), []byte(`{"event":"x"}`)
	signature, err := reference.Sign("msg_1", at, body)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())}, "Webhook-Signature": {signature}}
	for name, sent := range map[string][]byte{"as it came": body, "changed": []byte(`{"event":"y"}`)} {
		_, got := keys(t, secret).Verify(h, sent, at)
		if want := reference.Verify(sent, h); (got == nil) != (want == nil) {
			t.Errorf("%s: got %v, the reference %v", name, got, want)
		}
	}
}

func TestVerifyEd25519(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"event":"x"}`)
	at := fmt.Sprint(now().Unix())
	own := "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte("msg_1."+at+"."+string(body))))
	whpk := "whpk_" + base64.StdEncoding.EncodeToString(public)
	secret := egress.NewSecret()
	hmac := egress.Sign("msg_1", now(), body, secret).Get("Webhook-Signature")
	for name, tc := range map[string]struct {
		keys, signature, body string
		want                  error
	}{
		"its own":                     {keys: whpk, signature: own},
		"beside one of v1":            {keys: whpk, signature: hmac + " " + own},
		"both keys, only v1":          {keys: whpk + "," + secret.Reveal(), signature: hmac},
		"both keys, only v1a":         {keys: whpk + "\n" + secret.Reveal(), signature: own},
		"a changed body":              {keys: whpk, signature: own, body: "{}", want: receiver.ErrSignature},
		"only v1":                     {keys: whpk, signature: hmac, want: receiver.ErrSignature},
		"half a signature":            {keys: whpk, signature: "v1a," + own[4:48], want: receiver.ErrSignature},
		"a secret, only v1a":          {keys: secret.Reveal(), signature: own, want: receiver.ErrSignature},
		"the public key as a secret?": {keys: "whsec_" + whpk[5:], signature: own, want: receiver.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := receiver.ParseKeys(tc.keys)
			if err != nil {
				t.Fatal(err)
			}
			if tc.body == "" {
				tc.body = string(body)
			}
			h := http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {at}, "Webhook-Signature": {tc.signature}}
			if _, err := k.Verify(h, []byte(tc.body), now()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// The specification's own examples, one of each scheme.
func TestVerifyTheSpecificationsExamples(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ key, signature string }{
		"v1":  {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		"v1a": {"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="},
	} {
		k, err := receiver.ParseKeys(tc.key)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"}, "Webhook-Signature": {tc.signature}}
		if _, err := k.Verify(h, []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	of := func(prefix string, n int) string {
		return prefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("K", n)))
	}
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"the shortest secret":       {of("whsec_", 24), true},
		"the longest secret":        {of("whsec_", 64), true},
		"too short":                 {of("whsec_", 23), false},
		"too long":                  {of("whsec_", 65), false},
		"a public key":              {of("whpk_", 32), true},
		"a public key cut short":    {of("whpk_", 31), false},
		"a public key that is more": {of("whpk_", 33), false},
		"a private key":             {of("whsk_", 32), false},
		"several":                   {" " + of("whsec_", 32) + ",\r\n\t" + of("whsec_", 24) + " ", true},
		"one of two is wrong":       {of("whsec_", 32) + " whsec_", false},
		"no prefix":                 {of("", 32), false},
		"URL-safe base64":           {"whsec_" + strings.Repeat("-_", 16), false},
		"no padding":                {strings.TrimRight(of("whsec_", 25), "="), false},
		"nothing":                   {"", false},
		"only separators":           {" ,\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := receiver.ParseKeys(tc.text)
			if (err == nil) != tc.ok {
				t.Errorf("got %v, want accepted %v", err, tc.ok)
			}
			if shown := fmt.Sprint(err) + fmt.Sprintf("%v %+v %#v %x %+v", k, k, k, k, struct{ hidden receiver.Keys }{k}); strings.Contains(shown, "KKKK") ||
				strings.Contains(shown, "S0tL") || strings.Contains(shown, "75 75") || strings.Contains(shown, "4b4b") {
				t.Errorf("got %q, which shows the key", shown)
			}
		})
	}
	k, err := receiver.ParseKeys(of("whsec_", 32))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", slog.Any("keys", k), slog.String("text", k.String()))
	if strings.Count(out.String(), "[redacted]") != 2 {
		t.Errorf("got %s", out.String())
	}
}
