package modelserver

import (
	"crypto/x509"
	"net/http/httptest"
)

// TLSName is the name that the certificate of a server made by NewTLS holds.
const TLSName = "example.com"

// NewTLS is New over TLS. The URL has the server's address; its certificate is for TLSName, and verified by Roots.
func NewTLS(conf Config) *Server { return start(conf, (*httptest.Server).StartTLS) }

// Roots verifies a server made by NewTLS.
func (s *Server) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.http.Certificate())
	return pool
}

// Certificate is that of a server made by NewTLS.
func (s *Server) Certificate() *x509.Certificate { return s.http.Certificate() }

// Addr is where the server listens: IP:PORT.
func (s *Server) Addr() string { return s.http.Listener.Addr().String() }
