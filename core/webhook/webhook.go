// Package webhook takes in what other systems push: signed HTTP requests, on a listener of its own.
//
//	s := webhook.New(webhook.Config{Dir: dir, Accepted: record, Seen: seen})
//	err := s.Add(webhook.Hook{Name: "push", Secrets: secrets, Handle: f})
//	addr, err := s.Listen(ctx, "127.0.0.1:9000")
//
// The invariant: a delivery that was answered with 202 is handled, whatever is killed when. It is in a file, synced, before
// the answer, and the file goes when its work has ended. A request whose signature does not fit costs no more than the
// reading of its bounded body, and leaves no trace but a count.
//
// A delivery is known by its id: one that waits, or that Config.Seen knows, is answered with 200 and not handled again. One
// hook's deliveries are handled one at a time, in the order they came.
//
// Start with Hook and accept.go; signature.go has the schemes, spool.go the files.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Defaults of a Hook.
const (
	DefaultMaxBody   = 1 << 20
	DefaultMaxQueue  = 1000
	DefaultTolerance = 5 * time.Minute
	DefaultTimeout   = time.Hour
)

// Hook is one thing that is pushed.
type Hook struct {
	Name      string                                      // small letters, digits, - and _
	Path      string                                      // where to; "": /hooks/NAME
	Scheme    string                                      // GitHub, Stripe or Standard; "": GitHub
	Secrets   func() ([]string, error)                    // asked for each request: any of them may have signed it
	ByBody    bool                                        // a delivery is known by its body, not by the name that the sender gives it
	MaxBody   int64                                       // bytes; 0: DefaultMaxBody
	MaxQueue  int                                         // how many may wait; 0: DefaultMaxQueue
	Tolerance time.Duration                               // how far a signed time may be off; 0: DefaultTolerance
	Timeout   time.Duration                               // of one Handle; 0: DefaultTimeout
	Handle    func(ctx context.Context, d Delivery) error // an error puts the delivery to the failed ones
}

// ErrLater is what Handle gives for a delivery that is to wait: it stays as it is until Wake.
var ErrLater = errors.New("webhook: not now")

var hookName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func (h *Hook) complete() error {
	switch {
	case !hookName.MatchString(h.Name):
		return fmt.Errorf("webhook: got the name %q, want 1 to 64 small letters, digits, - and _", h.Name)
	case h.Secrets == nil || h.Handle == nil:
		return fmt.Errorf("webhook %s: got no secret or no function, want both", h.Name)
	case h.MaxBody < 0 || h.MaxQueue < 0 || h.Tolerance < 0 || h.Timeout < 0:
		return fmt.Errorf("webhook %s: got a bound below zero, want more", h.Name)
	}
	h.Path = cmp.Or(h.Path, "/hooks/"+h.Name)
	if !strings.HasPrefix(h.Path, "/") || strings.ContainsAny(h.Path, "?# ") {
		return fmt.Errorf("webhook %s: got the path %q, want one that begins with / and has no ? or #", h.Name, h.Path)
	}
	h.Scheme = cmp.Or(h.Scheme, GitHub)
	if h.Scheme != GitHub && h.Scheme != Stripe && h.Scheme != Standard {
		return fmt.Errorf("webhook %s: got the scheme %q, want %s, %s or %s", h.Name, h.Scheme, GitHub, Stripe, Standard)
	}
	h.MaxBody = cmp.Or(h.MaxBody, DefaultMaxBody)
	h.MaxQueue = cmp.Or(h.MaxQueue, DefaultMaxQueue)
	h.Tolerance = cmp.Or(h.Tolerance, DefaultTolerance)
	h.Timeout = cmp.Or(h.Timeout, DefaultTimeout)
	return nil
}

// Config is what a Server is made from.
type Config struct {
	Dir      string                                                   // where deliveries wait, a directory a hook; required
	Accepted func(ctx context.Context, d Delivery) error              // records d before its sender is told; an error refuses it. nil: nobody
	Seen     func(ctx context.Context, hook, id string) (bool, error) // tells whether d was handled before. nil: never
	Report   func(hook string, d Delivery, err error)                 // hears of what failed. nil: nobody

	MaxConns    int           // open connections, of which each may hold a body in memory; default 128
	ReadTimeout time.Duration // of a whole request; default 10 s
	Log         *slog.Logger  // nil discards
	Now         func() time.Time
}

// Server takes in deliveries and has them handled. Its methods are safe for concurrent use.
type Server struct {
	conf   Config
	ctx    context.Context // of Handle
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	hooks   map[string]*hook // by name
	http    *http.Server
	addr    string
	served  chan struct{}
	running bool // deliveries are handled
	closed  bool
	workers sync.WaitGroup
}

// hook is a Hook at work.
type hook struct {
	s    *Server
	wake chan struct{}

	mu      sync.Mutex // guards what follows
	def     Hook
	spool   *spool
	started bool
	busy    string // the file whose work goes on

	accepted, refused, handled, failures int64
}

// New makes a Server that neither listens nor handles yet.
func New(conf Config) *Server {
	conf.MaxConns = cmp.Or(conf.MaxConns, 128)
	conf.ReadTimeout = cmp.Or(conf.ReadTimeout, 10*time.Second)
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	if conf.Now == nil {
		conf.Now = time.Now
	}
	if conf.Seen == nil {
		conf.Seen = func(context.Context, string, string) (bool, error) { return false, nil }
	}
	if conf.Accepted == nil {
		conf.Accepted = func(context.Context, Delivery) error { return nil }
	}
	if conf.Report == nil {
		conf.Report = func(string, Delivery, error) {}
	}
	s := &Server{conf: conf, hooks: map[string]*hook{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// Add registers a hook, or replaces the one of its name: what waits is handled by the new one.
func (s *Server) Add(def Hook) error {
	if err := def.complete(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, h := range s.hooks {
		if name != def.Name && h.path() == def.Path {
			return fmt.Errorf("webhook %s: got the path %s, which %s has, want one of its own", def.Name, def.Path, name)
		}
	}
	h := s.hooks[def.Name]
	if h == nil {
		sp, err := openSpool(filepath.Join(s.conf.Dir, def.Name))
		if err != nil {
			return err
		}
		h = &hook{s: s, spool: sp, wake: make(chan struct{}, 1)}
		s.hooks[def.Name] = h
	}
	h.mu.Lock()
	h.def = def
	h.mu.Unlock()
	s.begin(h)
	h.kick()
	return nil
}

// Remove takes a hook out. What waits for it stays, for the day it is added again; what is under way goes on.
func (s *Server) Remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hooks[name]
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := h.def.Path != ""
	h.def.Path = "" // no request has that
	return gone
}

func (h *hook) path() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.def.Path
}

// Info is a hook as it is now.
type Info struct {
	Name, Path, Scheme                   string
	Waiting, Failed                      int
	Running                              bool
	Accepted, Refused, Handled, Failures int64 // since the start
}

// Hooks tells of all hooks, by name.
func (s *Server) Hooks() []Info {
	var out []Info
	for _, h := range s.sorted() {
		h.mu.Lock()
		if h.def.Path != "" {
			out = append(out, Info{h.def.Name, h.def.Path, h.def.Scheme, len(h.spool.files), len(h.spool.failedFiles()), h.busy != "",
				h.accepted, h.refused, h.handled, h.failures})
		}
		h.mu.Unlock()
	}
	return out
}

// Failed gives the failed deliveries of a hook, the oldest first.
func (s *Server) Failed(name string) ([]Delivery, error) {
	h, err := s.find(name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spool.failed(), nil
}

// Again has a failed delivery handled again. forget is called before, to take away what Config.Seen knows.
func (s *Server) Again(name, id string, forget func() error) error {
	h, err := s.find(name)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	known := false
	for _, f := range h.spool.failedFiles() {
		known = known || key(f) == keyOf(id)
	}
	if !known {
		return fmt.Errorf("webhook %s: got the delivery %q, want one of those that failed", name, id)
	}
	if err := forget(); err != nil {
		return err
	}
	if _, err := h.spool.again(id); err != nil {
		return fmt.Errorf("webhook %s: %w", name, err)
	}
	h.kick()
	return nil
}
