// Package control is how an operator's commands reach a running zeno: HTTP with JSON on a Unix socket in the state
// directory of its home. It is apart from the agents' listener.
//
//	s, err := control.New(control.Config{Dir: state})
//	s.Register(control.Verb{Name: "ps", Call: ps})
//	err = s.Start(ctx)
//
// A Verb is a name and a function; the package knows none of them. POST /v1/NAME with a JSON object calls it, GET too where
// it changes nothing; a Verb with a Stream answers in lines until it ends.
//
// The invariant: whoever is answered is the user that runs zeno, or root. On the socket the kernel says who it is
// (SO_PEERCRED), and the file is nobody else's to open. Anywhere else (ListenTCP) the admin token of the home is needed,
// whatever the address; a page of another origin is refused with it. An agent's token is worth nothing here.
//
// Start with Verb and Server; socket.go is the file, Client the other end.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// SocketFile and TokenFile are the names in the state directory.
const (
	SocketFile = "control.sock"
	TokenFile  = "admin.token"
)

// Verb is one thing that can be asked for. Just one of Call and Stream is set.
type Verb struct {
	Name   string // words of small letters, digits and -, parted by /: "processes/pause"
	Doc    string // one line
	Change bool   // it changes something: GET is refused

	MaxBody int64 // bytes of its argument; 0: as Config says

	// Call gives what is answered, as JSON. ctx ends with the connection.
	Call func(ctx context.Context, q Request) (any, error)
	// Stream calls send for each line of the answer, until it has no more or send fails.
	Stream func(ctx context.Context, q Request, send func(any) error) error
}

// Request is one call of a Verb.
type Request struct {
	By   By
	body []byte
}

// Decode reads the argument of the call into a struct. What it does not know is an error, so that a misspelt option is
// not ignored. No argument leaves it as it is.
func (q Request) Decode(into any) error {
	if len(bytes.TrimSpace(q.body)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(q.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &Error{Kind: Usage, Message: fmt.Sprintf("argument: %v; want a JSON object with the fields of this verb", err)}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &Error{Kind: Usage, Message: "argument: got more than one JSON value, want one object"}
	}
	return nil
}

// By is who calls. On the socket the kernel vouches for it.
type By struct {
	Via string `json:"via"` // "socket", "token" or "lisp"
	UID int    `json:"uid"` // -1: not known
	PID int    `json:"pid"` // -1: not known
}

func (b By) String() string {
	if b.UID < 0 {
		return b.Via
	}
	return fmt.Sprintf("%s uid %d pid %d", b.Via, b.UID, b.PID)
}

// The kinds of Error.
const (
	Usage    = "usage"    // what was asked for makes no sense, or is not there: 400
	Unknown  = "unknown"  // no such verb: 404
	Refused  = "refused"  // not now, or not by this caller: 409
	Failed   = "failed"   // 500
	NoAccess = "access"   // 401, 403
	tooBig   = "too-big"  // 413
	busy     = "too-many" // 503
)

// Error is what went wrong, for the one who asked.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func (e *Error) status() int {
	switch e.Kind {
	case Usage:
		return http.StatusBadRequest
	case Unknown:
		return http.StatusNotFound
	case Refused:
		return http.StatusConflict
	case NoAccess:
		return http.StatusForbidden
	case tooBig:
		return http.StatusRequestEntityTooLarge
	case busy:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Config is what a Server is made from. Only Dir is needed.
type Config struct {
	Dir string // the state directory: absolute, and this process's alone while it holds the home's lock

	MaxBody      int64         // bytes of one argument; default 1 MiB
	MaxConns     int           // open connections of one listener; default 64
	ReadTimeout  time.Duration // of a whole request; default 10 s
	WriteTimeout time.Duration // of one write that the caller does not take; default 10 s
	Beat         time.Duration // between signs of life on a stream that has nothing to say; default 10 s
	Log          *slog.Logger  // nil discards
}

func (c Config) complete() Config {
	if c.MaxBody <= 0 {
		c.MaxBody = 1 << 20
	}
	if c.MaxConns <= 0 {
		c.MaxConns = 64
	}
	for _, d := range []*time.Duration{&c.ReadTimeout, &c.WriteTimeout, &c.Beat} {
		if *d <= 0 {
			*d = 10 * time.Second
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
