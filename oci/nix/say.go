package nix

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

var errNoAttribute = errors.New("no such package")

// keep bounds what is kept of nix's messages: the end, which has the error.
const keep = 64 << 10

// lines tells of each line and keeps the last ones.
type lines struct {
	tell func(string)
	part []byte
	kept []byte
}

func (l *lines) Write(b []byte) (int, error) {
	if l.kept = append(l.kept, b...); len(l.kept) > 2*keep {
		l.kept = append([]byte{}, l.kept[len(l.kept)-keep:]...)
	}
	for _, c := range b {
		if c != '\n' && len(l.part) < 4096 {
			l.part = append(l.part, c)
			continue
		}
		if l.tell != nil && len(l.part) > 0 {
			l.tell(string(l.part))
		}
		l.part = l.part[:0]
	}
	return len(b), nil
}

func (l *lines) text() string { return strings.ToValidUTF8(string(l.kept), "�") }

// limited refuses more than a bound.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errors.New("nix said more than 256 MiB")
	}
	return l.w.Write(b)
}

// classify makes one line of what nix said, with the package's name and what to do. Warnings, such as of a cache that is
// down, are not why it failed.
func classify(name, system, stderr string, err error) error {
	stderr = withoutWarnings(stderr)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(stderr, p) {
				return true
			}
		}
		return false
	}
	flake, _, found := strings.Cut(name, "#")
	if !found {
		flake = "nixpkgs"
	}
	switch {
	case has("does not provide attribute"):
		return fmt.Errorf("package %s: %w for %s in %s%s", name, errNoAttribute, system, flake, meant(stderr))
	case has("is not a derivation", "does not have a corresponding derivation", "expected a derivation", "to be a derivation or path"):
		return fmt.Errorf("package %s: got an attribute that is no package: name one that is", name)
	case has("refusing to evaluate"):
		return fmt.Errorf("package %s: nix refuses it: %s: name a flake whose configuration of nixpkgs allows it", name, firstError(stderr, err))
	case has("is required to build", "required system or feature not available", "platform mismatch"):
		return fmt.Errorf("package %s: this machine cannot build for %s, and no cache has it built: name a builder or a cache in nix.conf", name, required(stderr, system))
	case has("experimental Nix feature", "experimental feature"):
		return fmt.Errorf("package %s: nix has its features nix-command or flakes switched off: allow them in nix.conf (experimental-features = nix-command flakes)", name)
	case has("builder for '", "Cannot build '", "build of '", "dependencies of derivation"):
		return fmt.Errorf("package %s: failed to build%s", name, log(stderr))
	case has("cannot find flake"):
		return fmt.Errorf("package %s: nix knows no flake called %s: give its address, such as github:NixOS/nixpkgs", name, flake)
	case has("Couldn't resolve host", "unable to download", "Could not resolve host", "Couldn't connect"):
		return fmt.Errorf("package %s: no network, or %s is not there: nix could not download it: %s", name, flake, firstError(stderr, err))
	case has("cannot connect to socket", "cannot connect to daemon"):
		return fmt.Errorf("package %s: the nix daemon does not answer: start it (systemctl start nix-daemon)", name)
	}
	return fmt.Errorf("package %s: nix failed: %s", name, firstError(stderr, err))
}

func withoutWarnings(stderr string) string {
	var out strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "warning: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// required is the system that a derivation wants, which may be another than the one that was asked for.
func required(stderr, system string) string {
	m := regexp.MustCompile(`(?:a '|Required system: ')([a-z0-9_]+-[a-z0-9_]+)'`).FindStringSubmatch(stderr)
	if m == nil {
		return system
	}
	return m[1]
}

func meant(stderr string) string {
	m := regexp.MustCompile(`Did you mean ([^?\n]+)\?`).FindStringSubmatch(stderr)
	if m == nil {
		return ""
	}
	return " (did you mean " + m[1] + "?)"
}

// log gives which derivation failed and its last line.
func log(stderr string) string {
	out := ""
	if m := regexp.MustCompile(`(?:builder for|Cannot build) '/nix/store/[a-z0-9]{32}-([^']+)\.drv'`).FindStringSubmatch(stderr); m != nil {
		out = " " + m[1]
	}
	var last string
	for _, l := range strings.Split(stderr, "\n") {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "> ") {
			last = l[2:]
		}
	}
	if last != "" {
		out += ": " + clip(last)
	}
	if m := regexp.MustCompile(`nix log (/nix/store/[^'\s]+)`).FindStringSubmatch(stderr); m != nil {
		out += "; `nix log " + m[1] + "` has all of it"
	}
	return out
}

func firstError(stderr string, err error) string {
	for _, l := range strings.Split(stderr, "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(l), "error: "); ok {
			return clip(rest)
		}
	}
	return err.Error()
}

func clip(s string) string {
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
