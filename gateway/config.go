package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Defaults and bounds of a [Surface].
const (
	DefaultEvalTimeout = 45 * time.Second
	DefaultMaxResult   = 64 << 10 // bytes
	MinResult          = 1 << 10  // bytes: room for an error and how to page
)

// Config says how a [Server] listens and what it lets in. Only Host is needed;
// every zero field takes the default named beside it, and every default is
// finite.
type Config struct {
	// Host is what is served. Required.
	Host Host

	// Addr is the TCP address to listen on. Default "127.0.0.1:0": loopback, a
	// free port. Anything but loopback needs AllowNonLoopback.
	Addr             string
	AllowNonLoopback bool

	// AllowedHosts are names a Host header may carry besides loopback names and
	// the address the request arrived at, without port: "zeno.internal" for
	// agents in a box that know the gateway by that name.
	AllowedHosts []string
	// AllowedOrigins are values the Origin header may have besides loopback
	// ones: "https://example.org", "http://10.0.0.7:8080". They let in clients
	// that send the header; no CORS headers are answered, so a page in a browser
	// needs a proxy that adds them.
	AllowedOrigins []string

	MaxBody     int64 // bytes of one request body; default 1 MiB
	MaxHeader   int   // bytes of request line and headers; default 32 KiB
	MaxConns    int   // open connections; default 1024
	MaxTokens   int   // live tokens, and spawns known; default 4096
	MaxInFlight int   // requests of one spawn under way; default 64
	Queue       int   // evals of one spawn waiting for their turn; default 8

	MaxTTL       time.Duration // longest life of a token; default 7 days
	ReadTimeout  time.Duration // reading the headers, and again the body; default 30 s
	WriteTimeout time.Duration // one write that the client does not take; default 30 s
	IdleTimeout  time.Duration // a connection between requests; default 2 min
	KeepAlive    time.Duration // between two progress notifications; default 1 s
	Grace        time.Duration // for a Host to return once its context ended; default 1 s

	// ToolMeta goes into the _meta of the tool: hints that some clients read and the others pass over.
	ToolMeta map[string]any

	// Name and Version are what the MCP server calls itself; default "zeno", "dev".
	Name, Version string

	Log *slog.Logger     // default: discard
	Now func() time.Time // the clock of tokens; default time.Now
}

// withDefaults returns the config with its zero fields filled in, or an error
// that says which field to change.
func (c Config) withDefaults() (Config, error) {
	if c.Host == nil {
		return c, errors.New("gateway config: Host: got nil, want what the gateway is to serve")
	}
	c.Addr = or(c.Addr, "127.0.0.1:0")
	c.MaxBody = or(c.MaxBody, 1<<20)
	c.MaxHeader = or(c.MaxHeader, 32<<10)
	c.MaxConns = or(c.MaxConns, 1024)
	c.MaxTokens = or(c.MaxTokens, 4096)
	c.MaxInFlight = or(c.MaxInFlight, 64)
	c.Queue = or(c.Queue, 8)
	c.MaxTTL = or(c.MaxTTL, 7*24*time.Hour)
	c.ReadTimeout = or(c.ReadTimeout, 30*time.Second)
	c.WriteTimeout = or(c.WriteTimeout, 30*time.Second)
	c.IdleTimeout = or(c.IdleTimeout, 2*time.Minute)
	c.KeepAlive = or(c.KeepAlive, time.Second)
	c.Grace = or(c.Grace, time.Second)
	c.Name = or(c.Name, "zeno")
	c.Version = or(c.Version, "dev")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, c.check()
}

func or[T comparable](got, fallback T) T {
	var zero T
	if got == zero {
		return fallback
	}
	return got
}

func (c Config) check() error {
	for name, n := range map[string]int64{
		"MaxBody": c.MaxBody, "MaxHeader": int64(c.MaxHeader), "MaxConns": int64(c.MaxConns),
		"MaxTokens": int64(c.MaxTokens), "MaxInFlight": int64(c.MaxInFlight), "Queue": int64(c.Queue),
		"MaxTTL": int64(c.MaxTTL), "ReadTimeout": int64(c.ReadTimeout), "WriteTimeout": int64(c.WriteTimeout),
		"IdleTimeout": int64(c.IdleTimeout), "KeepAlive": int64(c.KeepAlive), "Grace": int64(c.Grace),
	} {
		if n < 0 {
			return fmt.Errorf("gateway config: %s: got %d, want more than 0, or 0 for the default", name, n)
		}
	}
	for _, h := range c.AllowedHosts {
		if h == "" || strings.ContainsAny(h, "/*@ ") || (strings.Contains(h, ":") && !isIP(h)) {
			return fmt.Errorf("gateway config: AllowedHosts: got %q, want a bare host name such as \"zeno.internal\"", h)
		}
	}
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || strings.Contains(o, "*") {
			return fmt.Errorf("gateway config: AllowedOrigins: got %q, want scheme://host[:port] and nothing more", o)
		}
	}
	return c.checkAddr()
}

// checkAddr refuses to listen where others than this machine can connect,
// unless that was asked for in so many words.
func (c Config) checkAddr() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("gateway config: Addr: got %q, want host:port such as \"127.0.0.1:7777\": %w", c.Addr, err)
	}
	if !c.AllowNonLoopback && !isLoopback(host) {
		return fmt.Errorf("gateway config: Addr: got %q, want a loopback address; "+
			"set AllowNonLoopback to listen where other machines can connect", c.Addr)
	}
	return nil
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
