package deps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tempPrefix begins the names of fetches under way; no library's directory begins so.
const tempPrefix = ".tmp-"

// entry is where the cache has, or will have, one commit of a library: its files below tree, their hash in a file hash.
type entry string

func (r *resolver) entry(lib, sha string) entry {
	return entry(filepath.Join(r.conf.Cache, filepath.FromSlash(lib), sha))
}

func (e entry) tree() string { return filepath.Join(string(e), "tree") }

// hash gives what the tree was when it was fetched; ok is false where the cache has none.
func (e entry) hash() (hash string, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(string(e), "hash"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return strings.TrimSpace(string(b)), err == nil, err
}

// tree gives the directory of the repository's files at the commit that the library's coordinate means, and sets SHA and
// Hash. Nothing is fetched that the cache has.
func (r *resolver) tree(ctx context.Context, lib *Lib) (string, error) {
	was, known := r.locked.libs[lib.Name]
	if known && !was.matches(lib.Coord) {
		r.say("%s: another version is asked for than %s has (%.12s)", lib.Name, LockFile, was.sha)
		known = false
	}
	if lib.SHA = lib.Coord.SHA; known {
		lib.SHA = was.sha
	}
	if len(lib.SHA) < 40 {
		lib.SHA = "" // a tag's, which the repository must tell
	}
	if err := r.ensure(ctx, lib, known); err != nil {
		return "", err
	}
	e := r.entry(lib.Name, lib.SHA)
	fetched, _, err := e.hash()
	if err != nil {
		return "", fmt.Errorf("failed to read the cache: %w", err)
	}
	if lib.Hash, err = hashTree(ctx, e.tree(), r.conf.Limits); err != nil {
		return "", err
	}
	if lib.Hash != fetched {
		return "", fmt.Errorf("its files in %s are not those that were fetched: got the hash %s, want %s; somebody or something changed them: look at them, then remove %s, and they are fetched anew", e.tree(), lib.Hash, fetched, e)
	}
	if known && lib.Hash != was.hash {
		return "", fmt.Errorf("its files at the commit %s are not those that %s was written for: got the hash %s, want %s; find out which of both is right; then remove %s or the library's entry in %s", lib.SHA, LockFile, lib.Hash, was.hash, e, LockFile)
	}
	return e.tree(), nil
}

// ensure fetches the library's commit unless the cache has it.
func (r *resolver) ensure(ctx context.Context, lib *Lib, known bool) error {
	has := func() bool {
		if lib.SHA == "" {
			return false
		}
		_, ok, err := r.entry(lib.Name, lib.SHA).hash()
		return ok || err != nil // the reader says what is wrong
	}
	if has() {
		return nil
	}
	if err := r.lockCache(ctx); err != nil {
		return err
	}
	if has() { // fetched while the lock was waited for
		return nil
	}
	return r.fetch(ctx, lib, known)
}

// fetch gets the library's commit into the cache and sets SHA.
func (r *resolver) fetch(ctx context.Context, lib *Lib, known bool) error {
	c := lib.Coord
	version := c.Tag
	if version == "" {
		version = fmt.Sprintf("%.12s", lib.SHA)
	}
	r.say("%s: fetching %s from %s", lib.Name, version, redact(c.URL))
	start := time.Now()
	temp, err := os.MkdirTemp(r.conf.Cache, tempPrefix)
	if err != nil {
		return fmt.Errorf("failed to make a directory in the cache: %w", err)
	}
	defer os.RemoveAll(temp)
	g := fetcher{conf: r.conf, url: c.URL, dir: filepath.Join(temp, "git")}
	got, err := g.commit(ctx, c.Tag, lib.SHA)
	if err != nil {
		return fmt.Errorf("failed to fetch %s: %w", redact(c.URL), cause(ctx, err))
	}
	if err := checkMoved(c, lib.SHA, got, known); err != nil {
		return err
	}
	lib.SHA = got.sha
	e := r.entry(lib.Name, lib.SHA)
	if _, ok, _ := e.hash(); ok {
		return nil
	}
	n, err := got.extract(ctx, filepath.Join(temp, "lib"), r.conf.Limits)
	if err != nil {
		return fmt.Errorf("%s at %.12s: %w", redact(c.URL), got.sha, cause(ctx, err))
	}
	if err := e.put(filepath.Join(temp, "lib")); err != nil {
		return fmt.Errorf("failed to put the files into the cache: %w", err)
	}
	r.say("%s: %d files, %s, %.1f s", lib.Name, n.files, megabytes(n.bytes), time.Since(start).Seconds())
	return nil
}

// put moves a tree with its hash to its place.
func (e entry) put(from string) error {
	if err := os.MkdirAll(filepath.Dir(string(e)), 0o700); err != nil {
		return err
	}
	if err := os.RemoveAll(string(e)); err != nil { // without a hash: never whole
		return err
	}
	return os.Rename(from, string(e))
}

// checkMoved refuses a tag that is not where it was, or not where the coordinate says it is.
func checkMoved(c Coord, want string, got *fetched, known bool) error {
	switch {
	case c.Tag == "" || got.tagged == "":
		return nil
	case known && got.tagged != want:
		return fmt.Errorf("the tag %s of %s has moved: got %s, want %s as %s has it; whoever moved it may mean well, so look at what changed; then remove the library's entry from %s to follow the tag, or write :git/sha %q without the tag to stay",
			c.Tag, redact(c.URL), got.tagged, want, LockFile, LockFile, want)
	case c.SHA != "" && !strings.HasPrefix(got.tagged, c.SHA):
		return fmt.Errorf("the tag %s of %s is %s, want %s as :git/sha says; one of the two is wrong, or the tag has moved", c.Tag, redact(c.URL), got.tagged, c.SHA)
	}
	return nil
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KB", (n+1023)/1024)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// cause gives why ctx ended, where that is why err came.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
