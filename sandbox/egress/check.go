package egress

import (
	"crypto/tls"
	"net/http"
	"strings"
)

// check decides whether a request may go where its connection leads. The three names of a request, that of the connection,
// the SNI and the Host, are one name, or the request is refused: else an allowed name would be a door to what shares its
// servers.
func (p *Proxy) check(r *http.Request, to dest) *refusal {
	if why := p.closedTo(to); why != "" {
		return refuse(http.StatusForbidden, "%s:%d: %s", to.name, to.port, why)
	}
	switch {
	case r.Method == http.MethodConnect:
		return refuse(http.StatusMethodNotAllowed, "CONNECT: there is no proxy here; connect to the name itself")
	case !strings.HasPrefix(r.URL.Path, "/"):
		return refuse(http.StatusBadRequest, "request: got the target %q, want a path", r.URL.Path)
	case to.tls && (r.TLS == nil || !sni(r.TLS, to.name)):
		return refuse(http.StatusMisdirectedRequest, "SNI: got %q on a connection to %s, want the same name", serverName(r.TLS), to.name)
	case !hostIs(r.Host, to):
		return refuse(http.StatusMisdirectedRequest, "Host: got %q on a connection to %s, want the same name", r.Host, to.name)
	case r.URL.Scheme != "" && (r.URL.Scheme == "https") != to.tls:
		return refuse(http.StatusMisdirectedRequest, "request: got a target with %s: on a connection of the other kind", r.URL.Scheme)
	}
	for _, h := range r.Header["Host"] { // over h2 there may be one beside :authority
		if !hostIs(h, to) {
			return refuse(http.StatusMisdirectedRequest, "Host: got %q on a connection to %s, want the same name", h, to.name)
		}
	}
	if to.internal() {
		return p.checkInternal(r, to)
	}
	return nil
}

// checkInternal lets only the endpoint of this box's role through.
func (p *Proxy) checkInternal(r *http.Request, to dest) *refusal {
	path := p.conf.Internal.Endpoint.Path
	if to.tls || r.URL.Path != path || r.URL.EscapedPath() != path {
		return refuse(http.StatusNotFound, "%s: there is only http://%s%s here", InternalHost, InternalHost, path)
	}
	return nil
}

func serverName(s *tls.ConnectionState) string {
	if s == nil {
		return ""
	}
	return s.ServerName
}

func sni(s *tls.ConnectionState, name string) bool {
	got, err := hostname(s.ServerName)
	return err == nil && got == name
}

// hostIs compares a Host header with a destination.
func hostIs(host string, to dest) bool {
	if strings.Contains(host, ":") {
		h, port, err := splitPort(host)
		if err != nil || port != to.port {
			return false
		}
		host = h
	}
	got, err := hostname(host)
	return err == nil && got == to.name
}
