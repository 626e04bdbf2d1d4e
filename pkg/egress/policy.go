package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxURLLength is the longest URL that [Policy.CheckURL] accepts, in bytes
// (security limits, webhook URL).
const MaxURLLength = 2048

// A Policy says which URLs and which addresses may be called. Its zero value
// is the one for production: https, port 443, public addresses only.
type Policy struct {
	// Allow lists address ranges that are called although they are not
	// public, with http or https and on any port: loopback on a laptop, the
	// network of a compose file. It is meant for development and tests, and a
	// production profile refuses to start with it (SEC-07).
	Allow []netip.Prefix
}

// ParsePolicy reads the allow-list of a policy: prefixes in CIDR notation with
// commas between them. An empty list is the production policy.
func ParsePolicy(list string) (Policy, error) {
	var p Policy
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return Policy{}, fmt.Errorf("allow-list: %w", err)
		}
		p.Allow = append(p.Allow, prefix.Masked())
	}
	return p, nil
}

// Development reports whether the policy allows anything that production
// would not.
func (p Policy) Development() bool { return len(p.Allow) > 0 }

// allows reports whether addr lies in the allow-list. An address with a zone
// never does.
func (p Policy) allows(addr netip.Addr) bool {
	addr = addr.Unmap()
	return slices.ContainsFunc(p.Allow, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// allowsLoopback reports whether localhost may be called.
func (p Policy) allowsLoopback() bool {
	return p.allows(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || p.allows(netip.IPv6Loopback())
}

// CheckURL parses s and says whether it may be called: at registration, and
// again before every call (SEC-01, SEC-07). In production that is an https URL
// on port 443 with a public host name and without user, password or fragment.
// With an allow-list it is also an address from the list, localhost if the list
// holds a loopback address, and any name without a dot; those take http, https
// and any port, and the address that a name resolves to is judged when it is
// dialled.
//
// The error is a sentence about the URL that may be shown to whoever sent it;
// it never quotes the URL, which can hold a secret.
func (p Policy) CheckURL(s string) (*url.URL, error) {
	u, err := parseURL(s)
	if err != nil {
		return nil, err
	}
	local, err := p.checkHost(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
	if err != nil {
		return nil, err
	}
	if err := checkDoor(u, local); err != nil {
		return nil, err
	}
	return u, nil
}

// parseURL refuses what is wrong with a URL whatever host it names. Only
// printable ASCII is accepted: no line breaks, no full-width digits that some
// resolver folds into an address, no backslash that some parser takes for a
// slash.
func parseURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("the URL must not be empty")
	}
	if len(s) > MaxURLLength {
		return nil, fmt.Errorf("the URL must not be longer than %d bytes", MaxURLLength)
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '\\' {
			return nil, errors.New("the URL must consist of printable ASCII characters without spaces and backslashes")
		}
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("the URL is malformed") // the cause quotes the URL
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL must begin with https://")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL must name a host")
	case u.User != nil:
		return nil, errors.New("the URL must not hold a user or a password")
	case strings.Contains(s, "#"):
		return nil, errors.New("the URL must not have a fragment")
	}
	return u, nil
}

// checkHost reports whether host, in lower case and without a final dot, is
// one that only the allow-list lets through.
func (p Policy) checkHost(host string) (local bool, err error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if p.allows(addr) {
			return true, nil
		}
		return false, errors.New("the URL must name a host, not an address")
	}
	if !isHostName(host) {
		return false, errors.New("the URL's host is not a valid name")
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last[0] >= '0' && last[0] <= '9': // 127.1, 0x7f.0.0.1, 2130706433
		return false, errors.New("the URL must name a host, not an address")
	case last == "localhost" && p.allowsLoopback():
		return true, nil
	case last == host && host != "localhost" && p.Development():
		return true, nil
	case last == host, last == "localhost", last == "local", last == "internal":
		return false, errors.New("the URL must name a public host")
	}
	return false, nil
}

// isHostName reports whether host consists of labels of 1 to 63 letters,
// digits, hyphens and underscores, 253 bytes at most.
func isHostName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// checkDoor judges scheme and port: a local host takes any, all others https
// on port 443.
func checkDoor(u *url.URL, local bool) error {
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); (port != "" && (err != nil || n == 0)) || strings.HasSuffix(u.Host, ":") {
		return errors.New("the URL's port is not valid")
	}
	switch {
	case local:
		return nil
	case u.Scheme != "https":
		return errors.New("the URL must begin with https://")
	case port != "" && port != "443":
		return errors.New("the URL must use port 443")
	}
	return nil
}
