package broker

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// NewNkey makes a key that a service authenticates to NATS with: the seed,
// which stays with the service, and the public key, which the server knows.
func NewNkey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", fmt.Errorf("make an nkey: %w", err)
	}
	if seed, err = pair.Seed(); err != nil {
		return nil, "", fmt.Errorf("read the seed of an nkey: %w", err)
	}
	if public, err = pair.PublicKey(); err != nil {
		return nil, "", fmt.Errorf("read the public key of an nkey: %w", err)
	}
	return seed, public, nil
}

// Exposed reports what is wrong with a connection that leaves this machine: that
// it is not encrypted, or that the service does not authenticate itself
// (SEC-116). Servers on loopback may be reached either way.
func (c Config) Exposed() []string {
	var problems []string
	for server := range strings.SplitSeq(cmp.Or(c.URL, nats.DefaultURL), ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil {
			u = &url.URL{}
		}
		if loopback(u.Hostname()) {
			continue
		}
		if !c.secure() && u.Scheme != "tls" && u.Scheme != "wss" {
			problems = append(problems, "not encrypted")
		}
		if c.Credentials == "" && u.User == nil {
			problems = append(problems, "anonymous")
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// secure reports whether TLS is wanted whatever the URL says.
func (c Config) secure() bool { return c.CA != "" || c.Cert != "" }

// loopback reports whether a host is this machine without asking anybody.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// security returns the options that the server is known by, and this client.
func (c Config) security() ([]nats.Option, error) {
	var opts []nats.Option
	if c.CA != "" { // this and the next also have the client demand TLS
		opts = append(opts, nats.RootCAs(c.CA))
	}
	if c.Cert != "" || c.Key != "" {
		opts = append(opts, nats.ClientCert(c.Cert, c.Key))
	}
	if c.Credentials != "" {
		nkey, err := nats.NkeyOptionFromSeed(c.Credentials)
		if err != nil {
			return nil, fmt.Errorf("read the nkey seed: %w", err)
		}
		opts = append(opts, nkey)
	}
	return opts, nil
}
