package egress

import (
	"net/netip"
	"strings"
	"testing"
)

// privateAddresses must never be dialled (SEC-02, SEC-06).
func privateAddresses() []string {
	return []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16",
		"169.254.169.254", "169.254.170.2", "172.16.0.1", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:168.63.129.16", "64:ff9b::7f00:1",
		"2002:7f00:1::", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "ff02::1", "3fff::1",
	}
}

func TestGuardJudgesAddresses(t *testing.T) {
	t.Parallel()
	secure, plain := newGuard(Policy{}, "https"), newGuard(loopback(), "http")
	dial := func(g *guard, addr string, port uint16) error {
		at := netip.AddrPortFrom(netip.MustParseAddr(addr), port)
		network := "tcp4"
		if at.Addr().Is6() {
			network = "tcp6"
		}
		return g.control(network, at.String(), nil)
	}
	for _, addr := range privateAddresses() {
		if dial(secure, addr, 443) == nil {
			t.Errorf("got %s allowed in production", addr)
		}
	}
	for _, addr := range []string{"1.1.1.1", "168.63.129.17", "2606:4700::1111"} {
		if err := dial(secure, addr, 443); err != nil {
			t.Errorf("got %v for %s", err, addr)
		}
		if dial(secure, addr, 8443) == nil || dial(secure, addr, 80) == nil {
			t.Errorf("got %s allowed on another port", addr)
		}
		if dial(plain, addr, 443) == nil || dial(plain, addr, 80) == nil {
			t.Errorf("got plain http allowed to %s", addr)
		}
	}
	if err := dial(plain, "127.0.0.1", 18999); err != nil {
		t.Errorf("got %v for an allowed address", err)
	}
	if err := dial(newGuard(loopback(), "https"), "::ffff:127.0.0.1", 18999); err != nil {
		t.Errorf("got %v for an allowed address in IPv6 form", err)
	}
	if dial(plain, "::1", 18999) == nil {
		t.Error("got ::1 allowed by an IPv4 allow-list")
	}
	if secure.control("tcp4", "example.com:443", nil) == nil {
		t.Error("got a name allowed where an address belongs")
	}
	if secure.control("udp4", "1.1.1.1:443", nil) == nil {
		t.Error("got another network allowed")
	}
}

// A name in production that leads inside is not called (SEC-02).
func TestNameThatLeadsInside(t *testing.T) {
	t.Parallel()
	for _, addr := range privateAddresses() {
		if strings.ContainsAny(addr, "%") {
			continue // no record can hold a zone
		}
		t.Run("SEC-02 "+addr, func(t *testing.T) {
			t.Parallel()
			c := open(t, Config{Resolver: resolve(t, points(addr))})
			_, err := c.Post(t.Context(), Request{URL: "https://target.example.test/", Body: []byte("{}")})
			got := fault(t, err)
			if got.Kind != KindForbidden || got.Sent {
				t.Errorf("got %s, sent %v (%v), want %s", got.Kind, got.Sent, got.Unwrap(), KindForbidden)
			}
			if strings.Contains(got.Error(), addr) {
				t.Errorf("got %q, which tells the address", got.Error())
			}
		})
	}
}

// What the guard keeps from a port that does listen, is counted there.
func TestForbiddenAddressIsNotReached(t *testing.T) {
	t.Parallel()
	target := listen(t, "127.0.0.1:0", keeps(okAnswer))
	_, port, _ := strings.Cut(target.host, ":")
	for name, scheme := range map[string]string{"SEC-02 over http": "http", "SEC-02 over https": "https"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, Config{Policy: allow(t, "127.0.0.2/32"), Resolver: resolve(t, points("127.0.0.1"))})
			_, err := c.Post(t.Context(), Request{URL: scheme + "://target:" + port + "/", Body: []byte("{}")})
			if got := fault(t, err); got.Kind != KindForbidden || got.Sent || target.conns.Load() != 0 {
				t.Errorf("got %s, sent %v, %d connections", got.Kind, got.Sent, target.conns.Load())
			}
		})
	}
}

func TestNameThatChangesItsMind(t *testing.T) {
	t.Parallel()
	outside := netip.MustParseAddr("127.0.0.2") // stands for a public address
	inside := netip.MustParseAddr("127.0.0.1")
	target := listen(t, "0.0.0.0:0", says("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"))
	private := listen(t, "127.0.0.1:0", keeps(okAnswer))
	_, port, _ := strings.Cut(private.host, ":")
	allowed := target.host[strings.LastIndexByte(target.host, ':')+1:]

	t.Run("SEC-03 second answer leads inside", func(t *testing.T) {
		t.Parallel()
		c := open(t, Config{Policy: allow(t, "127.0.0.2/32"), Resolver: resolve(t, func(v6 bool, n int) []netip.Addr {
			switch {
			case v6:
				return nil
			case n <= 1:
				return []netip.Addr{outside}
			}
			return []netip.Addr{inside}
		})})
		if _, err := c.Post(t.Context(), Request{URL: "http://target:" + allowed + "/"}); err != nil {
			t.Fatalf("got %v (%v) for the allowed address", err, fault(t, err).Unwrap())
		}
		for range 3 {
			_, err := c.Post(t.Context(), Request{URL: "http://target:" + allowed + "/"})
			if got := fault(t, err); got.Kind != KindForbidden || got.Sent {
				t.Errorf("got %s, sent %v", got.Kind, got.Sent)
			}
		}
		if got := target.hits.Load(); got != 1 {
			t.Errorf("got %d hits, want 1", got)
		}
	})
	t.Run("SEC-03 one address of each kind", func(t *testing.T) {
		t.Parallel()
		c := open(t, Config{Policy: allow(t, "127.0.0.2/32"), Resolver: resolve(t, points("127.0.0.1", "127.0.0.2", "::1", "fd00::1"))})
		if _, err := c.Post(t.Context(), Request{URL: "http://target:" + port + "/"}); err == nil {
			t.Error("got an answer, want none")
		}
		if got := private.conns.Load(); got != 0 {
			t.Errorf("got %d connections to the forbidden address", got)
		}
	})
}

func TestNameThatDoesNotExist(t *testing.T) {
	t.Parallel()
	c := open(t, Config{Resolver: resolve(t, points())})
	_, err := c.Post(t.Context(), Request{URL: "https://target.example.test/"})
	if got := fault(t, err); got.Kind != KindDNS || got.Sent {
		t.Errorf("got %s (%v), sent %v, want %s", got.Kind, got.Unwrap(), got.Sent, KindDNS)
	}
}
