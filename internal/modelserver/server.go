// Package modelserver is the project's own scripted model: an HTTP server on loopback that speaks the dialects agent CLIs
// use and takes its moves from marks in the prompt, so that a real CLI can be run from end to end without a model.
//
// A prompt such as "add up [[eval: (+ 1 2)]] [[eval: (* 3 4)]]" makes the server call the offered tool whose name ends in
// "eval" once for each mark, and then say "RESULT: " and the last tool result. `[[call: NAME {"json":"args"}]]` calls a
// tool by its exact name. The server keeps no state between requests: each request holds the whole conversation.
//
// The invariant: what the server answers depends on the request and the Config alone, never on earlier requests.
//
// Start reading at Server; a dialect is one file.
package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request; the largest prompts of the tests are far below.
const maxBody = 64 << 20

// Config is how the server answers; it may be changed while it runs.
type Config struct {
	// Latency delays each answer.
	Latency time.Duration
	// Status, where not zero, refuses every request to a model with that code and an error in the dialect's form.
	Status int
	// Malformed breaks off each answer in the middle, a streamed one in the middle of an event.
	Malformed bool
	// Fault, where given, decides instead of Status and Malformed what is wrong with the answer to a request. It is called
	// from many goroutines.
	Fault func(Request) Fault
	// Decide, where given and where it says so, takes the place of the marks: a model that looks at what it is told. It is
	// called from many goroutines.
	Decide func(Conversation) (Move, bool)
	// OnRequest, where given, hears of each request to a model before it is answered, on the request's own goroutine.
	OnRequest func(Request)
}

// Request is what the server was asked, for assertions.
type Request struct {
	Path string
	// Auth is the credential sent: Authorization, x-api-key or x-goog-api-key.
	Auth         string
	Body         string
	Conversation Conversation
	Move         Move
}

// Server is one scripted model. Its methods are safe for concurrent use.
type Server struct {
	// URL is the root, as Anthropic clients want it; clients of the OpenAI dialects add /v1.
	URL string

	http *httptest.Server
	mu   sync.Mutex
	conf Config
	seen []Request
}

// New starts a server on a free loopback port; the caller closes it.
func New(conf Config) *Server { return start(conf, (*httptest.Server).Start) }

func start(conf Config, listen func(*httptest.Server)) *Server {
	s := &Server{conf: conf}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("HEAD /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	for path, d := range map[string]dialect{
		"/v1/messages":         anthropic{},
		"/v1/chat/completions": chat{},
		"/v1/responses":        responses{},
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, d, func(*Conversation) {}) })
	}
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	s.http = httptest.NewUnstartedServer(mux)
	listen(s.http)
	s.URL = s.http.URL
	return s
}

// Close breaks off what still runs and waits for it.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Set changes how the next requests are answered.
func (s *Server) Set(conf Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conf = conf
}

// Requests returns what was asked of a model so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

func (s *Server) config() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conf
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{
		{"id": "scripted", "object": "model", "type": "model", "display_name": "scripted", "owned_by": "zeno"}}})
}

func (s *Server) countTokens(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"input_tokens": usageIn})
}

// gemini serves the one API that names the model and the method in the path.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "generateContent", "streamGenerateContent":
		s.answer(w, r, gemini{}, func(c *Conversation) { c.Model, c.Stream = model, method == "streamGenerateContent" })
	case "countTokens":
		writeJSON(w, http.StatusOK, object{"totalTokens": usageIn})
	default:
		gemini{}.refuse(w, http.StatusNotFound, "no such method: "+method)
	}
}

// answer serves one request to a model in the given dialect; more adds what the request does not say in its body.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect, more func(*Conversation)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		d.refuse(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	talk, err := d.read(body)
	if err != nil {
		d.refuse(w, http.StatusBadRequest, fmt.Sprintf("body: %v", err))
		return
	}
	more(&talk)
	conf := s.config()
	move := conf.move(talk)
	seen := Request{Path: r.URL.Path, Auth: credential(r), Body: string(body), Conversation: talk, Move: move}
	s.record(seen)
	if conf.OnRequest != nil {
		conf.OnRequest(seen)
	}
	select {
	case <-time.After(conf.Latency):
	case <-r.Context().Done():
		return
	}
	fault := conf.fault(seen)
	switch {
	case fault.Status != 0:
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		d.refuse(w, fault.Status, fmt.Sprintf("scripted failure %d", fault.Status))
	case !talk.Stream && fault.Break == 0:
		writeJSON(w, http.StatusOK, d.whole(talk, move))
	case !talk.Stream && fault.Break == Report:
		d.refuse(w, http.StatusServiceUnavailable, reported)
	case !talk.Stream:
		data, _ := json.Marshal(d.whole(talk, move))
		w.Header().Set("Content-Type", "application/json")
		fault.Break.carryOut(w, r, string(data[:len(data)/2]))
	default:
		events := d.events(talk, move)
		if fault.Break == Report {
			events = append(events[:len(events)/2:len(events)/2], d.report(talk))
			fault.Break = 0
		}
		stream(w, r, events, fault.Break)
	}
}

func (c Config) move(talk Conversation) Move {
	if c.Decide != nil {
		if move, ok := c.Decide(talk); ok {
			return move
		}
	}
	return next(talk)
}

func credential(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// object is a JSON object written by hand.
type object map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// event is one server-sent event; a name may be absent, and raw data stands as it is.
type event struct {
	name string
	data object
	raw  string
}

// stream writes the events, up to what breaks them off in the middle of the middle one.
func stream(w http.ResponseWriter, r *http.Request, events []event, broken Break) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for i, e := range events {
		text := e.raw
		if e.data != nil {
			data, err := json.Marshal(e.data)
			if err != nil {
				return
			}
			text = string(data)
		}
		if broken != 0 && i == len(events)/2 {
			broken.carryOut(w, r, "data: "+text[:len(text)/2])
			return
		}
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		flush(w)
	}
}
