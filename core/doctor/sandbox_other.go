//go:build !linux

package doctor

import (
	"context"
	"os/exec"
)

// sandboxes says what there is where the native box is not.
func sandboxes() []attempt {
	return []attempt{{"sandbox", "native", false, func(_ context.Context, c *Check) {
		c.bad(Missing, "use the msb backend, or Linux", "native boxes are made of what only Linux has")
	}}}
}

func synchronised() bool { return true }

func ownGroup(*exec.Cmd) {}
