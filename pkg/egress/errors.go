package egress

import (
	"context"
	"errors"
	"io"
	"net"
)

// A Kind says why there is no usable answer. The set is closed, so it serves
// as a metric label.
type Kind string

// The kinds. The first six only occur before anything was sent, the last four
// only after an answer had begun.
const (
	// KindURL means that the URL is empty or refused by the policy.
	KindURL Kind = "url"
	// KindRequest means that a header of the request can't be put on the wire.
	KindRequest Kind = "request"
	// KindForbidden means that the name led to an address that is not called.
	KindForbidden Kind = "forbidden-address"
	// KindDNS means that the name could not be resolved.
	KindDNS Kind = "dns"
	// KindConnect means that nothing accepted the connection in time.
	KindConnect Kind = "connect"
	// KindTLS means that the handshake failed: certificate, version, protocol.
	KindTLS Kind = "tls"

	// KindTimeout means that the exchange was not over when its time was.
	KindTimeout Kind = "timeout"
	// KindCanceled means that the caller gave up.
	KindCanceled Kind = "canceled"
	// KindLost means that the connection broke.
	KindLost Kind = "connection-lost"

	// KindSwitch means that the target switched protocols (SEC-13).
	KindSwitch Kind = "protocol-switch"
	// KindEncoding means that the answer is compressed, which nobody asked
	// for (SEC-11).
	KindEncoding Kind = "encoding"
	// KindTooLarge means that the body is longer than is read (SEC-10).
	KindTooLarge Kind = "too-large"
	// KindMalformed means that the answer is not HTTP, or its header is too
	// long (SEC-12, SEC-14).
	KindMalformed Kind = "malformed"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{
		KindURL, KindRequest, KindForbidden, KindDNS, KindConnect, KindTLS,
		KindTimeout, KindCanceled, KindLost,
		KindSwitch, KindEncoding, KindTooLarge, KindMalformed,
	}
}

// text is what may be shown about a kind: no address, no name, no wording of
// the standard library (S-31).
func (k Kind) text() string {
	switch k {
	case KindURL:
		return "the target's URL can't be called"
	case KindRequest:
		return "the request can't be sent as it is"
	case KindForbidden:
		return "the target's address is not allowed"
	case KindDNS:
		return "the target's name can't be resolved"
	case KindConnect:
		return "no connection to the target"
	case KindTLS:
		return "no secure connection to the target"
	case KindTimeout:
		return "the target did not answer in time"
	case KindCanceled:
		return "the call was interrupted"
	case KindLost:
		return "the connection to the target was lost"
	case KindSwitch:
		return "the target switched to another protocol"
	case KindEncoding:
		return "the target's answer is compressed"
	case KindTooLarge:
		return "the target's answer is too large"
	case KindMalformed:
		return "the target's answer is malformed"
	}
	return "the call failed"
}

// A CallError says why [Client.Post] has no usable answer.
//
// Its text may be shown to anyone. The cause behind it may hold addresses,
// names and pieces of the answer: it is for the operators' log only, and never
// holds the URL's path or query.
type CallError struct {
	Kind Kind
	// Sent reports whether any part of the request left, so that the target
	// may have run it. While it is false the target can't have.
	Sent bool

	cause error
}

// Error returns a sentence about the kind.
func (e *CallError) Error() string { return e.Kind.text() }

// Unwrap returns the private cause.
func (e *CallError) Unwrap() error { return e.cause }

// A dialError carries what the dial functions know about a failure through
// the transport.
type dialError struct {
	kind  Kind
	cause error
}

func (e *dialError) Error() string { return string(e.kind) + ": " + e.cause.Error() }
func (e *dialError) Unwrap() error { return e.cause }

// connectKind tells why no connection came about.
func connectKind(err error) Kind {
	if _, ok := errors.AsType[*forbiddenError](err); ok {
		return KindForbidden
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return KindDNS
	}
	return KindConnect
}

// unsentKind tells why nothing was written. The context decides where no
// connection was tried, or it was not known in time how that went.
func unsentKind(ctx context.Context, err error, connected bool) Kind {
	if dial, ok := errors.AsType[*dialError](err); ok {
		return dial.kind
	}
	if kind := contextKind(ctx); kind != "" {
		return kind
	}
	if connected {
		return KindLost
	}
	return KindRequest
}

// sentKind tells why no whole answer came back. Before its first byte that can
// only be the connection; after it, an error that is not the network's means
// that the bytes made no sense.
func sentKind(ctx context.Context, err error, answering bool) Kind {
	if kind := contextKind(ctx); kind != "" {
		return kind
	}
	_, network := errors.AsType[*net.OpError](err)
	if !answering || network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		return KindLost
	}
	return KindMalformed
}

// contextKind is empty while ctx lives.
func contextKind(ctx context.Context) Kind {
	switch err := ctx.Err(); {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	default:
		return KindCanceled
	}
}
