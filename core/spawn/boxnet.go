package spawn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// modelHost is what a box calls a model server that the base URL gives by its address.
const modelHost = "model.internal"

// network is what the box's proxy decides by: the profile's rules, and those that the model and the endpoint need.
func (s *run) network(ctx context.Context, b backend.Backend, x *boxing) (egress.Config, error) {
	var none egress.Config
	policy, err := Policy(s.req.Box.Egress)
	if err != nil {
		return none, err
	}
	hosts, err := s.modelRules(ctx, b, x, &policy)
	if err != nil {
		return none, err
	}
	conf := egress.Config{Policy: policy, Roots: s.conf.Roots, Event: s.heardEgress}
	if s.req.APIKey != "" {
		bound, err := modelSecret(s.req.APIKey, hosts)
		if err != nil {
			return none, err
		}
		conf.Secrets = append(conf.Secrets, bound)
	}
	for _, sec := range s.req.Box.Secrets {
		v, err := x.secrets.Resolve(ctx, sec.Env)
		if err != nil {
			return none, err
		}
		bound := egress.Secret{Env: sec.Env, Hosts: sec.Hosts, Value: v}
		for _, in := range sec.In {
			bound.In = append(bound.In, egress.Place(in))
		}
		conf.Secrets = append(conf.Secrets, bound)
	}
	if conf.Internal, err = s.internal(x); err != nil {
		return none, err
	}
	x.policy = policy
	return conf, nil
}

// internal is the way to the spawn's own endpoint.
func (s *run) internal(x *boxing) (*egress.Internal, error) {
	endpoint, err := url.Parse(s.endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	token, err := secret.New(s.token)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	x.endpoint = "http://" + egress.InternalHost + endpoint.EscapedPath()
	return &egress.Internal{Endpoint: endpoint, Token: token, TokenEnv: tokenEnv}, nil
}

// Policy makes of a profile's :egress what a proxy decides by. None and nothing are a policy that denies.
func Policy(e sandbox.Egress) (egress.Policy, error) {
	p := egress.Policy{Default: egress.Deny}
	switch e.Default {
	case "", sandbox.EgressDeny:
	case sandbox.EgressNone:
		if len(e.Allow) > 0 {
			return p, errors.New("sandbox: :egress: got :none and :allow, want {:default :deny :allow […]}")
		}
	case sandbox.EgressPublic:
		p.Default = egress.Public
	default:
		return p, fmt.Errorf("sandbox: :egress :default: got %q, want :none, :deny or :public", e.Default)
	}
	for i, r := range e.Allow {
		rule, err := egress.ParseRule(r.Host)
		if err != nil {
			return p, fmt.Errorf("sandbox: :egress :allow %d: %w", i, err)
		}
		rule.Addr = r.Addr
		if r.Port != 0 {
			rule.Port = r.Port
		}
		p.Allow = append(p.Allow, rule)
	}
	for i, h := range e.Deny {
		rule, err := egress.ParseRule(h)
		if err != nil {
			return p, fmt.Errorf("sandbox: :egress :deny %d: %w", i, err)
		}
		p.Deny = append(p.Deny, rule)
	}
	return p, nil
}

// modelRules allows the model server, and says which hosts its key is for.
func (s *run) modelRules(ctx context.Context, b backend.Backend, x *boxing, p *egress.Policy) (hosts []string, err error) {
	if s.req.BaseURL == "" {
		if len(b.Hosts) == 0 && s.req.APIKey != "" {
			return nil, fmt.Errorf("base-url: got none, want one: in a box the key goes to one model server only, and backend %s has none of its own", b.Name)
		}
		for _, h := range b.Hosts {
			p.Allow = append(p.Allow, egress.Rule{Host: h})
		}
		return b.Hosts, nil
	}
	base, err := url.Parse(s.req.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, fmt.Errorf("base-url: got %q, want http://… or https://… of a model server", s.req.BaseURL)
	}
	if base.User != nil {
		return nil, errors.New("base-url: got a user or a password in it, which a box would see; want :api-key-env")
	}
	if base.Scheme == "http" && s.req.APIKey != "" {
		return nil, fmt.Errorf("base-url: got %q and a key, and out of a box a key goes over https only; want https, or no :api-key-env where the server needs no key", s.req.BaseURL)
	}
	rule, host, err := s.modelRule(ctx, base, p)
	if err != nil {
		return nil, err
	}
	if rule.Host != "" {
		p.Allow = append(p.Allow, rule)
	}
	base.Host = host
	if port := base.Port(); port == "" && rule.Port != 0 && !usual(base.Scheme, rule.Port) {
		base.Host = net.JoinHostPort(host, strconv.Itoa(rule.Port))
	}
	x.baseURL = base.String()
	return []string{base.Host}, nil
}

func usual(scheme string, port int) bool {
	return scheme == "http" && port == 80 || scheme == "https" && port == 443
}

// modelRule is the rule that a base URL stands for, and the host it has in the box. An empty rule: the profile has one.
func (s *run) modelRule(ctx context.Context, base *url.URL, p *egress.Policy) (egress.Rule, string, error) {
	name := strings.ToLower(strings.TrimSuffix(base.Hostname(), "."))
	port := 80
	if base.Scheme == "https" {
		port = 443
	}
	if text := base.Port(); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 65535 {
			return egress.Rule{}, "", fmt.Errorf("base-url: got the port %q, want 1 to 65535", text)
		}
		port = n
	}
	for _, r := range p.Allow {
		if strings.EqualFold(r.Host, name) && (r.Port == 0 && usual(base.Scheme, port) || r.Port == port || strings.HasSuffix(r.Addr, ":"+strconv.Itoa(port))) {
			return egress.Rule{}, withPort(name, base), nil
		}
	}
	addr, err := netip.ParseAddr(name)
	local := name == "localhost" || strings.HasSuffix(name, ".localhost")
	if local {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	if err == nil { // the box knows names only, and its own loopback is not the host's
		if base.Scheme == "https" {
			return egress.Rule{}, "", fmt.Errorf("base-url: got %q, and a box reaches https by a name that the server's certificate holds; want a name, with {:host NAME :addr %q} among the :allow of the profile's :egress",
				s.req.BaseURL, netip.AddrPortFrom(addr, uint16(port)))
		}
		return egress.Rule{Host: modelHost, Port: port, Addr: netip.AddrPortFrom(addr.Unmap(), uint16(port)).String()}, withPort(modelHost, base), nil
	}
	return egress.Rule{Host: name, Port: port, Addr: privateAddr(ctx, name, port)}, withPort(name, base), nil
}

func withPort(name string, base *url.URL) string {
	if p := base.Port(); p != "" {
		return net.JoinHostPort(name, p)
	}
	return name
}

// resolveTime bounds the look-up of the model server's name.
const resolveTime = 5 * time.Second

// privateAddr is where a name leads that leads to the operator's own network: who wrote it as the model server means that.
// It is found once and stays, so that the name cannot come to mean another machine. Empty: a public one, or none.
func privateAddr(ctx context.Context, name string, port int) string {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return "" // the proxy will say so when it is asked for it
	}
	for _, a := range addrs {
		if a = a.Unmap(); a.IsPrivate() || a.IsLoopback() {
			return netip.AddrPortFrom(a, uint16(port)).String()
		}
	}
	return ""
}

// heardEgress passes on what the proxy tells, and counts what models say they used.
func (s *run) heardEgress(e egress.Event) {
	if e.Kind == egress.KindUsage && e.Usage != nil {
		u := *e.Usage
		s.used.proxy(backend.Usage{TokensIn: u.Input + u.CacheRead + u.CacheWrite, TokensOut: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
		s.checkUsage()
	}
	if s.conf.OnEgress != nil {
		s.conf.OnEgress(s.req.ID, s.req.Role, e)
	}
}
