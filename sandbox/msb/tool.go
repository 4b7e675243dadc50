package msb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

// Package is the npm package that has the program for x86-64 Linux.
const Package = "@superradcompany/microsandbox-linux-x64-gnu@0.6.18"

// wantVersion is how the versions begin whose words this package speaks.
const wantVersion = "0.6."

const installFix = "npm i " + Package + " and put the package's bin directory into PATH, or set MSB_HOME to a directory that has bin/msb"

// bounds of the short commands, and how much of what they print is read.
const (
	shortTime = 30 * time.Second
	maxOutput = 1 << 20

	// removeTime is how long a box that is being killed is waited for.
	removeTime = 30 * time.Second
)

// tool is the program, found.
type tool struct {
	path string
	env  []string
}

// look finds the program and gives what is wrong as an *sandbox.Unenforceable.
func (b *Backend) look() (*tool, error) {
	if b.home == "" {
		return nil, refuse("a microVM", "neither MSB_HOME nor HOME is set", "set MSB_HOME to the directory for msb's images and volumes")
	}
	for _, dir := range append([]string{filepath.Join(b.home, "bin")}, filepath.SplitList(b.cfg.Getenv("PATH"))...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, "msb")
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return &tool{path: path, env: b.launcherEnv()}, nil
		}
	}
	return nil, refuse("a microVM", "msb is neither in MSB_HOME/bin nor in PATH", installFix)
}

// launcherEnv is what msb sees of this process's environment. A profile of msb's own could lead it into a cloud.
func (b *Backend) launcherEnv() []string {
	env := []string{"MSB_HOME=" + b.home, "MSB_BACKEND=local"}
	for _, k := range []string{"PATH", "HOME", "MSB_LIBKRUNFW_PATH", "TMPDIR"} {
		if v := b.cfg.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// tool finds the program and tries what it needs; once that went well it is not tried again.
func (b *Backend) tool(ctx context.Context) (*tool, error) {
	b.toolMu.Lock()
	defer b.toolMu.Unlock()
	if b.found != nil {
		return b.found, nil
	}
	t, err := b.look()
	if err != nil {
		return nil, err
	}
	if err := t.version(ctx); err != nil {
		return nil, err
	}
	if err := t.virtual(ctx); err != nil {
		return nil, err
	}
	b.found = t
	return t, nil
}

func (t *tool) version(ctx context.Context) error {
	out, errs, err := t.short(ctx, "--version")
	got := strings.TrimPrefix(strings.TrimSpace(out), "msb ")
	switch {
	case err != nil:
		return refuse("a microVM", fmt.Sprintf("%s does not run: %v %s", t.path, err, errs), installFix)
	case !strings.HasPrefix(got, wantVersion):
		return refuse("a microVM", fmt.Sprintf("got msb %s, want 0.6", clip(got, 40)), installFix)
	}
	return nil
}

// virtual asks msb whether a machine can be made here. Without that `msb create` tries for a minute and a half. A machine
// that /dev/kvm makes is no sign: it may not run.
func (t *tool) virtual(ctx context.Context) error {
	out, errs, err := t.short(ctx, "doctor")
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why, fixes := doctorSays(errs + "\n" + out)
	if len(fixes) == 0 {
		fixes = []string{"run `msb doctor`; a box needs /dev/kvm (in a container: --device /dev/kvm), or use :backend :native"}
	}
	return refuse("a microVM", clip(why, 300), clip(strings.Join(fixes, "; "), 600))
}

// doctorSays takes the errors out of what `msb doctor` prints, and the advice below them; the advice below warnings is not
// what a box lacks.
func doctorSays(text string) (why string, fixes []string) {
	inError := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if advice, ok := strings.CutPrefix(line, "→ "); ok {
			if inError {
				fixes = append(fixes, advice)
			}
			continue
		}
		var what string
		if what, inError = strings.CutPrefix(line, "error: "); inError && why == "" {
			why = what
		}
	}
	if why == "" {
		why = "msb doctor failed"
	}
	return why, fixes
}

// command is a call of msb with nothing to read. It has a process group of its own, that an interrupt at the terminal does
// not reach and that is ended with ctx.
func (t *tool) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Env = append(append([]string{}, t.env...), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// short runs a command that ends by itself and gives what it printed.
func (t *tool) short(ctx context.Context, args ...string) (out, errs string, err error) {
	ctx, cancel := context.WithTimeout(ctx, shortTime)
	defer cancel()
	return t.finish(ctx, nil, args...)
}

// finish runs a command until it exits. Its output is a file: a machine that it leaves running would hold a pipe open.
func (t *tool) finish(ctx context.Context, env []string, args ...string) (out, errs string, err error) {
	var files [2]*os.File
	for i := range files {
		if files[i], err = scratch(); err != nil {
			return "", "", err
		}
		defer files[i].Close()
	}
	cmd := t.command(ctx, env, args...)
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	err = cmd.Run()
	return head(files[0]), strings.TrimSpace(head(files[1])), err
}

// scratch is a file without a name.
func scratch() (*os.File, error) {
	f, err := os.CreateTemp("", "zeno-msb-")
	if err != nil {
		return nil, fmt.Errorf("msb: failed to keep its output: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.Close()
		return nil, fmt.Errorf("msb: failed to keep its output: %w", err)
	}
	return f, nil
}

func head(f *os.File) string {
	buf := make([]byte, maxOutput)
	n, _ := f.ReadAt(buf, 0)
	return strings.ToValidUTF8(string(buf[:n]), "�")
}

// exitCode is that of a command that ran; -1 where a signal ended it or it did not start.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// ensureVolume makes a volume that is not there. `msb volume create` of one that is there fails like any other failure,
// with exit code 1: only its words tell.
func (t *tool) ensureVolume(ctx context.Context, name string) (made bool, err error) {
	if !sandbox.ValidName(name) {
		return false, &sandbox.FieldError{Field: ":volume", Text: fmt.Sprintf("got %q, want a-z, 0-9, '.', '_' and '-', at most 63, beginning with a letter or digit", clip(name, 80))}
	}
	_, errs, err := t.short(ctx, "volume", "create", "-q", name)
	switch {
	case err == nil:
		return true, nil
	case strings.Contains(errs, "already exists"):
		return false, nil
	}
	return false, fmt.Errorf("msb: failed to make volume %s: %w: %s", name, err, clip(errs, 500))
}

// remove ends a box and what is kept of it. One that is not there is no error; with -q msb would not say that.
func (t *tool) remove(ctx context.Context, name string) error {
	_, errs, err := t.short(ctx, "remove", "-f", prefix+name)
	for end := time.Now().Add(removeTime); err != nil && strings.Contains(errs, "lifecycle lock") && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(100 * time.Millisecond) // what made the box was killed, and is about to be gone
		_, errs, err = t.short(ctx, "remove", "-f", prefix+name)
	}
	if err == nil || strings.Contains(errs, "not found") {
		return nil
	}
	return fmt.Errorf("msb: failed to remove box %s: %w: %s", name, err, clip(errs, 500))
}

// running says whether a box runs, as msb sees it.
func (t *tool) running(ctx context.Context, name string) (bool, error) {
	out, errs, err := t.short(ctx, "inspect", "--format", "json", prefix+name)
	if err != nil && strings.Contains(errs, "not found") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("msb: failed to ask for box %s: %w: %s", name, err, clip(errs, 500))
	}
	return strings.EqualFold(statusOf(out), "running"), nil
}
