package permissions

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/platform"
)

// An authority signs the certificates of one test.
type authority struct {
	dir  string // holds ca.crt and what was issued
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{dir: tb.TempDir()}
	a.key = newKey(tb)
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der := a.sign(tb, a.cert, &a.key.PublicKey)
	write(tb, a.ca(), "CERTIFICATE", der)
	return a
}

// ca returns the path of the authority's own certificate.
func (a *authority) ca() string { return filepath.Join(a.dir, "ca.crt") }

// issue makes a certificate for an address and returns the folder in which it is
// tls.crt, its key tls.key and the authority ca.crt.
func (a *authority) issue(tb testing.TB, name, addr string) string {
	tb.Helper()
	key := newKey(tb)
	der := a.sign(tb, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.ParseIP(addr)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, &key.PublicKey)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(a.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	write(tb, filepath.Join(dir, "tls.crt"), "CERTIFICATE", der)
	write(tb, filepath.Join(dir, "tls.key"), "PRIVATE KEY", private)
	write(tb, filepath.Join(dir, "ca.crt"), "CERTIFICATE", a.cert.Raw)
	return dir
}

func (a *authority) sign(tb testing.TB, c *x509.Certificate, of *ecdsa.PublicKey) []byte {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, of, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if c == a.cert {
		a.cert.Raw = der
	}
	return der
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func write(tb testing.TB, path, kind string, der []byte) {
	tb.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Over TLS a service takes the server that its authority vouches for, and no
// other; a server without TLS is refused where TLS is wanted (SEC-116).
func TestTLSBetweenServicesAndNATS(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	certs := ours.issue(t, "server", "127.0.0.1")
	elsewhere := ours.issue(t, "elsewhere", "127.0.0.2")
	mine, foreign := ours.issue(t, "client", "127.0.0.1"), others.issue(t, "client", "127.0.0.1")
	secure := start(t, "nats-tls.conf", "/etc/nats/tls", certs)
	misnamed := start(t, "nats-tls.conf", "/etc/nats/tls", elsewhere)
	mutual := start(t, "nats-tls.conf", "/etc/nats/tls", certs, "# ca_file", "ca_file", "# verify", "verify")
	plain := start(t, "nats.conf")
	as := func(dir string) func(*broker.Config) {
		return func(c *broker.Config) {
			c.CA, c.Cert, c.Key = ours.ca(), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		}
	}
	for name, tc := range map[string]struct {
		to   *installation
		with func(*broker.Config)
		in   bool
	}{
		"the right authority":           {secure, func(c *broker.Config) { c.CA = ours.ca() }, true},
		"the wrong authority":           {secure, func(c *broker.Config) { c.CA = others.ca() }, false},
		"the system's authorities":      {secure, func(*broker.Config) {}, false},
		"another server's certificate":  {misnamed, func(c *broker.Config) { c.CA = ours.ca() }, false},
		"no TLS where an authority is":  {plain, func(c *broker.Config) { c.CA = ours.ca() }, false},
		"no TLS where the URL wants it": {plain, func(c *broker.Config) { c.URL = strings.Replace(c.URL, "nats://", "tls://", 1) }, false},
		"our own certificate":           {mutual, as(mine), true},
		"a stranger's certificate":      {mutual, as(foreign), false},
		"no certificate of our own":     {mutual, func(c *broker.Config) { c.CA = ours.ca() }, false},
		"no authority's file":           {secure, func(c *broker.Config) { c.CA = "/nowhere/ca.crt" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := tc.to.config("setup")
			tc.with(&cfg)
			c, err := broker.Connect(cfg, slog.New(slog.DiscardHandler))
			if (err == nil) != tc.in {
				t.Errorf("got %v, want it taken: %t", err, tc.in)
			}
			if err != nil {
				return
			}
			defer c.Close()
			if _, err := c.NC.TLSConnectionState(); err != nil {
				t.Errorf("the connection is not encrypted: %v", err)
			}
			if err := platform.Setup(t.Context(), c, platform.Config{}.Ledger); err != nil {
				t.Errorf("set up over TLS: %v", err)
			}
		})
	}
}

// Who does not begin TLS with a server that has it is not spoken to.
func TestPlainTalkIsRefused(t *testing.T) {
	t.Parallel()
	in := start(t, "nats-tls.conf", "/etc/nats/tls", newAuthority(t).issue(t, "server", "127.0.0.1"))
	_, addr, _ := strings.Cut(in.url, "://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(conn, "CONNECT {}\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "PONG") {
			t.Fatal("got an answer in the clear")
		}
	}
}
