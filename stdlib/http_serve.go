package stdlib

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// handlers is how many requests of one server are handled at once; more are told to come back.
const handlers = 256

type serveOptions struct{ Started Value }

func (h *Host) startServer(t *Thread, addr string, handler Value, o *serveOptions) {
	if !value.IsCallable(t, handler) {
		panic(value.TypeError(t, "start-server", handler, "a function of a request"))
	}
	s := &server{host: h, t: t.Fork(), f: handler, slots: make(chan struct{}, handlers)}
	if o == nil {
		o = &serveOptions{}
	}
	serve(t, "start-server", addr, s, o.Started)
}

func (h *Host) startFileServer(t *Thread, addr, root string) {
	dir := h.path(root)
	if dir == "" {
		dir = "."
	}
	serve(t, "start-file-server", addr, http.FileServer(http.Dir(filepath.Clean(dir))), value.Nil)
}

// serve takes requests until the thread may wait no longer.
func serve(t *Thread, who, addr string, handler http.Handler, started Value) {
	l, err := net.Listen("tcp", addr)
	check(who, "listen on", addr, err)
	ctx, cancel := scope(t)
	defer cancel()
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 20,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan struct{})
	go func() { // ends when the server is closed
		defer close(done)
		if e := srv.Serve(l); !errors.Is(e, http.ErrServerClosed) {
			err = e
		}
	}()
	defer srv.Close()
	if !started.IsNil() {
		t.Call(started, value.Str(l.Addr().String()))
	}
	t.Await(done, -1)
	check(who, "serve on", addr, err)
}

// server hands requests to a Lisp function. Each runs on a fork of a thread of the evaluation that started the server.
type server struct {
	host  *Host
	t     *Thread // only ever forked
	f     Value
	slots chan struct{}
	mu    sync.Mutex // around writes to the host's Err
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.host.MaxBody))
	if err != nil {
		http.Error(w, "request: body larger than "+strconv.FormatInt(s.host.MaxBody, 10)+" bytes", http.StatusRequestEntityTooLarge)
		return
	}
	t := s.t.Fork()
	defer t.Flush()
	reply, err := s.handle(t, r, string(body))
	if err != nil {
		s.report(r, err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	reply.write(w)
}

func (s *server) report(r *http.Request, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.host.Err, "start-server: handler failed on %s %s: %s\n", r.Method, r.URL.Path, err)
}

// handle calls the handler. Whatever it throws, limits included, ends this request alone.
func (s *server) handle(t *Thread, r *http.Request, body string) (rep *reply, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case error:
			err = x
		default:
			err = fmt.Errorf("internal error: %v", x)
		}
	}()
	return replyOf(t, t.Call1(s.f, requestMap(t, r, body))), nil
}

func requestMap(t *Thread, r *http.Request, body string) Value {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	name, port := r.Host, int64(80)
	if host, p, err := net.SplitHostPort(r.Host); err == nil {
		name = host
		port, _ = strconv.ParseInt(p, 10, 64)
	}
	remote, _, _ := net.SplitHostPort(r.RemoteAddr)
	return value.NewMap(t,
		value.Kw("request-method"), value.Kw(strings.ToLower(r.Method)), value.Kw("uri"), str(t, r.URL.Path),
		value.Kw("query-string"), str(t, r.URL.RawQuery), value.Kw("headers"), headerMap(t, r.Header, strings.ToLower),
		value.Kw("body"), str(t, body), value.Kw("scheme"), value.Kw(scheme), value.Kw("protocol"), str(t, r.Proto),
		value.Kw("server-name"), str(t, name), value.Kw("server-port"), value.Int(port), value.Kw("remote-addr"), str(t, remote))
}

// reply is what a handler gave.
type reply struct {
	status  int
	headers http.Header
	body    string
}

func replyOf(t *Thread, v Value) *reply {
	p := &reply{status: http.StatusOK, headers: http.Header{}}
	switch {
	case v.Kind() == value.KindString:
		p.body = v.Text()
		return p
	case !v.Kind().IsMap():
		panic(value.TypeError(t, "start-server", v, "a response from the handler: a map of :status, :headers and :body, or a string"))
	}
	if n, ok := value.Get(t, v, value.Kw("status")); ok {
		if !n.IsInt() || n.Int() < 200 || n.Int() > 599 {
			panic(value.TypeError(t, "start-server", n, "a :status of 200 to 599"))
		}
		p.status = int(n.Int())
	}
	if b, _ := value.Get(t, v, value.Kw("body")); !b.IsNil() {
		p.body = value.ToString(t, b)
	}
	hs, _ := value.Get(t, v, value.Kw("headers"))
	value.EachKV(t, hs, func(k, x Value) bool {
		name := headerName(t, k)
		if !x.Kind().IsSequential() {
			p.headers.Add(name, value.ToString(t, x))
			return true
		}
		value.Each(t, x, func(y Value) bool {
			p.headers.Add(name, value.ToString(t, y))
			return true
		})
		return true
	})
	return p
}

func headerName(t *Thread, k Value) string {
	if k.Kind() == value.KindKeyword {
		return value.As[value.Keyword](k).FullName()
	}
	return value.ToString(t, k)
}

func (p *reply) write(w http.ResponseWriter) {
	for k, vs := range p.headers {
		w.Header()[http.CanonicalHeaderKey(k)] = vs
	}
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, p.body)
}
