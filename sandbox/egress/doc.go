// Package egress is the host's end of a box's network: it answers the box's DNS, intercepts its TLS, decides by name what
// may be reached, and puts secrets into requests so that the box never holds one.
//
// Its one invariant: a byte leaves the box only in an HTTP request whose connection, SNI and Host name the same allowed
// name, and the value of a secret only over verified TLS to a host that the secret is bound to. Whatever cannot be decided
// is refused: an address without a name, a protocol that is not HTTP, a name that resolves into the host's own networks.
//
// A connection goes through, in this order: the stub (dns.go) gives an allowed name an address of its own (names.go); the
// connection's local address leads back to that name (conn.go); TLS is ended with a certificate of the run's authority
// (ca.go); the request is checked (check.go) and forwarded (forward.go) after inject.go put secrets in; the answer comes
// back through scrub.go. Where upstream connections may go is decided in dial.go, after resolution and each time anew.
//
// The package works on listeners that it is given, so the same code serves a box's network namespace and, in Gateway, a
// forward proxy for other backends. Start at Config and New.
package egress
