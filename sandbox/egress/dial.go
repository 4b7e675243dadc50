package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// maxDials bounds the addresses of one name that are tried.
const maxDials = 4

// dialTime bounds the attempt at one address.
const dialTime = 10 * time.Second

// forbidden are the networks that no name leads to unless its rule has an address: the host itself, its neighbours, what
// clouds tell their machines, and what is no unicast address of the internet.
var forbidden = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"168.63.129.16/32", // metadata of one cloud at a public address
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// public tells an address of the internet. IPv6 addresses that carry an IPv4 address are judged by that.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || slices.ContainsFunc(forbidden, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return false
	}
	if v4, ok := embedded(a); ok {
		return public(v4)
	}
	return true
}

var nat64, sixToFour = netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16")

func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// refusal is an error that says why a connection or a request is refused; the box is told.
type refusal struct {
	status int // of the answer
	why    string
}

func (r *refusal) Error() string { return r.why }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// dialer makes the connections out. Every one, also when a kept-alive one is replaced, resolves and checks anew.
type dialer struct {
	live    *live
	resolve Resolver
	// dial connects to an address that has been allowed. control is to be called with what the system will connect to.
	dial func(ctx context.Context, to netip.AddrPort, control func(netip.AddrPort) error) (net.Conn, error)
	// own gives the addresses of this host.
	own func() ([]netip.Addr, error)
}

// connect implements http.Transport.DialContext: addr is a name and a port that the request was allowed with.
func (d *dialer) connect(ctx context.Context, _, addr string) (net.Conn, error) {
	name, port, err := splitPort(addr)
	if err != nil {
		return nil, err
	}
	t, ok := d.live.find(name, port)
	if !ok {
		return nil, refuse(403, "%s:%d is not allowed by the egress policy", name, port)
	}
	addrs, err := d.addrs(ctx, t, name)
	if err != nil {
		return nil, err
	}
	if t.toPort != 0 {
		port = t.toPort
	}
	var failed []error
	for _, a := range addrs {
		conn, err := d.one(ctx, t, netip.AddrPortFrom(a, uint16(port)))
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("failed to reach %s: %w", name, errors.Join(failed...))
}

func (d *dialer) one(ctx context.Context, t target, to netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := d.dial(ctx, to, func(real netip.AddrPort) error {
		if real.Port() != to.Port() || !d.allowed(t, real.Addr().Unmap()) {
			return refuse(403, "a connection to %v was about to go to %v", to, real)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connectTLS gives http.Transport.DialTLSContext: a connection with TLS, by conf, to the name in addr. With h1 it is read
// and written in chunks; else it is a *tls.Conn, since only so the transport speaks h2.
func (d *dialer) connectTLS(conf *tls.Config, h1 bool, within time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := d.connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conf := conf.Clone()
		conf.ServerName, _, _ = net.SplitHostPort(addr) // connect has read it
		b := &bulk{out: &cork{Conn: raw}}
		b.below = &records{Conn: b.out}
		b.Conn = tls.Client(b.below, conf)
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if err := b.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, err
		}
		if h1 {
			return b, nil
		}
		return b.Conn, nil
	}
}

// addrs gives the addresses that name may be reached at.
func (d *dialer) addrs(ctx context.Context, t target, name string) ([]netip.Addr, error) {
	if t.addr.IsValid() {
		return []netip.Addr{t.addr}, nil
	}
	found, err := d.resolve.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, fmt.Errorf("failed to resolve %s: %w", name, err)
	}
	var out []netip.Addr
	for _, a := range found {
		if a = a.Unmap(); d.allowed(t, a) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	switch {
	case len(out) == 0 && len(found) == 0:
		return nil, fmt.Errorf("failed to resolve %s: it has no address", name)
	case len(out) == 0:
		return nil, refuse(403, "%s resolves to %v, which is not a public address; a rule {:host %q :addr ADDRESS} would allow it", name, found[0], name)
	}
	slices.SortStableFunc(out, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return out[:min(len(out), maxDials)], nil
}

// allowed decides about an address.
func (d *dialer) allowed(t target, a netip.Addr) bool {
	switch {
	case t.addr.IsValid():
		return a == t.addr
	case t.net.IsValid() && t.net.Contains(a):
		return true
	case !public(a):
		return false
	}
	own, err := d.own()
	return err == nil && !slices.Contains(own, a)
}

// ownAddrs gives the addresses of this host's interfaces.
func ownAddrs() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out, nil
}

// dialTCP is the dialer's dial where none is given.
func dialTCP(ctx context.Context, to netip.AddrPort, control func(netip.AddrPort) error) (net.Conn, error) {
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		real, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return control(real)
	}}
	return d.DialContext(ctx, "tcp", to.String())
}

func splitPort(addr string) (string, int, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.Atoi(p)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("address: got the port %q, want 1 to 65535", p)
	}
	return host, port, nil
}
