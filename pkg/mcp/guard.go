package mcp

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Guard keeps out requests of web pages on foreign origins, and of names that
// were made to point here (MCP-03, MCP-04). Its zero value knows loopback names
// only, for development.
type Guard struct {
	// Hosts are the names that clients reach this server by, without a port.
	Hosts []string
	// Origins are the pages that may call, as a browser writes them:
	// https://app.example. A request without an origin comes from no page.
	Origins []string
}

// Wrap answers 403 in place of next to what the guard keeps out.
func (g Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.host(r.Host):
			refuse(w, http.StatusForbidden, "this host is not served")
		case !g.origin(r.Header.Values("Origin")):
			refuse(w, http.StatusForbidden, "this origin may not call")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g Guard) host(host string) bool {
	name := hostname(host)
	if len(g.Hosts) == 0 {
		return isLoopback(name)
	}
	return slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

func (g Guard) origin(values []string) bool {
	switch {
	case len(values) == 0:
		return true
	case len(values) > 1:
		return false
	case len(g.Origins) > 0:
		return slices.ContainsFunc(g.Origins, func(o string) bool { return strings.EqualFold(o, values[0]) })
	}
	u, err := url.Parse(values[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLoopback(strings.ToLower(u.Hostname()))
}

// hostname returns a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

func isLoopback(name string) bool {
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}
