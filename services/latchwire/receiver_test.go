package latchwire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/latchwire/latchwire/pkg/egress"
	"github.com/latchwire/latchwire/pkg/receiver"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/latchwire"
)

func TestReceiverTest(t *testing.T) {
	t.Parallel()
	secret := egress.NewSecret().Reveal()
	keys, err := receiver.ParseKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	good := httptest.NewServer(&receiver.Handler{Keys: keys, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(good.Close)
	bad := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(bad.Close)
	for name, tc := range map[string]struct {
		args     []string
		variable string
		out, err string
		settings bool // the error is about the settings
	}{
		"a good receiver":              {args: []string{good.URL, "--secret", secret}, out: "12 of 13, warnings: 1\n"},
		"its secret by the variable":   {args: []string{good.URL}, variable: secret, out: "12 of 13, warnings: 1\n"},
		"more secrets, as it rotates":  {args: []string{good.URL, "--secret", secret + "  " + egress.NewSecret().Reveal()}, out: "12 of 13, warnings: 1\n"},
		"a second secret that is none": {args: []string{good.URL, "--secret", secret + " whpk_"}, err: "--secret", settings: true},
		"nothing but a space":          {args: []string{good.URL, "--secret", " "}, err: "--secret", settings: true},
		"a command that it has not":    {args: []string{"--command", "a.b", good.URL, "--secret", secret}, out: "12 of 13\n", err: "the receiver failed 1 of 13 cases"},
		"one that lets everything in":  {args: []string{bad.URL, "--secret", secret, "--json"}, out: `"failed": 3`, err: "the receiver failed 3 of 13 cases"},
		"no URL":                       {args: []string{"--secret", secret}, err: "give one URL", settings: true},
		"two URLs":                     {args: []string{good.URL, bad.URL, "--secret", secret}, err: "give one URL", settings: true},
		"a URL that is none":           {args: []string{"example.com", "--secret", secret}, err: "http or https", settings: true},
		"no secret":                    {args: []string{good.URL}, err: "--secret", settings: true},
		"another secret":               {args: []string{good.URL, "--secret", "whpk_"}, err: "--secret", settings: true},
		"a command without a slug":     {args: []string{good.URL, "--secret", secret, "--command", "b"}, err: "the command must be", settings: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			err := latchwire.Command(t.Context(), service.Process{
				Name: "latchwire", Args: append([]string{"receiver-test"}, tc.args...), Stdout: &stdout, Stderr: &stderr,
				LookupEnv: func(name string) (string, bool) { return tc.variable, name == "LATCHWIRE_SECRET" },
			})
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, want %q", err, tc.err)
			}
			if _, ok := errors.AsType[*service.SettingsError](err); ok != tc.settings {
				t.Errorf("got %T", err)
			}
			if !strings.Contains(stdout.String(), tc.out) || strings.Contains(stdout.String(), secret) {
				t.Errorf("got %s, want %q", stdout.String(), tc.out)
			}
			if strings.HasPrefix(stdout.String(), "{") && !json.Valid(stdout.Bytes()) {
				t.Errorf("got %s", stdout.String())
			}
		})
	}
}
