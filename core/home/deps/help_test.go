package deps_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/core/home/deps"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// repo is a Git repository in a directory, changed with the real git.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T, dir string) repo {
	t.Helper()
	r := repo{t, dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files (name, text, …) and gives the commit.
func (r repo) commit(files ...string) string {
	r.t.Helper()
	for i := 0; i < len(files); i += 2 {
		write(r.t, filepath.Join(r.dir, files[i]), files[i+1])
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "x")
	return r.git("rev-parse", "HEAD")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve serves the repositories below root over http with the real git http-backend. handler sees each request first; it
// may answer and give true.
func serve(t *testing.T, root string, handler func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if handler == nil || !handler(w, q) {
			backend.ServeHTTP(w, q)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// home is a home whose deps.edn is tried.
type home struct {
	t        *testing.T
	dir      string
	limits   deps.Limits
	progress bytes.Buffer
}

func newHome(t *testing.T, edn string) *home {
	h := &home{t: t, dir: t.TempDir()}
	h.deps(edn)
	return h
}

func (h *home) deps(edn string) { write(h.t, filepath.Join(h.dir, deps.File), edn) }

func (h *home) cache() string { return filepath.Join(h.dir, "state", "deps") }

func (h *home) lock() string {
	b, _ := os.ReadFile(filepath.Join(h.dir, deps.LockFile))
	return string(b)
}

func (h *home) resolve(ctx context.Context) (deps.Result, error) {
	h.progress.Reset()
	return deps.Resolve(ctx, deps.Config{Dir: h.dir, Cache: h.cache(), Do: do, Progress: &h.progress, Limits: h.limits})
}

// want resolves and fails the test where that fails.
func (h *home) want() deps.Result {
	h.t.Helper()
	res, err := h.resolve(context.Background())
	if err != nil {
		h.t.Fatalf("resolve: %v", err)
	}
	return res
}

// refused resolves and wants an error that says all of texts.
func (h *home) refused(texts ...string) {
	h.t.Helper()
	_, err := h.resolve(context.Background())
	if err == nil {
		h.t.Fatalf("resolve: got no error, want one that says %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			h.t.Errorf("resolve: got %q, want it to say %q", err, text)
		}
	}
	left, _ := filepath.Glob(filepath.Join(h.cache(), ".tmp-*"))
	if len(left) > 0 {
		h.t.Errorf("the cache: got %v left behind, want nothing", left)
	}
}

var env = sync.OnceValue(func() *lisp.Env { return lisp.New().NewEnv(lisp.EnvConfig{}) })

func do(ctx context.Context, f func(*value.Thread) error) error {
	var inner error
	_, err := env().Do(ctx, func(t *value.Thread) value.Value {
		inner = f(t)
		return value.Nil
	})
	if err != nil {
		return err
	}
	return inner
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
