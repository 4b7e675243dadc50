package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/core/rehearsal"
	"github.com/reflection-dev/zeno/internal/confine"
)

// dryRunCmd is `zeno dry-run`. It goes through three processes: the first copies the home to a temporary directory,
// waits, and removes it; the second takes from itself the right to write anywhere else and becomes the third, which runs
// the copy.
type dryRunCmd struct {
	Dir        string        `arg:"" optional:"" placeholder:"HOME" help:"The home. Default: as for every command."`
	For        time.Duration `default:"24h" help:"How much virtual time passes."`
	Within     time.Duration `default:"10m" help:"How long it may really take."`
	Allow      []string      `placeholder:"WHAT" enum:"net,exec" help:"Let the program do what is refused else: net (GET and HEAD requests), exec (commands). May be given several times."`
	Unconfined bool          `help:"Run also where the kernel cannot keep the program from writing elsewhere."`
	JSON       bool          `name:"json" help:"Print the outcome as JSON."`

	Stage  string `hidden:"" enum:",confine,run" default:""`
	Origin string `hidden:"" help:"The home that was copied."`
}

// Help implements kong.HelpProvider.
func (dryRunCmd) Help() string {
	return `Copies the home to a temporary directory and runs its processes there on a virtual clock. Agents are played by stand-ins over the real endpoint: scripted ones of the home play themselves. Capabilities that write are recorded and not called, those that read are called; questions are answered by their default. What the program itself would send, mail or start is refused, and it can write in the copy only. dry_run.joke of the home, loaded after init.joke, may name stand-ins: (zeno.dry-run/agent! :role f), (zeno.dry-run/capability! "name" f), (zeno.dry-run/answer! f).

Exits 0 where nothing failed, 1 where the home does not load, a process or a spawn failed, or the time was too short.

Examples:

  zeno dry-run mine --for 24h

  zeno dry-run mine --for 1h --allow net --json | jq '.lines[] | select(.kind == "write")'`
}

// Run implements `zeno dry-run`.
func (d *dryRunCmd) Run(a *app) error {
	if d.For < 0 || d.Within <= 0 {
		return usage(fmt.Errorf("--for, --within: got %v and %v, want durations such as 24h and 10m", d.For, d.Within))
	}
	switch d.Stage {
	case "confine":
		return d.confine(a)
	case "run":
		return d.rehearse(a)
	}
	dir := d.Dir
	if dir == "" {
		dir = a.home
	}
	h, err := home.Resolve(dir, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	if !h.Exists() {
		return usage(fmt.Errorf("home: %s does not exist; `zeno init %s` makes one", h.Dir, quote(h.Dir)))
	}
	temp, err := os.MkdirTemp("", "zeno-dry-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, sub := range []string{"tmp", "home"} {
		if err := os.Mkdir(filepath.Join(temp, sub), 0o700); err != nil {
			return err
		}
	}
	if err := copyHome(a.signals.ctx, h.Dir, filepath.Join(temp, "home")); err != nil {
		return fmt.Errorf("dry-run: failed to copy the home: %w", err)
	}
	return d.child(a, temp, h.Dir)
}

// child runs the copy in a process of its own, and hands signals on to it.
func (d *dryRunCmd) child(a *app, temp, origin string) error {
	stage := "confine"
	if d.Unconfined {
		stage = "run"
	}
	args := []string{"dry-run", filepath.Join(temp, "home"), "--stage=" + stage, "--origin=" + origin,
		"--for=" + d.For.String(), "--within=" + d.Within.String(), fmt.Sprintf("--json=%v", d.JSON)}
	for _, what := range d.Allow {
		args = append(args, "--allow="+what)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") }), "TMPDIR="+filepath.Join(temp, "tmp"))
	cmd.Stdout, cmd.Stderr = a.std.Out, a.std.Err
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("dry-run: failed to start: %w", err)
	}
	defer forward(a, cmd.Process)()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return reported(max(exit.ExitCode(), ExitFailed))
	}
	return err
}

// forward ends the process soon after this one is told to end.
func forward(a *app, p *os.Process) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-a.signals.ctx.Done():
			_ = p.Signal(syscall.SIGTERM)
			select {
			case <-done:
			case <-time.After(2 * closeTime):
				_ = p.Kill()
			}
		case <-done:
		}
	}()
	return func() { close(done) }
}

func (d *dryRunCmd) confine(*app) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := slices.Clone(os.Args)
	for i := range args {
		if args[i] == "--stage=confine" {
			args[i] = "--stage=run"
		}
	}
	err = confine.Exec([]string{filepath.Dir(d.Dir)}, self, args, os.Environ())
	return fmt.Errorf("dry-run: %w; --unconfined runs it all the same, and then the program can write anywhere", err)
}

// rehearse runs the copy.
func (d *dryRunCmd) rehearse(a *app) error {
	signal.Ignore(syscall.SIGPIPE)
	h, err := home.Resolve(d.Dir, a.std.Getenv)
	if err != nil {
		return err
	}
	h.Origin = d.Origin
	clock := loop.NewVirtual(time.Now())
	c, err := core.New(core.Config{Home: h, Out: a.std.Err, Err: a.std.Err, Version: version(), Exit: a.exit, Clock: clock,
		Journal:   &journal.Memory{Now: clock.Now},
		Rehearsal: &core.Rehearsal{AllowNet: slices.Contains(d.Allow, "net"), AllowExec: slices.Contains(d.Allow, "exec")}})
	if err != nil {
		return err
	}
	defer a.close(c)
	return a.attend(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, d.Within, fmt.Errorf("it took longer than --within %v", d.Within))
		defer cancel()
		rep, err := c.Rehearse(ctx, d.For)
		if d.JSON {
			err = errors.Join(err, printJSON(a.std.Out, rep))
		} else {
			printRehearsal(a.std.Out, rep)
		}
		if err != nil || rehearsalFailed(rep) {
			return reported(ExitFailed)
		}
		return nil
	})
}

func rehearsalFailed(rep rehearsal.Report) bool {
	return slices.ContainsFunc(rep.Lines, func(l rehearsal.Line) bool {
		return (l.Kind == rehearsal.Process || l.Kind == rehearsal.Spawn) && l.Outcome != "ok" && l.Outcome != "interrupted"
	})
}

// printRehearsal tells a person what would have happened.
func printRehearsal(w io.Writer, rep rehearsal.Report) {
	fmt.Fprintf(w, "dry run of %v, from %s\n", rep.To.Sub(rep.From).Round(time.Second), rep.From.Format("2006-01-02 15:04:05 -0700"))
	titles := map[rehearsal.Kind]string{rehearsal.Process: "processes", rehearsal.Spawn: "spawns (played by stand-ins)",
		rehearsal.Call: "capabilities that read (called)", rehearsal.Write: "capabilities that write (recorded, not called)",
		rehearsal.Ask: "questions (answered by the dry run)", rehearsal.Effect: "what the program itself would do (refused)"}
	var kind rehearsal.Kind
	for _, l := range rep.Lines {
		if l.Kind != kind {
			kind = l.Kind
			fmt.Fprintln(w, "\n"+titles[kind])
		}
		fmt.Fprintf(w, "  %6d  %-11s %s", l.Count, l.Outcome, l.What)
		if l.Detail != "" {
			fmt.Fprintf(w, "  %s", clipped(l.Detail, 100))
		}
		fmt.Fprintln(w)
	}
	if rep.Others > 0 {
		fmt.Fprintf(w, "  and %d others\n", rep.Others)
	}
	printRehearsedBudgets(w, rep.Budgets)
	printMoments(w, rep)
	if rep.Stopped != "" {
		fmt.Fprintf(w, "\nstopped early: %s\n", rep.Stopped)
	}
}

func printRehearsedBudgets(w io.Writer, budgets []rehearsal.Budget) {
	if len(budgets) == 0 {
		return
	}
	fmt.Fprintln(w, "\nbudgets (in the period under way at the end)")
	of := func(used, most int64) string {
		if most == 0 {
			return fmt.Sprint(used)
		}
		return fmt.Sprintf("%d of %d", used, most)
	}
	for _, b := range budgets {
		fmt.Fprintf(w, "  %-11s per %s: spawns %d, evals %s, calls %s", b.Role, b.Per, b.Spawns, of(b.Evals, b.MaxEvals), of(b.Calls, b.MaxCalls))
		if b.MaxWall > 0 {
			fmt.Fprintf(w, ", wall %v of %v", b.Wall.Round(time.Second), b.MaxWall)
		}
		if b.Tokens > 0 || b.MaxTokens > 0 {
			fmt.Fprintf(w, ", tokens %s", of(b.Tokens, b.MaxTokens))
		}
		if b.USD > 0 || b.MaxUSD > 0 {
			fmt.Fprintf(w, ", usd %.4g", b.USD)
		}
		if b.MaxUSD > 0 {
			fmt.Fprintf(w, " of %.4g", b.MaxUSD)
		}
		fmt.Fprintln(w)
	}
}

// shownMoments is how much of the timeline a person sees; --json has more.
const shownMoments = 40

func printMoments(w io.Writer, rep rehearsal.Report) {
	if len(rep.Timeline) == 0 {
		return
	}
	fmt.Fprintln(w, "\ntimeline")
	for _, m := range rep.Timeline[:min(shownMoments, len(rep.Timeline))] {
		fmt.Fprintf(w, "  %s  %-8s %s %s  %s\n", m.At.Format("01-02 15:04:05"), m.Kind, m.What, m.Outcome, clipped(m.Detail, 80))
	}
	if more := len(rep.Timeline) - shownMoments + rep.More; more > 0 {
		fmt.Fprintf(w, "  … %d more; --json has the first %d\n", more, rehearsal.MaxMoment)
	}
}

func clipped(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
