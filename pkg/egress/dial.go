package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
)

// maxIdleConns bounds the idle connections to all hosts together.
const maxIdleConns = 1024

// tlsSessions is how many hosts' TLS sessions are kept for resumption.
const tlsSessions = 1024

// A dialFunc opens a connection, as [net.Dialer.DialContext] does.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// guardedDial is the dialFunc of every client outside this package's tests.
func guardedDial(resolver *net.Resolver) func(*guard) dialFunc {
	return func(g *guard) dialFunc {
		d := &net.Dialer{Control: g.control, Resolver: resolver}
		return d.DialContext
	}
}

// newTransport returns a transport for one of the two schemes. Everything that
// makes the default transport helpful is off: proxies from the environment
// (SEC-05), compression (SEC-11), HTTP/2 with repetitions of its own.
func newTransport(cfg Config, dial dialFunc) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	tlsConfig := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            cfg.RootCAs,
		ClientSessionCache: tls.NewLRUClientSessionCache(tlsSessions),
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            countBytes(cfg, dial),
		DialTLSContext:         countBytes(cfg, dialTLS(tlsConfig, dial)),
		Protocols:              protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(cfg.MaxHeader),
		MaxConnsPerHost:        cfg.MaxConnsPerHost,
		MaxIdleConnsPerHost:    cfg.MaxConnsPerHost,
		MaxIdleConns:           maxIdleConns,
		IdleConnTimeout:        cfg.IdleTimeout,
	}
}

// dialTLS returns a dialFunc that also completes the handshake. Doing it here
// and not in the transport keeps its failures apart from all others.
func dialTLS(config *tls.Config, dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		own := config.Clone()
		own.ServerName = host
		conn := tls.Client(raw, own)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // the handshake's error says it all
			return nil, &dialError{kind: KindTLS, cause: err}
		}
		return conn, nil
	}
}

// countBytes bounds dial by the connect timeout, classifies its errors and
// makes its connections count.
func countBytes(cfg Config, dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err == nil {
			return &countedConn{Conn: conn}, nil
		}
		if failed, ok := err.(*dialError); ok { //nolint:errorlint // dialTLS returns it bare
			return nil, failed
		}
		return nil, &dialError{kind: connectKind(err), cause: err}
	}
}

// A countedConn counts what was written, on the inside of TLS: bytes of
// requests and nothing else. It is how [CallError] knows whether a request
// left. A write that fails without taking a byte leaves no trace with the
// target; a TLS record cut short can't be read by it and doesn't count either.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write writes b and counts what was taken.
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}
