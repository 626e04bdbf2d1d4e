package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"testing"

	"github.com/latchwire/latchwire/pkg/invocation"
)

func TestErrorsHaveAClosedSetOfTypes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a refusal":             {fmt.Errorf("x: %w", invocation.Refuse(invocation.DepthExceeded)), "depth-exceeded"},
		"a code nobody knows":   {invocation.Refuse("CANARY"), other},
		"a deadline":            {fmt.Errorf("x: %w", context.DeadlineExceeded), "timeout"},
		"a connection's own":    {os.ErrDeadlineExceeded, "timeout"},
		"a dial that took long": {&net.OpError{Op: "dial", Err: timeoutError{}}, "timeout"},
		"cancelled":             {context.Canceled, "cancelled"},
		"an unknown name":       {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host"}}, "dns"},
		"a refused connection":  {&url.Error{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, "connect"},
		"a lost connection":     {&net.OpError{Op: "read", Err: errors.New("reset")}, "connection"},
		"a bad certificate":     {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "tls"},
		"no TLS at all":         {tls.RecordHeaderError{}, "tls"},
		"a TLS alert":           {&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "tls"},
		"anything else":         {errors.New("CANARY"), other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := errorType(tc.err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

type timeoutError struct{}

func (timeoutError) Timeout() bool { return true }
func (timeoutError) Error() string { return "i/o timeout" }

func TestLoggedErrorsShowNoQuery(t *testing.T) {
	t.Parallel()
	inner := &url.Error{Op: "Get", URL: "http://b/?token=CANARY", Err: errors.New("x")}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"one address":        {inner, `Get "http://b/": x`},
		"one in another":     {&url.Error{Op: "Post", URL: "https://a/p?q=CANARY#CANARY", Err: inner}, `Post "https://a/p": Get "http://b/": x`},
		"an unreadable one":  {&url.Error{Op: "parse", URL: "http://%zz?CANARY", Err: errors.New("bad")}, `parse "[address]": bad`},
		"a refusal's cause":  {invocation.Wrap(invocation.ServerError, inner), `server-error: Get "http://b/": x`},
		"a cause said twice": {invocation.Refusef(invocation.InvalidField, "no: %w", errors.New("such")), "no: such"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := errorText(tc.err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestStatusesHaveTypesAndClasses(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][2]string{
		0: {"", "none"}, 101: {"", "1xx"}, 204: {"", "2xx"}, 302: {"", "3xx"},
		404: {"http_4xx", "4xx"}, 429: {"http_429", "4xx"}, 500: {"http_5xx", "5xx"}, 999: {"http_5xx", "5xx"},
	} {
		if got := statusClass(status); got != want[1] {
			t.Errorf("%d: got class %s, want %s", status, got, want[1])
		}
		if want[0] != "" && statusType(status) != want[0] {
			t.Errorf("%d: got type %s, want %s", status, statusType(status), want[0])
		}
	}
}
