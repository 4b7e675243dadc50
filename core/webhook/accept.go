package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/netutil"
)

// Listen opens the listener, or keeps the one that is open on addr, and gives its address.
func (s *Server) Listen(ctx context.Context, addr string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", errors.New("webhook: zeno is stopping")
	case s.http != nil:
		return s.addr, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("webhook: failed to listen on %s: %w", addr, err)
	}
	s.addr = l.Addr().String()
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadTimeout: s.conf.ReadTimeout, ReadHeaderTimeout: s.conf.ReadTimeout,
		WriteTimeout: 3 * s.conf.ReadTimeout, IdleTimeout: s.conf.ReadTimeout, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.conf.Log.Handler(), slog.LevelWarn)}
	s.served = make(chan struct{})
	go func(srv *http.Server) {
		defer close(s.served)
		if err := srv.Serve(netutil.LimitListener(l, s.conf.MaxConns)); !errors.Is(err, http.ErrServerClosed) {
			s.conf.Log.Error("webhook: serving ended", "error", err)
		}
	}(s.http)
	return s.addr, nil
}

// Addr is where it listens, "" where it does not.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Close takes nothing more in: requests under way are answered as long as ctx lasts. What waits stays on disk, and the
// delivery that is being handled goes on.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	srv, served := s.http, s.served
	s.addr = ""
	s.mu.Unlock()
	if srv == nil {
		return nil
	}
	err := srv.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("webhook: failed to end all requests: %w", err), srv.Close())
	}
	<-served
	return err
}

// Stop is Close, cancels what is being handled, and waits for it as long as ctx lasts.
func (s *Server) Stop(ctx context.Context, cause error) error {
	err := s.Close(ctx)
	s.cancel(cause)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.workers.Wait()
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("webhook: a delivery is still being handled: %w", ctx.Err()))
	}
}

// outcome is how a request is answered.
type outcome struct {
	code   int
	Status string `json:"status"`
	ID     string `json:"id,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	out := s.answer(w, r)
	w.Header().Set("Content-Type", "application/json")
	switch out.code {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "30")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	}
	w.WriteHeader(out.code)
	_ = json.NewEncoder(w).Encode(out) // a sender that has gone sends again
}

func no(code int, format string, args ...any) outcome {
	return outcome{code: code, Status: "refused", Error: fmt.Sprintf(format, args...)}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) outcome {
	h := s.at(r.URL.Path)
	switch {
	case h == nil:
		return no(http.StatusNotFound, "path: nothing is here")
	case r.Method != http.MethodPost:
		return no(http.StatusMethodNotAllowed, "method: got %s, want POST", r.Method)
	}
	h.mu.Lock()
	def := h.def
	h.mu.Unlock()
	body, out := read(w, r, def)
	if out.code == 0 {
		out = h.judge(r, def, body)
	}
	if out.code >= 400 {
		h.mu.Lock()
		h.refused++
		h.mu.Unlock()
		s.conf.Log.Info("webhook: refused", "hook", def.Name, "code", out.code, "why", out.Error)
	}
	return out
}

func (s *Server) at(path string) *hook {
	for _, h := range s.sorted() {
		if h.path() == path {
			return h
		}
	}
	return nil
}

// read gives the whole body.
func read(w http.ResponseWriter, r *http.Request, def Hook) ([]byte, outcome) {
	if r.ContentLength > def.MaxBody {
		return nil, no(http.StatusRequestEntityTooLarge, "body: got %d bytes, want at most %d", r.ContentLength, def.MaxBody)
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, def.MaxBody))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, no(http.StatusRequestEntityTooLarge, "body: got more than %d bytes, want at most that", def.MaxBody)
	case err != nil:
		return nil, no(http.StatusBadRequest, "body: failed to read it")
	}
	return b, outcome{}
}

// judge checks the signature before it looks at anything else, and accepts.
func (h *hook) judge(r *http.Request, def Hook, body []byte) outcome {
	secrets, err := def.Secrets()
	if err != nil || len(secrets) == 0 {
		h.s.conf.Log.Error("webhook: failed to get the secret", "hook", def.Name, "error", err)
		return no(http.StatusServiceUnavailable, "the operator's secret is not to be had")
	}
	now := h.s.conf.Now()
	id, err := def.check(r.Header, body, secrets, now)
	if err != nil {
		return no(http.StatusUnauthorized, "%v", err)
	}
	if !utf8.Valid(body) {
		return no(http.StatusBadRequest, "body: got bytes that are no UTF-8, want text")
	}
	if id, err = def.name(id, body); err != nil {
		return no(http.StatusBadRequest, "%v", err)
	}
	return h.accept(r.Context(), def, Delivery{Hook: def.Name, ID: id, Received: now, Headers: headers(r.Header), Body: string(body)})
}

// maxID bounds a delivery's name, in bytes.
const maxID = 256

// name is what a delivery is known by: what its sender calls it, else the id in its body, else the hash of its body.
func (h *Hook) name(id string, body []byte) (string, error) {
	if h.Scheme == Stripe && !h.ByBody {
		var b struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(body, &b) == nil {
			id = b.ID
		}
	}
	if id == "" || h.ByBody {
		sum := sha256.Sum256(body)
		return "sha256:" + hex.EncodeToString(sum[:]), nil
	}
	if len(id) > maxID || !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("delivery: got an id of %d bytes, want at most %d, without control characters", len(id), maxID)
	}
	return id, nil
}

// private are headers that are no business of the program's.
var private = map[string]bool{"authorization": true, "cookie": true, "proxy-authorization": true}

func headers(all http.Header) map[string]string {
	out := map[string]string{}
	for k, v := range all {
		if k = strings.ToLower(k); !private[k] {
			out[k] = strings.ToValidUTF8(strings.Join(v, ", "), "\uFFFD")
		}
	}
	return out
}

// accept keeps d, records it, and only then says so.
func (h *hook) accept(ctx context.Context, def Hook, d Delivery) outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.spool.keys[keyOf(d.ID)]
	if !seen {
		var err error
		if seen, err = h.s.conf.Seen(ctx, d.Hook, d.ID); err != nil {
			h.s.conf.Log.Error("webhook: failed to look for the delivery", "hook", def.Name, "error", err)
			return no(http.StatusServiceUnavailable, "zeno cannot read its record; send it again")
		}
	}
	switch {
	case seen:
		return outcome{code: http.StatusOK, Status: "duplicate", ID: d.ID}
	case len(h.spool.files) >= def.MaxQueue:
		return no(http.StatusServiceUnavailable, "queue: %d deliveries wait, want fewer; send it again", len(h.spool.files))
	}
	file, err := h.spool.add(d)
	if err == nil {
		if err = h.s.conf.Accepted(context.WithoutCancel(ctx), d); err != nil {
			err = errors.Join(err, h.spool.remove(file))
		}
	}
	if err != nil {
		h.s.conf.Log.Error("webhook: failed to keep a delivery", "hook", def.Name, "error", err)
		return no(http.StatusServiceUnavailable, "zeno cannot keep it; send it again")
	}
	h.accepted++
	h.kick()
	return outcome{code: http.StatusAccepted, Status: "accepted", ID: d.ID}
}
