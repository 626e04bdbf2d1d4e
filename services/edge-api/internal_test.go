package edgeapi

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/edge-api/internal/door"
)

// Whatever goes wrong inside, the answer shows nothing of it (SEC-121).
func TestAPanicIsAServerErrorThatTellsNothing(t *testing.T) {
	t.Parallel()
	const canary = "cdt_CANARY"
	var none map[string]string
	for name, test := range map[string]struct {
		fails  func() error
		logged string
	}{
		"a panic of the runtime":      {func() error { none["a"] = ""; return nil }, "assignment to entry in nil map"},
		"a panic with any value":      {func() error { panic(canary) }, "string"},
		"an error nobody classified":  {func() error { return errors.New("disk on fire") }, "disk on fire"},
		"a panic with an error in it": {func() error { panic(errors.New(canary)) }, "errors.errorString"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var logs bytes.Buffer
			p := &platform.Platform{Log: slog.New(slog.NewJSONHandler(&logs, nil))}
			h := router(p, []door.Route{{Method: http.MethodGet, Pattern: "/a", Serve: door.Handler(func(http.ResponseWriter, *http.Request) error {
				return test.fails()
			})}})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a", nil))
			if got, want := w.Body.String(), `{"statusCode":500,"error":"Internal Server Error","code":"server-error","message":"server-error"}`; w.Code != 500 || got != want {
				t.Errorf("got %d %s, want 500 %s", w.Code, got, want)
			}
			if strings.Contains(logs.String(), canary) || !strings.Contains(logs.String(), test.logged) {
				t.Errorf("got the log %s, want it to say %q and not what is secret", logs.String(), test.logged)
			}
		})
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"the zero value works":  {Config{}, ""},
		"a token that is used":  {Config{AdminToken: "operator"}, ""},
		"a token too long":      {Config{AdminToken: service.Secret(strings.Repeat("x", 257))}, "longer than 256 bytes"},
		"a token with a blank":  {Config{AdminToken: "a b"}, "without spaces"},
		"a wait before the end": {Config{Wait: -1}, "must not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.cfg.Validate()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
