package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// volumeCmd is `zeno volume …`: the directories that outlive boxes.
type volumeCmd struct {
	LS volumeLS `cmd:"" name:"ls" help:"List the volumes of the home: size, files, who has them."`
	RM volumeRM `cmd:"" name:"rm" help:"Delete volumes and what is in them."`
}

type volumeLS struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

type volumeRM struct {
	Names []string `arg:"" help:"Names, as ls lists them."`
}

// Help implements kong.HelpProvider.
func (volumeLS) Help() string {
	return `Example:

  zeno volume ls --json | jq '.[] | select(.bytes > 1e9)'`
}

// Help implements kong.HelpProvider.
func (volumeRM) Help() string {
	return `One that a live box has is left, and it exits 1.

Example:

  zeno volume rm agent-a1`
}

// Run implements `zeno volume ls`.
func (cmd *volumeLS) Run(a *app) error {
	return a.withVolumes(func(s *volume.Store) error {
		list, err := s.List()
		if err != nil {
			return err
		}
		if cmd.JSON {
			if list == nil {
				list = []volume.Info{}
			}
			return printJSON(a.std.Out, list)
		}
		rows := [][]string{{"VOLUME", "MIB", "FILES", "CHANGED", "HOLDER"}}
		for _, v := range list {
			rows = append(rows, []string{v.Name, fmt.Sprintf("%.1f", float64(v.Bytes)/(1<<20)), fmt.Sprint(v.Files), v.Changed.Format(time.DateTime), orDash(v.Holder)})
		}
		if len(rows) == 1 {
			fmt.Fprintln(a.std.Out, "no volumes")
		}
		table(a.std.Out, rows)
		return nil
	})
}

// Run implements `zeno volume rm`.
func (cmd *volumeRM) Run(a *app) error {
	return a.withVolumes(func(s *volume.Store) error {
		var failed []error
		for _, name := range cmd.Names {
			if err := s.Remove(name); err != nil {
				failed = append(failed, err)
				continue
			}
			fmt.Fprintf(a.std.Out, "removed %s\n", name)
		}
		return errors.Join(failed...)
	})
}

func (a *app) withVolumes(f func(*volume.Store) error) error {
	return a.withBoxes(true, func(_ context.Context, c *core.Core) error {
		s, err := c.Volumes()
		if err != nil {
			return err
		}
		return f(s)
	})
}
