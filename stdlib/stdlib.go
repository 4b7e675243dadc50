package stdlib

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Value and Thread are those of the language.
type (
	Value  = value.Value
	Thread = value.Thread
)

// Config is what the host namespaces know of their surroundings. The zero value is a program without arguments, in the process's directory and with the process's environment variables, that may not end the process.
type Config struct {
	Err     io.Writer      // where a server reports what its handler threw; nil discards
	Args    []string       // (joker.os/args): the program's name first
	Environ []string       // environment variables, KEY=VALUE; nil: the process's
	Dir     string         // the directory to start in; "": the process's
	Exit    func(code int) // what (joker.os/exit) does; nil refuses
	Version string         // (joker.runtime/joker-version); "": that of the dialect

	MaxOutput int64 // bytes captured from one command's stdout and stderr each; default 64 MiB
	MaxBody   int64 // bytes of one HTTP body, sent or received; default 64 MiB
	MaxLine   int64 // bytes of one line; default 64 MiB
	MaxRead   int64 // bytes slurped from a pipe, a device or another reader; default 64 MiB
}

const defaultMax = 64 << 20

func (c Config) orDefault() Config {
	for _, n := range []*int64{&c.MaxOutput, &c.MaxBody, &c.MaxLine, &c.MaxRead} {
		if *n <= 0 {
			*n = defaultMax
		}
	}
	if c.Err == nil {
		c.Err = io.Discard
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Version == "" {
		c.Version = "v1.9.0"
	}
	return c
}

// Const is a var that holds data.
type Const struct {
	Name  string
	Value Value
	Doc   string
}

// Host is one set of host namespaces and what they share.
type Host struct {
	Config
	mu  sync.Mutex
	dir string            // where relative paths start; "": the process's directory
	env map[string]string // environment variables

	client *http.Transport // keeps connections for joker.http/send
}

// New makes the host namespaces of c.
func New(c Config) *Host {
	h := &Host{Config: c.orDefault(), dir: c.Dir, env: map[string]string{}}
	h.client = &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 16,
		TLSHandshakeTimeout: 15 * time.Second, MaxResponseHeaderBytes: 1 << 20, ForceAttemptHTTP2: true}
	for _, kv := range h.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			h.env[k] = v
		}
	}
	return h
}

// Namespaces gives the functions of the host namespaces of c by namespace; those of clojure.core are among them.
func Namespaces(c Config) map[string][]value.Builtin { return New(c).Namespaces() }

// Core gives the functions of clojure.core that reach outside.
func Core(c Config) []value.Builtin { return New(c).Core() }

// Install defines the host namespaces of c in e, data included. It is what a program calls that makes an environment.
func Install(e *value.Env, c Config) { New(c).Install(e) }

// Core gives the functions of clojure.core that reach outside.
func (h *Host) Core() []value.Builtin { return slices.Concat(h.files(), h.lineReaders()) }

// Namespaces gives the functions by namespace; those of clojure.core are among them.
func (h *Host) Namespaces() map[string][]value.Builtin {
	return map[string][]value.Builtin{
		"clojure.core": h.Core(),
		"joker.os":     slices.Concat(h.osEnv(), h.osFiles(), h.osDirs(), h.osAttributes(), h.osCommands(), h.osProcess()),

		"joker.filepath": h.filepathNS(),
		"joker.io":       h.ioNS(),
		"joker.time":     timeNS(),
		"joker.strconv":  strconvNS(),
		"joker.base64":   base64NS(),
		"joker.hex":      hexNS(),
		"joker.html":     htmlNS(),
		"joker.url":      urlNS(),
		"joker.uuid":     uuidNS(),
		"joker.crypto":   cryptoNS(),
		"joker.csv":      csvNS(),
		"joker.runtime":  h.runtimeNS(),
		"joker.http":     h.httpNS(),
		"joker.yaml":     yamlNS(),
		"joker.bolt":     h.boltNS(),
		"joker.git":      h.gitNS(),
		"joker.markdown": markdownNS(),
		"joker.mail":     h.mailNS(),
		"joker.smtp":     smtpNS(),
	}
}

// Constants gives the data of the namespaces.
func (h *Host) Constants() map[string][]Const {
	return map[string][]Const{
		"joker.os":       signals(),
		"joker.filepath": filepathConstants(),
		"joker.time":     timeConstants(),
	}
}

// Install defines everything in e. What the host keeps open ends with e's life.
func (h *Host) Install(e *value.Env) {
	if e.Life != nil {
		context.AfterFunc(e.Life.Context, h.client.CloseIdleConnections)
	}
	spaces := h.Namespaces()
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		ns := e.Create(name)
		for _, b := range spaces[name] {
			v := ns.Intern(b.Name)
			v.SetRoot(value.Of(value.NewBuiltin(v.FullName(), &b)))
		}
	}
	for name, cs := range h.Constants() {
		ns := e.Create(name)
		for _, c := range cs {
			v := ns.Intern(c.Name)
			v.SetRoot(c.Value)
			v.SetMeta(docMap(c.Doc))
		}
	}
}

func docMap(doc string) Value {
	t := value.NewThread(value.NewRun(context.Background(), limit.Trusted()), nil)
	return value.NewMap(t, value.Kw("doc"), value.Str(doc))
}

// def makes a function of a Go function: see bind.Func.
func def(name, arglists, doc string, fn any) value.Builtin { return bind.Func(name, arglists, doc, fn) }
