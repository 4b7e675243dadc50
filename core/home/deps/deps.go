// Package deps finds the code that a home's deps.edn asks for: libraries in Git repositories and in directories, and what
// those ask for in turn.
//
//	{:paths ["src"]
//	 :deps  {acme/queue {:git/url "https://example.org/acme/queue.git" :git/sha "<40 digits>"}
//	         acme/notes {:git/url "https://example.org/acme/notes.git" :git/tag "v1.2" :deps/root "notes"}
//	         acme/mine  {:local/root "../mine"}}}
//
// The invariant: what is loaded is what was locked. The first time a library is taken, deps.lock.edn keeps its commit and
// a hash of its files; from then on anything else under the same coordinate (a tag that moved, a cache that somebody
// changed) is refused with both sides shown. A tree enters the cache whole, by one rename, or not at all; what a
// repository holds is judged before it is written (tree.go), and only what the home itself trusts may point at this
// machine's disk (coord.go).
//
// Start with Resolve, then graph.go (who asks for what), git.go (fetching) and lock.go. No network is used when all that
// is asked for is cached.
package deps

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// File and LockFile are the names in a home or a library. LockFile belongs into version control.
const (
	File     = "deps.edn"
	LockFile = "deps.lock.edn"
)

// Do calls f with a thread of the trusted environment: what reads EDN needs one.
type Do func(ctx context.Context, f func(*value.Thread) error) error

// Config is what Resolve works with. Dir, Cache and Do are required.
type Config struct {
	Dir      string        // of the home: where deps.edn and deps.lock.edn are
	Base     string        // what relative paths of the home's deps.edn start at; "": Dir
	Cache    string        // where fetched trees are kept: state/deps of the home. Made when something is fetched.
	Do       Do            // reads EDN
	Progress io.Writer     // one line a fetch, and why; nil: none
	Timeout  time.Duration // of the whole; 0: 3 minutes
	Limits   Limits        // of one repository
}

// Limits bound what one repository may bring. The zero value of each is its default.
type Limits struct {
	Pack  int64 // bytes that are transferred; 0: 256 MiB
	Total int64 // bytes of all files of the tree; 0: 256 MiB
	File  int64 // bytes of one file, or of any other object that is transferred; 0: 32 MiB
	Files int   // files and directories of the tree, and objects that are transferred, 16 of those each; 0: 20000
	Depth int   // of directories; 0: 64
	Libs  int   // libraries of one home; 0: 200
}

func (l Limits) complete() Limits {
	l.Pack, l.Total, l.File = cmp.Or(l.Pack, 256<<20), cmp.Or(l.Total, 256<<20), cmp.Or(l.File, 32<<20)
	l.Files, l.Depth, l.Libs = cmp.Or(l.Files, 20000), cmp.Or(l.Depth, 64), cmp.Or(l.Libs, 200)
	return l
}

// Lib is one library that was found.
type Lib struct {
	Name  string
	Coord Coord    // as it was asked for
	SHA   string   // the commit, where it is from Git
	Hash  string   // of its files, where it is from Git: "sha256-" and 64 hexadecimal digits
	Dir   string   // where it is, :deps/root included
	Paths []string // absolute: where its namespaces are
	By    []string // who asks for it: libraries, or "deps.edn" of the home; in the order found
}

// Result is what a home asks for.
type Result struct {
	Paths []string // of the home's own deps.edn, as written there; nil: it names none
	Libs  []Lib    // in the order found: the home's own first, then what those ask for
}

// Roots are the directories of all libraries where namespaces are looked for, in the order of Libs.
func (r Result) Roots() []string {
	var out []string
	for _, l := range r.Libs {
		out = append(out, l.Paths...)
	}
	return out
}

// Resolve reads the home's deps.edn and finds what it asks for, fetching what the cache does not hold. Without a deps.edn
// the result is empty. Several processes may resolve one home at once: one fetches, the others wait for it. Paths of the
// result are valid even where the error is not nil and deps.edn itself could be read.
func Resolve(ctx context.Context, conf Config) (Result, error) {
	conf.Limits = conf.Limits.complete()
	if conf.Progress == nil {
		conf.Progress = io.Discard
	}
	limit := cmp.Or(conf.Timeout, 3*time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("got no end within %v; what was fetched so far is kept, so try again", limit))
	defer cancel()
	top, err := readForm(ctx, conf.Do, filepath.Join(conf.Dir, File))
	if err != nil || len(top.deps) == 0 {
		return Result{Paths: top.paths}, err
	}
	r := &resolver{conf: conf, pinned: map[string]bool{}, libs: map[string]*Lib{}, edges: map[string][]string{}}
	defer r.unlock()
	res := Result{Paths: top.paths}
	if res.Libs, err = r.resolve(ctx, top); err != nil {
		return Result{Paths: top.paths}, fmt.Errorf("deps: %w", err)
	}
	return res, nil
}
