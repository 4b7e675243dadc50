package guard

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of <sys/proc.h>.
const zombieState = 5

// walkMissesOrphans: an orphan is launchd's child here, so the process group is signalled as well.
const walkMissesOrphans = true

// adoptOrphans does nothing: darwin has no subreaper, so a grandchild that lost its parent before the kill is found
// only while it stays in the CLI's process group.
func adoptOrphans() error { return nil }

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// processes reads the process table from the kernel.
func processes() ([]proc, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("failed to read the process table: %w", err)
	}
	table := make([]proc, 0, len(list))
	for _, k := range list {
		table = append(table, proc{pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), zombie: k.Proc.P_stat == zombieState})
	}
	return table, nil
}
