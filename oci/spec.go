package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Spec is an image as data. Only Name is required.
type Spec struct {
	Name string `json:"name,omitempty" lisp:"name"`
	Tag  string `json:"tag,omitempty" lisp:"tag"` // default latest
	// Packages are taken from nix: "git" is nixpkgs#git, "github:owner/repo#name" and "./dir#name" are of that flake.
	Packages []string `json:"packages,omitempty" lisp:"packages"`
	// Env is the environment. Values are in the image for all to read: no secrets.
	Env        map[string]string `json:"env,omitempty" lisp:"env"`
	Cmd        []string          `json:"cmd,omitempty" lisp:"cmd"`
	Entrypoint []string          `json:"entrypoint,omitempty" lisp:"entrypoint"`
	Workdir    string            `json:"workdir,omitempty" lisp:"workdir"`
	User       string            `json:"user,omitempty" lisp:"user"` // "1000" or "1000:1000"; default root
	Base       Base              `json:"base,omitzero" lisp:"base"`
	Arch       string            `json:"arch,omitempty" lisp:"arch"`           // amd64 or arm64; default this machine's
	Layers     int               `json:"layers,omitempty" lisp:"layers"`       // most that are added to the base, 1 to 120; default 60
	Compress   string            `json:"compress,omitempty" lisp:"compress"`   // none (default), gzip, zstd
	Conflicts  string            `json:"conflicts,omitempty" lisp:"conflicts"` // of one path in two packages: error (default), first
	FHS        bool              `json:"fhs,omitempty" lisp:"fhs"`             // a /lib64/ld-linux for programs that were not built for nix
}

// Base is what an image stands on; at most one of it.
type Base struct {
	OCI  string   `json:"oci,omitempty" lisp:"oci"`   // a name in a registry
	Tar  string   `json:"tar,omitempty" lisp:"tar"`   // an archive or a layout directory
	Host []string `json:"host,omitempty" lisp:"host"` // Debian packages that are installed on this host, with what they need
	// Changed says what becomes of programs of Host that are not what their package shipped: refuse (default), or take, as
	// they are, and without those that are missing.
	Changed string `json:"changed,omitempty" lisp:"changed"`
}

// SpecError is a spec that cannot be meant. Field is written as in Lisp: ":packages".
type SpecError struct{ Field, Text string }

func (e *SpecError) Error() string { return "image: " + e.Field + ": " + e.Text }

func bad(field, format string, args ...any) error {
	return &SpecError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// WithDefaults fills in what was left open.
func (s Spec) WithDefaults() Spec {
	s.Tag = or(s.Tag, "latest")
	s.Arch = or(s.Arch, runtime.GOARCH)
	s.Layers = or(s.Layers, 60)
	s.Compress = or(s.Compress, "none")
	s.Conflicts = or(s.Conflicts, "error")
	s.Base.Changed = or(s.Base.Changed, "refuse")
	return s
}

var (
	tagForm  = form(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	envForm  = form(`^[A-Za-z_][A-Za-z0-9_]*$`)
	debForm  = form(`^[a-z0-9][a-z0-9+.-]*(:[a-z0-9-]+)?$`)
	userForm = form(`^[0-9]{1,5}(:[0-9]{1,5})?$`)
)

// Validate checks a spec that WithDefaults has filled in. The error names the field. Secrets are names of secrets that are
// declared: an environment that has one is refused.
func (s *Spec) Validate(secrets []string) error {
	if _, err := ParseRef(s.Name + ":" + s.Tag); err != nil || strings.Contains(path.Base(s.Name), ":") {
		if !tagForm().MatchString(s.Tag) {
			return bad(":tag", "got %q, want letters, digits, '_', '.' and '-', at most 128", cut(s.Tag))
		}
		return bad(":name", "got %q, want one such as zeno-agent or ghcr.io/me/agent", cut(s.Name))
	}
	for _, check := range []func() error{s.checkPackages, s.checkBase, s.checkChoices, s.checkProgram} {
		if err := check(); err != nil {
			return err
		}
	}
	return s.checkEnv(secrets)
}

func (s *Spec) checkPackages() error {
	for _, f := range []struct {
		field string
		names []string
	}{{":packages", s.Packages}, {":base :host", s.Base.Host}} {
		if len(f.names) > 1000 {
			return bad(f.field, "got %d, want at most 1000", len(f.names))
		}
		for i, p := range f.names {
			if p == "" || len(p) > 512 || p[0] == '-' || !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
				return bad(f.field, "%d: got %q, want the name of a package", i, cut(p))
			}
			if f.field == ":base :host" && !debForm().MatchString(p) {
				return bad(f.field, "%d: got %q, want a name such as git or libc6:i386: the version is that of this host", i, cut(p))
			}
		}
	}
	if len(s.Packages) == 0 && s.Base.Tar == "" && s.Base.OCI == "" && len(s.Base.Host) == 0 {
		return bad(":packages", "got none and no :base, want such as [\"git\"], or :base {:host [\"git\"]}")
	}
	return nil
}

func (s *Spec) checkBase() error {
	n := 0
	for _, set := range []bool{s.Base.OCI != "", s.Base.Tar != "", len(s.Base.Host) > 0} {
		if set {
			n++
		}
	}
	if n > 1 {
		return bad(":base", "got %d of :oci, :tar and :host, want one", n)
	}
	if s.Base.OCI != "" && !strings.Contains(s.Base.OCI, "@") {
		if _, err := ParseRef(s.Base.OCI); err != nil {
			return bad(":base :oci", "got %q, want a name such as debian:12-slim", cut(s.Base.OCI))
		}
	}
	if len(s.Base.Host) > 0 && s.Arch != runtime.GOARCH {
		return bad(":arch", "got %s with packages of this host, which is %s", s.Arch, runtime.GOARCH)
	}
	return nil
}

func (s *Spec) checkChoices() error {
	for _, c := range []struct {
		field, got string
		want       []string
	}{{":arch", s.Arch, []string{"amd64", "arm64"}}, {":compress", s.Compress, []string{"none", "gzip", "zstd"}}, {":conflicts", s.Conflicts, []string{"error", "first"}},
		{":base :changed", s.Base.Changed, []string{"refuse", "take"}}} {
		if !slices.Contains(c.want, c.got) {
			return bad(c.field, "got %q, want :%s", cut(c.got), strings.Join(c.want, " or :"))
		}
	}
	if s.Layers < 1 || s.Layers > 120 {
		return bad(":layers", "got %d, want 1 to 120: podman takes no more than 128", s.Layers)
	}
	return nil
}

func (s *Spec) checkProgram() error {
	if s.Workdir != "" && (!path.IsAbs(s.Workdir) || path.Clean(s.Workdir) != s.Workdir || strings.IndexByte(s.Workdir, 0) >= 0) {
		return bad(":workdir", "got %q, want an absolute path such as /work", cut(s.Workdir))
	}
	if s.User != "" {
		ok := userForm().MatchString(s.User)
		for _, n := range strings.Split(s.User, ":") {
			v, err := strconv.Atoi(n)
			ok = ok && err == nil && v <= maxID
		}
		if !ok {
			return bad(":user", "got %q, want a number up to %d, or two with a colon", cut(s.User), maxID)
		}
	}
	for _, f := range []struct {
		field string
		argv  []string
	}{{":cmd", s.Cmd}, {":entrypoint", s.Entrypoint}} {
		for i, a := range f.argv {
			if strings.IndexByte(a, 0) >= 0 || !utf8.ValidString(a) || len(a) > 64<<10 {
				return bad(f.field, "%d: got a NUL byte, no UTF-8 or more than 65536 bytes, want a plain text", i)
			}
		}
	}
	return nil
}

func (s *Spec) checkEnv(secrets []string) error {
	for k, v := range s.Env {
		if !envForm().MatchString(k) {
			return bad(":env", "got the name %q, want letters, digits and '_'", cut(k))
		}
		if strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) || len(v) > 64<<10 {
			return bad(":env", "%s: got a NUL byte, no UTF-8 or more than 65536 bytes, want a plain text", k)
		}
		if slices.Contains(secrets, k) {
			return bad(":env", "%s: got the name of a declared secret, want none: whoever has the image has what is in it. Give it to the box as :secrets", k)
		}
	}
	return nil
}

// Ref is the image's name with its tag.
func (s Spec) Ref() string { return s.Name + ":" + s.Tag }

// Hash names what the spec says, the order of names aside, and that of packages where it decides nothing.
func (s Spec) Hash() string {
	s = s.WithDefaults()
	s.Base.Host = sorted(s.Base.Host)
	if s.Conflicts != "first" {
		s.Packages = sorted(s.Packages)
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of strings
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
