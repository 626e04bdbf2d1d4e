package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
)

// An exchange is one request and what becomes of it.
type exchange struct {
	url     *url.URL
	header  http.Header
	body    []byte
	maxBody int

	// Written by gotConn, on the goroutine that runs the exchange.
	conn   *countedConn // nil until there is a connection
	before int64        // what had been written on conn before
	reused bool

	answering atomic.Bool // set by the transport's reader at the first byte
}

// run sends the request and reads the answer. It may be run again if the
// exchange is stale.
func (x *exchange) run(ctx context.Context, transport *http.Transport) (Response, error) {
	x.conn, x.reused = nil, false
	// RoundTrip instead of a client: no redirects, no cookies, no errors that
	// quote the URL.
	resp, err := transport.RoundTrip(x.request(ctx))
	if err != nil {
		return Response{}, x.failure(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read, or is given up
	if resp.StatusCode < http.StatusOK {
		// The body of a 101 is the bare connection, which no deadline ends.
		return Response{}, &CallError{Kind: KindSwitch, Sent: true, cause: fmt.Errorf("status %d", resp.StatusCode)}
	}
	out := Response{Status: resp.StatusCode, Header: resp.Header}
	out.Body, err = x.read(ctx, resp)
	if out.Status >= http.StatusMultipleChoices {
		return out, nil
	}
	return out, err
}

// request builds the request without GetBody, so that net/http has no means
// to send the body a second time (SEC-16).
func (x *exchange) request(ctx context.Context) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              x.gotConn,
		GotFirstResponseByte: func() { x.answering.Store(true) },
	})
	req := http.Request{
		Method: http.MethodPost,
		URL:    x.url,
		Host:   x.url.Host,
		Header: x.header,
		Body:   http.NoBody,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(x.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(x.body))
		req.ContentLength = int64(len(x.body))
	}
	return req.WithContext(ctx)
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	conn, ok := info.Conn.(*countedConn)
	if !ok {
		return
	}
	x.conn, x.before, x.reused = conn, conn.written.Load(), info.Reused
}

// sent reports whether a byte of the request left. The transport's writer has
// ended before RoundTrip returns an error, so nothing follows afterwards.
func (x *exchange) sent() bool { return x.conn != nil && x.conn.written.Load() > x.before }

// stale reports whether the request met a kept-alive connection that was dead
// already: nothing left, and a new connection may do better (SEC-17).
func (x *exchange) stale() bool { return x.reused && !x.sent() }

func (x *exchange) failure(ctx context.Context, err error) *CallError {
	if !x.sent() {
		return &CallError{Kind: unsentKind(ctx, err, x.conn != nil), cause: err}
	}
	return &CallError{Kind: sentKind(ctx, err, x.answering.Load()), Sent: true, cause: err}
}

// read returns the body of an answer. A body that is refused is not read to
// its end: closing it gives up the connection.
func (x *exchange) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	if !plainText(resp.Header["Content-Encoding"]) {
		return nil, &CallError{Kind: KindEncoding, Sent: true, cause: errors.New("content encoding is not identity")}
	}
	body, err := readBody(resp.Body, resp.ContentLength, x.maxBody)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, &CallError{Kind: KindTooLarge, Sent: true, cause: err}
	case err != nil:
		return nil, &CallError{Kind: sentKind(ctx, err, true), Sent: true, cause: err}
	}
	return body, nil
}

// plainText reports whether the Content-Encoding fields name no coding at all.
func plainText(fields []string) bool {
	for _, field := range fields {
		for coding := range strings.SplitSeq(field, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				return false
			}
		}
	}
	return true
}

var errTooLarge = errors.New("body is longer than allowed")

// firstRead is how much room a body gets before a byte of it has come, however
// long it claims to be (SEC-10).
const firstRead = 16 << 10

// readBody reads at most limit bytes. The length that the header claims, -1 if
// none, spares growing: an honest answer fits at once.
func readBody(r io.Reader, claimed int64, limit int) ([]byte, error) {
	if claimed > int64(limit) {
		return nil, errTooLarge
	}
	room := int64(512)
	if claimed >= 0 {
		room = min(claimed, firstRead)
	}
	body := make([]byte, 0, room+1)
	for {
		n, err := r.Read(body[len(body):min(cap(body), limit+1)])
		body = body[:len(body)+n]
		switch {
		case len(body) > limit:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, err
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}
