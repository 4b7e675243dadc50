package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/reflection-dev/zeno/core/doctor"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/msb"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// doctorCmd is `zeno doctor`.
type doctorCmd struct {
	Need []string `placeholder:"NAME" help:"Exit 1 unless this works too, such as claude or userns. May be given several times."`
	JSON bool     `name:"json" help:"Print the outcome as JSON."`
}

// Help implements kong.HelpProvider.
func (doctorCmd) Help() string {
	return `Tries what this machine can do instead of looking for signs of it, and says what is missing and how to get it. Exits 0 where everything works that zeno itself needs (the group zeno: state, disk, journal, ports, clock) and whatever --need names; else 1.

Examples:

  zeno doctor

  zeno doctor --need claude --need userns

  zeno doctor --json | jq '.checks[] | select(.status != "ok")'`
}

// Run implements `zeno doctor`.
func (d *doctorCmd) Run(a *app) error {
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return usage(err)
	}
	return a.attend(func(ctx context.Context) error {
		boxes, done, err := boxesToTry()
		if err != nil {
			return err
		}
		defer done()
		rep, err := doctor.Run(ctx, doctor.Config{Home: h.Dir, Path: a.std.Getenv("PATH"), Need: d.Need, Boxes: boxes})
		if err != nil {
			return usage(err)
		}
		if d.JSON {
			err = printJSON(a.std.Out, rep)
		} else {
			printDoctor(a.std.Out, rep)
		}
		if err == nil && !rep.OK {
			err = reported(ExitFailed)
		}
		return err
	})
}

// boxesToTry gives the backends that can be tried, with a state of their own.
func boxesToTry() (list []sandbox.Backend, done func(), err error) {
	state, err := os.MkdirTemp("", "zeno-doctor-")
	if err != nil {
		return nil, nil, err
	}
	clean := func() { _ = os.RemoveAll(state) }
	b, err := native.New(native.Config{StateDir: state, Self: true})
	if err != nil {
		clean()
		return nil, nil, err
	}
	vm, err := msb.New(msb.Config{})
	if err != nil {
		clean()
		return nil, nil, err
	}
	return []sandbox.Backend{b, vm}, func() {
		_ = b.Close() // its boxes and what it holds ready for the next
		clean()
	}, nil
}

func printDoctor(w io.Writer, rep doctor.Report) {
	group := ""
	for _, c := range rep.Checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintln(w, group)
		}
		fmt.Fprintf(w, "  %-8s %-13s %s\n", c.Status, c.Name, c.Detail)
		if c.Fix != "" {
			fmt.Fprintf(w, "  %-8s %-13s -> %s\n", "", "", c.Fix)
		}
	}
	if !rep.OK {
		fmt.Fprintln(w, "\nzeno needs what failed above; --json names it")
	}
}
