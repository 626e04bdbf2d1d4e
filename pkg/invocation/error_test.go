package invocation_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestErrorsShowTheirMessageOrCode(t *testing.T) {
	t.Parallel()
	secret := errors.New("nats: dial 10.0.0.7")
	for name, tc := range map[string]struct {
		err   error
		code  invocation.Code
		text  string
		wraps error
	}{
		"a refusal is its code":           {invocation.Refuse(invocation.Forbidden), invocation.Forbidden, "forbidden", nil},
		"a refusal with a message":        {invocation.Refusef(invocation.InvalidActor, "no %s", "keyholder"), invocation.InvalidActor, "no keyholder", nil},
		"a refusal that shows its cause":  {invocation.Refusef(invocation.InvalidInput, "at the end: %w", io.EOF), invocation.InvalidInput, "at the end: EOF", io.EOF},
		"a wrapped cause is hidden":       {invocation.Wrap(invocation.ServiceUnavailable, secret), invocation.ServiceUnavailable, "service-unavailable", secret},
		"facts and advice say nothing":    {invocation.Refuse(invocation.RateLimited).With("bucket", "lock").After(time.Second), invocation.RateLimited, "rate-limited", nil},
		"what nobody classified is inner": {secret, invocation.ServerError, "server-error", secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for depth, err := range []error{tc.err, fmt.Errorf("more: %w", tc.err), errors.Join(io.ErrNoProgress, tc.err)} {
				e := invocation.AsError(err)
				if e.Code != tc.code || e.Error() != tc.text {
					t.Errorf("wrapping %d: got %s with %q, want %s with %q", depth, e.Code, e.Error(), tc.code, tc.text)
				}
				if got := invocation.CodeOf(err); got != tc.code {
					t.Errorf("wrapping %d: got the code %s, want %s", depth, got, tc.code)
				}
				if tc.wraps != nil && !errors.Is(e, tc.wraps) {
					t.Errorf("wrapping %d: %v is not found in it", depth, tc.wraps)
				}
				if !errors.Is(e, invocation.Refuse(tc.code)) {
					t.Errorf("wrapping %d: its code is not found in it", depth)
				}
			}
		})
	}
}

func TestErrorsWithAnotherCodeAreNotTheSame(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("more: %w", invocation.Refuse(invocation.Forbidden))
	if errors.Is(err, invocation.Refuse(invocation.Unauthorized)) || errors.Is(err, io.EOF) {
		t.Errorf("%v is something that it is not", err)
	}
}

func TestAsErrorFindsTheFirst(t *testing.T) {
	t.Parallel()
	inner := invocation.Refuse(invocation.Forbidden)
	outer := invocation.Wrap(invocation.ServiceUnavailable, inner)
	if got := invocation.AsError(fmt.Errorf("more: %w", outer)); got != outer {
		t.Errorf("got %v, want the outer one", got)
	}
	// A nil error has no code of its own; whoever asks has not looked.
	if got := invocation.CodeOf(nil); got != invocation.ServerError {
		t.Errorf("got %s for nil, want server-error", got)
	}
}

func TestFactsAndAdviceAreKept(t *testing.T) {
	t.Parallel()
	e := invocation.Refuse(invocation.Unavailable).With("reason", "lock-not-active").With("more", "x").After(3 * time.Second)
	if e.Facts["reason"] != "lock-not-active" || e.Facts["more"] != "x" || len(e.Facts) != 2 || e.RetryAfter != 3*time.Second {
		t.Errorf("got %+v", *e)
	}
}

func TestCodesAreDistinctWords(t *testing.T) {
	t.Parallel()
	codes := invocation.Codes()
	for i, c := range codes {
		if c == "" || slices.Index(codes, c) != i {
			t.Errorf("%q is empty or listed twice", c)
		}
	}
	if len(codes) != 27 {
		t.Errorf("got %d codes, want 27", len(codes))
	}
}
