package stdlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// linger is how long what a command printed is still waited for once it has ended: something that it left running may
// hold its output open.
const linger = 2 * time.Second

const resultDoc = " The result is a map of :success, whether it ended well; :exit, its exit code, -1 where it did not start or was killed; :out and :err, what it printed; and, when not :success, :err-msg."

// osCommands runs programs.
func (h *Host) osCommands() []value.Builtin {
	return []value.Builtin{
		def("sh", "([name & arguments])", "Runs a program with arguments and waits for it."+resultDoc,
			func(t *Thread, name string, args ...string) Value {
				return h.command(t, "sh", name, command{Args: args})
			}),
		def("sh-from", "([dir name & arguments])", "As sh, in the directory dir.",
			func(t *Thread, dir, name string, args ...string) Value {
				return h.command(t, "sh-from", name, command{Args: args, Dir: dir})
			}),
		def("exec", "([name opts])", "Runs a program and waits for it. Options: :args a vector of strings; :dir where it runs; :env a map of variables besides the program's own; :stdin a string, a reader, or :pipe for what *in* reads; :stdout and :stderr writers, which then get what would be :out and :err; :timeout after which it is killed, such as \"30s\"; :max-output the most bytes of :out and :err each."+resultDoc,
			func(t *Thread, name string, c *command) Value { return h.command(t, "exec", name, c.orZero()) }),
		def("start", "([name opts])", "Starts a program without waiting for it, and gives the number of its process. Options as of exec; what it prints is dropped unless :stdout and :stderr say where it goes. It is killed when the program ends.",
			func(t *Thread, name string, c *command) Value { return h.start(t, name, c.orZero()) }),
	}
}

// command is what exec takes as options.
type command struct {
	Args      []string
	Dir       string
	Env       map[string]string
	Stdin     Value
	Stdout    Value
	Stderr    Value
	Timeout   bind.Duration
	MaxOutput bind.Size
}

func (c *command) orZero() command {
	if c == nil {
		return command{}
	}
	return *c
}

// command runs one to its end.
func (h *Host) command(t *Thread, who, name string, c command) Value {
	limit := int64(c.MaxOutput)
	if limit <= 0 {
		limit = h.MaxOutput
	}
	stdin, stdout, stderr := c.streams(t, who)
	r, _ := beside(t, func(ctx context.Context) (*outcome, error) {
		ctx, cancel := within(ctx, time.Duration(c.Timeout))
		defer cancel()
		ctx, kill := context.WithCancelCause(ctx)
		defer kill(nil)
		r := &outcome{out: capture{limit: limit, over: kill}, err: capture{limit: limit, over: kill}}
		cmd := h.prepare(ctx, name, c)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, r.out.or(stdout), r.err.or(stderr)
		r.end(ctx, cmd.Run(), cmd, c)
		return r, nil
	})
	if r == nil {
		panic(value.Errorf("InternalError", "%s: failed to run %s", who, name))
	}
	if r.over {
		panic(value.Errorf("IOException", "%s: stopped %s, which printed more than %d bytes; send its output to a file with :stdout, or raise :max-output", who, name, limit))
	}
	c.pass(t, r)
	return r.show(t, c.Stdout.IsNil(), c.Stderr.IsNil())
}

// pass prints what was captured for writers of the language's own.
func (c command) pass(t *Thread, r *outcome) {
	if stream(c.Stdout, "writer") {
		printTo(t, c.Stdout, r.out.take())
	}
	if stream(c.Stderr, "writer") {
		printTo(t, c.Stderr, r.err.take())
	}
}

// streams gives what the options redirect; nil for what they do not.
func (c command) streams(t *Thread, who string) (in io.Reader, out, errs io.Writer) {
	switch {
	case c.Stdin.Kind() == value.KindString:
		in = strings.NewReader(c.Stdin.Text())
	case value.Identical(c.Stdin, value.Kw("pipe")): // as Joker says it: what this program is given to read
		if v := t.Env.Core.Var("*in*"); v != nil {
			in = readerOf(t, who, v.Get(t))
		}
	case !c.Stdin.IsNil():
		in = readerOf(t, who, c.Stdin)
	}
	return in, target(t, who, c.Stdout), target(t, who, c.Stderr)
}

// target is where a command writes by itself: to the file behind v, rather than by a pipe to it. It is nil where the
// output is captured.
func target(t *Thread, who string, v Value) io.Writer {
	if f, ok := value.HostOf[*file](v); ok {
		return f.File
	}
	if w, ok := value.HostOf[io.Writer](v); ok {
		return w
	}
	if v.IsNil() || stream(v, "writer") {
		return nil
	}
	panic(value.TypeError(t, who, v, "a writer, such as (joker.os/create …) gives, or *out*"))
}

// prepare makes the command in a process group of its own, which ends with ctx.
func (h *Host) prepare(ctx context.Context, name string, c command) *exec.Cmd {
	dir, err := h.abs(c.Dir)
	cmd := exec.CommandContext(ctx, h.program(name), c.Args...)
	cmd.Args[0] = name
	if err == nil {
		cmd.Dir = dir
	}
	if cmd.Path == name && !strings.Contains(name, "/") {
		cmd.Err = fmt.Errorf("no program %s on PATH", name)
	}
	cmd.Env = h.environ(c.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = linger
	return cmd
}

// program finds a program on the PATH of the host; it gives name itself where there is none.
func (h *Host) program(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range filepath.SplitList(h.getenv("PATH")) {
		path := h.path(filepath.Join(dir, name))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return name
}

// outcome is how a command ended.
type outcome struct {
	out, err capture
	code     int
	message  string // why it did not end well; "" when it did
	over     bool   // it printed too much
}

func (r *outcome) end(ctx context.Context, err error, cmd *exec.Cmd, c command) {
	r.code = cmd.ProcessState.ExitCode()
	r.over = errors.Is(context.Cause(ctx), errOutput)
	switch {
	case errors.Is(err, exec.ErrWaitDelay) && r.code == 0:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.message = fmt.Sprintf("killed after %s", time.Duration(c.Timeout))
	case err != nil && cmd.ProcessState == nil:
		r.message = "failed to start: " + reason(err)
	case err != nil:
		r.message = err.Error()
	}
}

func (r *outcome) show(t *Thread, out, err bool) Value {
	kvs := []Value{value.Kw("success"), value.Bool(r.message == ""), value.Kw("exit"), value.Int(int64(r.code))}
	if out {
		kvs = append(kvs, value.Kw("out"), str(t, r.out.take()))
	}
	if err {
		kvs = append(kvs, value.Kw("err"), str(t, r.err.take()))
	}
	if r.message != "" {
		kvs = append(kvs, value.Kw("err-msg"), str(t, r.message))
	}
	return value.NewMap(t, kvs...)
}

var errOutput = errors.New("too much output")

// capture keeps what a command prints, up to a limit.
type capture struct {
	mu    sync.Mutex // the command's copier may outlive the wait for it
	b     bytes.Buffer
	limit int64
	over  context.CancelCauseFunc
}

// or gives w, or the capture where there is none.
func (c *capture) or(w io.Writer) io.Writer {
	if w == nil {
		return c
	}
	return w
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(c.b.Len()+len(p)) > c.limit {
		c.over(errOutput)
		return 0, errOutput
	}
	return c.b.Write(p)
}

func (c *capture) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.b.String()
	c.b.Reset()
	return s
}

// start starts a command that lives as long as the environment.
func (h *Host) start(t *Thread, name string, c command) Value {
	stdin, stdout, stderr := c.streams(t, "start")
	ctx, cancel := within(lifetime(t), time.Duration(c.Timeout))
	cmd := h.prepare(ctx, name, c)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		cancel()
		panic(failed("start", "start", name, err))
	}
	go func() { // ends with the process, which ends with the environment
		defer cancel()
		_ = cmd.Wait()
	}()
	return value.Int(int64(cmd.Process.Pid))
}
