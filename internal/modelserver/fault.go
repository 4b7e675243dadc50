package modelserver

import (
	"fmt"
	"net"
	"net/http"
)

// Fault is one way for an answer to go wrong; the zero value is an answer that does not.
type Fault struct {
	// Status, where not zero, refuses the request with that code and an error in the dialect's form.
	Status int
	// RetryAfter is the header of that name beside Status, such as "1".
	RetryAfter string
	// Break is what happens in the middle of the answer.
	Break Break
}

// Break is what happens in the middle of an answer.
type Break int

// The breaks: the answer ends there in the middle of an event, nothing follows although the connection stays, the connection
// is reset, or the stream goes on with the dialect's event for a failure, as servers do that are overloaded.
const (
	Cut Break = iota + 1
	Stall
	Reset
	Report
)

// reported is what a stream says that reports its failure.
const reported = "scripted overload"

// fault is what is wrong with the answer to one request.
func (c Config) fault(q Request) Fault {
	if c.Fault != nil {
		return c.Fault(q)
	}
	f := Fault{Status: c.Status}
	if c.Malformed {
		f.Break = Cut
	}
	return f
}

// carryOut ends an answer whose next bytes would be rest.
func (b Break) carryOut(w http.ResponseWriter, r *http.Request, rest string) {
	switch b {
	case Cut:
		fmt.Fprint(w, rest)
	case Stall:
		fmt.Fprint(w, rest)
		flush(w)
		<-r.Context().Done()
	case Reset:
		flush(w)
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			return
		}
		conn, _, err := hijacker.Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what follows is a reset
		}
		_ = conn.Close()
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
