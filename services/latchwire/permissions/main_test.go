package permissions

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/platform"
	"github.com/latchwire/latchwire/pkg/service"
	"github.com/latchwire/latchwire/services/latchwire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deployed is where the files are that the tests prove.
const deployed = "../../../deploy/nats"

// within is how long the tests wait for what must come; only a failure takes it.
const within = 30 * time.Second

// users are those of accounts.conf.
var users = []string{"edge-api", "mcp", "dispatcher", "webhook-worker", "setup"}

// prepare makes keys as an operator does and puts the files beside them, edited
// as an operator edits them: pairs of old and new text. It returns the folder.
func prepare(tb testing.TB, edits ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	err := latchwire.Command(tb.Context(), service.Process{
		Name: "latchwire", Args: []string{"nkeys", dir}, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		tb.Fatalf("make keys: %v", err)
	}
	edit := strings.NewReplacer(append([]string{"/var/lib/nats", filepath.Join(dir, "store")}, edits...)...)
	for _, name := range []string{"nats.conf", "nats-tls.conf", "accounts.conf"} {
		data, err := os.ReadFile(filepath.Join(deployed, name))
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(edit.Replace(string(data))), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// options reads a configuration as nats-server does.
func options(tb testing.TB, dir, file string) *server.Options {
	tb.Helper()
	opts, err := server.ProcessConfigFile(filepath.Join(dir, file))
	if err != nil {
		tb.Fatalf("the server refuses %s: %v", file, err)
	}
	return opts
}

// An installation is a server that runs by the files.
type installation struct {
	tb  testing.TB
	dir string // of the seeds
	url string
}

// start runs a server by one of the files, on a free port on loopback, and
// nothing else changed.
func start(tb testing.TB, file string, edits ...string) *installation {
	tb.Helper()
	dir := prepare(tb, edits...)
	opts := options(tb, dir, file)
	opts.Host, opts.Port, opts.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
	opts.NoSigs, opts.NoLog = true, true
	ns, err := server.NewServer(opts)
	if err != nil {
		tb.Fatalf("configure the server: %v", err)
	}
	ns.Start()
	tb.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	if !ns.ReadyForConnections(within) {
		tb.Fatal("the server did not start")
	}
	return &installation{tb, dir, ns.ClientURL()}
}

// config is how a user connects.
func (i *installation) config(user string) broker.Config {
	return broker.Config{
		URL: i.url, Name: user, Credentials: filepath.Join(i.dir, user+".nk"), InboxPrefix: platform.InboxPrefix(user),
	}
}

// connect connects a user, and returns what the server refuses it.
func (i *installation) connect(user string) (*broker.Conn, *refusals) {
	i.tb.Helper()
	r := &refusals{}
	c, err := broker.Connect(i.config(user), slog.New(r))
	if err != nil {
		i.tb.Fatalf("connect as %s: %v", user, err)
	}
	i.tb.Cleanup(c.Close)
	return c, r
}

// setup makes the streams, as latchwire setup does.
func (i *installation) setup(cfg platform.Config) {
	i.tb.Helper()
	conn, refused := i.connect("setup")
	if err := platform.Setup(i.tb.Context(), conn, cfg.Ledger); err != nil {
		i.tb.Fatalf("set up: %v", err)
	}
	if got := refused.all(); len(got) > 0 {
		i.tb.Errorf("setup was refused %v", got)
	}
}

// refusals is a log that keeps what NATS refused: operation and subject.
type refusals struct {
	mu   sync.Mutex
	seen []string
}

// Enabled takes what tells of a refusal.
func (r *refusals) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

// Handle keeps a refusal.
func (r *refusals) Handle(_ context.Context, rec slog.Record) error {
	var operation, subject string
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "operation":
			operation = a.Value.String()
		case "subject":
			subject = a.Value.String()
		}
		return true
	})
	if operation != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, operation+" "+subject)
	}
	return nil
}

// WithAttrs adds nothing.
func (r *refusals) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup adds nothing.
func (r *refusals) WithGroup(string) slog.Handler { return r }

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}
