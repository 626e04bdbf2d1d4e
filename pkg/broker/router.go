package broker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
)

// A Router runs handlers on subscribers: recovery, telemetry and the fate of
// each message are middleware, shutdown waits for what runs.
type Router struct {
	router *message.Router
	subs   []*Subscriber
}

// NewRouter returns a router whose handlers have grace to finish once it is
// told to stop; zero means 15 s.
func NewRouter(log *slog.Logger, grace time.Duration) (*Router, error) {
	r, err := message.NewRouter(message.RouterConfig{CloseTimeout: cmp.Or(grace, 15*time.Second)}, watermillLog{log})
	if err != nil {
		return nil, fmt.Errorf("make the router: %w", err)
	}
	r.AddMiddleware(settle)
	return &Router{router: r}, nil
}

// Handle adds a handler for what the subscriber delivers. The name appears in
// logs. Each middleware sees the handler's error, a panic's included; the first
// one given is the outermost.
func (r *Router) Handle(name string, sub *Subscriber, h message.NoPublishHandlerFunc, middleware ...message.HandlerMiddleware) {
	r.subs = append(r.subs, sub)
	added := r.router.AddConsumerHandler(name, name, sub, h)
	added.AddMiddleware(middleware...)
	added.AddMiddleware(recoverPanic)
}

// Running is closed once every handler receives.
func (r *Router) Running() <-chan struct{} { return r.router.Running() }

// Run receives until ctx is done, then stops taking messages and waits for the
// handlers that run. Those that have not finished within the grace see their
// context cancelled, and Run returns an error.
func (r *Router) Run(ctx context.Context) error {
	for _, s := range r.subs { // Watermill leaves goroutines behind when a handler cannot start
		if _, err := s.consumer(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("run the router: %w", err)
		}
	}
	closed := make(chan error, 1)
	failed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-r.router.Running(): // closing earlier would wait for handlers that never start
		case <-failed:
		}
		err := r.router.Close()
		if err != nil {
			for _, s := range r.subs {
				s.abort()
			}
		}
		closed <- err
	})
	if err := r.router.Run(context.WithoutCancel(ctx)); err != nil {
		close(failed)
		stop()
		for _, s := range r.subs { // those that did start
			_ = s.Close() // it never fails
		}
		return fmt.Errorf("run the router: %w", err)
	}
	if stop() {
		return nil
	}
	if err := <-closed; err != nil {
		return fmt.Errorf("stop the router: %w", err)
	}
	return nil
}

// settle is the outermost middleware: it turns the handler's error into the
// message's fate and tells Watermill that all is well.
func settle(h message.HandlerFunc) message.HandlerFunc {
	h = recoverPanic(h) // a middleware may panic too
	return func(m *message.Message) ([]*message.Message, error) {
		f, ours := m.Context().Value(inFlightKey{}).(*inFlight)
		_, err := h(m)
		if !ours {
			return nil, err
		}
		f.owner.finish(context.WithoutCancel(m.Context()), f, err)
		return nil, nil
	}
}

// recoverPanic is the innermost middleware: a panic is an error like any other,
// so that the worker lives and the message is buried if it goes on (SEC-113).
func recoverPanic(h message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) (out []*message.Message, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = panicError{v}
			}
		}()
		return h(m)
	}
}

// watermillLog passes Watermill's own messages on, its chatter at debug level.
type watermillLog struct{ log *slog.Logger }

func (w watermillLog) Error(msg string, err error, f watermill.LogFields) {
	w.with(f).Error("watermill", slog.String("message", msg), slog.Any("error", err))
}
func (w watermillLog) Info(msg string, f watermill.LogFields) { w.Debug(msg, f) }
func (w watermillLog) Debug(msg string, f watermill.LogFields) {
	w.with(f).Debug("watermill", slog.String("message", msg))
}
func (w watermillLog) Trace(string, watermill.LogFields) {}

// With returns a logger that adds the fields to each message.
func (w watermillLog) With(f watermill.LogFields) watermill.LoggerAdapter {
	return watermillLog{w.with(f)}
}

func (w watermillLog) with(f watermill.LogFields) *slog.Logger {
	args := make([]any, 0, len(f))
	for k, v := range f {
		args = append(args, slog.Any(k, v))
	}
	return w.log.With(args...)
}
