package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"
)

// writer is a response as mcp-go wants it, with a bound on how long a client
// that does not read can hold a write up. The server has no write timeout,
// because a whole answer may take as long as an eval does.
type writer struct {
	w     http.ResponseWriter
	stall time.Duration
	begun func() // called by every write, where not nil
}

// signal returns a channel that the first write closes, or that is closed
// already where nothing can be written before the answer.
func (w *writer) signal() <-chan struct{} {
	c := make(chan struct{})
	w.begun = sync.OnceFunc(func() { close(c) })
	if !w.CanStream() {
		w.begun()
	}
	return c
}

func (w *writer) Header() http.Header    { return w.w.Header() }
func (w *writer) WriteHeader(status int) { w.w.WriteHeader(status) }

// Write sends p, which mcp-go hands over a whole message at a time. Some of its
// plain-text errors repeat a header, which may hold any byte.
func (w *writer) Write(p []byte) (int, error) {
	if w.begun != nil {
		w.begun()
	}
	_ = http.NewResponseController(w.w).SetWriteDeadline(time.Now().Add(w.stall))
	if !utf8.Valid(p) {
		_, err := w.w.Write(bytes.ToValidUTF8(p, []byte("\ufffd")))
		return len(p), err
	}
	return w.w.Write(p)
}

func (w *writer) Flush() {
	if f, ok := w.w.(http.Flusher); ok {
		f.Flush()
	}
}

// CanStream reports whether progress can reach the client before the answer.
func (w *writer) CanStream() bool {
	_, ok := w.w.(http.Flusher)
	return ok
}

// deadlines starts the time a body may take to arrive, and takes off what the
// last answer on this connection set. A writer that has none, as in a test,
// goes without.
func deadlines(w http.ResponseWriter, cfg *Config) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(cfg.ReadTimeout))
	_ = c.SetWriteDeadline(time.Time{})
}

// refuse writes an answer of the gateway's own, in the shape MCP clients show.
func refuse(w http.ResponseWriter, no *refusal) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if no.header[0] != "" {
		h.Set(no.header[0], no.header[1])
	}
	w.WriteHeader(no.status)
	_ = json.NewEncoder(w).Encode(rpcError{Version: "2.0", Error: rpcDetail{Code: -32000, Message: no.message}})
}

type rpcError struct {
	Version string    `json:"jsonrpc"`
	ID      *string   `json:"id"` // always null: the request was not read
	Error   rpcDetail `json:"error"`
}

type rpcDetail struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}
