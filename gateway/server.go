package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
)

// Server is the gateway. Make one with New. All methods are safe for concurrent
// use.
type Server struct {
	cfg     atomic.Pointer[Config]
	reg     *registry
	router  http.Handler
	running tally // evals the Host has not returned from

	mu      sync.Mutex // guards what follows
	http    *http.Server
	ln      net.Listener
	served  chan struct{} // closed when the accept loop has ended
	stopped bool
}

// New checks the config and makes a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	full, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{reg: newRegistry()}
	s.cfg.Store(&full)
	s.router = s.routes()
	return s, nil
}

func (s *Server) config() *Config { return s.cfg.Load() }

// Configure swaps the Host and the options under the open listener; tokens and
// evals go on. The next request sees the new ones, except those that belong to
// the listener: a changed Addr is an error, and MaxHeader, MaxConns and
// IdleTimeout stay as they were at Start. Name and Version hold for spawns that
// get their first token from now on.
func (s *Server) Configure(cfg Config) error {
	full, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.config(); s.ln != nil && full.Addr != old.Addr {
		return fmt.Errorf("gateway config: Addr: got %q while listening as %q; Stop this gateway and make one with New",
			full.Addr, old.Addr)
	}
	s.cfg.Store(&full)
	return nil
}

// Start listens and serves in the background until Stop. ctx bounds only the
// start. A second Start does nothing; a Start after Stop is an error.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return fmt.Errorf("gateway start: %w; make a new one with New", errStopped)
	}
	if s.ln != nil {
		return nil
	}
	cfg := s.config()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("failed to listen on %s (Config.Addr): %w", cfg.Addr, err)
	}
	s.ln = &cappedListener{Listener: ln, limit: int64(cfg.MaxConns), log: cfg.Log}
	s.http = &http.Server{
		Handler:           s.router,
		ReadHeaderTimeout: cfg.ReadTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    cfg.MaxHeader,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
		// WriteTimeout stays 0: an answer takes as long as its eval. ReadTimeout
		// does too: net/http would end the context of a request that outlives
		// it. Both are set per request instead, in deadlines and in writer.
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
			cfg.Log.Error("gateway: serving ended", "err", err)
		}
	}()
	return nil
}

// Stop revokes every token, which cancels every eval, closes the listener and
// waits for requests and evals to end. When ctx ends first, connections are
// closed and the error says how many evals the Host has not returned from.
// A second Stop waits again.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	srv, served := s.http, s.served
	s.mu.Unlock()
	s.reg.close()
	var err error
	if srv != nil {
		if err = srv.Shutdown(ctx); err != nil {
			err = errors.Join(fmt.Errorf("failed to end all requests of the gateway: %w", err), srv.Close())
		}
		<-served
	}
	select {
	case <-s.running.idle():
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("gateway stop: %d evals have not ended, want the Host to end them with their context: %w",
			s.running.count(), ctx.Err()))
	}
}

// Handler is the gateway as an http.Handler, for embedding and for tests. It
// works without Start. Nothing between it and the connection may hide
// http.Flusher or the connection's deadlines.
func (s *Server) Handler() http.Handler { return s.router }

// Addr is the address the gateway listens on, "" before Start.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln == nil {
		return ""
	}
	return s.ln.Addr().String()
}

// URL is the endpoint of a role as a process on this machine reaches it, ""
// before Start. It holds no secret.
func (s *Server) URL(role string) string {
	addr := s.Addr()
	if addr == "" {
		return ""
	}
	if ap, err := netip.ParseAddrPort(addr); err == nil && ap.Addr().IsUnspecified() {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), ap.Port()).String()
	}
	return "http://" + addr + "/mcp/" + url.PathEscape(role)
}

// tally counts what is under way and says when nothing is. Unlike a
// sync.WaitGroup it may be added to while it is waited for.
type tally struct {
	mu   sync.Mutex
	n    int
	done []chan struct{}
}

func (t *tally) add() {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
}

func (t *tally) sub() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n > 0 {
		return
	}
	for _, c := range t.done {
		close(c)
	}
	t.done = nil
}

func (t *tally) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// idle returns a channel that is closed once nothing is under way.
func (t *tally) idle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{})
	if t.n == 0 {
		close(c)
	} else {
		t.done = append(t.done, c)
	}
	return c
}
