package cli

import (
	"context"
	"fmt"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/doctor"
	"github.com/reflection-dev/zeno/core/spawn"
)

// backendsCmd is `zeno backends`.
type backendsCmd struct {
	JSON bool `name:"json" help:"Print the list as JSON."`
}

// Help implements kong.HelpProvider.
func (backendsCmd) Help() string {
	return `Starts each agent CLI that is on PATH for its version. What a home adds to a spawn as a map of its own is not listed.

Examples:

  zeno backends

  zeno backends --json | jq -r '.[] | select(.status == "ok").name'`
}

// Run implements `zeno backends`.
func (b *backendsCmd) Run(a *app) error {
	return a.attend(func(ctx context.Context) error {
		rep, err := doctor.Run(ctx, doctor.Config{Path: a.std.Getenv("PATH"), Groups: []string{"agents"}})
		if err != nil {
			return err
		}
		if b.JSON {
			return printJSON(a.std.Out, rep.Checks)
		}
		for _, c := range rep.Checks {
			fmt.Fprintf(a.std.Out, "%-9s %-8s %s\n", c.Name, c.Status, c.Detail)
			if c.Fix != "" {
				fmt.Fprintf(a.std.Out, "%-9s %-8s -> %s\n", "", "", c.Fix)
			}
		}
		return nil
	})
}

// preview prints what a spawn would start.
func (s *spawnCmd) preview(a *app, c *core.Core, req spawn.Request) error {
	p, err := c.Preview(req)
	if err != nil {
		return usage(err)
	}
	if s.JSON {
		return printJSON(a.std.Out, p)
	}
	out := a.std.Out
	for i, arg := range p.Argv {
		fmt.Fprintf(out, "argv[%d]  %q\n", i, arg)
	}
	fmt.Fprintf(out, "dir      %s\nstdin    %d bytes, the prompt\n", p.Dir, p.StdinBytes)
	for _, name := range p.EnvNames {
		fmt.Fprintf(out, "env      %s\n", name)
	}
	for _, f := range p.Files {
		fmt.Fprintf(out, "file     %s (%d bytes)\n", f.Path, len(f.Text))
	}
	for link, target := range p.Links {
		fmt.Fprintf(out, "link     %s -> %s\n", link, target)
	}
	for _, tool := range p.Allowed {
		fmt.Fprintf(out, "tool     %s\n", tool)
	}
	printBox(out, p.Box)
	if p.Missing != "" {
		fmt.Fprintln(a.std.Err, "zeno: "+p.Missing)
		return reported(ExitFailed)
	}
	return nil
}
