package egress

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// A Config sets up a [Client]. Its zero value is the contract's figures with
// the production policy.
type Config struct {
	// Policy says what may be called.
	Policy Policy
	// Version of the program, for the User-Agent header; "dev" if empty.
	Version string

	// Timeout bounds the whole exchange, from the wait for a connection to
	// the last byte of the answer; 10 s if zero (contract section 7).
	Timeout time.Duration
	// ConnectTimeout bounds looking up the name, connecting and the TLS
	// handshake together; 5 s if zero.
	ConnectTimeout time.Duration
	// IdleTimeout is how long an unused connection is kept; 3 s if zero. It
	// stays below the 5 s after which a Node server closes its end, since a
	// request on a connection that is just being closed ends as unknown
	// (SEC-17).
	IdleTimeout time.Duration

	// MaxBody is the longest body of an answer, in bytes; 256 KiB if zero.
	MaxBody int
	// MaxHeader is the longest header of an answer, in bytes; 32 KiB if zero
	// (SEC-12).
	MaxHeader int
	// MaxConnsPerHost bounds the connections to one host, used and idle; 64 if
	// zero. A call that finds all of them busy waits, within its Timeout.
	MaxConnsPerHost int

	// RootCAs replaces the system's certificate authorities, for tests.
	RootCAs *x509.CertPool
	// Resolver replaces the system's name resolution, for tests and for hosts
	// with a resolver of their own.
	Resolver *net.Resolver
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Version = cmp.Or(c.Version, "dev")
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 3*time.Second)
	c.MaxBody = cmp.Or(c.MaxBody, 256<<10)
	c.MaxHeader = cmp.Or(c.MaxHeader, 32<<10)
	c.MaxConnsPerHost = cmp.Or(c.MaxConnsPerHost, 64)
	return c
}

// Validate returns everything that is wrong with c, after its defaults, in one
// error.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var problems []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", c.Timeout}, {"ConnectTimeout", c.ConnectTimeout}, {"IdleTimeout", c.IdleTimeout}} {
		if d.value < 0 {
			problems = append(problems, fmt.Errorf("egress: %s must not be negative", d.name))
		}
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"MaxBody", c.MaxBody}, {"MaxHeader", c.MaxHeader}, {"MaxConnsPerHost", c.MaxConnsPerHost}} {
		if n.value < 0 {
			problems = append(problems, fmt.Errorf("egress: %s must not be negative", n.name))
		}
	}
	for _, prefix := range c.Policy.Allow {
		if !prefix.IsValid() {
			problems = append(problems, errors.New("egress: Policy.Allow holds an invalid prefix"))
		}
	}
	return errors.Join(problems...)
}
