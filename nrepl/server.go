package nrepl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Server is one nREPL server. Its methods are safe for concurrent use.
type Server struct {
	conf  Config
	ops   map[string]*op
	files *sourceFiles
	held  atomic.Int64 // bytes of requests that are read or wait

	ctx    context.Context // the server's life
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine of the server

	mu        sync.Mutex
	state     state
	listeners []net.Listener
	addr      *net.TCPAddr
	conns     map[*conn]struct{}
	sessions  map[string]*session
}

type state int

const (
	fresh state = iota
	started
	stopped
)

// New makes a server. Nothing listens before Start.
func New(conf Config) (*Server, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{conf: conf, files: &sourceFiles{env: conf.Env, dir: conf.SourceDir}, conns: map[*conn]struct{}{}, sessions: map[string]*session{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.ops = s.table()
	return s, nil
}

// Start listens and returns; it may be called once. ctx bounds the start only.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != fresh {
		return errors.New("nrepl: started already, want a new Server")
	}
	if err := s.listen(ctx); err != nil {
		s.closeListeners()
		return err
	}
	s.state = started
	for _, l := range s.listeners {
		s.wg.Add(1)
		go s.accept(l)
	}
	s.wg.Add(1)
	go s.reap()
	return nil
}

func (s *Server) listen(ctx context.Context) error {
	if s.conf.Addr != "" {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.conf.Addr)
		if err != nil {
			return fmt.Errorf("nrepl: failed to listen: %w", err)
		}
		s.listeners = append(s.listeners, l)
		s.addr, _ = l.Addr().(*net.TCPAddr)
	}
	if s.conf.Unix != "" {
		l, err := listenUnix(ctx, s.conf.Unix)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	if s.conf.PortFile != "" && s.addr != nil {
		err := writePortFile(s.conf.PortFile, s.addr.Port)
		if err == nil || s.conf.OnPortFile == nil {
			return err
		}
		s.conf.OnPortFile(err)
		s.wg.Go(s.retryPortFile)
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close() // it is given up; there is nobody to tell
	}
}

// Addr is the TCP address the server listens on, or "" where there is none.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == nil {
		return ""
	}
	return s.addr.String()
}

// Port is the TCP port the server listens on, or 0 where there is none.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == nil {
		return 0
	}
	return s.addr.Port
}

// Banner is the line that editors which start a server wait for.
func (s *Server) Banner() string {
	host, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		return fmt.Sprintf("nREPL server started on socket %s - nrepl+unix:%s", s.conf.Unix, s.conf.Unix)
	}
	return fmt.Sprintf("nREPL server started on port %s on host %s - nrepl://%s", port, host, net.JoinHostPort(host, port))
}

// Stop ends what runs, closes every connection and waits for all of it as long as ctx lasts.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	was := s.state
	s.state = stopped
	s.closeListeners()
	s.mu.Unlock()
	s.cancel()
	for _, x := range s.allSessions() {
		s.closeSession(x)
	}
	s.mu.Lock()
	for c := range s.conns {
		c.close()
	}
	s.mu.Unlock()
	var errs []error
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("nrepl: evaluations still run: %w", ctx.Err()))
	}
	if was == started && s.conf.PortFile != "" && s.addr != nil {
		errs = append(errs, removePortFile(s.conf.PortFile, s.addr.Port))
	}
	errs = append(errs, s.files.close())
	return errors.Join(errs...)
}

func (s *Server) accept(l net.Listener) {
	defer s.wg.Done()
	for {
		nc, err := l.Accept()
		switch {
		case s.ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			if err == nil {
				_ = nc.Close()
			}
			return
		case err != nil: // out of file descriptors, most likely: others will close theirs
			s.conf.Log.Warn("nrepl: failed to accept", "error", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.ctx.Done():
			}
			continue
		}
		s.serve(nc)
	}
}

// serve starts the goroutines of a connection, unless there are too many.
func (s *Server) serve(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= s.conf.MaxConns || s.state != started {
		s.conf.Log.Warn("nrepl: too many connections, want fewer or a larger Config.MaxConns", "limit", s.conf.MaxConns)
		_ = nc.Close()
		return
	}
	c := newConn(s, nc)
	s.conns[c] = struct{}{}
	s.wg.Add(2)
	go c.write()
	go c.read()
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// port words a port for the file.
func port(n int) string { return strconv.Itoa(n) }
