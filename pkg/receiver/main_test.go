package receiver_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is when every test takes place.
func now() time.Time { return time.Date(2026, 11, 4, 12, 0, 1, 0, time.UTC) }

func keys(tb testing.TB, secrets ...egress.Secret) receiver.Keys {
	tb.Helper()
	var text string
	for _, s := range secrets {
		text += s.Reveal() + " "
	}
	k, err := receiver.ParseKeys(text)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// example returns a valid example of the contract, such as
// "webhook-invocation.query.valid.json".
func example(tb testing.TB, file string) []byte {
	tb.Helper()
	for _, e := range contracts.Examples() {
		if e.File == file {
			return e.JSON
		}
	}
	tb.Fatalf("there is no example %s", file)
	return nil
}

// A sender has a handler's secret and keeps what the handler logs.
type sender struct {
	secret  egress.Secret
	handler *receiver.Handler
	log     bytes.Buffer
}

// setup gives the handler a key, the test's clock and a log.
func setup(t *testing.T, h receiver.Handler) *sender {
	t.Helper()
	s := &sender{secret: egress.NewSecret(), handler: &h}
	h.Keys, h.Now, h.Log = keys(t, s.secret), now, slog.New(slog.NewTextHandler(&s.log, nil))
	return s
}

// post sends a signed webhook.
func (s *sender) post(t *testing.T, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	return s.send(t, http.MethodPost, body, egress.Sign("6731b2d0e5f0a1b2c3d4e5f7", now(), body, s.secret))
}

func (s *sender) send(t *testing.T, method string, body []byte, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/hook", bytes.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Body.Len() > 0 && (w.Header().Get("Content-Type") != "application/json" || !json.Valid(w.Body.Bytes())) {
		t.Errorf("got %q as %q, want JSON", w.Body, w.Header().Get("Content-Type"))
	}
	return w
}
