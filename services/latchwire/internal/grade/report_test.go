package grade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/egress"
)

// Without a command's name, no answer to one can be expected; a proper one is
// taken as it is.
func TestWithoutACommand(t *testing.T) {
	t.Parallel()
	for want, f := range map[Verdict]fault{
		Pass: nil,
		Warn: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			return isEvent(r, "extension.command_invoked") && reply(w, http.StatusNotImplemented)
		},
	} {
		b := setup(t, f)
		cfg := b.config()
		cfg.Command = ""
		report, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Cases[1]; got.Verdict != want || len(names(report, Fail)) > 0 {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	server := httptest.NewServer(nil)
	server.Close()
	cfg := b.config()
	cfg.URL = strings.Replace(server.URL, "http://", "http://user:canary@", 1)
	report, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(Pass) != 0 || !slices.Contains(names(report, Fail), "in-time") {
		t.Errorf("got %+v", report)
	}
	if strings.Contains(fmt.Sprintf("%+v", report), "canary") {
		t.Errorf("got the password in %+v", report)
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	b := setup(t, func(b *bench, _ http.ResponseWriter, r *http.Request) bool {
		cancel(stopped)
		b.hang(r)
		return false
	})
	if _, err := Run(ctx, b.config()); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

func TestConfigsAreChecked(t *testing.T) {
	t.Parallel()
	good := Config{URL: "http://127.0.0.1:1/", Secret: egress.NewSecret()}
	for name, tc := range map[string]struct {
		edit func(*Config)
		ok   bool
	}{
		"as little as can be":  {func(*Config) {}, true},
		"everything":           {func(c *Config) { c.Command, c.Input, c.Session = "a.b", `{"x":1}`, "ses_1" }, true},
		"no URL":               {func(c *Config) { c.URL = "" }, false},
		"another scheme":       {func(c *Config) { c.URL = "ftp://x/" }, false},
		"a path alone":         {func(c *Config) { c.URL = "/hook" }, false},
		"no secret":            {func(c *Config) { c.Secret = egress.Secret{} }, false},
		"a command without .":  {func(c *Config) { c.Command = "do-it" }, false},
		"an input that's none": {func(c *Config) { c.Input = "[]" }, false},
		"a bad session":        {func(c *Config) { c.Session = "a b" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			tc.edit(&cfg)
			if err := cfg.Validate(); (err == nil) != tc.ok {
				t.Errorf("got %v, want accepted %v", err, tc.ok)
			}
			if _, err := Run(canceled(t), cfg); err == nil {
				t.Error("got a report")
			}
		})
	}
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestReportsPrint(t *testing.T) {
	t.Parallel()
	r := Report{URL: "http://x/", Cases: []Result{
		{Name: "valid-event", Verdict: Pass, Sent: "an event", Got: "204", Took: 12345 * time.Microsecond},
		{Name: "tampered-body", Verdict: Fail, Sent: "another <event>", Got: "200", Took: time.Second, Why: "it must be refused"},
		{Name: "huge-body", Verdict: Warn, Sent: "a lot", Got: "EOF", Why: "why"},
	}}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	want := `http://x/

PASS  valid-event    an event         204  12ms  
FAIL  tampered-body  another <event>  200  1s    it must be refused
WARN  huge-body      a lot            EOF  0s    why

1 of 3, warnings: 1
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	text.Reset()
	if err := r.PrintJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back struct {
		URL                           string
		Cases                         []struct{ Name, Verdict, Sent, Got, Why string }
		Passed, Warned, Failed, Total int
	}
	if err := json.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.URL != r.URL || back.Passed != 1 || back.Warned != 1 || back.Failed != 1 || back.Total != 3 ||
		back.Cases[1].Sent != "another <event>" || back.Cases[1].Verdict != "FAIL" || !strings.Contains(text.String(), `"tookMs": 1000`) {
		t.Errorf("got %s", text.String())
	}
	for _, w := range []int{0, 1, 2, 3, 4} {
		if err := r.Print(&broken{w}); err == nil && w < 3 {
			t.Errorf("got no error although write %d failed", w)
		}
	}
}

// broken fails once it has been written to so often.
type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}
