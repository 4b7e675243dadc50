// Package nix takes packages from nix into images. nix is a source of packages only: it realises store paths and says what
// they need; no nix text is generated.
//
// The one invariant: what nix says is checked, not believed. A path that it reports as invalid, or that lies outside of the
// store, is an error with the package's name, and a package is built for the system that was asked for or not at all.
//
// Start reading at [Source.Realise].
package nix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/oci"
)

// Source implements oci.Source by calling nix, 2.8 or later.
type Source struct {
	Program string   // default nix, of PATH
	Args    []string // added to each call, such as --store DIR
	Env     []string // added to this process's environment
	Store   string   // where the host has the store's root, if not at /: a store at DIR has its files in DIR/nix/store
	Roots   string   // directory for links that keep packages from being collected; "" is a temporary one
}

// systems are nix's names.
var systems = map[string]string{"amd64": "x86_64-linux", "arm64": "aarch64-linux"}

// Realise implements oci.Source: one call of nix for each package, as several in one call come in no certain order.
func (s *Source) Realise(ctx context.Context, spec *oci.Spec, progress func(string)) (*oci.Closure, error) {
	if s.Program == "" {
		if _, err := exec.LookPath("nix"); err != nil {
			return nil, fmt.Errorf("package %s: nix is not installed: apt-get install nix-bin, or see nixos.org; without it take Debian packages of this host: :base {:host [\"git\"]}", spec.Packages[0])
		}
	}
	roots, release, err := s.roots()
	if err != nil {
		return nil, err
	}
	c, err := s.realise(ctx, spec, roots, progress)
	if err != nil {
		release()
		return nil, err
	}
	c.Release = release
	return c, nil
}

func (s *Source) roots() (string, func(), error) {
	if s.Roots != "" {
		if err := os.MkdirAll(s.Roots, 0o700); err != nil {
			return "", nil, err
		}
	}
	dir, err := os.MkdirTemp(s.Roots, "roots-")
	return dir, func() { os.RemoveAll(dir) }, err
}

func (s *Source) realise(ctx context.Context, spec *oci.Spec, roots string, progress func(string)) (*oci.Closure, error) {
	var wanted []provider
	all := map[string]info{}
	for i, p := range spec.Packages {
		progress("realising " + p)
		attr, outs, err := s.build(ctx, p, systems[spec.Arch], filepath.Join(roots, fmt.Sprint(i)), progress)
		if err != nil {
			return nil, err
		}
		for _, o := range outs {
			wanted = append(wanted, provider{name: p, attr: attr, path: o})
		}
		infos, err := s.closure(ctx, p, outs)
		if err != nil {
			return nil, err
		}
		for k, v := range infos {
			all[k] = v
		}
	}
	c := &oci.Closure{Env: map[string]string{}}
	for _, p := range sortedPaths(all) {
		c.Packages = append(c.Packages, s.pack(p, all[p]))
	}
	f := &farm{s: s, spec: spec, closure: c, all: sortedPaths(all), real: map[string]bool{}, priority: s.priorities(ctx)}
	if err := f.plant(wanted); err != nil {
		return nil, err
	}
	return c, ctx.Err()
}

func sortedPaths(m map[string]info) []string {
	out := make([]string, 0, len(m))
	for p := range m {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// attributes gives what to ask nix for, in turn: the system is named, since --system builds for another and says that it
// did not.
func attributes(name, system string) []string {
	flake, attr, has := strings.Cut(name, "#")
	if !has {
		return []string{"nixpkgs#legacyPackages." + system + "." + name}
	}
	if attr == "" {
		attr = "default"
	}
	if strings.HasPrefix(attr, "packages.") || strings.HasPrefix(attr, "legacyPackages.") {
		return []string{name}
	}
	return []string{flake + "#packages." + system + "." + attr, flake + "#legacyPackages." + system + "." + attr}
}

// build realises one package and gives the attribute that it is and its outputs.
func (s *Source) build(ctx context.Context, name, system, link string, progress func(string)) (attr string, outs []string, err error) {
	var first error
	for _, attr := range attributes(name, system) {
		out, stderr, err := s.nix(ctx, progress, "build", "--json", "--out-link", link, attr)
		if err == nil {
			outs, err = outputs(name, out)
			return attr, outs, err
		}
		if ctx.Err() != nil {
			return "", nil, fmt.Errorf("package %s: %w", name, context.Cause(ctx))
		}
		why := classify(name, system, stderr, err)
		if first == nil {
			first = why
		}
		if !errors.Is(why, errNoAttribute) {
			return "", nil, why
		}
	}
	return "", nil, first
}

// defaultPriority is what nix takes for a package that says nothing. A smaller number wins.
const defaultPriority = 5

// priorities tells meta.priority of packages. Each is asked for once, and only where two have a file of one name; where
// nix cannot tell, it is the default.
func (s *Source) priorities(ctx context.Context) func(attr string) int {
	known := map[string]int{}
	return func(attr string) int {
		attr, _, _ = strings.Cut(attr, "^") // of outputs
		p, ok := known[attr]
		if ok {
			return p
		}
		text, _, err := s.nix(ctx, nil, "eval", "--json", attr, "--apply", fmt.Sprintf("p: p.meta.priority or %d", defaultPriority))
		if err != nil || json.Unmarshal(text, &p) != nil {
			p = defaultPriority
		}
		known[attr] = p
		return p
	}
}

// outputs reads what nix build --json says: [{"drvPath": …, "outputs": {"out": …}}].
func outputs(name string, text []byte) ([]string, error) {
	var built []struct {
		Outputs map[string]*string `json:"outputs"`
	}
	if err := json.Unmarshal(text, &built); err != nil {
		return nil, fmt.Errorf("package %s: failed to read what nix built: %w", name, err)
	}
	var out []string
	for _, b := range built {
		for o, p := range b.Outputs {
			if p == nil || !inStore(*p) {
				return nil, fmt.Errorf("package %s: nix built no path for the output %s", name, o)
			}
			out = append(out, *p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("package %s: nix built nothing", name)
	}
	sort.Strings(out)
	return out, nil
}

func inStore(p string) bool {
	return path.Clean(p) == p && path.Dir(p) == "/nix/store" && len(path.Base(p)) > 33
}

// waitDelay is how long nix has to end its builders: killed at once it would leave them.
const waitDelay = 15 * time.Second

// nix calls it. Its stderr is told to progress, line by line, and kept in part.
func (s *Source) nix(ctx context.Context, progress func(string), args ...string) (out []byte, stderr string, err error) {
	program := s.Program
	if program == "" {
		program = "nix"
	}
	all := append([]string{"--extra-experimental-features", "nix-command flakes"}, args...)
	cmd := exec.CommandContext(ctx, program, append(all, s.Args...)...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = waitDelay
	var buf bytes.Buffer
	said := &lines{tell: progress}
	cmd.Stdout, cmd.Stderr = &limited{w: &buf, left: 256 << 20}, said
	err = cmd.Run()
	return buf.Bytes(), said.text(), err
}

// pack is one store path.
func (s *Source) pack(p string, i info) oci.Package {
	base := path.Base(p)[33:]
	return oci.Package{Name: stem(base), Label: base, Key: "nix " + p + " " + i.NarHash, Size: i.NarSize,
		Files: func(ctx context.Context, yield func(oci.File) error) error { return s.files(ctx, p, yield) }}
}

// stem is a name without its version: "git-2.44.1-doc" is "git-doc".
func stem(base string) string {
	parts := strings.Split(base, "-")
	out := parts[:1]
	for _, p := range parts[1:] {
		if p == "" || p[0] < '0' || p[0] > '9' {
			out = append(out, p)
		}
	}
	return strings.Join(out, "-")
}

// at is where the host has a store path.
func (s *Source) at(p string) string { return filepath.Join("/", s.Store, p) }

func (s *Source) files(ctx context.Context, p string, yield func(oci.File) error) error {
	top := s.at(p)
	return filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		f := oci.File{Name: p[1:] + strings.TrimPrefix(at, top), Mode: st.Mode(), Size: st.Size(), Path: at}
		if st.Mode()&fs.ModeSymlink != 0 {
			if f.Link, err = os.Readlink(at); err != nil {
				return err
			}
		}
		return yield(f)
	})
}
