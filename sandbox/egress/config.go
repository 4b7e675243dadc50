package egress

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/sandbox/secret"
)

// InternalHost is the name under which a box reaches its own endpoint of the gateway, over plain HTTP.
const InternalHost = "zeno.internal"

// Place is a part of a request, besides its headers, that a secret may be put into.
type Place string

// The places.
const (
	Query Place = "query"
	Body  Place = "body"
)

// Secret is a value that the box knows by its placeholder, "$MSB_" and Env, only.
type Secret struct {
	// Env is the variable of the box that holds the placeholder: letters, digits and _.
	Env string
	// Hosts are the names, as in a Rule, that the value is sent to. A port limits it to that port. A bound host is
	// reachable only where the policy allows it.
	Hosts []string
	// Value is the secret.
	Value secret.Value
	// In lists where else than in headers it is put in.
	In []Place
}

// Placeholder is what the box sees instead of the value.
func (s Secret) Placeholder() string { return "$MSB_" + s.Env }

// Internal is the box's way to the gateway.
type Internal struct {
	// Endpoint is the gateway's endpoint of this spawn's role, such as http://127.0.0.1:8080/mcp/worker. The box reaches
	// exactly its path, as http://zeno.internal/mcp/worker.
	Endpoint *url.URL
	// Token is put in for the placeholder of TokenEnv, toward zeno.internal only. The zero Token: none.
	Token secret.Value
	// TokenEnv is the variable of the box. Empty: ZENO_TOKEN.
	TokenEnv string
}

// Limits bounds what one box may use. Zero fields take the defaults that are given with each.
type Limits struct {
	Conns       int           // connections at once; 256
	Requests    int           // requests at once, over all connections; 512
	HeaderBytes int           // of a request; 64 KiB. Of an answer: four times as much
	HeaderTime  time.Duration // to send a request's headers; 30s
	Handshake   time.Duration // of TLS; 10s
	Idle        time.Duration // without a byte in either direction; 15m
	DNSRate     float64       // queries a second, with bursts of twice that; 200
	EventRate   float64       // events a second, with bursts of ten times that; 100. Requests and usage are never dropped
}

func (l Limits) withDefaults() Limits {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	after := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&l.Conns, 256)
	def(&l.Requests, 512)
	def(&l.HeaderBytes, 64<<10)
	after(&l.HeaderTime, 30*time.Second)
	after(&l.Handshake, 10*time.Second)
	after(&l.Idle, 15*time.Minute)
	if l.DNSRate <= 0 {
		l.DNSRate = 200
	}
	if l.EventRate <= 0 {
		l.EventRate = 100
	}
	return l
}

// Config describes the network of one box.
type Config struct {
	Policy  Policy
	Secrets []Secret
	// Internal, if not nil, is the way to the gateway.
	Internal *Internal
	// Roots verifies upstream certificates. Nil: the system's.
	Roots  *x509.CertPool
	Limits Limits
	// Event is told of every decision. It is called from many goroutines and must return soon. Nil: nobody is.
	Event func(Event)

	// Resolver resolves allowed names on the host. Nil: net.DefaultResolver.
	Resolver Resolver
	// Dial connects to an address that was allowed, and calls control with what it really connects to. Nil: the system.
	Dial func(ctx context.Context, to netip.AddrPort, control func(netip.AddrPort) error) (net.Conn, error)
	// Own gives the addresses of this host, which are refused like private ones. Nil: those of its interfaces.
	Own func() ([]netip.Addr, error)
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// caVars are the variables by which programs find certificates. The second row is of programs whose own configuration may
// name the system's file, which has not the proxy's certificate: npm's does on many machines.
var caVars = []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"npm_config_cafile", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE"}

// bound is a Secret ready for use.
type bound struct {
	env, placeholder, value string
	hosts                   []rule
	query, body             bool
}

// at tells whether the secret is bound to name at port.
func (b *bound) at(name string, port int) bool {
	for i := range b.hosts {
		if r := &b.hosts[i]; r.names(name) && (r.port == 0 || r.port == port) {
			return true
		}
	}
	return false
}

// of tells whether the secret is bound to name at any port.
func (b *bound) of(name string) bool {
	return slices.ContainsFunc(b.hosts, func(r rule) bool { return r.names(name) })
}

// ResolveSecrets finds the values of secrets that have none. The error names each that is missing.
func ResolveSecrets(ctx context.Context, secrets []Secret, from secret.Resolver) ([]Secret, error) {
	out := make([]Secret, len(secrets))
	var missing []string
	var first error
	for i, s := range secrets {
		if s.Value.IsZero() {
			v, err := from.Resolve(ctx, s.Env)
			if err != nil {
				missing = append(missing, s.Env)
				if first == nil {
					first = err
				}
			}
			s.Value = v
		}
		out[i] = s
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("secrets: no value for %s: %w", strings.Join(missing, ", "), first)
	}
	return out, nil
}

func (c *Config) bind() ([]bound, error) {
	var out []bound
	seen := map[string]bool{}
	for _, s := range c.Secrets {
		b, err := s.compile()
		if err != nil {
			return nil, err
		}
		if seen[s.Env] {
			return nil, fmt.Errorf("secret %s: got it twice, want each variable once", s.Env)
		}
		seen[s.Env] = true
		out = append(out, b)
	}
	return out, nil
}

func (s Secret) compile() (bound, error) {
	b := bound{env: s.Env, placeholder: s.Placeholder(), value: s.Value.Reveal()}
	switch {
	case slices.Contains(caVars, s.Env):
		return b, fmt.Errorf("secret: got the variable %s, which says where the certificates are; want another", s.Env)
	case !variable(s.Env):
		return b, fmt.Errorf("secret: got the variable %q, want letters, digits and _, not a digit first", s.Env)
	case s.Value.IsZero():
		return b, fmt.Errorf("secret %s: %w: nothing resolved it", s.Env, secret.ErrMissing)
	case len(s.Hosts) == 0:
		return b, fmt.Errorf("secret %s: got no hosts, want the names it is sent to", s.Env)
	}
	for _, h := range s.Hosts {
		r, err := ParseRule(h)
		if err == nil {
			var c rule
			if c, err = r.compile(); c.any {
				err = fmt.Errorf("got the host *, want names: a secret for every host is no secret")
			}
			b.hosts = append(b.hosts, c)
		}
		if err != nil {
			return b, fmt.Errorf("secret %s: %w", s.Env, err)
		}
	}
	for _, p := range s.In {
		switch p {
		case Query:
			b.query = true
		case Body:
			b.body = true
		default:
			return b, fmt.Errorf("secret %s: got :in %q, want :query or :body", s.Env, string(p))
		}
	}
	if !b.body && strings.ContainsAny(b.value, "\r\n\x00") {
		return b, fmt.Errorf("secret %s: got a value of several lines, which no header can hold; want one line, or :in #{:body}", s.Env)
	}
	return b, nil
}

func variable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
