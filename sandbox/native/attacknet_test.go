//go:build linux

package native_test

import (
	"context"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/native"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// planted is a secret's value: it must be nowhere in a box, in what a box gives, and in what is told of it.
const planted = "canary-5d0e77/+planted=="

// spelled are the forms that a value may be found in.
func spelled(text string) (found []string) {
	for _, form := range []string{planted, url.QueryEscape(planted), base64.StdEncoding.EncodeToString([]byte(planted))[:28],
		base64.StdEncoding.EncodeToString([]byte("x" + planted))[4:28], base64.StdEncoding.EncodeToString([]byte("xx" + planted))[4:28], strings.ReplaceAll(planted, "/", `\/`)} {
		if strings.Contains(text, form) {
			found = append(found, form)
		}
	}
	return found
}

// outside is what boxes of these tests may and may not reach: an upstream with a certificate for example.com, the
// gateway, and services of the host.
type outside struct {
	t        *testing.T
	up       *httptest.Server
	gateway  *httptest.Server
	pool     *x509.CertPool
	repos    string
	control  string // a socket of the host
	nrepl    string // a port of the host
	touched  atomic.Int64
	rebound  atomic.Bool // rebind.example.com leads to the host from now on
	mu       sync.Mutex
	requests []string // HOST PATH
	auth     []string
	events   []string
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{t: t, pool: x509.NewCertPool(), repos: t.TempDir(), control: filepath.Join(t.TempDir(), "control.sock")}
	o.up = httptest.NewUnstartedServer(http.HandlerFunc(o.upstream))
	o.up.EnableHTTP2 = true
	o.up.StartTLS()
	t.Cleanup(o.up.Close)
	o.pool.AddCert(o.up.Certificate())
	o.gateway = httptest.NewServer(http.HandlerFunc(o.endpoint))
	t.Cleanup(o.gateway.Close)
	o.nrepl = o.service("tcp", "127.0.0.1:0")
	o.service("unix", o.control)
	return o
}

// service is one of the host's that counts who comes.
func (o *outside) service(network, addr string) string {
	l, err := net.Listen(network, addr)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o.touched.Add(1)
			c.SetReadDeadline(time.Now().Add(time.Second))
			c.Read(make([]byte, 4096))
			io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nreached the host")
			c.Close()
		}
	}()
	return l.Addr().String()
}

func (o *outside) note(r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, r.Host+" "+r.URL.Path)
	o.auth = append(o.auth, r.Header.Get("Authorization"))
}

func (o *outside) seen() (requests, auth []string, events string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.requests...), append([]string(nil), o.auth...), strings.Join(o.events, "\n")
}

func (o *outside) endpoint(w http.ResponseWriter, r *http.Request) {
	o.note(r)
	fmt.Fprintln(w, "gateway", r.URL.Path, r.Header.Get("Authorization"))
}

// upstream answers with what it was asked, in many spellings; at /repo.git it is a Git server, at /ws a websocket.
func (o *outside) upstream(w http.ResponseWriter, r *http.Request) {
	o.note(r)
	switch {
	case strings.HasPrefix(r.URL.Path, "/repo.git"):
		o.git(w, r)
	case r.URL.Path == "/redirect":
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	case r.URL.Path == "/ws":
		websocket(w, r)
	default:
		auth := r.Header.Get("Authorization")
		w.Header().Set("X-Echo", auth)
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		fmt.Fprintf(w, "%s %s %s %s %q %s\n", r.Proto, auth, url.QueryEscape(auth), base64.StdEncoding.EncodeToString([]byte(auth)), auth, body)
	}
}

func (o *outside) git(w http.ResponseWriter, r *http.Request) {
	if _, pass, _ := r.BasicAuth(); pass != planted {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "want the token", http.StatusUnauthorized)
		return
	}
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.Header.Del("Transfer-Encoding")
	(&cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + o.repos, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}).ServeHTTP(w, r)
}

func websocket(w http.ResponseWriter, r *http.Request) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	rw.Flush()
	for {
		var head [6]byte
		if _, err := io.ReadFull(rw, head[:]); err != nil || head[1]&0x7f > 125 {
			return
		}
		body := make([]byte, head[1]&0x7f)
		if _, err := io.ReadFull(rw, body); err != nil {
			return
		}
		for i := range body {
			body[i] ^= head[2+i%4]
		}
		conn.Write(append([]byte{head[0], byte(len(body))}, body...))
		if head[0]&15 == 8 {
			return
		}
	}
}

// resolve answers for one name: the internet first, the host itself once it is rebound.
type resolve struct{ o *outside }

func (r resolve) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if r.o.rebound.Load() {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

// proxy is the network of a box: example.com and the role's endpoint, and a name that an attacker resolves.
func (o *outside) proxy() *egress.Proxy {
	o.t.Helper()
	value, err := secret.New(planted)
	if err != nil {
		o.t.Fatal(err)
	}
	endpoint, _ := url.Parse(o.gateway.URL + "/mcp/worker")
	port := netip.MustParseAddrPort(o.nrepl).Port()
	p, err := egress.New(egress.Config{Roots: o.pool, Internal: &egress.Internal{Endpoint: endpoint, Token: value}, Resolver: resolve{o},
		Own: func() ([]netip.Addr, error) { return nil, nil },
		Policy: egress.Policy{Allow: []egress.Rule{{Host: "example.com", Port: 443, Addr: o.up.Listener.Addr().String()},
			{Host: "rebind.example.com"}, {Host: "rebind.example.com", Port: int(port)}}},
		Secrets: []egress.Secret{{Env: "TOKEN", Hosts: []string{"example.com"}, Value: value}},
		Event: func(e egress.Event) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.events = append(o.events, fmt.Sprintf("%+v", e))
		}})
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

// run runs a script in a box with this network.
func (o *outside) run(b *native.Backend, script string, change ...func(*sandbox.Spec)) sandbox.Result {
	o.t.Helper()
	change = append([]func(*sandbox.Spec){func(s *sandbox.Spec) {
		s.Proxy, s.Egress, s.Timeout = o.proxy(), sandbox.Egress{Default: sandbox.EgressDeny}, 10*time.Minute
	}}, change...)
	res := sh(o.t, b, script, change...)
	if found := spelled(res.Out + res.Err); len(found) > 0 {
		o.t.Errorf("the output of a box holds the secret's value, as %q", found)
	}
	return res
}

// Real programs use a secret that they do not have.
func TestRealClientsInABox(t *testing.T) {
	for _, p := range [][2]string{{"curl", "curl"}, {"git", "git"}, {"python3", "python3"}, {"node", "nodejs"}} {
		need.Program(t, p[0], p[1])
	}
	o := newOutside(t)
	if out, err := exec.Command("sh", "-c", "git init -q --bare -b main "+o.repos+"/repo.git && git -C "+o.repos+"/repo.git config http.receivepack true").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, c := range []struct{ name, script, want string }{
		{"curl h1", `curl -sS -m120 --http1.1 -H "Authorization: Bearer $TOKEN" https://example.com/`, "HTTP/1.1 Bearer $MSB_TOKEN"},
		{"curl h2", `curl -sS -m120 --http2 -w 'spoke %{http_version}' -H "Authorization: Bearer $TOKEN" https://example.com/`, "spoke 2"},
		{"git", `set -e; export GIT_TERMINAL_PROMPT=0; git clone -q "https://bot:$TOKEN@example.com/repo.git" work 2>&1; cd work
git config user.email a@example.com; git config user.name a; head -c 300000 /dev/urandom > big; echo pushed > f
git add .; git commit -qm one; git push -q origin HEAD:main; cd ..
git clone -q "https://bot:$TOKEN@example.com/repo.git" again; cat again/f; cat again/.git/config`, "pushed\n"},
		{"git without the secret", `GIT_TERMINAL_PROMPT=0 git clone -q https://bot:wrong@example.com/repo.git w 2>&1 || echo refused`, "refused"},
		{"python", `python3 -c '
import os, urllib.request
r = urllib.request.Request("https://example.com/", headers={"Authorization": "Bearer " + os.environ["TOKEN"]})
print(urllib.request.urlopen(r, timeout=120).read().decode())'`, "Bearer $MSB_TOKEN"},
		{"node", `node -e '
fetch("https://example.com/", {method: "POST", body: "x", headers: {Authorization: "Bearer " + process.env.TOKEN}})
  .then(r => r.text()).then(t => console.log(t), e => { console.log(e, e.cause); process.exit(1) })'`, "Bearer $MSB_TOKEN"},
		{"websocket", `python3 -c '
import os, socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("example.com", 443), 120), server_hostname="example.com")
s.sendall(("GET /ws HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer " + os.environ["TOKEN"] + "\r\n\r\n").encode())
head = b""
while not head.endswith(b"\r\n\r\n"): head += s.recv(1)
s.sendall(b"\x81\x85\0\0\0\0hello"); print(head.split(b"\r\n")[0], s.recv(7))'`, "101 Switching Protocols"},
		{"the endpoint", `curl -sS -m120 -H "Authorization: Bearer $ZENO_TOKEN" http://zeno.internal/mcp/worker`, "gateway /mcp/worker Bearer $MSB_ZENO_TOKEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o.t = t
			_, before, _ := o.seen()
			res := o.run(backend(t), c.script)
			_, auth, events := o.seen()
			if !strings.Contains(res.Out, c.want) {
				t.Errorf("got %+v, want %q\n%s", res, c.want, events)
			}
			sent := strings.Contains(fmt.Sprint(auth[len(before):]), planted) || strings.Contains(fmt.Sprint(auth[len(before):]), base64.StdEncoding.EncodeToString([]byte("bot:"+planted)))
			if sent == (c.name == "git without the secret") {
				t.Errorf("the server got %q", auth[len(before):])
			}
			if found := spelled(events); len(found) > 0 {
				t.Errorf("the events hold the value, as %q", found)
			}
		})
	}
}
