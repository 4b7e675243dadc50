package sandbox

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// FieldError is a Spec that cannot be meant. Field is written as in Lisp: ":workdir".
type FieldError struct {
	Field string
	Text  string
}

func (e *FieldError) Error() string { return "sandbox: " + e.Field + ": " + e.Text }

func bad(field, format string, args ...any) error {
	return &FieldError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// names are also file names and host names: they carry no path and no surprise.
var (
	nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	envForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ValidName says whether a body or a volume may have this name.
func ValidName(name string) bool { return nameForm.MatchString(name) && !strings.Contains(name, "..") }

// reserved are directories that the box makes itself: a volume there would hide them. In an image only machine is also
// below: /usr/src/app is the image's own.
var (
	machine  = []string{"/proc", "/dev", "/sys", "/.msb"}
	reserved = append([]string{"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/tmp", "/run", "/opt", "/nix"}, machine...)
)

// ownFiles are written anew for each box, and what they are in.
var ownFiles = []string{"/etc", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}

// workdirError says why a directory cannot be the one that a box works in.
func workdirError(p string, image bool) error {
	if err := checkPath(":workdir", p); err != nil {
		return err
	}
	for _, r := range reserved {
		if p == r || strings.HasPrefix(p, r+"/") && (!image || slices.Contains(machine, r)) {
			return bad(":workdir", "got %q, want a directory outside of %s", p, r)
		}
	}
	return nil
}

// Validate checks a spec that Defaults has filled in. The error names the field.
func (s *Spec) Validate() error {
	for _, check := range []func(*Spec) error{checkNames, checkProgram, checkPaths, checkEnv, checkSecrets, checkEgress, checkBounds, checkKinds} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func checkNames(s *Spec) error {
	for _, f := range []struct{ field, name string }{{":name", s.Name}, {":volume", s.Volume}} {
		if f.name != "" && !ValidName(f.name) {
			return bad(f.field, "got %q, want a-z, 0-9, '.', '_' and '-', at most 63, beginning with a letter or digit", cut(f.name))
		}
	}
	return nil
}

func checkProgram(s *Spec) error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return bad(":argv", "got no program, want a vector such as [\"sh\" \"-c\" \"…\"]")
	}
	total := 0
	for i, a := range s.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return bad(":argv", "%d: got a NUL byte, want none", i)
		}
		if len(a) >= 128<<10 {
			return bad(":argv", "%d: got %d bytes, want under 131072: give it as :in", i, len(a))
		}
		total += len(a) + 9
	}
	for k, v := range s.Env {
		total += len(k) + len(v) + 10
	}
	if total > 1<<20 {
		return bad(":argv", "got %d bytes with :env, want at most 1048576: give it as :in", total)
	}
	if len(s.In) > MaxIn {
		return bad(":in", "got %d bytes, want at most %d: put it in the volume", len(s.In), MaxIn)
	}
	if s.In != "" && s.Stdin != nil {
		return bad(":in", "got a text and a stream, want one of them")
	}
	return nil
}

func checkPaths(s *Spec) error {
	if err := workdirError(s.Workdir, s.Image != "" && s.Image != "host" || len(s.Root.Layers) > 0); err != nil {
		return err
	}
	if s.Dir != "" && s.Dir != "/" {
		if err := checkPath("Dir", s.Dir); err != nil {
			return err
		}
	}
	for i, p := range s.Path {
		if err := checkPath(fmt.Sprintf("Path %d", i), p); err != nil {
			return err
		}
	}
	if err := checkShown(":read", s.Read); err != nil {
		return err
	}
	return checkShown("Write", s.Write)
}

// checkShown checks paths of the host that a box is to see.
func checkShown(field string, paths []string) error {
	for i, p := range paths {
		if err := checkPath(fmt.Sprintf("%s %d", field, i), p); err != nil {
			return err
		}
		for _, r := range machine {
			if p == r || strings.HasPrefix(p, r+"/") {
				return bad(fmt.Sprintf("%s %d", field, i), "got %q, want a path outside of %s", p, r)
			}
		}
		if slices.Contains(ownFiles, p) {
			return bad(fmt.Sprintf("%s %d", field, i), "got %q, of which a box has its own, want another path", p)
		}
	}
	return nil
}

func checkPath(field, p string) error {
	switch {
	case !path.IsAbs(p) || p == "/" || path.Clean(p) != p:
		return bad(field, "got %q, want an absolute path without '.', '..' or a slash at its end", cut(p))
	case strings.IndexByte(p, 0) >= 0 || !utf8.ValidString(p) || len(p) > 1024:
		return bad(field, "got %q, want at most 1024 bytes of UTF-8 without NUL", cut(p))
	}
	return nil
}

func checkEnv(s *Spec) error {
	for k, v := range s.Root.Env {
		if strings.IndexByte(k+v, 0) >= 0 || len(k)+len(v) >= 128<<10 {
			return bad(":image", "its variable %q: got %d bytes, want under 131072 without NUL", cut(k), len(v))
		}
	}
	for k, v := range s.Env {
		if !envForm.MatchString(k) {
			return bad(":env", "got the name %q, want letters, digits and '_'", cut(k))
		}
		if strings.IndexByte(v, 0) >= 0 {
			return bad(":env", "%s: got a NUL byte, want none", k)
		}
		if len(v) >= 128<<10 {
			return bad(":env", "%s: got %d bytes, want under 131072", k, len(v))
		}
	}
	return nil
}

func checkSecrets(s *Spec) error {
	seen := map[string]bool{}
	for i, sec := range s.Secrets {
		field := fmt.Sprintf(":secrets %d", i)
		switch {
		case !envForm.MatchString(sec.Env):
			return bad(field+" :env", "got %q, want the name of a variable", cut(sec.Env))
		case len(sec.Hosts) == 0:
			return bad(field+" :hosts", "got none, want the hosts that %s is for", sec.Env)
		case seen[sec.Env]:
			return bad(field+" :env", "got %s twice, want each secret once", sec.Env)
		}
		if _, ok := s.Env[sec.Env]; ok {
			return bad(":env", "got a value for %s, which is a secret: a secret's value never enters a box", sec.Env)
		}
		seen[sec.Env] = true
		for _, in := range sec.In {
			if in != "query" && in != "body" {
				return bad(field+" :in", "got %q, want :query or :body", cut(in))
			}
		}
	}
	if len(s.Secrets) > 0 && s.Egress.Default == EgressNone {
		return bad(":secrets", "got secrets and :egress :none, want an :egress that allows their hosts")
	}
	return nil
}

func checkEgress(s *Spec) error {
	switch s.Egress.Default {
	case EgressDeny, EgressPublic:
	case EgressNone:
		if len(s.Egress.Allow) > 0 {
			return bad(":egress", "got :none and :allow, want {:default :deny :allow […]}")
		}
	default:
		return bad(":egress :default", "got %q, want :none, :deny or :public", cut(s.Egress.Default))
	}
	for i, r := range s.Egress.Allow {
		if r.Host == "" || len(r.Host) > 260 || strings.ContainsAny(r.Host, " /\x00\n@") {
			return bad(fmt.Sprintf(":egress :allow %d", i), "got %q, want a host such as \"pkg.example.net\", \"*.example.org\" or \"llm.lan:8443\"", cut(r.Host))
		}
		if r.Port < 0 || r.Port > 65535 {
			return bad(fmt.Sprintf(":egress :allow %d :port", i), "got %d, want 1 to 65535", r.Port)
		}
	}
	return nil
}

func checkBounds(s *Spec) error {
	switch {
	case math.IsNaN(s.CPUs) || s.CPUs < 0.01 || s.CPUs > 4096:
		return bad(":cpus", "got %v, want 0.01 to 4096", s.CPUs)
	case s.Memory < MinMemory:
		return bad(":memory", "got %d bytes, want at least 32M", s.Memory)
	case s.Pids < MinPids || s.Pids > 1<<22:
		return bad(":pids", "got %d, want %d to 4194304", s.Pids, MinPids)
	case s.Disk < MinDisk:
		return bad(":disk", "got %d bytes, want at least 1M", s.Disk)
	case s.Timeout < 0:
		return bad(":timeout", "got %v, want a positive time such as \"20m\"", s.Timeout)
	case s.TTL < 0:
		return bad(":ttl", "got %v, want a positive time such as \"1h\"", s.TTL)
	case s.IdleTimeout < 0:
		return bad(":idle-timeout", "got %v, want a positive time such as \"10m\"", s.IdleTimeout)
	case s.MaxOut < 0 || s.MaxOut > 1<<30:
		return bad(":max-out", "got %d bytes, want at most 1G", s.MaxOut)
	case s.User < 0 || s.User > 65533:
		return bad(":user", "got %d, want 0 to 65533", s.User)
	}
	return nil
}

func checkKinds(s *Spec) error {
	for _, k := range []struct {
		field, got string
		want       []string
	}{
		{":backend", s.Backend, []string{"", "native", "msb", "kubernetes"}},
		{":runtime", s.Runtime, []string{"", "runsc"}},
		{":seccomp", s.Seccomp, []string{"default", "strict"}},
	} {
		ok := false
		for _, w := range k.want {
			ok = ok || k.got == w
		}
		if !ok {
			return bad(k.field, "got %q, want one of %s", cut(k.got), strings.Trim(strings.Join(k.want, " "), " "))
		}
	}
	return nil
}

// cut keeps an error short whatever it quotes.
func cut(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// ValidateExec checks what an ExecSpec has of a Spec.
func (s *Spec) ValidateExec() error {
	for _, check := range []func(*Spec) error{checkProgram, checkEnv} {
		if err := check(s); err != nil {
			return err
		}
	}
	if err := checkPath(":workdir", s.Workdir); err != nil && s.Workdir != "/" {
		return err
	}
	if s.Timeout < 0 {
		return bad(":timeout", "got %v, want a positive time such as \"20m\"", s.Timeout)
	}
	return nil
}
