package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/latchwire/latchwire/pkg/invocation"
)

// errorType names the kind of an error, out of a closed set: the codes of the
// contract, and a few words for what happens on a network. The text of an
// error never becomes an attribute: it may quote what partners sent.
func errorType(err error) string {
	if e, ok := errors.AsType[*invocation.Error](err); ok {
		return oneOf(string(e.Code), reasons())
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "timeout"
	}
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "dns"
	}
	if isTLS(err) {
		return "tls"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		if e.Timeout() {
			return "timeout"
		}
		if e.Op == "dial" {
			return "connect"
		}
		return "connection"
	}
	return other
}

func isTLS(err error) bool {
	_, verify := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return verify || record || alert
}

// statusType names the kind of failure that an HTTP status of 400 or more is.
func statusType(status int) string {
	switch {
	case status == 429:
		return "http_429"
	case status < 500:
		return "http_4xx"
	default:
		return "http_5xx"
	}
}

// errorText is what the log says of an error, which is for operators only: the
// private cause of a refusal with it, and addresses without their query.
func errorText(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*invocation.Error](err); ok {
		if cause := errors.Unwrap(e); cause != nil && !strings.Contains(text, cause.Error()) {
			text += ": " + cause.Error()
		}
	}
	for e, ok := errors.AsType[*url.Error](err); ok; e, ok = errors.AsType[*url.Error](e.Err) {
		text = strings.ReplaceAll(text, e.URL, withoutQuery(e.URL))
	}
	return text
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "[address]"
	}
	return plainURL(u)
}
