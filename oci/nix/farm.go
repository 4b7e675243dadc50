package nix

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/reflection-dev/zeno/oci"
)

// provider is a package that was asked for, or a directory of one.
type provider struct {
	name string // as it was asked for
	attr string // as nix calls it
	path string // in the store
}

// farm links the packages that were asked for to where programs look. A directory that one package has is one link; one
// that several have is a directory of links. It stands in /usr and /etc, or on a base in /opt/zeno, where it hides nothing.
type farm struct {
	s       *Source
	spec    *oci.Spec
	closure *oci.Closure
	all     []string        // paths of the closure
	real    map[string]bool // directories that must be ones
	made    map[string]bool
	// priority of an attribute: of two packages with one file, the smaller number's is linked.
	priority func(attr string) int
}

// usrDirs are what goes into /usr.
var usrDirs = []string{"bin", "lib", "libexec", "include", "share", "sbin"}

func (f *farm) plant(wanted []provider) error {
	f.made = map[string]bool{}
	based := f.spec.Base.OCI != "" || f.spec.Base.Tar != "" || len(f.spec.Base.Host) > 0
	usr := "usr"
	for _, d := range []string{"usr", "usr/bin", "etc", "etc/ssl", "etc/ssl/certs", "etc/pki", "opt", "opt/zeno", "lib64"} {
		f.real[d] = true
	}
	if based {
		usr = "opt/zeno"
		f.closure.Path = []string{"/opt/zeno/bin"}
	}
	for _, d := range usrDirs {
		to := d
		if d == "sbin" {
			to = "bin"
		}
		if err := f.grow(path.Join(usr, to), under(wanted, d), 0); err != nil {
			return err
		}
	}
	if based {
		return f.certificates(wanted)
	}
	if err := f.grow("etc", under(wanted, "etc"), 0); err != nil {
		return err
	}
	for _, l := range [][2]string{{"bin", "usr/bin"}, {"sbin", "usr/bin"}, {"lib", "usr/lib"}} {
		f.link(l[0], l[1])
	}
	f.dir("usr/bin")
	f.dir("usr/lib")
	f.fallback("usr/bin/sh", "bin/sh")
	f.fallback("usr/bin/env", "bin/env")
	if err := f.loader(); err != nil {
		return err
	}
	return f.certificates(wanted)
}

func under(ps []provider, name string) []provider {
	out := make([]provider, len(ps))
	for i, p := range ps {
		out[i] = provider{p.name, p.attr, path.Join(p.path, name)}
	}
	return out
}

func (f *farm) add(file oci.File) {
	if !f.made[file.Name] {
		f.made[file.Name] = true
		f.closure.Top = append(f.closure.Top, file)
	}
}

func (f *farm) link(name, target string) { f.add(oci.LinkFile(name, target)) }
func (f *farm) dir(name string)          { f.add(oci.DirFile(name, 0o755)) }

// grow links what the providers have to the directory name.
func (f *farm) grow(name string, from []provider, depth int) error {
	if depth > 64 {
		return fmt.Errorf("/%s: got directories more than 64 deep", name)
	}
	entries := map[string][]provider{}
	for _, p := range from {
		found, err := os.ReadDir(f.s.resolved(p.path))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
			continue
		}
		if err != nil {
			return fmt.Errorf("package %s: %w", p.name, err)
		}
		for _, e := range found {
			entries[e.Name()] = append(entries[e.Name()], provider{p.name, p.attr, path.Join(p.path, e.Name())})
		}
	}
	names := make([]string, 0, len(entries))
	for n := range entries {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if err := f.entry(path.Join(name, n), entries[n], depth); err != nil {
			return err
		}
	}
	return nil
}

func (f *farm) entry(name string, ps []provider, depth int) error {
	if name == "etc/passwd" || name == "etc/group" || strings.HasPrefix(name, "etc/ssl/certs/") || f.made[name] && !f.real[name] && name != "etc/ssl" {
		return nil // made by us
	}
	ps = f.distinct(ps)
	dirs := 0
	for _, p := range ps {
		if st, err := os.Stat(f.s.resolved(p.path)); err == nil && st.IsDir() {
			dirs++
		}
	}
	switch {
	case dirs == len(ps) && (len(ps) > 1 || f.real[name]):
		f.dir(name)
		return f.grow(name, ps, depth+1)
	case len(ps) > 1 && f.tied(ps) && f.spec.Conflicts == "error":
		return fmt.Errorf("/%s: is in package %s and in package %s: leave one out, or let the first win with :conflicts :first", name, ps[0].name, ps[1].name)
	}
	f.link(name, ps[0].path)
	return nil
}

// tied puts the provider first whose package has the best priority, and tells whether another has the same.
func (f *farm) tied(ps []provider) bool {
	slices.SortStableFunc(ps, func(a, b provider) int { return cmp.Compare(f.priority(a.attr), f.priority(b.attr)) })
	return f.priority(ps[0].attr) == f.priority(ps[1].attr)
}

// distinct leaves out those that lead to the same file.
func (f *farm) distinct(ps []provider) []provider {
	seen := map[string]bool{}
	var out []provider
	for _, p := range ps {
		if r := f.s.resolved(p.path); !seen[r] {
			seen[r] = true
			out = append(out, p)
		}
	}
	return out
}

// fallback links a program that no package was asked for has, where one of the closure has it: scripts need sh and env.
func (f *farm) fallback(name, in string) {
	if f.made[name] {
		return
	}
	for _, p := range f.all {
		if _, err := os.Lstat(f.s.at(path.Join(p, in))); err == nil {
			f.link(name, path.Join(p, in))
			return
		}
	}
}

// loader links the dynamic loader where programs that were not built for nix look.
func (f *farm) loader() error {
	if !f.spec.FHS {
		return nil
	}
	name := map[string]string{"amd64": "lib64/ld-linux-x86-64.so.2", "arm64": "usr/lib/ld-linux-aarch64.so.1"}[f.spec.Arch]
	for _, p := range f.all {
		in := path.Join(p, "lib", path.Base(name))
		if _, err := os.Lstat(f.s.at(in)); err == nil && strings.HasPrefix(path.Base(p)[33:], "glibc-") {
			f.link(name, in)
			return nil
		}
	}
	return errors.New(":fhs: got no glibc among the packages, want one: add \"glibc\"")
}

// certificates makes the bundle a real file: a box puts another in its place.
func (f *farm) certificates(wanted []provider) error {
	for _, p := range wanted {
		text, err := os.ReadFile(f.s.resolved(path.Join(p.path, "etc/ssl/certs/ca-bundle.crt")))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
			continue
		}
		if err != nil {
			return fmt.Errorf("package %s: %w", p.name, err)
		}
		for _, file := range oci.CertificateFiles(text) {
			f.add(file)
		}
		for k, v := range oci.CertificateEnv() {
			f.closure.Env[k] = v
		}
		return nil
	}
	return nil
}

// resolved is where the host has a path of the store, without links: links of a store that is not at / lead by its own root.
func (s *Source) resolved(p string) string {
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	at := "/"
	for hops := 0; len(parts) > 0; {
		next := path.Join(at, parts[0])
		parts = parts[1:]
		target, err := os.Readlink(s.at(next))
		if err != nil || hops > 40 {
			at = next
			continue
		}
		hops++
		if !path.IsAbs(target) {
			target = path.Join(at, target)
		}
		parts = append(strings.Split(strings.TrimPrefix(path.Clean(target), "/"), "/"), parts...)
		at = "/"
	}
	return filepath.Clean(s.at(at))
}
