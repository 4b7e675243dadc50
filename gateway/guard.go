package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hostAllowed is the guard against DNS rebinding: a page on evil.example that
// points its own name at 127.0.0.1 makes the browser connect here, but the
// browser still sends "Host: evil.example". An address literal that equals the
// one the request arrived at is fine, since rebinding needs a name.
func hostAllowed(r *http.Request, allowed []string) bool {
	host := hostname(r.Host)
	if isLoopback(host) || arrivedAt(r, host) {
		return true
	}
	return slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, host) })
}

// arrivedAt reports whether host is the local address of the connection.
func arrivedAt(r *http.Request, host string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || local == nil {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap() == at.Addr().Unmap()
}

// originAllowed judges the Origin header. CLIs send none; a browser sends one
// it does not let the page choose, and "null" where it will not say.
func originAllowed(r *http.Request, allowed []string) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	origin := origins[0]
	if slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return false
	}
	return isLoopback(u.Hostname())
}

// hostname takes the port and the brackets off a Host header.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
