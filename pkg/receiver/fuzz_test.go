package receiver_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

// Whatever comes in, nothing panics, what was not signed is not let through,
// and what is decoded carries the id that was verified.
func FuzzReceive(f *testing.F) {
	secret := egress.NewSecret()
	k := keys(f, secret)
	for _, e := range contracts.Examples() {
		if strings.HasPrefix(e.Schema, "webhook-") {
			h := egress.Sign("id", now(), e.JSON, secret)
			f.Add("id", h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature"), e.JSON)
		}
	}
	f.Add("a.b", "-1", "v1, v1a,AA== ,,", []byte("{"))
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
		_, err := k.Verify(h, body, now())
		genuine := egress.Sign(id, now(), body, secret)
		if err == nil && !strings.Contains(signature, genuine.Get("Webhook-Signature")) && timestamp == genuine.Get("Webhook-Timestamp") {
			t.Errorf("%q was taken for %q", signature, body)
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
