package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ErrMissing is in the error of a resolver that found no value.
var ErrMissing = errors.New("no value")

// Resolver finds the value of a secret by the name it has in the box's environment. An error says where it looked and what
// to do, and never holds a value.
type Resolver interface {
	Resolve(ctx context.Context, name string) (Value, error)
}

// Func is a function as a Resolver.
type Func func(ctx context.Context, name string) (Value, error)

// Resolve calls f.
func (f Func) Resolve(ctx context.Context, name string) (Value, error) { return f(ctx, name) }

// Env reads the environment of this process.
type Env struct {
	// Var is the variable. Empty: the secret's own name.
	Var string
	// Lookup finds a variable. Nil: os.LookupEnv.
	Lookup func(string) (string, bool)
}

// Resolve implements Resolver.
func (e Env) Resolve(_ context.Context, name string) (Value, error) {
	key, lookup := e.Var, e.Lookup
	if key == "" {
		key = name
	}
	if lookup == nil {
		lookup = os.LookupEnv
	}
	text, ok := lookup(key)
	if !ok || text == "" {
		return Value{}, fmt.Errorf("secret %s: %w: the environment variable %s is not set; set it where zeno runs", name, ErrMissing, key)
	}
	return named(name, text)
}

// File reads a file, such as one that a service manager mounts. One line end at its end is taken off.
type File struct{ Path string }

// Resolve implements Resolver.
func (f File) Resolve(_ context.Context, name string) (Value, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return Value{}, fmt.Errorf("secret %s: %w: the file %s does not exist", name, ErrMissing, f.Path)
		}
		return Value{}, fmt.Errorf("secret %s: failed to open its file: %w", name, err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, MaxBytes+3))
	if err != nil {
		return Value{}, fmt.Errorf("secret %s: failed to read its file: %w", name, err)
	}
	return named(name, chomp(string(b)))
}

// ExecTimeout is how long a command may take where Exec names no other time.
const ExecTimeout = 30 * time.Second

// Exec runs a command, without a shell, and takes what it prints. One line end at its end is taken off.
type Exec struct {
	Argv []string
	// Timeout ends the command. Zero: ExecTimeout.
	Timeout time.Duration
	// Env is the command's environment. Nil: that of this process.
	Env []string
}

// Resolve implements Resolver. What the command printed is in no error: a password manager that fails half way may have
// printed a part. What it wrote to stderr is left out for the same reason.
func (e Exec) Resolve(ctx context.Context, name string) (Value, error) {
	if len(e.Argv) == 0 {
		return Value{}, fmt.Errorf("secret %s: exec: got no command, want one, such as [\"pass\" \"show\" \"x\"]", name)
	}
	limit := e.Timeout
	if limit <= 0 {
		limit = ExecTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...)
	cmd.Env, cmd.WaitDelay = e.Env, time.Second
	out := &bounded{max: MaxBytes + 2}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		if cause := ctx.Err(); cause != nil {
			return Value{}, fmt.Errorf("secret %s: the command %s did not end within %v: %w", name, e.Argv[0], limit, cause)
		}
		return Value{}, fmt.Errorf("secret %s: %w: the command %s failed (%w); run it by hand to see why", name, ErrMissing, e.Argv[0], err)
	}
	text := chomp(out.buf.String())
	if text == "" {
		return Value{}, fmt.Errorf("secret %s: %w: the command %s printed nothing", name, ErrMissing, e.Argv[0])
	}
	return named(name, text)
}

// bounded keeps the first max+1 bytes, so that one that is too long is seen to be.
type bounded struct {
	buf bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max + 1 - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func chomp(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }

func named(name, text string) (Value, error) {
	v, err := New(text)
	if err != nil {
		return Value{}, fmt.Errorf("secret %s: %w", name, err)
	}
	return v, nil
}
