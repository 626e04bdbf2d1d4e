package receiver_test

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

// Whatever comes in, nothing panics, what is let through the reference library
// takes for genuine too, and the reverse, and what is decoded carries the id
// that was verified (SEC-23, SEC-27). Where the header says SIGNATURE, the
// genuine one stands.
func FuzzReceive(f *testing.F) {
	secret := egress.NewSecret()
	k := keys(f, secret)
	reference, err := standardwebhooks.NewWebhook(secret.Reveal())
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range contracts.Examples() {
		if strings.HasPrefix(e.Schema, "webhook-") {
			f.Add("id", "", "SIGNATURE", e.JSON)
		}
	}
	f.Add("a.b", "-1", "v1, v1a,AA== ,,", []byte("{"))
	for _, signature := range []string{"SIGNATURE,", "v1a,AA== SIGNATURE", "v1 SIGNATURE", "\tSIGNATURE", "SIGNATURE\nSIGNATURE", "v2,x SIGNATURESIGNATURE", "v1," + strings.Repeat("A", 43) + "="} {
		f.Add("id", "", signature, []byte("{}"))
		f.Add("id", "+1700000000", signature, []byte("{}"))
	}
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		genuine := egress.Sign(id, now(), body, secret)
		signature = strings.ReplaceAll(signature, "SIGNATURE", genuine.Get("Webhook-Signature"))
		timestamp = cmp.Or(timestamp, genuine.Get("Webhook-Timestamp"))
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
		_, err := k.Verify(h, body, now())
		h.Set("Webhook-Signature", strings.Join(strings.Fields(signature), " ")) // the reference splits at nothing but blanks
		agrees := reference.VerifyIgnoringTimestamp(body, h)
		if err == nil && agrees != nil {
			t.Errorf("%q was taken for %q at %q, and the reference says %v", signature, body, timestamp, agrees)
		}
		wellFormed := !strings.Contains(id, ".") && timestamp == genuine.Get("Webhook-Timestamp") && strings.Count(signature, ",") <= 1
		if agrees == nil && err != nil && wellFormed {
			t.Errorf("%q was refused for %q: %v", signature, body, err)
		}
		verified, err := k.Verify(genuine, body, now())
		if err != nil { // an id that can't be signed
			verified = "id"
		}
		hook, err := receiver.Decode(verified, body)
		switch hook := hook.(type) {
		case nil:
			if !errors.Is(err, receiver.ErrMalformed) {
				t.Errorf("got %v without a webhook", err)
			}
		case *receiver.Unknown:
			if hook.ID != verified || hook.Kind == "" {
				t.Errorf("got %+v", hook)
			}
		case *receiver.Command:
			if hook.ID != verified || hook.Kind != receiver.KindCommand {
				t.Errorf("got %+v", hook)
			}
		}
	})
}
