package deps_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/home/deps"
)

// A library comes over http from a real git server, with what it asks for in turn; the second time nothing is asked of the
// network, and the lock names commit and content.
func TestFetchedThenOffline(t *testing.T) {
	root := t.TempDir()
	var down atomic.Bool
	var asked atomic.Int32
	url := serve(t, root, func(w http.ResponseWriter, q *http.Request) bool {
		asked.Add(1)
		if down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
		}
		return down.Load()
	})
	b := newRepo(t, filepath.Join(root, "b"))
	shaB := b.commit("deps.edn", `{:paths ["lib"]}`, "lib/b.joke", "(ns b)")
	b.git("tag", "-a", "v1.0", "-m", "one")
	b.commit("lib/b.joke", "(ns b) ; newer")
	a := newRepo(t, filepath.Join(root, "a"))
	shaA := a.commit("x/deps.edn", fmt.Sprintf(`{:deps {acme/b {:git/url "%s/b/.git" :git/tag "v1.0" :git/sha "%.8s"} acme/c {:local/root "../c"}}}`, url, shaB),
		"x/src/a.joke", "(ns a)", "c/src/c.joke", "(ns c)")
	a.commit("x/src/a.joke", "(ns a) ; newer")

	h := newHome(t, fmt.Sprintf(`{:paths ["src"] :deps {acme/a {:git/url "%s/a/.git" :git/sha "%s" :deps/root "x"}}}`, url, shaA))
	res := h.want()
	var names []string
	for _, l := range res.Libs {
		names = append(names, l.Name)
	}
	if got, want := strings.Join(names, " "), "acme/a acme/b acme/c"; got != want {
		t.Errorf("libraries: got %s, want %s", got, want)
	}
	for i, want := range []string{"a.joke", "b.joke", "c.joke"} {
		if text := read(t, filepath.Join(res.Roots()[i], want)); strings.Contains(text, "newer") {
			t.Errorf("%s: got %q, want what the commit has", want, text)
		}
	}
	for _, want := range []string{shaA, shaB, `:git/tag "v1.0"`, `:hash "sha256-`} {
		if !strings.Contains(h.lock(), want) {
			t.Errorf("lock: got %q, want it to hold %q", h.lock(), want)
		}
	}
	if !strings.Contains(h.progress.String(), "fetching") {
		t.Errorf("progress: got %q", h.progress.String())
	}
	down.Store(true)
	before, lock := asked.Load(), h.lock()
	again := h.want()
	if asked.Load() != before || h.lock() != lock || !slices.Equal(again.Roots(), res.Roots()) || h.progress.Len() > 0 {
		t.Errorf("the second time: got %d requests and %q, want none", asked.Load()-before, h.progress.String())
	}
}

// A tag that moves is refused while the lock names the commit it was; without a lock the new one is taken, which shows
// what the lock prevents.
func TestMovedTag(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "r"))
	one := r.commit("src/r.joke", "(ns r) :one")
	r.git("tag", "v1")
	h := newHome(t, `{:deps {acme/r {:git/url "`+r.dir+`" :git/tag "v1"}}}`)
	h.want()
	two := r.commit("src/r.joke", "(ns r) :two")
	r.git("tag", "-f", "v1")
	if err := os.RemoveAll(h.cache()); err != nil {
		t.Fatal(err)
	}
	h.refused("acme/r", "the tag v1", "has moved", one, two, deps.LockFile)

	if err := os.Remove(filepath.Join(h.dir, deps.LockFile)); err != nil {
		t.Fatal(err)
	}
	if res := h.want(); res.Libs[0].SHA != two {
		t.Errorf("without a lock: got %s, want %s", res.Libs[0].SHA, two)
	}
	other := newHome(t, `{:deps {acme/r {:git/url "`+r.dir+`" :git/tag "v1" :git/sha "`+one[:10]+`"}}}`)
	other.refused("the tag v1", two, "want "+one[:10])
	third := newHome(t, `{:deps {acme/r {:git/url "`+r.dir+`" :git/sha "`+one+`"}}}`)
	if res := third.want(); res.Libs[0].SHA != one {
		t.Errorf("the commit: got %s, want %s", res.Libs[0].SHA, one)
	}
}

// What is loaded is what was locked: a changed file in the cache is refused, and so is a cache that was made to agree.
func TestChangedCache(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "r"))
	sha := r.commit("src/r.joke", "(ns r)", "run.sh", "x")
	h := newHome(t, `{:deps {acme/r {:git/url "`+r.dir+`" :git/sha "`+sha+`"}}}`)
	res := h.want()
	file := filepath.Join(res.Roots()[0], "r.joke")
	change := func(f func()) { t.Helper(); f(); h.refused("acme/r", "sha256-", filepath.Join(h.cache(), "acme/r")) }
	mode := func(m os.FileMode) func() { return func() { _ = os.Chmod(file, m) } }
	change(mode(0o755))
	mode(0o644)()
	h.want()
	change(func() { write(t, file, "(ns r) (evil)") })
	write(t, file, "(ns r)")
	h.want()
	extra := filepath.Join(filepath.Dir(file), "more.joke")
	change(func() { write(t, extra, "") })
	_ = os.Remove(extra)
	if err := os.Symlink("/etc/passwd", extra); err != nil {
		t.Fatal(err)
	}
	h.refused("acme/r", "no regular file")
	_ = os.Remove(extra)
	h.want()

	write(t, filepath.Join(h.dir, deps.LockFile), strings.Replace(h.lock(), "sha256-", "sha256-0000", 1)) // longer: not a hash
	h.refused(deps.LockFile, ":hash")
	text := h.lock()
	i := strings.Index(text, "sha256-0000") + len("sha256-")
	write(t, filepath.Join(h.dir, deps.LockFile), text[:i]+text[i+4:i+4+63]+"x"[:0]+"0"+text[i+4+64:])
	h.refused("acme/r", "not those that deps.lock.edn was written for")
}

// Versions that differ are explained with who asks for which; the home's own wish ends the matter.
func TestConflict(t *testing.T) {
	root := t.TempDir()
	c := newRepo(t, filepath.Join(root, "c"))
	one := c.commit("src/c.joke", "(ns c) :one")
	two := c.commit("src/c.joke", "(ns c) :two")
	wish := func(sha string) string { return `acme/c {:git/url "` + c.dir + `" :git/sha "` + sha + `"}` }
	for lib, sha := range map[string]string{"a": one, "b": two} {
		write(t, filepath.Join(root, lib, "deps.edn"), `{:deps {`+wish(sha)+`}}`)
	}
	both := `acme/a {:local/root "` + root + `/a"} acme/b {:local/root "` + root + `/b"}`
	h := newHome(t, `{:deps {`+both+`}}`)
	h.refused("acme/c: got two versions", "acme/a asks for", one, "acme/b asks for", two, "choose one in :deps of "+h.dir)
	if h.lock() != "" {
		t.Errorf("lock: got %q, want none after a failure", h.lock())
	}
	h.deps(`{:deps {` + both + wish(two) + `}}`)
	res := h.want()
	i := slices.IndexFunc(res.Libs, func(l deps.Lib) bool { return l.Name == "acme/c" })
	if i < 0 || res.Libs[i].SHA != two || len(res.Libs[i].By) != 3 {
		t.Errorf("pinned: got %+v, want %s, asked for by three", res.Libs, two)
	}
	write(t, filepath.Join(root, "b", "deps.edn"), `{:deps {`+wish(one)+`}}`)
	h.deps(`{:deps {` + both + `}}`)
	if res := h.want(); res.Libs[2].SHA != one {
		t.Errorf("agreeing: got %+v", res.Libs)
	}
}

func TestCircle(t *testing.T) {
	root := t.TempDir()
	for lib, to := range map[string]string{"a": "b", "b": "c", "c": "a"} {
		write(t, filepath.Join(root, lib, "deps.edn"), `{:deps {acme/`+to+` {:local/root "../`+to+`"}}}`)
	}
	newHome(t, `{:deps {acme/a {:local/root "`+root+`/a"}}}`).refused("acme/a -> acme/b -> acme/c -> acme/a")
	newHome(t, `{:deps {acme/a {:local/root "`+root+`/nowhere"}}}`).refused("acme/a: :local/root", "nowhere", "the home's deps.edn")
}

// What deps.edn must not say.
func TestRefusedCoordinates(t *testing.T) {
	const sha = "0123456789012345678901234567890123456789"
	for _, tt := range []struct{ dep, want string }{
		{`a/b {:git/url "https://x.test/r.git" :git/sha "0123456"}`, "want all 40 digits"},
		{`a/b {:git/url "https://x.test/r.git"}`, "no version"},
		{`a/b {:git/url "https://x.test/r.git" :git/sha "main"}`, "40 hexadecimal digits"},
		{`a/b {:git/url "http://x.test/r.git" :git/sha "` + sha + `"}`, "want https"},
		{`a/b {:git/url "git://x.test/r.git" :git/sha "` + sha + `"}`, "want https"},
		{`a/b {:git/url "ext::sh -c id" :git/sha "` + sha + `"}`, "want https"},
		{`a/b {:git/url "-oProxyCommand=id:x" :git/sha "` + sha + `"}`, "want https"},
		{`a/b {:git/url "ssh://-oProxyCommand=id/x" :git/sha "` + sha + `"}`, "want https"},
		{`a/b {:git/url "https://x.test/r.git" :git/tag "--upload-pack=id"}`, "want a tag's name"},
		{`a/b {:git/url "https://x.test/r.git" :git/tag "../../heads/main"}`, "want a tag's name"},
		{`a/b {:git/url "https://x.test/r.git" :git/sha "` + sha + `" :deps/root "../.."}`, "inside the repository"},
		{`a/b {:git/url "https://x.test/r.git" :git/sha "` + sha + `" :local/root "x"}`, "want one of them"},
		{`b {:local/root "x"}`, "two parts"},
		{`../x {:local/root "x"}`, "two parts"},
		{`.tmp-a/x {:local/root "x"}`, "two parts"},
		{`a/b {:mvn/version "1"}`, "no Java packages"},
		{`a/b {:sha "1"}`, "want :git/sha"},
		{`a/b {:git/branch "main"}`, "want some of :git/url"},
		{`a/b {:local/root 1}`, "want a string"},
		{`a/b "x"`, "want a map"},
		{`:a/b {:local/root "x"}`, "want a symbol"},
		{`a/b {}`, "want one of them"},
		{`a/b {:git/url "https://user:hunter2@x.test:port/r.git" :git/sha "` + sha + `"}`, "want https"},
	} {
		h := newHome(t, `{:deps {`+tt.dep+`}}`)
		h.refused(tt.want)
		if _, err := h.resolve(context.Background()); strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got the password in %q", tt.dep, err)
		}
	}
}

// A password in an address is used and never shown: not in progress, lock or errors.
func TestCredentials(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "r"))
	sha := r.commit("src/r.joke", "(ns r)")
	var seen atomic.Bool
	url := serve(t, root, func(w http.ResponseWriter, q *http.Request) bool {
		user, pw, _ := q.BasicAuth()
		if user != "me" || pw != "hunter2" {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "no", http.StatusUnauthorized)
			return true
		}
		seen.Store(true)
		return false
	})
	with := func(cred string) string {
		return `{:deps {acme/r {:git/url "` + strings.Replace(url, "http://", "http://"+cred, 1) + `/r/.git" :git/sha "` + sha + `"}}}`
	}
	h := newHome(t, with(""))
	h.refused("authentication required", "ssh")
	h.deps(with("me:hunter3@"))
	_, err := h.resolve(context.Background())
	if err == nil || strings.Contains(err.Error()+h.progress.String(), "hunter3") {
		t.Errorf("a wrong password: got %v", err)
	}
	h.deps(with("me:hunter2@"))
	h.want()
	if !seen.Load() || strings.Contains(h.lock()+h.progress.String(), "hunter2") {
		t.Errorf("got seen %v, progress %q, lock %q", seen.Load(), h.progress.String(), h.lock())
	}
}

// A library that came over the network may not reach for this machine's disk, nor out of its own repository.
func TestFence(t *testing.T) {
	root := t.TempDir()
	url := serve(t, root, nil)
	secret := t.TempDir()
	write(t, filepath.Join(secret, "src/s.joke"), "(ns s)")
	priv := newRepo(t, filepath.Join(root, "priv"))
	privSHA := priv.commit("src/p.joke", "(ns p)")
	for _, tt := range []struct{ name, edn, want string }{
		{"absolute root", `{:deps {x/s {:local/root "` + secret + `"}}}`, "leaves the repository"},
		{"climbing root", `{:deps {x/s {:local/root "../../../../.."}}}`, "leaves the repository"},
		{"climbing paths", `{:paths ["../../../.."]}`, "leaves the repository"},
		{"absolute paths", `{:paths ["/etc"]}`, "leaves the repository"},
		{"repository on disk", `{:deps {x/s {:git/url "file://` + priv.dir + `" :git/sha "` + privSHA + `"}}}`, "may not point at this machine"},
		{"path", `{:deps {x/s {:git/url "` + priv.dir + `" :git/sha "` + privSHA + `"}}}`, "may not point at this machine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t, filepath.Join(root, strings.ReplaceAll(tt.name, " ", "-")))
			sha := r.commit("deps.edn", tt.edn, "src/r.joke", "(ns r)")
			newHome(t, `{:deps {acme/r {:git/url "`+url+`/`+filepath.Base(r.dir)+`/.git" :git/sha "`+sha+`"}}}`).refused(tt.want)
			if strings.Contains(tt.edn, ":deps") && !strings.Contains(tt.edn, "..") { // the same wish of a library on disk is granted
				write(t, filepath.Join(r.dir, "deps.edn"), tt.edn)
				newHome(t, `{:deps {acme/r {:local/root "`+r.dir+`"}}}`).want()
			}
		})
	}
}

// Two that resolve one home at once: one fetches, both get the same.
func TestTwoAtOnce(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "r"))
	sha := r.commit("src/r.joke", "(ns r)")
	var packs atomic.Int32
	url := serve(t, root, func(_ http.ResponseWriter, q *http.Request) bool {
		if strings.HasSuffix(q.URL.Path, "git-upload-pack") {
			packs.Add(1)
			time.Sleep(200 * time.Millisecond)
		}
		return false
	})
	h := newHome(t, `{:deps {acme/r {:git/url "`+url+`/r/.git" :git/sha "`+sha+`"}}}`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res, err := deps.Resolve(context.Background(), deps.Config{Dir: h.dir, Cache: h.cache(), Do: do})
			if err != nil || len(res.Libs) != 1 {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
	wg.Wait()
	if packs.Load() != 1 {
		t.Errorf("transfers: got %d, want 1", packs.Load())
	}
}

// A fetch that is cut off leaves nothing half, and the next one works; one that does not end is ended.
func TestInterrupted(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "r"))
	sha := r.commit("src/r.joke", "(ns r)")
	var mode atomic.Int32
	url := serve(t, root, func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.HasSuffix(q.URL.Path, "git-upload-pack") {
			return false
		}
		switch mode.Load() {
		case 1: // half an answer
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("0008NAK\n"))
			return true
		case 2: // none
			_, _ = io.Copy(io.Discard, q.Body)
			select {
			case <-q.Context().Done():
			case <-time.After(10 * time.Minute):
			}
			return true
		}
		return false
	})
	h := newHome(t, `{:deps {acme/r {:git/url "`+url+`/r/.git" :git/sha "`+sha+`"}}}`)
	mode.Store(1)
	h.refused("acme/r", "failed to fetch")
	mode.Store(2)
	start := time.Now()
	_, err := deps.Resolve(context.Background(), deps.Config{Dir: h.dir, Cache: h.cache(), Do: do, Timeout: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "got no end within 300ms") || time.Since(start) > 2*time.Minute {
		t.Errorf("a server that is silent: got %v after %v", err, time.Since(start))
	}
	if err := os.MkdirAll(filepath.Join(h.cache(), ".tmp-killed/tree"), 0o700); err != nil { // what a kill -9 leaves
		t.Fatal(err)
	}
	mode.Store(0)
	h.want()
	if left, _ := filepath.Glob(filepath.Join(h.cache(), ".tmp-*")); len(left) > 0 {
		t.Errorf("the cache: got %v left behind", left)
	}
}

func TestInferredAddress(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h := newHome(t, `{:deps {io.github.acme/tool {:git/tag "v1"}}}`)
	_, _ = h.resolve(ctx)
	if _, err := h.resolve(ctx); err == nil {
		t.Error("cancelled: got no error")
	}
}
