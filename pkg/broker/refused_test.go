package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

// confined starts a server with one user, who may publish and hear little, and
// returns a connection of it, which logs to out.
func confined(t *testing.T, out *telemetrytest.Printed) *broker.Conn {
	t.Helper()
	file, public := brokertest.Nkey(t)
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		Nkeys: []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"mine.>", "$JS.API.STREAM.INFO.*"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_me.>"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	c, err := broker.Connect(broker.Config{URL: ns.ClientURL(), Credentials: file, InboxPrefix: "_INBOX_me", Timeout: time.Minute},
		slog.New(slog.NewTextHandler(out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// line returns the first line with a text in it.
func line(out *telemetrytest.Printed, text string) string {
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// A refused publish shows nowhere but in an error line that names its subject
// (SEC-110); so does a refused subscription.
func TestARefusalIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	var out telemetrytest.Printed
	c := confined(t, &out)
	if err := c.NC.Publish("mine.a", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.NC.Publish("yours.a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NC.Subscribe("yours.>", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	for subject, operation := range map[string]string{"yours.a": "publish", "yours.>": "subscription"} {
		brokertest.Eventually(t, within, subject+" is refused", func() bool { return line(&out, "subject="+subject) != "" })
		if got := line(&out, "subject="+subject); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "operation="+operation) {
			t.Errorf("got %q, want an error that names the %s", got, operation)
		}
	}
	if n := c.Refusals(); n != 2 || line(&out, "mine.a") != "" {
		t.Errorf("got %d refusals and %q, want two, and none of what is allowed", n, line(&out, "mine.a"))
	}
}

// A request that is refused has no answer. A start that rests on it does not
// wait for one.
func TestAStartEndsWithTheFirstRefusal(t *testing.T) {
	t.Parallel()
	c := confined(t, &telemetrytest.Printed{})
	until, stop := c.UntilRefused(t.Context())
	begun := time.Now()
	_, err := c.JS.AccountInfo(until) // its own patience is a minute
	if err = broker.Refusal(until, err); !errors.Is(err, broker.ErrRefused) || !strings.Contains(err.Error(), "publish to $JS.API.INFO") {
		t.Errorf("got %v, want that the publish was refused", err)
	}
	if took := time.Since(begun); took > within {
		t.Errorf("it took %s", took)
	}
	stop()
	until, stop = c.UntilRefused(t.Context())
	_, err = c.JS.Stream(until, "NOWHERE")
	stop()
	if got := broker.Refusal(until, err); !errors.Is(got, err) || errors.Is(got, broker.ErrRefused) {
		t.Errorf("got %v of what was answered, want %v", got, err)
	}
	if err := broker.Refusal(until, nil); err != nil {
		t.Errorf("got %v of what went well", err)
	}
	if until.Err() == nil || !errors.Is(context.Cause(until), context.Canceled) {
		t.Errorf("got %v, want a context that was stopped", context.Cause(until))
	}
}

// Only a connection that leaves this machine has to be encrypted and to say who
// it is (SEC-116).
func TestExposed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  broker.Config
		want string
	}{
		"the default":                  {broker.Config{}, ""},
		"loopback":                     {broker.Config{URL: "nats://127.0.0.1:4222,nats://[::1]:4222,nats://localhost:4222"}, ""},
		"another machine":              {broker.Config{URL: "nats://10.0.0.1:4222"}, "anonymous, not encrypted"},
		"a name":                       {broker.Config{URL: "nats://nats:4222"}, "anonymous, not encrypted"},
		"a name that begins like ours": {broker.Config{URL: "nats://localhost.example:4222"}, "anonymous, not encrypted"},
		"one of several":               {broker.Config{URL: "nats://127.0.0.1:4222, nats://nats:4222", Credentials: "x"}, "not encrypted"},
		"what is no URL":               {broker.Config{URL: "nats://%zz", Credentials: "x"}, "not encrypted"},
		"without a scheme":             {broker.Config{URL: "nats:4222", Credentials: "x"}, "not encrypted"},
		"an nkey in the clear":         {broker.Config{URL: "nats://nats:4222", Credentials: "x"}, "not encrypted"},
		"TLS for anybody":              {broker.Config{URL: "tls://nats:4222"}, "anonymous"},
		"an authority, but no nkey":    {broker.Config{URL: "nats://nats:4222", CA: "ca"}, "anonymous"},
		"TLS and an nkey":              {broker.Config{URL: "tls://nats:4222", Credentials: "x"}, ""},
		"an authority and an nkey":     {broker.Config{URL: "nats://nats:4222", CA: "ca", Credentials: "x"}, ""},
		"a password over TLS":          {broker.Config{URL: "tls://a:b@nats:4222"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(tc.cfg.Exposed(), ", "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
