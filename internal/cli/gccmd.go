package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/backup"
	"github.com/reflection-dev/zeno/lisp/bind"
)

type gcCmd struct {
	Keep string `default:"30d" placeholder:"30d" help:"What is younger stays: 30d, 12h."`
	Dry  bool   `name:"dry-run" help:"Only tell what would be removed."`
	JSON bool   `name:"json" help:"Print it as JSON."`
}

type backupCmd struct {
	To   string `arg:"" name:"dir|file" help:"A new or empty directory, or a new file that ends in .tar.gz."`
	JSON bool   `name:"json" help:"Print what was copied as JSON."`
}

// Run implements `zeno gc`.
func (cmd *gcCmd) Run(a *app) error {
	keep, err := bind.ParseDuration(cmd.Keep)
	if err != nil || keep <= 0 {
		return usage(fmt.Errorf("--keep: got %q, want a time span such as 30d or 12h", cmd.Keep))
	}
	h, err := a.resolve()
	if err != nil {
		return err
	}
	var r core.GCReport
	c, err := a.dial(h)
	switch {
	case down(err):
		err = a.offline(h, func(ctx context.Context, c *core.Core) (err error) {
			r, err = c.GC(ctx, byHand(), core.GCOptions{Keep: keep, Dry: cmd.Dry})
			return err
		})
	case err == nil:
		defer c.Close()
		err = refusedAs(c.Call(a.signals.ctx, "gc", map[string]any{"keep-ms": keep.Milliseconds(), "dry-run": cmd.Dry}, &r))
	}
	if err != nil {
		return err
	}
	return cmd.print(a, r)
}

func (cmd *gcCmd) print(a *app, r core.GCReport) error {
	if cmd.JSON {
		if err := printJSON(a.std.Out, r); err != nil {
			return err
		}
	} else {
		what := "removed"
		if r.Dry {
			what = "would remove"
		}
		fmt.Fprintf(a.std.Out, "%s %d sessions and %d deliveries, %d questions, %d images and %d layers, %s\n", what, r.Sessions, r.Deliveries, r.Questions, r.Images, r.Layers, size(r.Bytes))
	}
	if len(r.Errors) > 0 {
		fmt.Fprintf(a.std.Err, "zeno: gc: %s\n", strings.Join(r.Errors, "\nzeno: gc: "))
		return reported(ExitFailed)
	}
	return nil
}

// size is a number of bytes as people read it.
func size(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Run implements `zeno backup`. It reads the files itself: they are safe to read while a zeno serves them, also one that
// hangs.
func (cmd *backupCmd) Run(a *app) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	var r backup.Report
	err = a.attend(func(ctx context.Context) (err error) {
		defer a.busy("copying " + h.Dir)()
		r, err = backup.Make(ctx, backup.Config{Home: h.Dir, To: cmd.To, Journal: core.JournalFile})
		return err
	})
	if err != nil {
		return err
	}
	if cmd.JSON {
		return printJSON(a.std.Out, r)
	}
	fmt.Fprintf(a.std.Out, "%s: %d files, %s, %d events of the journal\n", r.To, r.Files, size(r.Bytes), r.Events)
	if r.Anchor != "" && r.Events > 0 {
		fmt.Fprintln(a.std.Out, r.Anchor)
	}
	if len(r.Skipped) > 0 {
		fmt.Fprintf(a.std.Err, "zeno: backup: left out, since they are no plain files: %s\n", harmless(strings.Join(r.Skipped, ", ")))
	}
	return nil
}

// busy says what goes on once that has taken more than a second. The function it gives ends that.
func (a *app) busy(what string) (done func()) {
	t := time.AfterFunc(time.Second, func() { fmt.Fprintf(a.std.Err, "zeno: %s …\n", what) })
	return func() { t.Stop() }
}
