package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Rule names hosts.
type Rule struct {
	// Host is a name ("pkg.example.net"), the names below one ("*.pkg.example.net", which is not pkg.example.net itself), or "*".
	Host string
	// Port is the only port. Zero: 80, 443 and the port of Addr.
	Port int
	// Addr is where connections go instead of to what Host resolves to: "IP", "IP:PORT", or a network as "IP/BITS" into
	// which Host may resolve although it is private. Only a rule with Addr reaches a private address.
	Addr string
}

// String gives the rule as ParseRule reads it, with its address behind it.
func (r Rule) String() string {
	s := r.Host
	if r.Port != 0 {
		s += ":" + strconv.Itoa(r.Port)
	}
	if r.Addr != "" {
		s += " at " + r.Addr
	}
	return s
}

// ParseRule reads "host", "*.host", "*", or one of them with ":port".
func ParseRule(s string) (Rule, error) {
	host, port := s, 0
	if h, p, ok := strings.Cut(s, ":"); ok {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return Rule{}, fmt.Errorf("egress rule: got %q, want HOST, *.HOST or HOST:PORT with a port from 1 to 65535", s)
		}
		host, port = h, int(n)
	}
	r := Rule{Host: host, Port: port}
	_, err := r.compile()
	return r, err
}

// rule is a Rule ready for use.
type rule struct {
	name   string // without "*."
	below  bool   // the names below name
	any    bool
	port   int
	addr   netip.Addr
	toPort int // of addr; 0: as dialled
	net    netip.Prefix
}

func (r Rule) compile() (rule, error) {
	out := rule{port: r.Port}
	host := r.Host
	switch {
	case host == "*":
		out.any = true
	case strings.HasPrefix(host, "*."):
		out.below, host = true, host[2:]
	}
	if !out.any {
		name, err := hostname(host)
		if err != nil {
			return rule{}, fmt.Errorf("egress rule: got %q, %w", r.Host, err)
		}
		out.name = name
	}
	if r.Port < 0 || r.Port > 65535 {
		return rule{}, fmt.Errorf("egress rule %s: got the port %d, want 1 to 65535", r.Host, r.Port)
	}
	if out.name == InternalHost || strings.HasSuffix(out.name, "."+InternalHost) {
		return rule{}, fmt.Errorf("egress rule: got %s, which is zeno's own name in a box and needs no rule", r.Host)
	}
	return out, out.place(r)
}

// place reads the rule's address.
func (c *rule) place(r Rule) error {
	switch {
	case r.Addr == "":
		return nil
	case strings.Contains(r.Addr, "/"):
		p, err := netip.ParsePrefix(r.Addr)
		if err != nil {
			return fmt.Errorf("egress rule %s: got the network %q, want IP/BITS, such as 10.1.0.0/16", r.Host, r.Addr)
		}
		c.net = p.Masked()
		return nil
	}
	if a, err := netip.ParseAddr(r.Addr); err == nil {
		c.addr = a.Unmap()
		return nil
	}
	a, err := netip.ParseAddrPort(r.Addr)
	if err != nil || a.Port() == 0 {
		return fmt.Errorf("egress rule %s: got the address %q, want IP, IP:PORT or IP/BITS", r.Host, r.Addr)
	}
	c.addr, c.toPort = a.Addr().Unmap(), int(a.Port())
	return nil
}

// names tells whether the rule is about name, whatever the port.
func (c *rule) names(name string) bool {
	switch {
	case c.any:
		return true
	case c.below:
		return len(name) > len(c.name)+1 && strings.HasSuffix(name, c.name) && name[len(name)-len(c.name)-1] == '.'
	}
	return name == c.name
}

// matches tells whether the rule is about name at port.
func (c *rule) matches(name string, port int) bool {
	if !c.names(name) {
		return false
	}
	if c.port != 0 {
		return port == c.port
	}
	return port == 80 || port == 443 || c.toPort != 0 && port == c.toPort
}

// hostname brings a name into the one spelling that names are compared in: lower case, ASCII, no dot at its end.
func hostname(s string) (string, error) {
	s = strings.TrimSuffix(s, ".")
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil || net.ParseIP(s) != nil {
		return "", fmt.Errorf("want a name: an address has no name to decide by; {:host NAME :addr ADDRESS} reaches one")
	}
	name, err := idna.Lookup.ToASCII(s)
	if err != nil || !plainName(name) {
		// Names with an underscore are no hostnames but are in use.
		if name = strings.ToLower(s); !plainName(name) {
			return "", fmt.Errorf("want a host name such as example.org")
		}
	}
	return name, nil
}

// plainName tells a name that DNS can carry and that means the same to every parser: letters, digits, - and _ in labels
// of 1 to 63 bytes, 253 in all, the last label not a number, which some parsers read as an address.
func plainName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
		last = label
	}
	return last[0] < '0' || last[0] > '9'
}
