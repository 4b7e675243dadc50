// Package dpkg takes Debian packages that are installed on this host into images, so that a machine without nix, and
// without a network, builds a real one.
//
// The one invariant: a file is in the image only if it is what its package shipped. What was changed on the host since,
// which may hold what no image should, is refused (programs) or left out with a warning (configuration); what belongs to no
// package is not looked at. Scripts of packages are not run: what they would make and programs need (alternatives, the CA
// bundle) is made here.
//
// Start reading at [Source.Realise].
package dpkg

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/reflection-dev/zeno/oci"
)

// StatusFile changes with every change of what is installed.
const StatusFile = "/var/lib/dpkg/status"

// Source implements oci.Source with the packages of a host.
type Source struct {
	Root string // of the host; default /
}

// Realise implements oci.Source. It writes nothing and calls no program.
func (s *Source) Realise(ctx context.Context, spec *oci.Spec, progress func(string)) (*oci.Closure, error) {
	root := s.Root
	if root == "" {
		root = "/"
	}
	db, err := readDatabase(filepath.Join(root, "var/lib/dpkg"))
	if err != nil {
		return nil, err
	}
	found, err := db.closure(spec.Base.Host)
	if err != nil {
		return nil, err
	}
	h := &host{root: root, db: db, take: spec.Base.Changed == "take", moved: readDiversions(filepath.Join(db.dir, "diversions"))}
	h.lookMerged()
	progress(fmt.Sprintf("%d packages of this host", len(found)))
	c := &oci.Closure{Env: map[string]string{}}
	have := map[string]bool{}
	for _, st := range found {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		p, err := h.open(st, c)
		if err == nil {
			err = p.look(c)
		}
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", st.name, err)
		}
		for _, f := range p.found {
			have[f.Name] = true
		}
		c.Packages = append(c.Packages, oci.Package{Name: p.st.name + ":" + p.st.arch, Label: st.label(), Key: p.key(), Size: st.size << 10, Files: p.files})
	}
	return c, h.top(c, found, have)
}

// host is where the files are.
type host struct {
	root   string
	db     *database
	merged []string // directories that are links into usr: "bin"
	moved  map[string]diversion
	take   bool // what was changed is taken as it is
}

func (h *host) lookMerged() {
	for _, d := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if to, err := os.Readlink(filepath.Join(h.root, d)); err == nil && (to == "usr/"+d || to == "/usr/"+d) {
			h.merged = append(h.merged, d)
		}
	}
}

// canonical gives the name in the image of a path: relative, and where a merged directory leads.
func (h *host) canonical(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	for _, d := range h.merged {
		if strings.HasPrefix(p, d+"/") {
			return "usr/" + p
		}
	}
	return p
}

type diversion struct{ to, by string }

// readDiversions reads triples of lines: from, to, the package that diverts.
func readDiversions(file string) map[string]diversion {
	out := map[string]diversion{}
	text, err := os.ReadFile(file)
	if err != nil {
		return out
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 0; i+2 < len(lines); i += 3 {
		out[lines[i]] = diversion{lines[i+1], lines[i+2]}
	}
	return out
}

// pkg is a package whose lists were read.
type pkg struct {
	h     *host
	st    *stanza
	list  []string          // paths as shipped
	sums  map[string]string // by path as shipped, without the slash
	gone  map[string]bool   // configuration that was changed or removed
	id    string            // of both lists
	found []oci.File
	state string // of files that are taken as they are
}

func (h *host) open(st *stanza, c *oci.Closure) (*pkg, error) {
	p := &pkg{h: h, st: st, sums: map[string]string{}, gone: map[string]bool{}}
	list, err := h.info(st, "list")
	if err != nil {
		return nil, err
	}
	sums, err := h.info(st, "md5sums")
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, line := range strings.Split(string(list), "\n") {
		if line != "" && line != "/." {
			p.list = append(p.list, line)
		}
	}
	for _, line := range strings.Split(string(sums), "\n") {
		if sum, name, ok := strings.Cut(line, "  "); ok {
			p.sums[name] = sum
		}
	}
	id := md5.Sum(append(append([]byte{}, list...), sums...)) // tells lists apart; what they list is checked by itself
	p.id = hex.EncodeToString(id[:])
	return p, p.configuration(c)
}

func (h *host) info(st *stanza, kind string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(h.db.dir, "info", st.name+":"+st.arch+"."+kind))
	if os.IsNotExist(err) {
		b, err = os.ReadFile(filepath.Join(h.db.dir, "info", st.name+"."+kind))
	}
	return b, err
}

// configuration finds what of it is not as shipped.
func (p *pkg) configuration(c *oci.Closure) error {
	names := make([]string, 0, len(p.st.conffiles))
	for name := range p.st.conffiles {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		sum, err := sumOf(p.h.at(p.actual(name)))
		if err == nil && sum == p.st.conffiles[name] {
			p.sums[strings.TrimPrefix(name, "/")] = sum
			continue
		}
		p.gone[name] = true
		if err == nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("package %s: left out %s, which was changed on this host", p.st.name, name))
		} else if !os.IsNotExist(err) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("package %s: left out %s: %v", p.st.name, name, err))
		}
	}
	return nil
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// at is where the host has a path.
func (h *host) at(p string) string { return filepath.Join(h.root, p) }

// actual is the path that a diversion moved it to.
func (p *pkg) actual(name string) string {
	if d, ok := p.h.moved[name]; ok && d.by != p.st.name && d.by != ":" {
		return d.to
	}
	return name
}

// key changes with everything that decides about the package's bytes.
func (p *pkg) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deb %s %s %v", p.st.label(), p.id, p.h.merged)
	for _, l := range p.list {
		if a := p.actual(l); a != l {
			fmt.Fprintf(&b, " %s>%s", l, a)
		}
	}
	gone := make([]string, 0, len(p.gone))
	for g := range p.gone {
		gone = append(gone, g)
	}
	sort.Strings(gone)
	fmt.Fprintf(&b, " -%v%s", gone, p.state)
	return b.String()
}

// droppable are directories that hosts are often installed without.
var droppable = []string{"usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/", "usr/share/help/",
	"usr/share/groff/", "usr/share/linda/", "usr/share/omf/", "usr/share/gnome/help/", "usr/share/doc-base/", "usr/share/bug/"}

// look finds what of the package is on the host.
func (p *pkg) look(c *oci.Closure) error {
	missing := 0
	state := md5.New()
	for _, shipped := range p.list {
		if p.gone[shipped] {
			continue
		}
		f, st, err := p.file(shipped)
		if errors.Is(err, os.ErrNotExist) && p.h.take {
			missing++
			continue
		}
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		if p.h.take && st.Mode().IsRegular() {
			f.MD5 = ""
			fmt.Fprintln(state, f.Name, st.Size(), st.ModTime().UnixNano())
		}
		p.found = append(p.found, f)
	}
	if p.h.take {
		p.state = fmt.Sprintf(" %d %x", missing, state.Sum(nil))
	}
	if missing > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("package %s: %d of its files are missing on this host", p.st.name, missing))
	}
	return nil
}

func (p *pkg) files(ctx context.Context, yield func(oci.File) error) error {
	for _, f := range p.found {
		if err := yield(f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// missingError says how to get the file back, and that there is another way.
type missingError struct{ path, pkg string }

func (e *missingError) Error() string {
	return fmt.Sprintf("%s is missing on this host: apt-get install --reinstall %s, or :base {:host [...] :changed :take}", e.path, e.pkg)
}

func (e *missingError) Unwrap() error { return os.ErrNotExist }

// file gives one file as the image has it; no FileInfo where it has none.
func (p *pkg) file(shipped string) (oci.File, os.FileInfo, error) {
	actual := p.actual(shipped)
	f := oci.File{Name: p.h.canonical(actual)}
	f.Path = p.h.at(f.Name)
	for _, d := range p.h.merged {
		if f.Name == d { // a link in the image
			return f, nil, nil
		}
	}
	st, err := os.Lstat(f.Path)
	if os.IsNotExist(err) {
		for _, d := range droppable {
			if strings.HasPrefix(f.Name, d) || f.Name+"/" == d {
				return f, nil, nil
			}
		}
		return f, nil, &missingError{actual, p.st.name}
	}
	if err != nil {
		return f, nil, err
	}
	f.Mode, f.Size = st.Mode(), st.Size()
	switch {
	case st.IsDir():
	case st.Mode()&os.ModeSymlink != 0:
		f.Link, err = os.Readlink(f.Path)
	case st.Mode().IsRegular():
		f.MD5 = p.sums[strings.TrimPrefix(shipped, "/")]
		if f.MD5 == "" && strings.HasPrefix(f.Name, "etc/") {
			return f, nil, nil // made by a script of the package, for this host
		}
	default:
		return f, nil, fmt.Errorf("%s: got a %s, want a file, a directory or a link", actual, st.Mode().Type())
	}
	return f, st, err
}
