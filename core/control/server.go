package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server answers. Its methods are safe for concurrent use.
type Server struct {
	conf  Config
	token string

	mu     sync.Mutex
	verbs  map[string]Verb
	mounts map[string]http.Handler // by the first part of the path
	https  []*http.Server
	served sync.WaitGroup
	life   context.Context
	end    context.CancelFunc

	flow    context.Context // of streams
	endFlow context.CancelFunc
}

// New makes a Server that does not listen yet.
func New(conf Config) *Server {
	s := &Server{conf: conf.complete(), verbs: map[string]Verb{}, mounts: map[string]http.Handler{}}
	s.life, s.end = context.WithCancel(context.Background())
	s.flow, s.endFlow = context.WithCancel(s.life)
	return s
}

var verbName = regexp.MustCompile(`^[a-z][a-z0-9-]*(/[a-z][a-z0-9-]*)*$`)

// Register adds verbs, or replaces those of the same names. A Verb without a name or function is a defect of the caller's:
// it panics.
func (s *Server) Register(verbs ...Verb) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range verbs {
		if !verbName.MatchString(v.Name) || (v.Call == nil) == (v.Stream == nil) {
			panic(fmt.Sprintf("control: verb %q: want a name such as \"spawns/list\" and one of Call and Stream", v.Name))
		}
		s.verbs[v.Name] = v
	}
}

// Mount serves h at /NAME and below: a page, or metrics. The same callers are let in as to verbs.
func (s *Server) Mount(name string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mounts[name] = h
}

// Start makes the admin token and listens on the socket. Only the process that holds the home's lock may call it: what is
// left of another's socket is replaced.
func (s *Server) Start(ctx context.Context) error {
	token, err := Token(s.conf.Dir)
	if err != nil {
		return err
	}
	s.token = token
	l, err := listen(ctx, s.conf.Dir)
	if err != nil {
		return err
	}
	s.serve(l)
	return nil
}

// ListenTCP listens on addr too, where every request needs the admin token, and gives the address.
func (s *Server) ListenTCP(ctx context.Context, addr string) (net.Addr, error) {
	if s.token == "" {
		return nil, errors.New("control: got no socket yet, want it started first")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("control: failed to listen on %s: %w", addr, err)
	}
	s.serve(l)
	return l.Addr(), nil
}

// AdminToken is the token of this home: a secret that no record may hold.
func (s *Server) AdminToken() string { return s.token }

func (s *Server) serve(l net.Listener) {
	srv := &http.Server{
		Handler: http.HandlerFunc(s.answer), ReadTimeout: s.conf.ReadTimeout, ReadHeaderTimeout: s.conf.ReadTimeout,
		IdleTimeout: s.conf.ReadTimeout, MaxHeaderBytes: 16 << 10,
		ErrorLog:    slog.NewLogLogger(s.conf.Log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return s.life },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peerOf(c))
		},
	}
	s.mu.Lock()
	s.https = append(s.https, srv)
	s.mu.Unlock()
	s.served.Add(1)
	go func() {
		defer s.served.Done()
		if err := srv.Serve(&capped{Listener: l, free: make(chan struct{}, s.conf.MaxConns)}); !errors.Is(err, http.ErrServerClosed) {
			s.conf.Log.Error("control: serving ended", "error", err)
		}
	}()
}

// Stop removes the socket, ends streams, and waits for calls as long as ctx lasts.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	all := s.https
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	var errs []error
	s.endFlow() // a stream would never end by itself; a call does, and the one that stops zeno is among them
	for _, srv := range all {
		if err := srv.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("control: failed to end all calls: %w", err), srv.Close())
		}
	}
	s.served.Wait()
	s.end()
	return errors.Join(errs...)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	by, err := s.admit(r)
	if err == nil {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				s.conf.Log.Error("control: a verb panicked", "path", r.URL.Path, "reason", p, "stack", string(debug.Stack()))
				s.fail(w, &Error{Failed, "internal error; the log has it"})
			}
		}()
		err = s.route(w, r, by)
	}
	if err != nil {
		s.fail(w, err)
	}
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, by By) error {
	name, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	if !ok {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		s.mu.Lock()
		h := s.mounts[first]
		s.mu.Unlock()
		if h == nil {
			return &Error{Unknown, fmt.Sprintf("path: got %q, want /v1/VERB; GET /v1/ lists the verbs", r.URL.Path)}
		}
		h.ServeHTTP(w, r)
		return nil
	}
	if name == "" {
		return s.reply(w, s.list())
	}
	s.mu.Lock()
	v, ok := s.verbs[name]
	s.mu.Unlock()
	if !ok {
		return &Error{Unknown, fmt.Sprintf("verb: got %q, want one of %s", name, strings.Join(s.names(), ", "))}
	}
	return s.call(w, r, v, by)
}

func (s *Server) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.verbs))
}

// listed is a verb as GET /v1/ tells of it.
type listed struct {
	Name   string `json:"name"`
	Doc    string `json:"doc"`
	Change bool   `json:"change"`
	Stream bool   `json:"stream"`
}

func (s *Server) list() []listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []listed{}
	for _, n := range slices.Sorted(maps.Keys(s.verbs)) {
		v := s.verbs[n]
		out = append(out, listed{v.Name, v.Doc, v.Change, v.Stream != nil})
	}
	return out
}

func (s *Server) call(w http.ResponseWriter, r *http.Request, v Verb, by By) error {
	if r.Method != http.MethodPost && (r.Method != http.MethodGet || v.Change) {
		return &Error{Usage, fmt.Sprintf("method: got %s, want POST", r.Method)}
	}
	body, err := s.body(w, r, cmp.Or(v.MaxBody, s.conf.MaxBody))
	if err != nil {
		return err
	}
	// The deadline of reading must not end the context of a call that takes longer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	q := Request{By: by, body: body}
	if v.Stream != nil {
		return s.stream(w, r, v, q)
	}
	got, err := v.Call(r.Context(), q)
	if err != nil {
		return err
	}
	return s.reply(w, got)
}

func (s *Server) reply(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("failed to write the answer as JSON: %w", err)
	}
	s.write(w, http.StatusOK, "application/json", append(b, '\n'))
	return nil
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Failed, err.Error()}
	}
	b, _ := json.Marshal(map[string]*Error{"error": e}) // two strings
	s.write(w, e.status(), "application/json", append(b, '\n'))
}

func (s *Server) write(w http.ResponseWriter, status int, kind string, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.conf.WriteTimeout))
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
