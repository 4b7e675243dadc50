package core

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/reflection-dev/zeno/lisp/value"
)

// loadedLibs remembers what the libraries of the home said when they were loaded: by name, a digest of the text. The zero
// value is empty. It is safe for concurrent use.
type loadedLibs struct {
	mu   sync.Mutex
	sums map[string][sha256.Size]byte
}

// first notes a text, unless one is noted: sources are also looked up to be shown, which loads nothing.
func (l *loadedLibs) first(lib, src string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.sums[lib]; !ok {
		l.note(lib, src)
	}
}

func (l *loadedLibs) set(lib, src string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(lib, src)
}

func (l *loadedLibs) note(lib, src string) {
	if l.sums == nil {
		l.sums = map[string][sha256.Size]byte{}
	}
	l.sums[lib] = sha256.Sum256([]byte(src))
}

// changed tells whether the text is another than the one noted; false where none is.
func (l *loadedLibs) changed(lib, src string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, ok := l.sums[lib]
	return ok && sum != sha256.Sum256([]byte(src))
}

// Reload takes in what has changed in the home's sources: the loaded namespaces whose files say something else than when
// they were loaded, those that use them, each after what it uses, and then init.joke. It gives what it loaded, in order.
// What fails ends it: what was loaded before stays, and the next Reload tries again. defonce keeps state. deps.edn is read
// when zeno starts only.
func (c *Core) Reload(ctx context.Context) ([]string, error) {
	h := c.conf.Home
	if h == nil || !h.Exists() {
		return nil, errors.New("reload: got no home, want one: `zeno init` makes it, --home names it")
	}
	var done []string
	for _, lib := range c.stale() {
		src, _, _, err := h.Source(lib)
		if err != nil {
			return done, err
		}
		if _, err := c.env.Eval(ctx, "(require '"+lib+" :reload)", "reload"); err != nil {
			return done, fmt.Errorf("reload: %s did not load: %w", lib, err)
		}
		c.libs.set(lib, src)
		done = append(done, lib)
	}
	src, file, ok, err := h.Init()
	if err != nil || !ok {
		return done, err
	}
	if _, err := c.env.Eval(ctx, src, file); err != nil {
		return done, fmt.Errorf("reload: init.joke did not load: %w", err)
	}
	return append(done, "init.joke"), nil
}

// stale lists the namespaces to load again, each after those it uses.
func (c *Core) stale() []string {
	order := c.byUse()
	stale := map[string]bool{}
	var out []string
	for _, n := range order {
		src, _, ok, err := c.conf.Home.Source(n.Name)
		if err != nil || !ok {
			continue // of the language, or taken away: it stays as it is
		}
		if c.libs.changed(n.Name, src) || slices.ContainsFunc(uses(n), func(lib string) bool { return stale[lib] }) {
			stale[n.Name] = true
			out = append(out, n.Name)
		}
	}
	return out
}

// byUse gives all namespaces, each after those it uses. In a circle one is the first.
func (c *Core) byUse() []*value.Namespace {
	var out []*value.Namespace
	seen := map[string]bool{}
	type step struct {
		n    *value.Namespace
		left []string
	}
	for _, n := range c.env.Raw().Namespaces() {
		var path []*step // a stack of our own: chains of namespaces may be long
		enter := func(n *value.Namespace) {
			if n != nil && !seen[n.Name] {
				seen[n.Name] = true
				path = append(path, &step{n, uses(n)})
			}
		}
		for enter(n); len(path) > 0; {
			top := path[len(path)-1]
			if len(top.left) == 0 {
				out = append(out, top.n)
				path = path[:len(path)-1]
				continue
			}
			next := top.left[0]
			top.left = top.left[1:]
			enter(c.env.Raw().Namespace(next))
		}
	}
	return out
}

// uses names the namespaces that n has aliases of or refers names of.
func uses(n *value.Namespace) []string {
	var out []string
	for _, lib := range n.Aliases() {
		out = append(out, lib)
	}
	for _, v := range n.Refers() {
		out = append(out, v.NS)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
