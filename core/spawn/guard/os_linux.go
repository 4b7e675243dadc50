package guard

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// walkMissesOrphans: a subreaper's walk is complete.
const walkMissesOrphans = false

// adoptOrphans makes the kernel hand orphaned descendants to this process. It also pins the calling goroutine to its
// thread: the parent-death signal set in childAttr follows the thread that forks, which therefore must live on.
func adoptOrphans() error {
	runtime.LockOSThread()
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// detached starts the guard in a session of its own: no terminal, and no Ctrl-C meant for zeno reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// childAttr gives the CLI its own process group, and its death should the guard itself be killed.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processes reads the process table from /proc. A process that ends during the walk is skipped.
func processes() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("failed to read the process table: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("failed to read the process table: %w", err)
	}
	var table []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if p, ok := parseStat(pid, stat); ok {
			table = append(table, p)
		}
	}
	return table, nil
}

// parseStat reads state and parent from a stat line. The command name may hold spaces and parentheses, so fields are
// counted from the last closing parenthesis.
func parseStat(pid int, stat []byte) (proc, bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return proc{}, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 {
		return proc{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return proc{}, false
	}
	state := fields[0][0]
	return proc{pid: pid, parent: parent, zombie: state == 'Z' || state == 'X'}, true
}
