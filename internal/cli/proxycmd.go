package cli

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// proxyCmd is `zeno proxy`: the egress proxy of a box by itself, for backends that zeno does not run in.
type proxyCmd struct {
	Profile     string            `arg:"" help:"The profile: EDN, or JSON if its name ends in .json."`
	Listen      []string          `placeholder:"ADDR" help:"Answer as an ordinary forward proxy, with CONNECT, at ADDR, such as 127.0.0.1:3128."`
	Transparent map[string]string `placeholder:"PORT=ADDR" help:"Take connections to PORT at ADDR; their local address says, by the names that --dns gave out, where they lead."`
	DNS         string            `name:"dns" placeholder:"ADDR" help:"Answer DNS at ADDR, UDP."`
	Remote      bool              `help:"Allow addresses that are not loopback. Whoever reaches them uses the secrets."`
	Roots       string            `placeholder:"FILE" help:"Verify servers by the certificates in FILE (PEM) too, besides the system's."`
	CA          string            `name:"ca" placeholder:"FILE" help:"Write the certificate of the run's authority."`
	Env         string            `name:"env-file" placeholder:"FILE" help:"Write what the box is to have in its environment: placeholders, as NAME=VALUE lines."`
	Events      string            `placeholder:"FILE" help:"Append every decision, one JSON object a line; - is stdout. Default: stderr, in short."`
}

// Help implements kong.HelpProvider.
func (proxyCmd) Help() string {
	return `Runs until a signal ends it. Its rules are those of a box: names are allowed and addresses are not, TLS is intercepted, secrets are put in only toward their own hosts. A change of the profile's :egress is taken over within a second; it closes and never opens.

Profile:

  {:egress {:default :deny :allow ["api.github.com" "pkg.example.net"]}
   :secrets [{:env "GH_TOKEN" :hosts ["api.github.com"] :from {:file "/run/secrets/gh"}}]}

Example:

  zeno proxy box.edn --listen 127.0.0.1:3128 --ca ca.pem &
  HTTPS_PROXY=http://127.0.0.1:3128 curl --cacert ca.pem -H 'Authorization: Bearer $MSB_GH_TOKEN' https://api.github.com/user`
}

// Run implements `zeno proxy`.
func (c *proxyCmd) Run(a *app) error {
	if len(c.Listen) == 0 && len(c.Transparent) == 0 {
		return usage(errors.New("proxy: got no address, want --listen ADDR or --transparent PORT=ADDR"))
	}
	return a.attend(func(ctx context.Context) error { return c.run(ctx, a) })
}

func (c *proxyCmd) run(ctx context.Context, a *app) error {
	profile, err := readProfile(c.Profile)
	if err != nil {
		return usage(err)
	}
	conf, err := profile.Config(ctx, secret.Env{Lookup: lookup(a.std.Getenv)})
	if err != nil {
		return err
	}
	if conf.Roots, err = c.roots(); err != nil {
		return err
	}
	events, done, err := c.events(a)
	if err != nil {
		return err
	}
	defer done()
	conf.Event = events
	p, err := egress.New(conf)
	if err != nil {
		return usage(err)
	}
	return c.serve(ctx, a, p)
}

// roots gives what verifies upstream servers; nil are the system's certificates.
func (c *proxyCmd) roots() (*x509.CertPool, error) {
	if c.Roots == "" {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("failed to read the system's certificates: %w", err)
	}
	text, err := os.ReadFile(c.Roots)
	if err != nil {
		return nil, usage(err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, usage(fmt.Errorf("proxy: got no certificate in %s, want PEM", c.Roots))
	}
	return pool, nil
}

func lookup(getenv func(string) string) func(string) (string, bool) {
	return func(name string) (string, bool) { v := getenv(name); return v, v != "" }
}

func (c *proxyCmd) serve(ctx context.Context, a *app, p *egress.Proxy) error {
	l, forward, err := c.listeners()
	if err != nil {
		return err
	}
	if err := c.write(p); err != nil {
		l.Close()
		return err
	}
	for _, f := range forward {
		fmt.Fprintf(a.std.Err, "zeno proxy: http://%s\n", f.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx, a, p) })
	defer watching.Wait()
	defer cancel()
	return p.ServeForward(ctx, l, forward...)
}

// listeners opens every address, or none.
func (c *proxyCmd) listeners() (l sandbox.Listeners, forward []net.Listener, err error) {
	l.TCP = map[int]net.Listener{}
	defer func() {
		if err != nil {
			l.Close()
			for _, f := range forward {
				_ = f.Close()
			}
		}
	}()
	for _, addr := range c.Listen {
		if err = c.local(addr); err != nil {
			return l, forward, err
		}
		f, err := net.Listen("tcp", addr)
		if err != nil {
			return l, forward, err
		}
		forward = append(forward, f)
	}
	for text, addr := range c.Transparent {
		port, bad := strconv.ParseUint(text, 10, 16)
		if bad != nil || port == 0 {
			return l, forward, usage(fmt.Errorf("proxy: got the port %q, want --transparent PORT=ADDR", text))
		}
		if err = c.local(addr); err != nil {
			return l, forward, err
		}
		if l.TCP[int(port)], err = net.Listen("tcp", addr); err != nil {
			delete(l.TCP, int(port))
			return l, forward, err
		}
	}
	if c.DNS != "" {
		if err = c.local(c.DNS); err != nil {
			return l, forward, err
		}
		if l.DNS, err = net.ListenPacket("udp", c.DNS); err != nil {
			l.DNS = nil
			return l, forward, err
		}
	}
	return l, forward, nil
}

// local refuses addresses that others can reach: whoever connects uses the secrets.
func (c *proxyCmd) local(addr string) error {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return usage(fmt.Errorf("proxy: got the address %q, want IP:PORT", addr))
	}
	if !c.Remote && !a.Addr().IsLoopback() {
		return usage(fmt.Errorf("proxy: got the address %s, which others can reach, and so use the secrets; want a loopback address, or --remote", addr))
	}
	return nil
}

// write gives the box's side what it has to know.
func (c *proxyCmd) write(p *egress.Proxy) error {
	if c.CA != "" {
		if err := os.WriteFile(c.CA, p.CA(), 0o644); err != nil {
			return fmt.Errorf("failed to write the certificate: %w", err)
		}
	}
	if c.Env == "" {
		return nil
	}
	var lines []string
	for k, v := range p.Placeholders() {
		lines = append(lines, k+"="+v+"\n")
	}
	sort.Strings(lines)
	if err := os.WriteFile(c.Env, []byte(strings.Join(lines, "")), 0o644); err != nil {
		return fmt.Errorf("failed to write the environment: %w", err)
	}
	return nil
}

// events gives what is told of each decision.
func (c *proxyCmd) events(a *app) (func(egress.Event), func(), error) {
	if c.Events == "" {
		var mu sync.Mutex
		return func(e egress.Event) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(a.std.Err, eventLine(e))
		}, func() {}, nil
	}
	out, done := io.Writer(a.std.Out), func() {}
	if c.Events != "-" {
		f, err := os.OpenFile(c.Events, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("failed to open the file of events: %w", err)
		}
		out, done = f, func() { _ = f.Close() }
	}
	var mu sync.Mutex
	enc := json.NewEncoder(out)
	return func(e egress.Event) {
		mu.Lock()
		defer mu.Unlock()
		_ = enc.Encode(e) // a full disk is no reason to stop the box
	}, done, nil
}

func eventLine(e egress.Event) string {
	s := fmt.Sprintf("%s %s", e.Time.Format(time.TimeOnly), e.Kind)
	for _, part := range []string{e.Method, e.Host + e.Path} {
		if part != "" {
			s += " " + strconv.Quote(part)
		}
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" %d", e.Status)
	}
	if len(e.Secrets) > 0 {
		s += " secrets=" + strings.Join(e.Secrets, ",")
	}
	if e.Refused != "" {
		s += " refused: " + strconv.Quote(e.Refused)
	}
	if e.Error != "" {
		s += " error: " + strconv.Quote(e.Error)
	}
	return s
}

// reloadEvery is how often the profile is looked at.
const reloadEvery = 500 * time.Millisecond

// watch takes changes of the profile's policy over, until ctx ends.
func (c *proxyCmd) watch(ctx context.Context, a *app, p *egress.Proxy) {
	var was os.FileInfo
	was, _ = os.Stat(c.Profile)
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.Stat(c.Profile)
		if err != nil || was != nil && now.ModTime().Equal(was.ModTime()) && now.Size() == was.Size() {
			continue
		}
		was = now
		if err := c.reload(a, p); err != nil {
			fmt.Fprintf(a.std.Err, "zeno proxy: the policy stays as it was: %v\n", err)
		}
	}
}

func (c *proxyCmd) reload(a *app, p *egress.Proxy) error {
	profile, err := readProfile(c.Profile)
	if err != nil {
		return err
	}
	closed, err := p.SetPolicy(profile.Policy)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.std.Err, "zeno proxy: policy taken over")
	for _, r := range closed {
		fmt.Fprintf(a.std.Err, "zeno proxy: %v stays closed: what a box was started without is not opened; start anew\n", r)
	}
	return nil
}

// maxProfile bounds a profile.
const maxProfile = 1 << 20

func readProfile(path string) (*egress.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(bufio.NewReader(f), maxProfile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to read the profile: %w", err)
	case len(text) > maxProfile:
		return nil, fmt.Errorf("profile %s: got more than %d bytes", path, maxProfile)
	}
	var data any
	if filepath.Ext(path) == ".json" {
		err = json.Unmarshal(text, &data)
	} else {
		data, err = readEDN(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", path, err)
	}
	return egress.ParseProfile(data)
}

// readEDN reads one form of plain data.
func readEDN(text string) (any, error) {
	t := value.NewThread(value.NewRun(context.Background(), limit.Defaults()), value.NewEnv(value.NewNamespace("user"), nil))
	v, err := read.New(t, text, read.Options{EDN: true}).Read()
	if err != nil {
		return nil, err
	}
	return bind.Plain(t, v)
}
