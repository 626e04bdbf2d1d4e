package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

// HTTPConfig configures an HTTP server. The zero value of every field but Addr
// stands for the default named beside it.
type HTTPConfig struct {
	// Name is the part's name: "http".
	Name string
	// Addr is where to listen, host:port; port 0 takes a free one.
	Addr string
	// Flag is the setting named when Addr can't be had: "--http-addr".
	Flag string
	// Listener, when set, is used instead of Addr: a test's pipes.
	Listener net.Listener
	// OnListen is told the bound address before the part counts as started.
	OnListen func(net.Addr)

	// ReadHeaderTimeout and ReadTimeout bound a request's headers and the whole
	// of it: 5 s and 15 s (SEC-40).
	ReadHeaderTimeout, ReadTimeout time.Duration
	// WriteTimeout bounds an answer, counted from the end of the headers: 30 s,
	// enough for the body's 15 s and the 12 s that a caller waits for a result.
	WriteTimeout time.Duration
	// IdleTimeout bounds the wait for a connection's next request: 60 s.
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds a request's headers: 16 KiB.
	MaxHeaderBytes int
	// DrainTimeout is what requests in flight get to finish when the part is
	// stopped: 15 s. Then their contexts are cancelled and connections closed.
	DrainTimeout time.Duration

	// Log takes the server's own complaints. Nil discards them.
	Log *slog.Logger
}

// Register adds --http-addr and --http-drain-timeout.
func (c *HTTPConfig) Register(s *Settings, addr string) {
	s.String(&c.Addr, "http-addr", addr, "Where to listen, host:port; port 0 takes a free one.")
	s.Duration(&c.DrainTimeout, "http-drain-timeout", 15*time.Second, "How long requests in flight may take to finish at the end.")
}

// WithDefaults returns c with the default in every empty field.
func (c HTTPConfig) WithDefaults() HTTPConfig {
	c.Name = cmp.Or(c.Name, "http")
	c.Flag = cmp.Or(c.Flag, "--http-addr")
	c.ReadHeaderTimeout = cmp.Or(c.ReadHeaderTimeout, 5*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 15*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 60*time.Second)
	c.MaxHeaderBytes = cmp.Or(c.MaxHeaderBytes, 16<<10)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 15*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// HTTPServer returns the part that serves handler. It listens before the next
// part starts, and when stopped takes no more connections and lets the
// requests in flight finish.
func HTTPServer(cfg HTTPConfig, handler http.Handler) Part {
	cfg = cfg.WithDefaults()
	var ln net.Listener // handed from Start to Run, which follows it
	return Part{
		Name: cfg.Name,
		Start: func(ctx context.Context) (err error) {
			ln, err = listen(ctx, cfg)
			if err == nil && cfg.OnListen != nil {
				cfg.OnListen(ln.Addr())
			}
			return err
		},
		Run: func(ctx context.Context) error { return serve(ctx, cfg, ln, handler) },
	}
}

func listen(ctx context.Context, cfg HTTPConfig) (net.Listener, error) {
	if cfg.Listener != nil {
		return cfg.Listener, nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address %s is already in use: choose another with %s", cfg.Addr, cfg.Flag)
	default:
		return nil, fmt.Errorf("can't listen on the address of %s: %w", cfg.Flag, err)
	}
}

type drainingKey struct{}

// Draining returns a channel that is closed when the server that serves a
// request begins to stop: an answer without an end has to end then. It is nil
// in a request of another server.
func Draining(ctx context.Context) <-chan struct{} {
	done, _ := ctx.Value(drainingKey{}).(<-chan struct{})
	return done
}

func serve(ctx context.Context, cfg HTTPConfig, ln net.Listener, handler http.Handler) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut() // also the requests that a drain could not wait for
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: cfg.ReadHeaderTimeout,
		ReadTimeout:       cfg.ReadTimeout,
		WriteTimeout:      cfg.WriteTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    cfg.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(work, drainingKey{}, ctx.Done()) },
	}
	var ended error
	served := make(chan struct{})
	go func() {
		defer close(served)
		ended = srv.Serve(ln)
	}()
	select {
	case <-served:
		return fmt.Errorf("serving ended: %w", errors.Join(ended, srv.Close()))
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(work, cfg.DrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were cut off after %s: %w", cfg.DrainTimeout, err), srv.Close())
	}
	<-served
	return err
}
