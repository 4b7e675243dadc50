//go:build linux

package core_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/internal/need"
)

// tlsServer serves under names with a certificate that its pool verifies.
func tlsServer(t *testing.T, h http.Handler, names ...string) (addr string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	pool = x509.NewCertPool()
	pool.AddCert(cert)
	return s.Listener.Addr().String(), pool
}

// hosting is a Git server that wants a token, with one repository.
func hosting(t *testing.T, token string) http.Handler {
	t.Helper()
	root := t.TempDir()
	repo := filepath.Join(root, "me", "mine.git")
	out, err := exec.Command("sh", "-c", `set -e; git init -q --bare -b main "$1"; git -C "$1" config http.receivepack true; git --exec-path`, "sh", repo).Output()
	if err != nil {
		t.Fatal(err)
	}
	git := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pass, _ := r.BasicAuth(); pass != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "want the token", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Transfer-Encoding")
		git.ServeHTTP(w, r)
	})
}

// registry is npm's, with one package.
func registry(t *testing.T) http.Handler {
	t.Helper()
	var tgz bytes.Buffer
	z := gzip.NewWriter(&tgz)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"package/package.json": `{"name":"left-pad","version":"1.0.0","main":"index.js"}`,
		"package/index.js": `module.exports = (s, n) => String(s).padStart(n)`} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || z.Close() != nil {
		t.Fatal("no archive")
	}
	version := map[string]any{"name": "left-pad", "version": "1.0.0", "dist": map[string]any{
		"tarball": "https://npm.example.org/left-pad/-/left-pad-1.0.0.tgz", "shasum": fmt.Sprintf("%x", sha1.Sum(tgz.Bytes()))}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/left-pad":
			json.NewEncoder(w).Encode(map[string]any{"name": "left-pad", "dist-tags": map[string]any{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": version}})
		case "/left-pad/-/left-pad-1.0.0.tgz":
			w.Write(tgz.Bytes())
		default:
			http.NotFound(w, r)
		}
	})
}

// syncBuffer collects a log.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const guideToken = "canary-guide-77c1/+token"

// guideCore is an instance whose boxes reach a Git server as github.com and a registry as npm.example.org. What it
// logs, at every level, goes to the buffer.
func guideCore(t *testing.T, dir string) (c *core.Core, fill func(string) string, log *syncBuffer) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("github.com/", hosting(t, guideToken))
	mux.Handle("npm.example.org/", registry(t))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, r.Host, r.Header.Get("Authorization"), r.URL.RawQuery)
	})
	addr, pool := tlsServer(t, mux, "github.com", "npm.example.org", "echo.example")
	t.Setenv("GH_TOKEN", guideToken)
	log = &syncBuffer{}
	c, _ = startIn(t, dir, `(require '[zeno.sandbox :as sandbox])`, func(conf *core.Config) {
		conf.Roots, conf.BoxSelf, conf.Log = pool, true, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
	})
	if got := eval(t, c, `(:usable (zeno.sandbox/probe))`); got != "true" {
		need.Skip(t, "no boxes here: %s", eval(t, c, `(zeno.sandbox/probe)`))
	}
	allow := regexp.MustCompile(`:allow \["([a-z.]+)"\]`)
	return c, func(text string) string {
		return allow.ReplaceAllString(text, `:allow [{:host "$1" :port 443 :addr "`+addr+`"}]`)
	}, log
}

// blocks gives the Lisp of a section of a guide.
func blocks(t *testing.T, guide, section string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "guide", guide))
	if err != nil {
		t.Fatal(err)
	}
	_, text2, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("%s: got no section %q", guide, section)
	}
	text2, _, _ = strings.Cut(text2, "\n## ")
	var out []string
	for _, m := range regexp.MustCompile("(?s)```clojure\n(.*?)```").FindAllStringSubmatch(text2, -1) {
		out = append(out, m[1])
	}
	return out
}

// Every profile that the guide shows runs as it stands there, but that its hosts are servers of this test, and holds what
// it says.
func TestTheGuidesProfilesRun(t *testing.T) {
	need.Program(t, "git", "git")
	need.Program(t, "npm", "npm")
	project := t.TempDir()
	for d := project; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	if err := os.WriteFile(filepath.Join(project, "f"), []byte("password\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, fill, _ := guideCore(t, t.TempDir())
	shown := blocks(t, "sandboxes.md", "Profiles to copy")
	then := []struct{ want, src, holds string }{
		{"/f:1", `(:out (sandbox/run (assoc read-only :argv ["sh" "-c" "(echo x > /srv/project/f || echo closed; curl -sm3 https://github.com || echo offline; cat /root/.ssh/* /home/*/* || echo hidden) 2>/dev/null"])))`, `"closed\noffline\nhidden\n"`},
		{":ok", `(:out (sandbox/run (assoc install :argv ["sh" "-c" "ls node_modules; curl -sm5 https://github.com || echo nothing else"])))`, `"left-pad\nnothing else\n"`},
		{"    x", `(:out (sandbox/run (assoc offline :argv ["sh" "-c" "ls node_modules; curl -sm3 https://npm.example.org || echo offline; grep -c . /proc/net/dev"])))`, `"left-pad\noffline\n3\n"`},
		{":ok", `(:out (sandbox/run (assoc push :argv ["sh" "-c" "cd mine && git log --format=%s origin/main; grep -o MSB_GH_TOKEN .git/config; env | grep -c canary"])))`, `"work of an agent\nMSB_GH_TOKEN\n0\n"`},
	}
	if len(shown) != len(then) {
		t.Fatalf("the guide shows %d profiles, this test knows %d", len(shown), len(then))
	}
	local := strings.NewReplacer("/srv/project", project).Replace
	for i, src := range shown {
		if got := eval(t, c, local(fill("(do "+src+")"))); !strings.Contains(got, then[i].want) {
			t.Errorf("%s\ngot %s, want %s", src, got, then[i].want)
		}
		if got := eval(t, c, local(fill(then[i].src))); got != then[i].holds {
			t.Errorf("%s\ngot %s, want %s", then[i].src, got, then[i].holds)
		}
	}
}

// A secret that boxes used, that servers echoed, and that runs failed with is in nothing that zeno writes: its state, its
// journal, its log, the results and errors that a program gets.
func TestTheValueIsInNothingZenoWrites(t *testing.T) {
	need.Program(t, "curl", "curl")
	dir := t.TempDir()
	c, fill, log := guideCore(t, dir)
	other, _ := tlsServer(t, http.NotFoundHandler(), "echo.example") // whose certificate nobody knows
	const box = `{:egress {:allow ["echo.example"]} :secrets [{:env "GH_TOKEN" :hosts ["echo.example"] :in [:query :body]}] :volume "v" :timeout "1m" :argv ["sh" "-c" %q]}`
	run := func(script string) string { return fill(fmt.Sprintf("(sandbox/run "+box+")", script)) }
	ask := `curl -sv -m120 -H "Authorization: Bearer $GH_TOKEN" "https://echo.example/?q=$GH_TOKEN" 2>&1`
	said := eval(t, c, run(ask+" | tee kept"))
	if !strings.Contains(said, "echo.example Bearer $MSB_GH_TOKEN q=") {
		t.Errorf("the box did not use the secret: %s", said)
	}
	for _, src := range []string{
		run(ask + "; exit 7"), run("echo $GH_TOKEN; no-such-program"), strings.Replace(run("sleep 9"), `"1m"`, `"100ms"`, 1),
		strings.Replace(run(ask), ":volume", ":memory 5 :volume", 1),
		strings.ReplaceAll(fmt.Sprintf("(sandbox/run "+box+")", ask), `:allow ["echo.example"]`, `:allow [{:host "echo.example" :port 443 :addr "`+other+`"}]`),
		strings.Replace(run(ask), `:hosts ["echo.example"]`, `:hosts ["github.com"]`, 1),
		strings.Replace(run(ask), `"GH_TOKEN" :hosts`, `"GH_TOKEN" :hosts ["*"] :host`, 1),
		strings.Replace(run(ask), `:volume`, `:env {"GH_TOKEN" "mine"} :volume`, 1),
		`(throw (ex-info "from a program" (sandbox/run ` + strings.TrimPrefix(run(ask), "(sandbox/run ") + `))`,
	} {
		v, err := c.Eval(t.Context(), "(pr-str (do "+src+"))")
		if err != nil {
			said += core.Explain(err) + err.Error()
			continue
		}
		said += v.Text()
	}
	said += eval(t, c, `(zeno.journal/events)`)
	if !strings.Contains(said, "sandbox/started") || !strings.Contains(log.String(), "echo.example") && !strings.Contains(log.String(), "sandbox") {
		t.Errorf("the journal or the log holds nothing of it:\n%.2000s\n%.2000s", said, log)
	}
	stopCore(t, c)
	for where, text := range map[string]string{"what the program got": said, "the log": log.String()} {
		if i := strings.Index(text, "canary-guide"); i >= 0 {
			t.Errorf("%s holds the value: …%s", where, text[max(0, i-200):min(len(text), i+100)])
		}
	}
	for _, d := range []string{dir, os.TempDir()} {
		filepath.WalkDir(d, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() && (d != dir && strings.Contains(path, "/Test") || filepath.Dir(path) == os.TempDir() && !strings.Contains(path, "zeno")) {
				if e != nil && e.IsDir() && path != d {
					return filepath.SkipDir
				}
				return nil
			}
			if st, err := e.Info(); err != nil || !st.Mode().IsRegular() || st.Size() > 64<<20 || d != dir && st.ModTime().Before(time.Now().Add(-10*time.Minute)) {
				return nil
			}
			if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(guideToken)) {
				t.Errorf("%s holds the value", path)
			}
			return nil
		})
	}
}
