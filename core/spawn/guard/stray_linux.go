package guard

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// strayGrace is how long strays get between TERM and KILL: a guard among them needs it to end its own tree.
const strayGrace = 5 * time.Second

// KillByEnv ends every process whose environment, as it was started with, holds entry ("NAME=value"), and returns how
// many it found. It is for what may have outlived a guard that was itself killed: zeno gives every spawn a HOME of its
// own, so that entry names the spawn's tree and nothing else, whatever has become of pids since.
func KillByEnv(entry string) int {
	strays := withEnv(entry)
	found := len(strays)
	signal := syscall.SIGTERM
	for begun := time.Now(); len(strays) > 0 && time.Since(begun) < 2*strayGrace; strays = withEnv(entry) {
		if time.Since(begun) > strayGrace {
			signal = syscall.SIGKILL
		}
		for _, pid := range strays {
			_ = syscall.Kill(pid, signal)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return found
}

// withEnv lists the living processes started with entry in their environment, this one excepted.
func withEnv(entry string) []int {
	table, err := processes()
	if err != nil {
		return nil
	}
	var found []int
	for _, p := range table {
		if p.zombie || p.pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		if err != nil {
			continue
		}
		for item := range bytes.SplitSeq(env, []byte{0}) {
			if string(item) == entry {
				found = append(found, p.pid)
				break
			}
		}
	}
	return found
}
