package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/sandbox"
)

// sandboxCmd is `zeno sandbox …`: boxes.
type sandboxCmd struct {
	Go   sandboxRun  `cmd:"" name:"run" help:"Run a program in a box."`
	PS   sandboxPS   `cmd:"" name:"ps" help:"List the live boxes of the home."`
	Stop sandboxStop `cmd:"" help:"End boxes and everything in them."`
	Exec sandboxExec `cmd:"" help:"Run one more program in a live box."`
}

type sandboxRun struct {
	Profile string        `placeholder:"FILE.joke" help:"A profile: one map, such as {:egress {:allow [\"pkg.example.net\"]} :memory \"1G\"}. Flags are put over it."`
	Name    string        `placeholder:"NAME" help:"What ps, stop and exec know it by."`
	Image   string        `placeholder:"IMAGE" help:"What it runs on. Default: a read-only view of this machine's programs."`
	Volume  string        `placeholder:"NAME" help:"A volume of the home, kept, as its working directory. Default: a directory that ends with the box."`
	Allow   []string      `placeholder:"HOST" sep:"none" help:"A host it may reach, such as pkg.example.net, *.example.org or llm.lan:8443. May be given several times. Default: no network."`
	Secret  []string      `placeholder:"ENV@HOST[,HOST]" sep:"none" help:"A variable of zeno's environment whose value is put in toward these hosts; the box holds a placeholder. May be given several times."`
	Env     []string      `placeholder:"NAME=VALUE" sep:"none" help:"A variable of the box. May be given several times."`
	Memory  string        `placeholder:"1G" help:"Default 2G."`
	CPUs    float64       `name:"cpus" placeholder:"N" help:"Processors. Default 2."`
	Timeout time.Duration `placeholder:"20m" help:"When it ends at the latest."`
	Backend string        `placeholder:"NAME" help:"Default: native."`
	Argv    []string      `arg:"" help:"The program and its arguments, after --."`
}

type sandboxPS struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

type sandboxStop struct {
	Names []string `arg:"" help:"Names, as ps lists them."`
}

type sandboxExec struct {
	Env     []string      `placeholder:"NAME=VALUE" sep:"none" help:"A variable, over the box's own. May be given several times."`
	Timeout time.Duration `placeholder:"20m" help:"When the program ends at the latest."`
	Stdin   bool          `short:"i" help:"Give it standard input, which is read to its end first."`
	Name    string        `arg:"" help:"The box, as ps lists it."`
	Argv    []string      `arg:"" help:"The program and its arguments, after --."`
}

// The exit codes of zeno's own where the program's are passed on.
const (
	exitNoBox   = 125 // no box was made
	exitTimeout = 124 // the program was ended for its --timeout
)

// Help implements kong.HelpProvider.
func (sandboxRun) Help() string {
	return `The program has the bounds, files and network that are declared and nothing else; what this machine cannot enforce is refused (` + "`zeno doctor`" + ` says what it can). Input and output are passed on as they come. Exits with the program's code; 124 where its --timeout ended it, 125 where no box could be made, 137 where it was killed.

Examples:

  zeno sandbox run -- make test

  zeno sandbox run --allow pkg.example.net --allow files.example.net --volume py -- pip install -i https://pkg.example.net/simple --target /work/lib requests

  GH_TOKEN=… zeno sandbox run --allow api.github.com --secret GH_TOKEN@api.github.com -- curl -s -H 'Authorization: Bearer $MSB_GH_TOKEN' https://api.github.com/user`
}

// Help implements kong.HelpProvider.
func (sandboxPS) Help() string {
	return `Lists those of every zeno on the home, spawns' among them.

Example:

  zeno sandbox ps --json | jq -r '.[].name'`
}

// Help implements kong.HelpProvider.
func (sandboxStop) Help() string {
	return `An agent whose box is stopped ends as :cancelled.

Example:

  zeno sandbox stop a1`
}

// Help implements kong.HelpProvider.
func (sandboxExec) Help() string {
	return `The box must be one of the zeno that serves the home: another's can be listed and stopped only. Exits with the program's code, as run does.

Example:

  zeno sandbox exec a1 -- ls -la /work`
}

// withBoxes gives f an instance of the home that has run nothing of it. Without a home it is one that leaves nothing.
func (a *app) withBoxes(need bool, f func(context.Context, *core.Core) error) error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	if !h.Exists() {
		if need {
			_, err := a.resolve()
			return err
		}
		h = nil
	}
	c, err := a.start(engine{home: h, idle: true})
	if err != nil {
		return err
	}
	defer a.close(c)
	return a.attend(func(ctx context.Context) error { return f(ctx, c) })
}

// Run implements `zeno sandbox run`.
func (cmd *sandboxRun) Run(a *app) error {
	spec, err := cmd.spec()
	if err != nil {
		return usage(err)
	}
	spec.Stdin, spec.Stdout, spec.Stderr, spec.MaxOut = a.std.In, a.std.Out, a.std.Err, 1
	return a.withBoxes(spec.Volume != "", func(ctx context.Context, c *core.Core) error {
		res, err := c.RunBox(ctx, spec)
		return a.boxEnded(res, err)
	})
}

// boxEnded passes a program's end on.
func (a *app) boxEnded(res sandbox.Result, err error) error {
	var field *sandbox.FieldError
	switch {
	case errors.As(err, &field):
		return usage(err)
	case err != nil:
		return &exitError{exitNoBox, err}
	case res.KilledBy == sandbox.KilledTimeout:
		fmt.Fprintln(a.std.Err, "zeno: the program was ended for its --timeout")
		return reported(exitTimeout)
	case res.KilledBy != "" && a.signals.ctx.Err() == nil:
		fmt.Fprintf(a.std.Err, "zeno: the box was ended: %s\n", res.KilledBy)
	}
	if res.Exit != 0 {
		return reported(res.Exit)
	}
	return nil
}

// spec is the profile with the flags put over it.
func (cmd *sandboxRun) spec() (s sandbox.Spec, err error) {
	var b spawn.Box
	if cmd.Profile != "" {
		if b, err = readBox(cmd.Profile); err != nil {
			return s, err
		}
	}
	s = core.BoxSpec(b)
	for to, text := range map[*string]string{&s.Name: cmd.Name, &s.Image: cmd.Image, &s.Volume: cmd.Volume, &s.Backend: cmd.Backend} {
		if text != "" {
			*to = text
		}
	}
	if cmd.CPUs != 0 {
		s.CPUs = cmd.CPUs
	}
	if cmd.Memory != "" {
		if s.Memory, err = byteSize(cmd.Memory); err != nil {
			return s, fmt.Errorf("--memory: %w", err)
		}
	}
	s.Timeout, s.Argv = cmd.Timeout, cmd.Argv
	if s.Env, err = variables(s.Env, cmd.Env); err != nil {
		return s, err
	}
	if len(cmd.Allow) > 0 && s.Egress.Default != sandbox.EgressPublic {
		s.Egress.Default = sandbox.EgressDeny
	}
	for _, host := range cmd.Allow {
		s.Egress.Allow = append(s.Egress.Allow, sandbox.Rule{Host: host})
	}
	for _, text := range cmd.Secret {
		env, hosts, ok := strings.Cut(text, "@")
		if !ok || env == "" || hosts == "" {
			return s, fmt.Errorf("--secret: got %q, want ENV@HOST, such as GH_TOKEN@api.github.com; the value is never an argument", text)
		}
		s.Secrets = append(s.Secrets, sandbox.Secret{Env: env, Hosts: strings.Split(hosts, ",")})
	}
	return s, nil
}

// readBox reads a profile.
func readBox(file string) (spawn.Box, error) {
	f, err := os.Open(file)
	if err != nil {
		return spawn.Box{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProfile+1))
	if err != nil {
		return spawn.Box{}, fmt.Errorf("failed to read the profile: %w", err)
	}
	if len(text) > maxProfile {
		return spawn.Box{}, fmt.Errorf("profile %s: got more than %d bytes", file, maxProfile)
	}
	b, err := core.ReadProfile(string(text))
	if err != nil {
		return b, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

func byteSize(text string) (int64, error) {
	t := value.NewThread(value.NewRun(context.Background(), limit.Defaults()), value.NewEnv(value.NewNamespace("user"), nil))
	var n bind.Size
	err := bind.Decode(t, value.Str(text), &n)
	return int64(n), err
}

func variables(env map[string]string, more []string) (map[string]string, error) {
	out := map[string]string{}
	for k, v := range env {
		out[k] = v
	}
	for _, text := range more {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("--env: got %q, want NAME=VALUE", text)
		}
		out[k] = v
	}
	return out, nil
}

// Run implements `zeno sandbox ps`.
func (cmd *sandboxPS) Run(a *app) error {
	return a.withBoxes(true, func(ctx context.Context, c *core.Core) error {
		list, err := c.Boxes(ctx)
		if err != nil {
			return err
		}
		if cmd.JSON {
			if list == nil {
				list = []sandbox.Body{}
			}
			return printJSON(a.std.Out, list)
		}
		rows := [][]string{{"BOX", "SINCE", "ZENO", "VOLUME", "PROGRAM"}}
		for _, b := range list {
			rows = append(rows, []string{b.Name, time.Since(b.Started).Round(time.Second).String(), fmt.Sprint(b.Owner), orDash(b.Volume), cutText(strings.Join(b.Argv, " "), 60)})
		}
		if len(rows) == 1 {
			fmt.Fprintln(a.std.Out, "no boxes")
		}
		table(a.std.Out, rows)
		return nil
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func cutText(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Run implements `zeno sandbox stop`. The zeno that serves the home is asked where there is one: it knows then why its box
// has ended, and an agent's spawn ends as cancelled.
func (cmd *sandboxStop) Run(a *app) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	c, err := a.dial(h)
	if down(err) {
		return a.withBoxes(true, func(ctx context.Context, c *core.Core) error {
			return a.stopBoxes(cmd.Names, func(name string) error { return c.StopBox(ctx, name) })
		})
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return a.stopBoxes(cmd.Names, func(name string) error {
		return c.Call(a.signals.ctx, "sandbox/stop", map[string]any{"name": name}, nil)
	})
}

func (a *app) stopBoxes(names []string, stop func(name string) error) error {
	var failed []error
	for _, name := range names {
		if err := stop(name); err != nil {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintf(a.std.Out, "stopped %s\n", name)
	}
	return errors.Join(failed...)
}

// Run implements `zeno sandbox exec`.
func (cmd *sandboxExec) Run(a *app) error {
	env, err := variables(nil, cmd.Env)
	if err != nil {
		return usage(err)
	}
	h, err := a.resolve()
	if err != nil {
		return err
	}
	in := core.BoxExec{Name: cmd.Name, ExecSpec: sandbox.ExecSpec{Argv: cmd.Argv, Env: env, Timeout: cmd.Timeout}}
	if cmd.Stdin {
		text, err := io.ReadAll(io.LimitReader(a.std.In, sandbox.MaxIn+1))
		if err != nil {
			return fmt.Errorf("failed to read standard input: %w", err)
		}
		in.In = string(text)
	}
	c, err := a.dial(h)
	if err != nil {
		return err
	}
	defer c.Close()
	var done *sandbox.Result
	err = c.Stream(a.signals.ctx, "sandbox/exec", in, func(item json.RawMessage) error {
		var o core.BoxOutput
		if err := json.Unmarshal(item, &o); err != nil {
			return err
		}
		done = o.Done
		_, err := a.std.Out.Write(o.Out)
		if err == nil {
			_, err = a.std.Err.Write(o.Err)
		}
		return err
	})
	var refused *control.Error
	switch {
	case errors.As(err, &refused):
		return &exitError{exitNoBox, err}
	case err != nil:
		return err
	case done == nil:
		return errors.New("sandbox exec: the zeno that runs the box ended before the program did")
	}
	return a.boxEnded(*done, nil)
}

// printBox prints the box of a spawn that would be started.
func printBox(out io.Writer, b *spawn.PreviewBox) {
	if b == nil {
		fmt.Fprintln(out, "box      none")
		return
	}
	fmt.Fprintf(out, "box      %s, %d MiB, egress %s\n", orHost(b.Image), b.Memory>>20, b.Egress)
	for _, l := range []struct {
		what  string
		items []string
	}{{"shows", b.Read}, {"keeps", b.Write}, {"reaches", b.Allow}, {"secret", b.Secrets}} {
		for _, item := range l.items {
			fmt.Fprintf(out, "%-8s %s\n", l.what, item)
		}
	}
}

func orHost(image string) string {
	if image == "" {
		return "host"
	}
	return image
}
