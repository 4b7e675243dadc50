package guard

import (
	"os"
	"syscall"
	"time"
)

// proc is one line of the process table.
type proc struct {
	pid, parent int
	zombie      bool
}

// killRounds bounds the KILL loop: each round kills everything it sees, so only a tree that forks faster than the walk
// needs more than two, and after the last round nothing but an unkillable (device-waiting) process is left.
const killRounds = 200

// endTree ends every descendant of the guard: TERM, up to grace, then KILL until none is left.
func endTree(child int, grace time.Duration) {
	signalTree(child, syscall.SIGTERM)
	deadline := time.Now().Add(grace)
	for time.Now().Before(deadline) {
		if len(living()) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	for range killRounds {
		if signalTree(child, syscall.SIGKILL) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// signalTree signals every descendant, and the command's process group where the walk may miss some; it returns how many
// descendants it found. A stopped process is continued too, or TERM would wait for it forever.
func signalTree(child int, sig syscall.Signal) int {
	if walkMissesOrphans {
		_ = syscall.Kill(-child, sig)
	}
	pids := living()
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
		if sig != syscall.SIGKILL {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	return len(pids)
}

// living lists the descendants of this process that still run.
func living() []int {
	table, err := processes()
	if err != nil {
		return nil
	}
	return descendants(table, os.Getpid())
}

// descendants walks the table from root and returns everything below it that is not a zombie, parents first.
func descendants(table []proc, root int) []int {
	children := make(map[int][]proc)
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []int
	seen := map[int]bool{root: true}
	queue := []int{root}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, p := range children[parent] {
			if seen[p.pid] {
				continue
			}
			seen[p.pid] = true
			queue = append(queue, p.pid)
			if !p.zombie {
				found = append(found, p.pid)
			}
		}
	}
	return found
}
