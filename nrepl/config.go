package nrepl

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// Config is what a Server is made from. Only Env is required; a zero field means its default.
type Config struct {
	Env *lisp.Env // what is served

	Addr string // TCP address; default "127.0.0.1:0", or none where Unix is set
	Unix string // path of a Unix socket to listen on, with mode 0600; a stale one is replaced

	// Token, if set, must come with the first request of a connection, as its key "token"; the op "auth" does nothing
	// else. An Addr that is not loopback is refused without one.
	Token string

	PortFile string // where the TCP port is written while the server runs; "": nowhere
	// OnPortFile, where given, hears that the port file cannot be written, and nil once it could: the server runs meanwhile,
	// and tries once a second. Without it Start fails.
	OnPortFile func(error)

	Paths     func() []string // what the op classpath answers: directories of sources; nil: none
	SourceDir string          // where sources that are in no file are copied to for editors; "": a temporary directory
	Version   string          // of zeno, for describe; default "dev"
	Log       *slog.Logger    // default: discard

	MaxConns    int // open connections; default 1024
	MaxSessions int // sessions alive; default 1024
	MaxMessage  int // bytes of one request; default 32 MiB
	MaxNesting  int // of the data of a request; default 256
	MaxHeld     int // bytes of all requests that are read or wait; default 256 MiB
	MaxQueue    int // evaluations of one session that wait; default 1024
	MaxValue    int // bytes of one printed value where the client sets no quota; default 32 MiB
	MaxPending  int // bytes of replies to one client before what sends them waits for it; default 1 MiB
	MaxInput    int // bytes sent by stdin that no one has read; default 1 MiB
	Chunk       int // bytes of output in one message; default 16 KiB

	FlushAfter     time.Duration // how long output gathers before it is sent; default 5 ms
	MessageTimeout time.Duration // from the first byte of a request to its last; default 2 min
	WriteTimeout   time.Duration // of a write that the client does not take; default 30 s
	SessionIdle    time.Duration // a session without a connection that has used it is closed after; default 6 h
	Patience       time.Duration // an interrupted evaluation gets to stop before it is abandoned; default 2 s
	ToolTimeout    time.Duration // of completion, look-up and their like; default 10 s
}

func (c Config) withDefaults() (Config, error) {
	if c.Env == nil {
		return c, errors.New("nrepl: got no Env, want the environment to serve")
	}
	if c.Addr == "" && c.Unix == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.Addr != "" {
		if err := checkAddr(c.Addr, c.Token != ""); err != nil {
			return c, err
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	const kib, mib = 1 << 10, 1 << 20
	orDefault(&c.MaxConns, 1024)
	orDefault(&c.MaxSessions, 1024)
	orDefault(&c.MaxMessage, 32*mib)
	orDefault(&c.MaxNesting, 256)
	orDefault(&c.MaxHeld, 256*mib)
	orDefault(&c.MaxQueue, 1024)
	orDefault(&c.MaxValue, 32*mib)
	orDefault(&c.MaxPending, mib)
	orDefault(&c.MaxInput, mib)
	orDefault(&c.Chunk, 16*kib)
	orDefault(&c.FlushAfter, 5*time.Millisecond)
	orDefault(&c.MessageTimeout, 2*time.Minute)
	orDefault(&c.WriteTimeout, 30*time.Second)
	orDefault(&c.SessionIdle, 6*time.Hour)
	orDefault(&c.Patience, 2*time.Second)
	orDefault(&c.ToolTimeout, 10*time.Second)
	return c, nil
}

func orDefault[T int | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// checkAddr refuses an address that others can reach without a token.
func checkAddr(addr string, token bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("nrepl: got address %q, want host:port: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if token {
		return nil
	}
	return fmt.Errorf("nrepl: got address %q, which others can reach and so run any code here, want a loopback one or a token", addr)
}
