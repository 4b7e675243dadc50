package sandbox

import (
	"context"
	"net"
)

// Listeners are the sockets through which a box reaches out. They live in the network namespace of the box and are served
// by this process: a connection's local address is the address that the program in the box dialled.
type Listeners struct {
	// TCP holds one listener for each port: 443, 80 and what Proxy.Ports asks for.
	TCP map[int]net.Listener
	// DNS is the UDP socket on port 53.
	DNS net.PacketConn
}

// Close closes every socket; Serve then returns.
func (l Listeners) Close() {
	for _, t := range l.TCP {
		t.Close()
	}
	if l.DNS != nil {
		l.DNS.Close()
	}
}

// Proxy is the host's end of the network of one box: it decides on names, intercepts TLS and puts secrets in. A backend
// asks it for what the box has to be told (Env, CA, Ports) before the program starts, and then gives it the sockets.
type Proxy interface {
	// Env is what the program is given besides its own environment: where the CA is, and placeholders for secrets.
	Env() map[string]string
	// CA is the certificate, in PEM, that signs what the proxy answers for a name. The backend writes it to CAPath.
	CA() []byte
	// Ports are the TCP ports to listen on besides 443 and 80.
	Ports() []int
	// Serve answers until ctx ends or the sockets close. It owns the sockets from here on and closes them.
	Serve(ctx context.Context, l Listeners) error
}

// Where a box finds what belongs to its network.
const (
	// CAPath is the proxy's certificate alone.
	CAPath = "/.msb/tls/ca.pem"
	// BundlePath is the box's own bundle of certificates with the proxy's added.
	BundlePath = "/.msb/tls/bundle.pem"
	// DNSAddr is the nameserver of the box's /etc/resolv.conf.
	DNSAddr = "127.0.0.53"
)
