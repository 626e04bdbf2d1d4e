package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// MaxBody is the size of the largest webhook that is read, in bytes.
const MaxBody = 1 << 20

// A Handler receives webhooks by HTTP. Fill its fields before the first request
// and leave them alone after it. A function's context ends when the sender no
// longer waits, which is after 10 seconds, or when the server stops.
//
// It answers 401 to what is not signed or not fresh, 400 to what is malformed,
// 413 to what is too large, 405 to other methods than POST, 500 when a function
// returns an error or panics, and 501 to a command, query or options request
// without a function for it.
type Handler struct {
	// Keys check the signatures. Without any, nothing is let through.
	Keys Keys

	// Commands runs a command, and Queries answers a query. A [*Rejection]
	// refuses the call; after any other error it counts as failed.
	Commands func(context.Context, *Command) (Answer, error)
	Queries  func(context.Context, *Query) (Answer, error)
	// Options lists the choices of an input field.
	Options func(context.Context, *OptionsRequest) (Choices, error)

	// Events hears of a lock event, and ActionLogs of a line of the history. Nil
	// acknowledges it; after an error it is sent again. Without a function,
	// everything is acknowledged.
	Events     func(context.Context, *LockEvent) error
	ActionLogs func(context.Context, *ActionLog) error
	// Others hears of kinds that this package does not know, in the same way.
	Others func(context.Context, *Unknown) error

	// Now tells the time; nil means [time.Now].
	Now func() time.Time
	// Log is told why a webhook was refused or failed; nil means
	// [slog.Default].
	Log *slog.Logger
}

// errNoFunction says that the extension has no function for what is asked.
var errNoFunction = errors.New("this extension does not answer such webhooks")

// ServeHTTP checks, reads and answers one webhook.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hook, refusal, err := h.receive(w, r)
	if err != nil {
		h.warn(r.Context(), "webhook refused", slog.Int("status", refusal.status), slog.Any("error", err))
		refusal.write(w)
		return
	}
	h.answer(r.Context(), hook).write(w)
}

// receive lets a genuine webhook through; with an error it returns the reply to
// anything else.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request) (Webhook, reply, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		err := errors.New("a webhook is a POST")
		return nil, refuse(http.StatusMethodNotAllowed, err), err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		return nil, refuse(status, errors.New("the body is too large or was cut off")), err
	}
	now := time.Now
	if h.Now != nil {
		now = h.Now
	}
	id, err := h.Keys.Verify(r.Header, body, now())
	if err != nil {
		return nil, refuse(http.StatusUnauthorized, err), err
	}
	hook, err := Decode(id, body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, ErrMalformed), err
	}
	return hook, reply{}, nil
}

// answer calls the function for a webhook and makes the reply of what it
// returns. The sender learns nothing of an error but that there was one.
func (h *Handler) answer(ctx context.Context, hook Webhook) (out reply) {
	e := hook.envelope()
	failed := func(err error, more ...any) reply {
		h.warn(ctx, "webhook failed", append(more, slog.String("webhook_id", e.ID), slog.String("kind", e.Kind), slog.Any("error", err))...)
		if errors.Is(err, errNoFunction) {
			return refuse(http.StatusNotImplemented, errNoFunction)
		}
		return refuse(http.StatusInternalServerError, errors.New("the extension failed"))
	}
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p) //nolint:forbidigo // it is the server's own way to end a request
		default:
			out = failed(fmt.Errorf("panic: %v", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	body, err := h.call(ctx, hook)
	if err != nil {
		return failed(err)
	}
	if body == nil {
		return reply{status: http.StatusNoContent}
	}
	return reply{http.StatusOK, body}
}

// call returns the body of the answer, or nil where 2xx says it all.
func (h *Handler) call(ctx context.Context, hook Webhook) ([]byte, error) {
	switch hook := hook.(type) {
	case *Command:
		return settle(ctx, h.Commands, hook)
	case *Query:
		return settle(ctx, h.Queries, hook)
	case *OptionsRequest:
		if h.Options == nil {
			return nil, errNoFunction
		}
		choices, err := h.Options(ctx, hook)
		if err != nil {
			return nil, err
		}
		return choices.encode()
	case *LockEvent:
		return nil, hear(ctx, h.Events, hook)
	case *ActionLog:
		return nil, hear(ctx, h.ActionLogs, hook)
	case *Unknown:
		return nil, hear(ctx, h.Others, hook)
	}
	return nil, errNoFunction
}

func settle[T any](ctx context.Context, do func(context.Context, T) (Answer, error), hook T) ([]byte, error) {
	if do == nil {
		return nil, errNoFunction
	}
	answer, err := do(ctx, hook)
	if rejection, ok := errors.AsType[*Rejection](err); ok {
		return rejection.encode()
	}
	if err != nil {
		return nil, err
	}
	return answer.encode()
}

func hear[T any](ctx context.Context, do func(context.Context, T) error, hook T) error {
	if do == nil {
		return nil
	}
	return do(ctx, hook)
}

func (h *Handler) warn(ctx context.Context, text string, attrs ...any) {
	logger := h.Log
	if logger == nil {
		logger = slog.Default()
	}
	logger.WarnContext(ctx, text, attrs...) //nolint:sloglint // the two texts stand with the callers
}
