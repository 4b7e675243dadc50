package msb

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// door is a registry on loopback that stands in for that of an image's name while msb pulls it, so that the image is called
// by its own name there and not by a port. msb reaches it as its proxy, with a word that only its environment has, and
// trusts it by a certificate of this one pull.
type door struct {
	host   string // as msb asks for it
	word   string
	pem    []byte
	cert   tls.Certificate
	listen net.Listener
	inner  *http.Server
	outer  *http.Server
	conns  *handed
}

// open makes a door for a host. close ends it.
func open(host string, reg http.Handler) (*door, error) {
	d := &door{host: host, word: newID() + newID() + newID(), conns: newHanded()}
	if err := d.certify(); err != nil {
		return nil, err
	}
	var err error
	if d.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	d.inner = &http.Server{Handler: reg, ReadHeaderTimeout: 30 * time.Second}
	d.outer = &http.Server{Handler: http.HandlerFunc(d.connect), ReadHeaderTimeout: 30 * time.Second}
	go d.inner.Serve(tls.NewListener(d.conns, &tls.Config{Certificates: []tls.Certificate{d.cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}))
	go d.outer.Serve(d.listen)
	return d, nil
}

func (d *door) close() {
	d.outer.Close()
	d.conns.Close()
	d.inner.Close()
}

// env leads msb here and nowhere else.
func (d *door) env() []string {
	proxy := "http://zeno:" + d.word + "@" + d.listen.Addr().String()
	return []string{"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "https_proxy=" + proxy, "http_proxy=" + proxy, "NO_PROXY=", "no_proxy="}
}

// connect takes CONNECT to the one host.
func (d *door) connect(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("zeno:"+d.word))
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), []byte(want)) != 1 {
		w.Header().Set("Proxy-Authenticate", `Basic realm="zeno"`)
		http.Error(w, "who is there?", http.StatusProxyAuthRequired)
		return
	}
	host := d.host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host += ":443"
	}
	if r.Method != http.MethodConnect || r.Host != host {
		http.Error(w, "got a request for "+r.Host+", want "+host, http.StatusForbidden)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		conn.Close()
		return
	}
	d.conns.hand(conn)
}

// file writes the certificate where msb can read it.
func (d *door) file() (string, error) {
	f, err := os.CreateTemp("", "zeno-msb-ca-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(d.pem)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

// certify makes an authority and, of it, a certificate for the host. Both keys end with the door.
func (d *door) certify() error {
	name := d.host
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zeno, one pull"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(loadTime + time.Hour), KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true}
	top, topKey, err := issue(authority, authority, nil)
	if err != nil {
		return err
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(strings.Trim(name, "[]")); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{name}
	}
	der, key, err := issue(leaf, authority, topKey)
	if err != nil {
		return err
	}
	d.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: top})
	d.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return nil
}

// issue signs with the parent's key; nil is one's own.
func issue(c, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to make a key: %w", err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to make a certificate: %w", err)
	}
	return der, key, nil
}

// handed is a listener of connections that were taken over.
type handed struct {
	ctx    context.Context
	cancel context.CancelFunc
	conns  chan net.Conn
}

func newHanded() *handed {
	h := &handed{conns: make(chan net.Conn)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

func (h *handed) hand(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.ctx.Done():
		c.Close()
	}
}

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error { h.cancel(); return nil }

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
