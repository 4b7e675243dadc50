package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
)

// peerKey marks a connection's context with who is at its other end.
type peerKey struct{}

// peer is the other end of a connection; nil where only a token says who it is.
type peer struct {
	by  By
	err error // the kernel would not say
}

func peerOf(c net.Conn) *peer {
	if held, ok := c.(*held); ok {
		c = held.Conn
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	uid, pid, err := credentials(u)
	return &peer{By{"socket", uid, pid}, err}
}

// admit says who calls, or refuses.
func (s *Server) admit(r *http.Request) (By, error) {
	p, _ := r.Context().Value(peerKey{}).(*peer)
	if p == nil {
		return s.admitToken(r)
	}
	switch {
	case p.err != nil:
		return By{}, &Error{NoAccess, fmt.Sprintf("control: failed to learn who calls: %v", p.err)}
	case p.by.UID != os.Geteuid() && p.by.UID != 0:
		return By{}, &Error{NoAccess, fmt.Sprintf("control: got a caller of uid %d, want %d, which runs this zeno, or root", p.by.UID, os.Geteuid())}
	case r.Header.Get("Origin") != "":
		return By{}, &Error{NoAccess, "control: got an Origin header, want none on the socket"}
	}
	return p.by, nil
}

// admitToken wants the admin token, and a Host and an Origin that no foreign page can have: a name that was pointed here
// (DNS rebinding) is refused even with the token.
func (s *Server) admitToken(r *http.Request) (By, error) {
	if !hostAllowed(r) || !originAllowed(r) {
		return By{}, &Error{NoAccess, "control: got a foreign Host or Origin; want the address that zeno listens on, and no page of another origin"}
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.token))
	if !ok || s.token == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return By{}, &Error{NoAccess, "control: got no admin token or a wrong one; want Authorization: Bearer with the text of state/" + TokenFile}
	}
	return By{"token", -1, -1}, nil
}

// hostAllowed wants the name of this machine's loopback, or the address that the request arrived at.
func hostAllowed(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap() == ip.Unmap()
}

// originAllowed wants none, or that of a page served from here.
func originAllowed(r *http.Request) bool {
	all := r.Header.Values("Origin")
	if len(all) == 0 {
		return true
	}
	u, err := url.Parse(all[0])
	return len(all) == 1 && err == nil && u.Scheme == "http" && u.User == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func (s *Server) body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, &Error{tooBig, fmt.Sprintf("argument: got more than %d bytes, want less", most)}
	case err != nil:
		return nil, &Error{Usage, fmt.Sprintf("argument: failed to read it within %s: %v", s.conf.ReadTimeout, err)}
	}
	return b, nil
}

// capped closes a connection that is one too many at once, so that nobody can use up the descriptors of zeno.
type capped struct {
	net.Listener
	free chan struct{}
}

func (l *capped) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &held{Conn: c, done: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			_ = c.Close()
		}
	}
}

// held gives its place back when it closes.
type held struct {
	net.Conn
	done func()
}

func (h *held) Close() error {
	h.done()
	return h.Conn.Close()
}
