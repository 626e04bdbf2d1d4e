package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

func TestEachAttemptIsASpanWithItsAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		call   telemetry.Call
		status int
		err    error
		want   map[string]string
		failed string
	}{
		"answered": {
			telemetry.Call{Purpose: telemetry.PurposeEvent, ExtensionID: "e", Attempt: 1},
			204, nil,
			map[string]string{"http.response.status_code": "204", "webhook.purpose": "event", "extension.id": "e", "webhook.attempt": "1", "http.request.resend_count": "", "server.port": "8443"},
			"",
		},
		"repeated": {telemetry.Call{Attempt: 3}, 200, nil, map[string]string{"webhook.attempt": "3", "http.request.resend_count": "2", "webhook.purpose": ""}, ""},
		"refused":  {telemetry.Call{}, 404, nil, map[string]string{"http.response.status_code": "404", "error.type": "http_4xx", "webhook.attempt": ""}, "http_4xx"},
		"too many": {telemetry.Call{}, 429, nil, map[string]string{"error.type": "http_429"}, "http_429"},
		"broken":   {telemetry.Call{}, 503, nil, map[string]string{"error.type": "http_5xx"}, "http_5xx"},
		"no answer": {
			telemetry.Call{}, 0, context.DeadlineExceeded, map[string]string{"http.response.status_code": "", "error.type": "timeout"}, "timeout",
		},
		"an answer that is no use, which weighs more": {telemetry.Call{}, 500, errors.New("CANARY"), map[string]string{"error.type": "_OTHER"}, "_OTHER"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, spans := telemetrytest.New(t)
			to, err := url.Parse("https://user:CANARY@partner.example:8443/a%2Fb?key=CANARY#CANARY")
			if err != nil {
				t.Fatal(err)
			}
			_, span := tel.Client(t.Context(), http.MethodPost, to, tc.call)
			span.EndHTTP(tc.status, tc.err)
			s := spans.Ended()[0]
			if s.Name != "POST" || s.Kind != "client" || s.Error != tc.failed {
				t.Errorf("got %+v", s)
			}
			if got := s.Attrs["url.full"]; got != "https://partner.example:8443/a%2Fb" {
				t.Errorf("got address %s", got)
			}
			for k, want := range tc.want {
				if got := s.Attrs[k]; got != want {
					t.Errorf("got %s = %q, want %q", k, got, want)
				}
			}
		})
	}
}
