package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Config says how to reach NATS.
type Config struct {
	// URL of one or more servers, separated by commas. Ignored with Server.
	URL string
	// Server is an embedded server to connect to without a socket.
	Server *Server
	// Name tells the connection apart in the server's monitoring.
	Name string
	// Credentials is the path of an nkey seed file; empty connects without one.
	Credentials string
	// CA is the path of a file with the authorities that the servers'
	// certificates are checked against; empty means the system's. With it TLS is
	// wanted, as with tls:// in the URL: a server without it is refused.
	CA string
	// Cert and Key are the paths of this client's own certificate and its key,
	// for servers that ask for one; empty means none.
	Cert, Key string
	// InboxPrefix of this service's replies, so that permissions can tell the
	// inboxes of services apart. Empty means NATS' own.
	InboxPrefix string
	// Timeout of one request to JetStream; zero means 5 s.
	Timeout time.Duration
}

// A Conn is a connection to NATS with JetStream on it.
type Conn struct {
	NC *nats.Conn
	JS jetstream.JetStream

	log       *slog.Logger
	timeout   time.Duration
	closed    chan struct{}
	refusals  atomic.Uint64
	onRefusal atomic.Pointer[context.CancelCauseFunc]
}

// syncQueue is how many messages a batch read may be ahead of its reader. The
// library's own figure costs half a megabyte for each read.
const syncQueue = 2048

// Connect connects and waits for the first server to answer. From then on it
// reconnects for ever; while it is away, publishing fails at once rather than
// being kept for later, so that a refused call is surely not recorded.
func Connect(cfg Config, logger *slog.Logger) (*Conn, error) {
	c := &Conn{log: logger, timeout: cmp.Or(cfg.Timeout, 5*time.Second), closed: make(chan struct{})}
	opts := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.SyncQueueLen(syncQueue),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.heard(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err == nil { // closed on purpose
				return
			}
			logger.Warn("nats is out of reach", slog.Any("error", err))
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.Info("nats is back", slog.Uint64("reconnects", nc.Stats().Reconnects))
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	if cfg.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(cfg.InboxPrefix))
	}
	security, err := cfg.security()
	if err != nil {
		return nil, err
	}
	opts = append(opts, security...)
	if cfg.Server != nil {
		opts = append(opts, nats.InProcessServer(cfg.Server.ns))
	}
	nc, err := nats.Connect(cmp.Or(cfg.URL, nats.DefaultURL), opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	js, err := jetstream.New(nc,
		jetstream.WithDefaultTimeout(c.timeout),
		jetstream.WithPublishAsyncMaxPending(16<<10),
		jetstream.WithPublishAsyncTimeout(c.timeout))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	c.NC, c.JS = nc, js
	return c, nil
}

// ErrClosed is returned by Run when NATS closed the connection for good, which
// no reconnect mends: the process has to end (SEC-108).
var ErrClosed = errors.New("the NATS connection was closed for good")

// Run waits until ctx is done and closes the connection, or returns ErrClosed
// when it was closed before.
func (c *Conn) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		c.Close()
		return nil
	case <-c.closed:
		return ErrClosed
	}
}

// Close closes the connection and waits until it is.
func (c *Conn) Close() {
	c.NC.Close()
	<-c.closed
}

// Check reports whether the connection is up, as a readiness check.
func (c *Conn) Check(context.Context) error {
	if s := c.NC.Status(); s != nats.CONNECTED {
		return fmt.Errorf("nats is %s", s)
	}
	return nil
}
