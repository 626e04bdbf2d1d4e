package webhookworker_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/ledger"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	webhookworker "github.com/latchwire/latchwire/services/webhook-worker"
)

func none(string) (string, bool) { return "", false }

func TestSettings(t *testing.T) {
	t.Parallel()
	minutes := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}
	for name, tc := range map[string]struct {
		args    []string
		want    webhookworker.Config
		problem string
	}{
		"the defaults are the contract's": {nil, webhookworker.Config{Retries: minutes, Slots: 8, Line: 64}, ""},
		"all can be set": {
			[]string{"--delivery-retries=10ms,1s", "--delivery-slots=1", "--delivery-line=2"},
			webhookworker.Config{Retries: []time.Duration{10 * time.Millisecond, time.Second}, Slots: 1, Line: 2},
			"",
		},
		"a retry that is no duration": {[]string{"--delivery-retries=1m,soon"}, webhookworker.Config{}, "--delivery-retries"},
		"a retry at once":             {[]string{"--delivery-retries=0s"}, webhookworker.Config{}, "later than at once"},
		"too many retries":            {[]string{"--delivery-retries=" + strings.Repeat("1s,", 9)}, webhookworker.Config{}, "at most 8"},
		"no slots":                    {[]string{"--delivery-slots=-1"}, webhookworker.Config{}, "delivery slots"},
		"a negative line":             {[]string{"--delivery-line=-1"}, webhookworker.Config{}, "delivery line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got webhookworker.Config
			s := service.NewSettings("webhook-worker", "")
			got.Register(s)
			err := s.Parse(tc.args, none)
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("got %v, want a problem with %q", err, tc.problem)
				}
				return
			}
			if err != nil || !slices.Equal(got.Retries, tc.want.Retries) || got.Slots != tc.want.Slots || got.Line != tc.want.Line {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestTheZeroConfigIsTheContracts(t *testing.T) {
	t.Parallel()
	c := webhookworker.Config{}.WithDefaults()
	if len(c.Retries) != 4 || c.Retries[3] != 8*time.Minute || c.Slots != 8 || c.Line != 64 || c.Validate() != nil {
		t.Errorf("got %+v, %v", c, c.Validate())
	}
	if _, err := webhookworker.New(&platform.Platform{}, webhookworker.Config{Line: -1}); err == nil {
		t.Error("got a worker with a negative line")
	}
}

func TestTheProgramHelps(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := webhookworker.Program().Run(t.Context(), service.Process{Args: []string{"--help"}, LookupEnv: none, Stdout: &out, Stderr: &out})
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "--delivery-retries") || !strings.Contains(out.String(), "127.0.0.1:8083") {
		t.Errorf("got %v, %s", err, out.String())
	}
}

func TestTheProgramServesOperationsAndStops(t *testing.T) {
	t.Parallel()
	node := brokertest.StartNode(t)
	if err := platform.Setup(t.Context(), brokertest.ConnectURL(t, node.URL), ledger.Config{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	ended := make(chan error, 1)
	addr := freeAddr(t)
	go func() {
		ended <- webhookworker.Program().Run(ctx, service.Process{
			Args: []string{"--nats-url=" + node.URL, "--http-addr=" + addr}, LookupEnv: none, Stdout: io.Discard, Stderr: io.Discard,
		})
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		brokertest.Eventually(t, patience, path+" answers", func() bool {
			select {
			case err := <-ended:
				t.Fatalf("got the program ended: %v", err)
			default:
			}
			resp, err := client.Get("http://" + addr + path)
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want a clean end", err)
	}
}

// freeAddr returns an address on loopback that nobody listened on a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it is free again either way
	return l.Addr().String()
}
