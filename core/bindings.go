package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// namespaces are the engine's own, for the program.
func (c *Core) namespaces() map[string][]value.Builtin {
	ns := map[string][]value.Builtin{}
	ns["zeno.gateway"] = []value.Builtin{
		bind.Func("start!", "([{:keys [host port roles allowed-hosts allowed-origins allow-non-loopback]}])",
			"Registers roles, each with the function that returns its grant or with that map, which is checked at once, and starts the agents' listener. Called again it swaps roles and options and keeps the listener. Gives {:url …}.", c.startGateway),
		bind.Func("stop!", "([])", "Stops the agents' listener. Running evaluations are cancelled.", c.stopGateway),
		bind.Func("roles", "([])", "Lists the registered roles.", c.roleNames),
		bind.Func("url", "([role])", "Gives the MCP endpoint of a role.", (*door)(c).Endpoint),
	}
	ns["zeno.spawn"] = []value.Builtin{
		bind.Func("spawn", "([{:keys [role prompt system model backend agent timeout stall resume tools base-url api-key-env env work sandbox trust budget retries advisor on-event]}])",
			"Runs one agent to its end and gives {:id … :status … :answer … :usage … :evals … :ms … :boxed …}. :backend is a name, or a map that describes a CLI. The CLI runs in a box: :sandbox is a map of what it may use besides its model and its endpoint, in the words of zeno.sandbox/run, or :none. :advisor {:model … :rounds 3 :rubric …} is a second agent that must approve the answer: :advice says what it said, and :status is :rejected where it never did. :on-event is a function of each event, {:kind :started|:text|:call|:usage|:advice|:ended …}.", c.spawn),
		bind.Func("caller", "([])", "Inside a capability: {:role … :spawn …} of the agent that calls it; nil elsewhere.", caller),
		bind.Func("backends", "([])", "Lists the names of the agent CLIs that spawn knows, and :scripted.", c.backendNames),
	}
	ns["zeno.spawn"] = append(ns["zeno.spawn"], c.spawnFunctions()...)
	ns["zeno.budget"] = c.budgetFunctions()
	ns["zeno.grant.live"] = c.holdFunctions()
	ns["zeno.ask"] = c.askFunctions()
	ns["zeno.home"] = []value.Builtin{
		bind.Func("dir", "([])", "Gives the directory of the home, or nil.", c.homeDir),
	}
	ns["zeno.journal"] = c.journalFunctions()
	if c.rehearsal != nil {
		ns["zeno.dry-run"] = c.rehearsal.functions()
	}
	ns["zeno.loop"] = append(c.loopFunctions(), c.hookFunctions()...)
	ns["zeno.sandbox"] = c.boxFunctions()
	ns["zeno.oci"] = c.imageFunctions()
	ns["zeno.secret"] = c.secretFunctions()
	ns["zeno.engine"] = c.engineFunctions()
	ns["zeno.observe"] = c.observeFunctions()
	return ns
}

type gatewayForm struct {
	Host             string                 `lisp:"host"`
	Port             int                    `lisp:"port"`
	Roles            map[string]value.Value `lisp:"roles"`
	AllowedHosts     []string               `lisp:"allowed-hosts"`
	AllowedOrigins   []string               `lisp:"allowed-origins"`
	AllowNonLoopback bool                   `lisp:"allow-non-loopback"`
	MaxBody          bind.Size              `lisp:"max-body"`
}

func (c *Core) gatewayConfig(addr string) gateway.Config {
	return gateway.Config{Host: (*host)(c), Addr: addr, Name: "zeno", Version: c.conf.Version, Log: c.conf.Log,
		ToolMeta: backend.ToolMeta()}
}

func (c *Core) startGateway(ctx context.Context, f gatewayForm) (map[string]string, error) {
	roles := map[string]value.Value{}
	for name, v := range f.Roles {
		if k := v.Kind(); k != value.KindFn && k != value.KindVar && !k.IsMap() {
			return nil, fmt.Errorf(":roles :%s: got a %s, want a function, a var or a map", name, k)
		}
		if v.Kind().IsMap() {
			if _, err := c.decodeGrant(ctx, v); err != nil {
				return nil, fmt.Errorf(":roles :%s: %w", name, err)
			}
		}
		roles[name] = v
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if _, err := (listenForm{f.Host, f.Port, f.AllowNonLoopback}).addr(); err != nil { // in the words of its caller
		return nil, err
	}
	conf := c.gatewayConfig(c.listenAddr(f))
	conf.AllowedHosts, conf.AllowedOrigins, conf.AllowNonLoopback = f.AllowedHosts, f.AllowedOrigins, f.AllowNonLoopback
	conf.MaxBody = int64(f.MaxBody)
	g := c.Gateway()
	if err := g.Configure(conf); err != nil {
		return nil, err
	}
	err := g.Start(ctx)
	if errors.Is(err, syscall.EADDRINUSE) && c.borrows() {
		c.taken = conf.Addr
		if conf.Addr, err = anyPort(conf.Addr); err == nil {
			err = errors.Join(g.Configure(conf), g.Start(ctx))
		}
	}
	if err != nil {
		return nil, err
	}
	c.addr = conf.Addr
	c.mu.Lock()
	c.roles = roles
	c.mu.Unlock()
	return map[string]string{"url": "http://" + g.Addr()}, nil
}

// borrows tells whether another zeno may serve the home, and have the port that it names: this one is a command that only
// loads the home, or a REPL beside.
func (c *Core) borrows() bool {
	if c.conf.Idle {
		return true
	}
	if c.conf.Serve || c.conf.Home == nil {
		return false
	}
	pid, served, _ := c.conf.Home.Served()
	return served && pid != strconv.Itoa(os.Getpid())
}

// anyPort is a free port in the place of one that is taken.
func anyPort(addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, "0"), nil
}

// listenAddr is where to listen. A call that names neither host nor port keeps the listener of the one before.
func (c *Core) listenAddr(f gatewayForm) string {
	if c.rehearsal != nil { // the instance in earnest may have the port
		f.Host, f.Port = "", 0
	}
	if f.Host == "" && f.Port == 0 && c.addr != "" {
		return c.addr
	}
	addr := net.JoinHostPort(cmp.Or(f.Host, "127.0.0.1"), strconv.Itoa(f.Port))
	if addr == c.taken && c.addr != "" {
		return c.addr
	}
	return addr
}

// stopGateway is zeno.gateway/stop!. A gateway that was stopped stays so, and the next start! starts another.
func (c *Core) stopGateway(ctx context.Context) error {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.Gateway().Addr() == "" || c.ctx.Err() != nil {
		return nil
	}
	next, err := gateway.New(c.gatewayConfig(""))
	if err != nil {
		return err
	}
	c.addr, c.taken = "", ""
	return c.gateway.Swap(next).Stop(ctx)
}

func (c *Core) roleNames() []bind.Keyword {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []bind.Keyword
	for _, name := range slices.Sorted(maps.Keys(c.roles)) {
		out = append(out, bind.Keyword(name))
	}
	return out
}

func (c *Core) backendNames() []bind.Keyword {
	table := c.conf.Backends
	if table == nil {
		table = backend.Table()
	}
	out := []bind.Keyword{"scripted"}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		out = append(out, bind.Keyword(name))
	}
	return out
}

func caller(ctx context.Context) any {
	if c, ok := callerOf(ctx); ok {
		return map[string]any{"role": bind.Keyword(c.Role), "spawn": c.Spawn}
	}
	return nil
}

func (c *Core) homeDir() any {
	if c.conf.Home == nil {
		return nil
	}
	return c.conf.Home.Dir
}
