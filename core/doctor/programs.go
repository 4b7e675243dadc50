package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// agents starts each agent CLI of the table for its version.
func agents(conf Config) []attempt {
	var out []attempt
	for _, name := range slices.Sorted(maps.Keys(conf.Backends)) {
		b := conf.Backends[name]
		out = append(out, attempt{"agents", name, false, func(ctx context.Context, c *Check) {
			program := ""
			if len(b.Argv) > 0 && len(b.Argv[0].Words) > 0 {
				program = b.Argv[0].Words[0]
			}
			if _, err := look(conf.Path, program); err == nil { // else what it needs is installed with it
				for _, need := range b.Needs {
					if _, err := look(conf.Path, need); err != nil {
						c.bad(Missing, cmp.Or(hint(need), b.Install), "%s, which it runs on, is not on PATH", need)
						return
					}
				}
			}
			version(ctx, conf.Path, c, program, b.Install, "--version")
			if c.Status == OK && b.Tried != "" && !strings.Contains(c.Detail, b.Tried) {
				c.Detail += " (zeno was tried with " + b.Tried + ")"
			}
		}})
	}
	return out
}

// hints say where programs come from, on Debian unless it says otherwise.
func hint(program string) string {
	hints := map[string]string{
		"node":  "apt-get install nodejs npm",
		"bun":   "npm install -g bun",
		"nix":   "apt-get install nix-bin, or https://nixos.org/download",
		"git":   "apt-get install git",
		"bwrap": "apt-get install bubblewrap",
	}
	return hints[program]
}

// programs are what some homes need and zeno itself does not.
func programs(conf Config) []attempt {
	var out []attempt
	for _, p := range []string{"node", "bun", "nix", "git"} {
		out = append(out, attempt{"programs", p, false, func(ctx context.Context, c *Check) {
			version(ctx, conf.Path, c, p, hint(p), "--version")
		}})
	}
	return out
}

// version starts a program for its version, in a home of its own, so that it writes nothing into the user's.
func version(ctx context.Context, path string, c *Check, program, fix string, args ...string) {
	full, err := look(path, program)
	if err != nil {
		c.bad(Missing, fix, "%s is not on PATH", cmp.Or(program, "its program"))
		return
	}
	home, err := os.MkdirTemp("", "zeno-doctor-")
	if err != nil {
		c.bad(Failed, "", "%v", err)
		return
	}
	defer os.RemoveAll(home)
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, full, args...)
	said := &limited{b: &out} // one for both: os/exec then writes from one goroutine
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, said, said
	cmd.Env = []string{"HOME=" + home, "PATH=" + cmp.Or(path, os.Getenv("PATH")), "NO_COLOR=1", "CI=1", "TMPDIR=" + home}
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.New("got no answer in its time")
		}
		c.bad(Failed, fix, "%s %s: %v: %s", full, strings.Join(args, " "), err, firstLine(out.String()))
		return
	}
	c.ok("%s (%s)", versionLine(out.String()), full)
}

// look finds a program on a path that may not be this process's.
func look(path, program string) (string, error) {
	if path == "" || strings.Contains(program, "/") {
		return exec.LookPath(program)
	}
	for _, dir := range filepath.SplitList(path) {
		if full, err := exec.LookPath(filepath.Join(dir, program)); err == nil && dir != "" {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s: %w", program, exec.ErrNotFound)
}

// versionLine is the line that has the version in it: some programs warn first.
func versionLine(s string) string {
	numbers := regexp.MustCompile(`(^|[ /v])\d+\.\d+`)
	for line := range strings.Lines(s) {
		if numbers.MatchString(line) {
			return firstLine(line)
		}
	}
	return firstLine(s)
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	s, _, _ = strings.Cut(s, "\n")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 120 {
		s = string(r[:120]) + "…"
	}
	return s
}

// limited keeps the first 4 KB of what is written.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 4096 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// list joins names in a fixed order.
func list(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
