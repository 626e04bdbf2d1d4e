package egress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An authority issues certificates for the tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{key: key, cert: cert, pool: pool}
}

// issue returns a certificate for name that ends when it is told to.
func (a *authority) issue(tb testing.TB, name string, end time.Time) tls.Certificate {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// serveTLS starts a target that counts its hits.
func serveTLS(tb testing.TB, config *tls.Config, hits *atomic.Int64) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.EnableHTTP2 = true
	server.StartTLS()
	tb.Cleanup(server.Close)
	return server
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	later := time.Now().Add(time.Hour)
	for name, tc := range map[string]struct {
		cert     tls.Certificate
		min, max uint16
		ok       bool
	}{
		"a good certificate":      {cert: ours.issue(t, "target", later), ok: true},
		"TLS 1.2":                 {cert: ours.issue(t, "target", later), max: tls.VersionTLS12, ok: true},
		"SEC-18 expired":          {cert: ours.issue(t, "target", time.Now().Add(-time.Hour))},
		"SEC-18 self-signed":      {cert: theirs.issue(t, "target", later)},
		"SEC-18 wrong name":       {cert: ours.issue(t, "another", later)},
		"SEC-18 address as name":  {cert: ours.issue(t, "127.0.0.1", later)},
		"SEC-18 TLS 1.0":          {cert: ours.issue(t, "target", later), min: tls.VersionTLS10, max: tls.VersionTLS10},
		"SEC-18 TLS 1.1":          {cert: ours.issue(t, "target", later), min: tls.VersionTLS10, max: tls.VersionTLS11},
		"SEC-18 an older version": {cert: ours.issue(t, "target", later), min: tls.VersionTLS10, max: tls.VersionTLS12, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hits atomic.Int64
			server := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{tc.cert}, MinVersion: tc.min, MaxVersion: tc.max}, &hits)
			_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
			c := open(t, Config{Policy: loopback(), RootCAs: ours.pool, Resolver: resolve(t, points("127.0.0.1"))})
			for _, host := range []string{"target", "TARGET", "target."} {
				resp, err := c.Post(t.Context(), Request{URL: "https://" + host + ":" + port + "/", Body: []byte("{}")})
				if tc.ok {
					if err != nil || string(resp.Body) != "{}" {
						t.Errorf("got %q, %v for %s", resp.Body, err, host)
					}
					continue
				}
				if got := fault(t, err); got.Kind != KindTLS || got.Sent {
					t.Errorf("got %s (%v), sent %v, want %s", got.Kind, got.Unwrap(), got.Sent, KindTLS)
				}
			}
			if !tc.ok && hits.Load() != 0 {
				t.Errorf("got %d hits, want none", hits.Load())
			}
		})
	}
}

// A new connection to a known host costs no full handshake.
func TestSessionIsResumed(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	var resumed []bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		resumed = append(resumed, r.TLS.DidResume)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ours.issue(t, "127.0.0.1", time.Now().Add(time.Hour))}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c := open(t, Config{Policy: loopback(), RootCAs: ours.pool})
	for range 2 {
		if _, err := c.Post(t.Context(), Request{URL: server.URL, Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if !slices.Equal(resumed, []bool{false, true}) {
		t.Errorf("got resumed %v, want the second", resumed)
	}
}

// A handshake that never ends is given up with the connection.
func TestHandshakeThatNeverEnds(t *testing.T) {
	t.Parallel()
	c := open(t, Config{Policy: loopback(), ConnectTimeout: 200 * time.Millisecond})
	_, err := c.Post(t.Context(), Request{URL: strings.Replace(listenDeaf(t), "http:", "https:", 1), Body: []byte("{}")})
	if got := fault(t, err); got.Kind != KindTLS || got.Sent {
		t.Errorf("SEC-18: got %s (%v), sent %v, want %s", got.Kind, got.Unwrap(), got.Sent, KindTLS)
	}
}

// The system's authorities decide where the configuration names none.
func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	server := serveTLS(t, &tls.Config{}, &hits) // httptest's own certificate
	c := open(t, Config{Policy: loopback()})
	_, err := c.Post(t.Context(), Request{URL: server.URL, Body: []byte("{}")})
	if got := fault(t, err); got.Kind != KindTLS || got.Sent || hits.Load() != 0 {
		t.Errorf("SEC-18: got %s, sent %v, %d hits", got.Kind, got.Sent, hits.Load())
	}
}

// The rule about what was sent holds inside TLS too, where a closing
// connection writes bytes of its own.
func TestPostIsNeverRepeatedOverTLS(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	var hits atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) == 1 {
			_, _ = io.WriteString(w, "{}")
			return
		}
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ours.issue(t, "127.0.0.1", time.Now().Add(time.Hour))}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c := open(t, Config{Policy: loopback(), RootCAs: ours.pool})
	r := Request{URL: server.URL, Body: []byte("{}"), Header: http.Header{"Idempotency-Key": {"k"}}}
	if _, err := c.Post(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	_, err := c.Post(t.Context(), r)
	if got := fault(t, err); got.Kind != KindLost || !got.Sent || hits.Load() != 2 {
		t.Errorf("SEC-16: got %s, sent %v, %d hits, want 2", got.Kind, got.Sent, hits.Load())
	}
}
