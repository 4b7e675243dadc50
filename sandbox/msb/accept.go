package msb

import (
	"fmt"
	"math"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
)

// MaxIn bounds the text of standard input, in bytes: it travels in the environment.
const MaxIn = 512 << 10

// acceptable refuses a spec that msb cannot hold. declared is the spec before defaults: a default that a kernel of the
// box's own makes needless is not a constraint that someone asked for.
func acceptable(declared, s *sandbox.Spec) error {
	for _, check := range []func(declared, s *sandbox.Spec) error{acceptKinds, acceptImage, acceptBounds, acceptPaths, acceptNetwork, acceptSecrets, acceptText} {
		if err := check(declared, s); err != nil {
			return err
		}
	}
	return nil
}

func acceptKinds(declared, s *sandbox.Spec) error {
	switch {
	case s.Backend != "" && s.Backend != Name:
		return refuse(":backend :"+s.Backend, "this is the msb backend", "")
	case s.Runtime != "":
		return refuse(":runtime :"+s.Runtime, "a microVM is a kernel of its own already", "leave :runtime out")
	case s.Seccomp != "default":
		return refuse(":seccomp :"+s.Seccomp, "the box's system calls go to its own kernel, not to the host's", "leave :seccomp out, or use :backend :native")
	case declared.Proxy != nil:
		return refuse("a network that this process serves", "msb decides about the box's network itself", "use :backend :native")
	}
	return nil
}

func acceptImage(_, s *sandbox.Spec) error {
	const load = "load it with `zeno image load FILE.tar --to msb` and give its name"
	switch {
	case s.Image == "" || s.Image == "host":
		return refuse(":image :host", "a microVM has no view of the host's programs", "give :image, "+load)
	case unloaded(s.Image):
		return refuse(":image", "got an archive or an image spec, and msb keeps images of its own", load)
	case strings.HasPrefix(s.Image, "-"), strings.ContainsAny(s.Image, " \t\n\x00"):
		return &sandbox.FieldError{Field: ":image", Text: fmt.Sprintf("got %q, want a name such as \"debian:12\"", clip(s.Image, 80))}
	}
	return nil
}

// unloaded tells an archive or an image spec from a name.
func unloaded(image string) bool {
	return strings.HasPrefix(image, "/") || strings.HasPrefix(image, ".") || strings.HasPrefix(image, "{")
}

func acceptBounds(declared, s *sandbox.Spec) error {
	switch {
	case s.CPUs != math.Trunc(s.CPUs) || s.CPUs > 255:
		return refuse(fmt.Sprintf(":cpus %v", s.CPUs), "a microVM has whole processors", "give a whole number from 1 to 255")
	case declared.Pids != 0 && s.User == 0:
		return refuse(fmt.Sprintf(":pids %d", s.Pids), "a limit of processes does not bind root in the box", "give :user, or leave :pids out: processes of a microVM are none of the host's")
	}
	return nil
}

// acceptPaths: in msb's words a colon ends a path and a comma an option.
func acceptPaths(_, s *sandbox.Spec) error {
	if len(s.Write) > 0 {
		return refuse("directories of the host to write to", "msb does not bound what a box adds to them", "use :volume, or :backend :native")
	}
	for i, p := range append([]string{s.Workdir, s.Dir}, s.Read...) {
		if strings.ContainsAny(p, ":,") {
			field := ":workdir"
			if i > 1 {
				field = fmt.Sprintf(":read %d", i-2)
			}
			return &sandbox.FieldError{Field: field, Text: fmt.Sprintf("got %q, want a path without ':' and ',' for msb", clip(p, 80))}
		}
	}
	return nil
}

func acceptNetwork(_, s *sandbox.Spec) error {
	for i, r := range s.Egress.Allow {
		field := fmt.Sprintf(":egress :allow %d", i)
		rule, err := parseRule(field, r.Host)
		if err != nil {
			return err
		}
		switch {
		case r.Addr != "":
			return refuse(field+" :addr", "msb connects to what a name resolves to", "leave :addr out, or use :backend :native")
		case rule.Port != 0 && r.Port != 0 && rule.Port != r.Port:
			return &sandbox.FieldError{Field: field, Text: fmt.Sprintf("got the ports %d and %d, want one", rule.Port, r.Port)}
		}
	}
	for i, h := range s.Egress.Deny {
		if _, err := parseRule(fmt.Sprintf(":egress :deny %d", i), h); err != nil {
			return err
		}
	}
	return nil
}

// parseRule reads a rule as the native backend does, and refuses what msb has no word for.
func parseRule(field, text string) (egress.Rule, error) {
	r, err := egress.ParseRule(text)
	if err != nil {
		return r, &sandbox.FieldError{Field: field, Text: err.Error()}
	}
	return r, nameable(field, r.Host)
}

// nameable refuses a name that msb would read as something else, or not at all.
func nameable(field, host string) error {
	name := strings.TrimPrefix(host, "*.")
	switch {
	case host == "*":
		return refuse(field+" \"*\"", "msb has no rule for every host", "use :egress :public")
	case !strings.Contains(strings.Trim(name, "."), "."):
		return refuse(fmt.Sprintf("%s %q", field, host), "msb takes a name without a dot for a keyword", "give the name in full, such as \"llm.lan\"")
	case net.ParseIP(name) != nil:
		return refuse(fmt.Sprintf("%s %q", field, host), "an address has no name to hold a connection to", "give the host's name")
	case strings.ContainsAny(host, ",@:="):
		return &sandbox.FieldError{Field: field, Text: fmt.Sprintf("got %q, want the name of a host", clip(host, 80))}
	}
	return nil
}

// launcherNames are variables that the launcher, which is given the values of secrets by their names, heeds itself.
var launcherNames = []string{"PATH", "HOME", "TMPDIR", "MSB_", "LD_", "DYLD_", "RUST_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "ZENO_IN_"}

func acceptSecrets(_, s *sandbox.Spec) error {
	for i, sec := range s.Secrets {
		field := fmt.Sprintf(":secrets %d", i)
		if len(sec.In) > 0 {
			return refuse(field+" :in", "msb puts secrets into headers only", "leave :in out, or use :backend :native")
		}
		for _, n := range launcherNames {
			upper := strings.ToUpper(sec.Env)
			if upper == n || strings.HasSuffix(n, "_") && strings.HasPrefix(upper, n) {
				return refuse(field+" :env "+sec.Env, "msb itself reads that variable", "take another name")
			}
		}
		for _, h := range sec.Hosts {
			if err := nameable(field+" :hosts", h); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptText refuses what msb, whose texts are UTF-8, would change or stumble over.
func acceptText(_, s *sandbox.Spec) error {
	bad := func(field, why string) error { return &sandbox.FieldError{Field: field, Text: why} }
	for i, a := range s.Argv {
		if !utf8.ValidString(a) {
			return bad(":argv", fmt.Sprintf("%d: got bytes that are no UTF-8, want text for msb", i))
		}
	}
	for k, v := range s.Env {
		if !utf8.ValidString(v) {
			return bad(":env", k+": got bytes that are no UTF-8, want text for msb")
		}
		if strings.HasPrefix(k, "ZENO_IN_") {
			return bad(":env", "got the name "+k+", which carries standard input, want another")
		}
	}
	return acceptIn(s.In)
}

func acceptIn(in string) error {
	switch {
	case len(in) > MaxIn:
		return &sandbox.FieldError{Field: ":in", Text: fmt.Sprintf("got %d bytes, want at most %d for msb: put it in the volume", len(in), MaxIn)}
	case !utf8.ValidString(in) || strings.IndexByte(in, 0) >= 0:
		return &sandbox.FieldError{Field: ":in", Text: "got NUL or bytes that are no UTF-8, want text for msb: put it in the volume"}
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
