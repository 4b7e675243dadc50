package deps

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// resolver is one Resolve.
type resolver struct {
	conf    Config
	locked  lock
	pinned  map[string]bool // libraries that the home itself names: its version is the one that counts
	libs    map[string]*Lib
	edges   map[string][]string
	order   []string
	release func() // of the cache's lock; nil: not held
}

// ask is a library wanted by somebody.
type ask struct {
	dep
	by    string // a library, or topName
	base  string // what a relative :local/root is relative to
	fence string // the directory that a :local/root must not leave; "": it may go anywhere
	from  origin
}

// topName is the home in texts.
const topName = "the home's deps.edn"

// resolve walks breadth first, so that nearer wishes are seen first, and writes the lock when all is found.
func (r *resolver) resolve(ctx context.Context, top form) ([]Lib, error) {
	var err error
	if r.locked, err = readLock(ctx, r.conf); err != nil {
		return nil, err
	}
	var queue []ask
	for _, d := range top.deps {
		r.pinned[d.lib] = true
		queue = append(queue, ask{dep: d, by: topName, base: cmp.Or(r.conf.Base, r.conf.Dir)})
	}
	for len(queue) > 0 {
		next, err := r.take(ctx, queue[0])
		if err != nil {
			return nil, err
		}
		queue = append(queue[1:], next...)
	}
	if err := r.cycle(); err != nil {
		return nil, err
	}
	var out []Lib
	for _, name := range r.order {
		out = append(out, *r.libs[name])
	}
	return out, r.writeLock(ctx, out)
}

// take finds one library and gives what it asks for in turn.
func (r *resolver) take(ctx context.Context, a ask) ([]ask, error) {
	if a.by != topName {
		r.edges[a.by] = append(r.edges[a.by], a.lib)
	}
	if err := a.coord.check(a.lib, a.from); err != nil {
		return nil, fmt.Errorf("%w (asked for by %s)", err, a.by)
	}
	if err := a.place(); err != nil {
		return nil, fmt.Errorf("%s: %w (asked for by %s)", a.lib, err, a.by)
	}
	if lib := r.libs[a.lib]; lib != nil {
		return nil, r.again(lib, a)
	}
	if len(r.order) >= r.conf.Limits.Libs {
		return nil, fmt.Errorf("%s: got library %d, want at most %d in one home (asked for by %s)", a.lib, len(r.order)+1, r.conf.Limits.Libs, a.by)
	}
	lib := &Lib{Name: a.lib, Coord: a.coord, By: []string{a.by}}
	fence, from, err := r.find(ctx, lib)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (asked for by %s)", a.lib, err, a.by)
	}
	if lib.Coord.Local != "" {
		fence, from = a.fence, a.from
	}
	f, err := readForm(ctx, r.conf.Do, filepath.Join(lib.Dir, File))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.lib, err)
	}
	if err := lib.addPaths(f.paths, fence); err != nil {
		return nil, err
	}
	r.libs[a.lib], r.order = lib, append(r.order, a.lib)
	var next []ask
	for _, d := range f.deps {
		next = append(next, ask{dep: d, by: a.lib, base: lib.Dir, fence: fence, from: max(from, a.from)})
	}
	return next, nil
}

// place makes the paths of a coordinate absolute, within the fence.
func (a *ask) place() error {
	c := &a.coord
	if c.Local == "" {
		if isPath(c.URL) && !filepath.IsAbs(c.URL) {
			c.URL = under(a.base, c.URL)
		}
		return nil
	}
	dir := under(a.base, filepath.FromSlash(c.Local))
	if a.fence != "" && !inside(a.fence, dir) {
		return fmt.Errorf(":local/root: got %q, which leaves the repository, want a directory inside it", c.Local)
	}
	c.Local = dir
	return nil
}

// under joins a path to a base; ~/ is the user's home.
func under(base, p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if user, err := os.UserHomeDir(); err == nil {
			return filepath.Join(user, rest)
		}
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}

func inside(fence, dir string) bool {
	rel, err := filepath.Rel(fence, dir)
	return err == nil && filepath.IsLocal(rel)
}

// find gets the library's directory, what its own wishes may not leave, and how far it is trusted.
func (r *resolver) find(ctx context.Context, lib *Lib) (fence string, from origin, err error) {
	c := lib.Coord
	if c.Local != "" {
		info, err := os.Stat(c.Local)
		switch {
		case err != nil:
			return "", 0, fmt.Errorf(":local/root: %w", err)
		case !info.IsDir():
			return "", 0, fmt.Errorf(":local/root: got %s, want a directory", c.Local)
		}
		lib.Dir = c.Local
		return "", fromDisk, nil
	}
	tree, err := r.tree(ctx, lib)
	if err != nil {
		return "", 0, scrub(c.URL, err)
	}
	lib.Dir = filepath.Join(tree, filepath.FromSlash(c.Root))
	if info, err := os.Stat(lib.Dir); err != nil || !info.IsDir() {
		return "", 0, fmt.Errorf(":deps/root: got %q, which is no directory of %s at %.12s", c.Root, redact(c.URL), lib.SHA)
	}
	return tree, placeOf(c.URL), nil
}

// addPaths takes the library's paths; those of a repository stay inside it.
func (l *Lib) addPaths(paths []string, fence string) error {
	if paths == nil {
		paths = []string{"src"}
	}
	for _, p := range paths {
		dir := under(l.Dir, filepath.FromSlash(p))
		if fence != "" && !inside(fence, dir) {
			return fmt.Errorf("%s: :paths: got %q, which leaves the repository, want a directory inside it", l.Name, p)
		}
		l.Paths = append(l.Paths, dir)
	}
	return nil
}

// again judges a wish for a library that is there already.
func (r *resolver) again(lib *Lib, a ask) error {
	lib.By = append(lib.By, a.by)
	if r.pinned[lib.Name] || lib.agrees(a.coord) {
		return nil
	}
	return fmt.Errorf(`%s: got two versions, want one:
  %s asks for %s
  %s asks for %s
choose one in :deps of %s, which counts before all others: %s %s`,
		lib.Name, lib.By[0], lib.Coord, a.by, a.coord, filepath.Join(r.conf.Dir, File), lib.Name, lib.Coord)
}

// agrees tells whether a coordinate means what was found.
func (l *Lib) agrees(c Coord) bool {
	if l.Coord.Local != "" || c.Local != "" {
		return l.Coord.Local == c.Local
	}
	if !sameURL(l.Coord.URL, c.URL) || l.Coord.Root != c.Root {
		return false
	}
	if c.SHA != "" {
		return strings.HasPrefix(l.SHA, c.SHA)
	}
	return c.Tag == l.Coord.Tag
}

// cycle finds libraries that ask for each other.
func (r *resolver) cycle() error {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(string) error
	visit = func(lib string) error {
		switch state[lib] {
		case done:
			return nil
		case open:
			loop := append(slices.Clone(path[slices.Index(path, lib):]), lib)
			return fmt.Errorf("got a circle, %s, want libraries that do not ask for each other: move what both need into one of its own", strings.Join(loop, " -> "))
		}
		state[lib] = open
		path = append(path, lib)
		for _, to := range r.edges[lib] {
			if err := visit(to); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		state[lib] = done
		return nil
	}
	for _, lib := range r.order {
		if err := visit(lib); err != nil {
			return err
		}
	}
	return nil
}
