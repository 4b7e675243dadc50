package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/mark3labs/mcp-go/server"
)

// refusal is an answer of the gateway's own.
type refusal struct {
	status  int
	message string
	header  [2]string // one header more, where the status asks for it
}

// notFound is the answer to everything that has no business here. It is one
// value so that no two cases can be told apart.
var notFound = &refusal{status: http.StatusNotFound, message: "not found"}

// routes builds the router. No middleware may wrap the ResponseWriter: a writer
// without Flush would take the keepalive away.
func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.HandleFunc("/mcp/{role}", s.serveMCP)
	r.NotFound(s.serveNothing)
	return r
}

// serveNothing answers on any other path, after the same first checks.
func (s *Server) serveNothing(w http.ResponseWriter, r *http.Request) {
	cfg := s.config()
	deadlines(w, cfg)
	if no := strangers(r, cfg); no != nil {
		refuse(w, no)
		return
	}
	refuse(w, notFound)
}

// serveMCP is the path of one request; the package comment has the order.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	cfg := s.config()
	defer recovered(w, cfg)
	deadlines(w, cfg)
	c, no := s.admit(r, cfg)
	if no != nil {
		cfg.Log.Debug("gateway: refused", "status", no.status, "reason", no.message)
		refuse(w, no)
		return
	}
	defer c.spawn.inflight.Add(-1)
	body, no := readBody(w, r, cfg)
	if no != nil {
		refuse(w, no)
		return
	}
	// The body is read: a long eval must not be ended by its read deadline.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})

	ctx, end := endOf(r.Context(), c.spawn)
	defer end()
	ctx = context.WithValue(ctx, callKey{}, c)
	out := &writer{w: w, stall: cfg.WriteTimeout}
	if quick(ctx, out, r, c, body) {
		return
	}
	// There are no sessions; a header that names one means nothing.
	r.Header.Del(server.HeaderKeySessionID)
	c.wrote = out.signal()
	c.spawn.stream.Handle(out, &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: ctx})
}

// admit makes every check that needs no body. Where it admits, the request
// counts as under way.
func (s *Server) admit(r *http.Request, cfg *Config) (*call, *refusal) {
	if no := strangers(r, cfg); no != nil {
		return nil, no
	}
	now := cfg.Now()
	sp := s.reg.find(bearer(r), role(r), now)
	if sp == nil {
		return nil, notFound
	}
	surface, ok := cfg.Host.Surface(r.Context(), sp.caller)
	if !ok {
		return nil, notFound
	}
	sp.seen(now)
	if r.Method != http.MethodPost {
		return nil, &refusal{http.StatusMethodNotAllowed,
			"method: got " + r.Method + ", want POST; there are no sessions and no streams to open here",
			[2]string{"Allow", http.MethodPost}}
	}
	if sp.inflight.Add(1) > int64(cfg.MaxInFlight) {
		sp.inflight.Add(-1)
		return nil, &refusal{http.StatusTooManyRequests,
			fmt.Sprintf("requests: %d of this spawn are under way; wait for one to end", cfg.MaxInFlight),
			[2]string{"Retry-After", "1"}}
	}
	return &call{spawn: sp, surface: surface, arrived: now, cfg: cfg}, nil
}

// strangers turns away what a browser was made to send.
func strangers(r *http.Request, cfg *Config) *refusal {
	if !hostAllowed(r, cfg.AllowedHosts) {
		return &refusal{status: http.StatusForbidden,
			message: "host: got a name this gateway does not answer to, want localhost, the address it listens on, or an allowed host"}
	}
	if !originAllowed(r, cfg.AllowedOrigins) {
		return &refusal{status: http.StatusForbidden,
			message: "origin: got one that may not call this gateway, want none, a loopback one, or an allowed origin"}
	}
	return nil
}

// bearer returns the token of the request, or "" where there is not exactly
// one. Only the header counts: what is in a URL ends up in logs.
func bearer(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// role returns the role in the path. chi routes on the escaped path where the
// two differ.
func role(r *http.Request) string {
	name := chi.URLParam(r, "role")
	if r.URL.RawPath == "" {
		return name
	}
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// readBody reads at most Config.MaxBody bytes.
func readBody(w http.ResponseWriter, r *http.Request, cfg *Config) ([]byte, *refusal) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, &refusal{status: http.StatusUnsupportedMediaType,
			message: "content-encoding: got a compressed body, want a plain one"}
	}
	tooLong := &refusal{http.StatusRequestEntityTooLarge,
		fmt.Sprintf("body: got more than %d bytes, want at most that; split the code into several evals", cfg.MaxBody),
		[2]string{"Connection", "close"}}
	if r.ContentLength > cfg.MaxBody {
		return nil, tooLong
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, cfg.MaxBody), r.ContentLength)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLong
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, "body: it did not arrive whole", [2]string{"Connection", "close"}}
	}
	return body, nil
}

// readAll reads to the end, into one buffer of the right size where the length
// is known.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	if err != nil {
		return nil, err
	}
	// The read that sees the end lets net/http watch the connection, which is
	// how a client that hangs up is noticed.
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		return nil, fmt.Errorf("failed to find the end of the body: %w", err)
	}
	return body, nil
}

// recovered turns a panic, which only the Host's Surface can cause, into an
// answer.
func recovered(w http.ResponseWriter, cfg *Config) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	cfg.Log.Error("gateway: the host panicked", "panic", p, "stack", string(debug.Stack()))
	refuse(w, &refusal{status: http.StatusInternalServerError, message: "the gateway failed; it has been logged"})
}
