package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// httpsPort is the only port of a public host that is ever dialled.
const httpsPort = 443

// azureWireServer answers for the host of a virtual machine at Azure. It is a
// public address by every registry, so it has to be named (SEC-06).
const azureWireServer = "168.63.129.16/32"

// A guard judges each address at the moment it is dialled, after its name was
// resolved (SEC-02, SEC-03).
type guard struct {
	policy Policy
	// public judges what the policy's allow-list doesn't hold. It is nil for
	// plain http, which nothing outside the allow-list may use.
	public *ssrf.Guardian
}

func newGuard(p Policy, scheme string) *guard {
	if scheme != "https" {
		return &guard{policy: p}
	}
	return &guard{policy: p, public: ssrf.New(
		ssrf.WithPorts(httpsPort),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix(azureWireServer)),
	)}
}

// control is a [net.Dialer]'s Control: it sees the address that the kernel is
// about to connect to. A refusal is a *forbiddenError.
func (g *guard) control(network, address string, c syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &forbiddenError{fmt.Errorf("guard: %w", err)}
	}
	if g.policy.allows(at.Addr()) {
		return nil
	}
	if g.public == nil {
		return &forbiddenError{errors.New("guard: plain http outside the allow-list")}
	}
	if err := g.public.Safe(network, address, c); err != nil {
		return &forbiddenError{err}
	}
	return nil
}

// A forbiddenError marks the guard's refusals on their way up through the
// standard library.
type forbiddenError struct{ cause error }

func (e *forbiddenError) Error() string { return "forbidden address: " + e.cause.Error() }
func (e *forbiddenError) Unwrap() error { return e.cause }
