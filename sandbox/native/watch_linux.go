package native

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

const (
	diskTick   = 100 * time.Millisecond
	memoryTick = 50 * time.Millisecond
	fullWalk   = 10 * time.Second // a volume is counted at least this often
)

// watch ends the body when a bound of time, silence, disk or memory is passed, or ctx ends. stop ends the watching and
// waits for that.
func (y *body) watch(ctx context.Context, first *running) (stop func()) {
	done := make(chan struct{})
	var waits []chan struct{}
	run := func(f func(done <-chan struct{})) {
		over := make(chan struct{})
		waits = append(waits, over)
		go func() {
			defer close(over)
			f(done)
		}()
	}
	run(func(done <-chan struct{}) { y.watchTime(ctx, first, done) })
	if len(y.written()) > 0 {
		y.base = y.before() // while nothing runs yet
		run(y.watchDisk)
	}
	if y.group == nil {
		run(y.watchMemory)
	}
	return func() {
		close(done)
		for _, w := range waits {
			<-w
		}
	}
}

func (y *body) watchTime(ctx context.Context, first *running, done <-chan struct{}) {
	timeout := time.NewTimer(y.spec.Timeout)
	defer timeout.Stop()
	ttl := time.NewTimer(y.spec.TTL)
	defer ttl.Stop()
	var idle <-chan time.Time
	if y.spec.IdleTimeout > 0 {
		t := time.NewTicker(max(y.spec.IdleTimeout/20, time.Millisecond))
		defer t.Stop()
		idle = t.C
	}
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			y.kill(sandbox.KilledCancel)
			return
		case <-timeout.C:
			y.kill(sandbox.KilledTimeout)
			return
		case <-ttl.C:
			y.kill(sandbox.KilledTTL)
			return
		case <-idle:
			if y.idleFor(first) > y.spec.IdleTimeout {
				y.kill(sandbox.KilledIdle)
				return
			}
		}
	}
}

// idleFor is how long no program of the body has put anything out.
func (y *body) idleFor(first *running) time.Duration {
	last := first.last.Load()
	y.mu.Lock()
	for _, r := range y.programs {
		last = max(last, r.last.Load())
	}
	y.mu.Unlock()
	return time.Since(time.Unix(0, last))
}

// written are the directories of the host that the box writes to.
func (y *body) written() []string {
	if y.volume == "" {
		return y.spec.Write
	}
	return append([]string{y.volume}, y.spec.Write...)
}

// usage is what lies in the directories that the box writes to, as far as the bound is concerned.
type usage struct{ bytes, files int64 }

func (y *body) usage(most int64) (u usage, err error) {
	for _, dir := range y.written() {
		bytes, files, deep := volume.Usage(dir, most-u.bytes)
		u.bytes, u.files, err = u.bytes+bytes, u.files+files, errors.Join(err, deep)
	}
	return u, err
}

// before is what lay in Spec.Write when the box was made: only what the program adds counts there, where of a volume
// everything does.
func (y *body) before() (u usage) {
	for _, dir := range y.spec.Write {
		bytes, files, _ := volume.Usage(dir, math.MaxInt64)
		u.bytes, u.files = u.bytes+bytes, u.files+files
	}
	return u
}

// watchDisk counts what lies in the volume and Spec.Write, so often that counting takes at most a fiftieth of the time, and
// at least every fullWalk. Where so much space went since the last count that the bound may be passed, it counts sooner.
// That nothing went proves nothing: others free space meanwhile.
func (y *body) watchDisk(done <-chan struct{}) {
	tick := time.NewTicker(diskTick)
	defer tick.Stop()
	var used, free int64
	var counted time.Time
	took := time.Duration(0)
	for {
		now := y.freeBytes()
		due := time.Since(counted)
		if due > 50*took || due > fullWalk || due > 5*took && used+free-now > y.spec.Disk {
			begin := time.Now()
			bytes, over := y.overDisk()
			if over {
				y.kill(sandbox.KilledDisk)
				return
			}
			used, free, counted, took = bytes, now, time.Now(), time.Since(begin)
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// overDisk counts, and tells whether the bound is passed or what is there cannot be counted.
func (y *body) overDisk() (bytes int64, over bool) {
	most := max(int64(maxInodes), y.spec.Disk/4096)
	u, err := y.usage(y.base.bytes + y.spec.Disk)
	if err != nil {
		y.b.event("disk", y.spec.Name, "%v", err)
	}
	bytes = u.bytes - y.base.bytes + y.unlinked()
	return bytes, err != nil || bytes > y.spec.Disk || u.files-y.base.files > most
}

// lastCount is overDisk once more when nothing runs any longer: what was written in the last moment, the watch did not see.
func (y *body) lastCount() {
	if len(y.written()) == 0 || y.reason() != "" {
		return
	}
	if _, over := y.overDisk(); over {
		y.kill(sandbox.KilledDisk)
	}
}

// freeBytes is what is free where the box writes; file systems that several directories are on count as often.
func (y *body) freeBytes() (total int64) {
	for _, dir := range y.written() {
		total += freeBytes(dir)
	}
	return total
}

func freeBytes(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return int64(st.Bfree) * st.Bsize
}

// unlinked is the size of files, where the box writes, that have no name any more but that a process holds open.
func (y *body) unlinked() (total int64) {
	devices := map[uint64]bool{}
	for _, dir := range y.written() {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil {
			devices[uint64(st.Dev)] = true
		}
	}
	seen := map[uint64]bool{}
	for _, pid := range y.pids() {
		fds, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
		for _, fd := range fds {
			var st unix.Stat_t
			if unix.Stat(fd, &st) == nil && devices[uint64(st.Dev)] && st.Nlink == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG && !seen[st.Ino] {
				seen[st.Ino] = true
				total += st.Blocks * 512
			}
		}
	}
	return total
}

// maxTree bounds the processes that are looked at.
const maxTree = 20000

// pids are the processes of the box. All of them descend from its first one, which their orphans go to.
func (y *body) pids() []int {
	y.mu.Lock()
	if y.proc == nil || y.ended {
		y.mu.Unlock()
		return nil
	}
	out := []int{y.proc.pid}
	y.mu.Unlock()
	for i := 0; i < len(out) && len(out) < maxTree; i++ {
		tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(out[i]) + "/task")
		for _, t := range tasks {
			text, _ := os.ReadFile("/proc/" + strconv.Itoa(out[i]) + "/task/" + t.Name() + "/children")
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil {
					out = append(out, pid)
				}
			}
		}
	}
	return out
}

// watchMemory stands in for a memory cgroup: each process has a limit of its own, and this adds them up. Memory that
// processes share is counted for each of them, as pages of files are not at all.
func (y *body) watchMemory(done <-chan struct{}) {
	tick := time.NewTicker(memoryTick)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		total := int64(0)
		for _, pid := range y.pids() {
			total += resident(pid)
		}
		if total > y.spec.Memory {
			y.kill(sandbox.KilledOOM)
			return
		}
	}
}

// resident is the memory of a process, without pages of files.
func resident(pid int) (bytes int64) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for _, line := range strings.Split(string(text), "\n") {
		name, rest, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		bytes += kb << 10
	}
	return bytes
}
