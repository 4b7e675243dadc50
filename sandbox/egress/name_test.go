package egress

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Every spelling that is accepted leads to one name, and that name is its own spelling.
func FuzzHostname(f *testing.F) {
	for _, s := range []string{"example.com", "EXAMPLE.com.", "bücher.example", "xn--bcher-kva.example", "a_b.c", "127.0.0.1", "0x7f.1", "2130706433", "[::1]", "a..b", "a.com\x00.b", "ａ.com", "a。com", "zeno.internal", "1.2.3.4."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := hostname(s)
		if err != nil {
			return
		}
		if !plainName(name) {
			t.Fatalf("%q: got %q, which is no plain name", s, name)
		}
		if again, err := hostname(name); err != nil || again != name {
			t.Fatalf("%q: got %q and then %q %v", s, name, again, err)
		}
		if net.ParseIP(strings.TrimSuffix(s, ".")) != nil || net.ParseIP(name) != nil {
			t.Fatalf("%q: got %q for an address", s, name)
		}
		if hostIs(s, dest{name: "allowed.example.com", port: 443}) != (name == "allowed.example.com") && !strings.Contains(s, ":") {
			t.Fatalf("%q is taken for allowed.example.com", s)
		}
	})
}

// Whatever SNI a client sends, only the name of the connection is answered with anything but a refusal.
func FuzzSNI(f *testing.F) {
	w := newWorld(f)
	b := startBox(f, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", http.HandlerFunc(echo)))}}, Roots: w.pool})
	for _, s := range []string{"api.example.com", "API.example.com", "", "evil.example.com", "api.example.com.", "127.0.0.1", "api.example.com\x00", strings.Repeat("a", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sni string) {
		c, err := b.dial("api.example.com", 443)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		conn := tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: true})
		if conn.Handshake() != nil {
			return
		}
		got := raw(conn, "GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")
		if name, err := hostname(sni); strings.HasPrefix(got, "200") != (err == nil && name == "api.example.com") {
			t.Fatalf("SNI %q: got %.60q", sni, got)
		}
	})
}
