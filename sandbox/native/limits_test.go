//go:build linux

package native_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// long marks what takes many seconds and is left to the full run.
func long(t *testing.T) {
	need.Full(t, "-short")
}

// bothWays runs a test with what this host has, and as a host without cgroups.
func bothWays(t *testing.T, f func(t *testing.T, b *native.Backend)) {
	t.Run("host", func(t *testing.T) { f(t, backend(t)) })
	t.Run("no cgroups", func(t *testing.T) {
		f(t, backend(t, func(c *native.Config) { c.NoCgroups = true }))
	})
}

// hog takes memory in one process and says how far it came.
const hog = `python3 -c '
import sys
held = []
for i in range(64):
    held.append(bytearray(b"x" * (8 << 20)))
    print(i, flush=True)
print("done")'`

func TestMemoryIsBounded(t *testing.T) {
	bothWays(t, func(t *testing.T, b *native.Backend) {
		if res := sh(t, b, hog, func(s *sandbox.Spec) { s.Memory = 1 << 30 }); !strings.Contains(res.Out, "done") {
			t.Fatalf("with enough memory: got %+v", res)
		}
		res := sh(t, b, hog, func(s *sandbox.Spec) { s.Memory = 128 << 20 })
		if strings.Contains(res.Out, "done") || res.Exit == 0 {
			t.Errorf("with 128M: got %+v, want it ended", res)
		}
		if !strings.Contains(res.Err, "MemoryError") && res.KilledBy != sandbox.KilledOOM {
			t.Errorf("got %+v, want killed by oom or a failed allocation", res)
		}
	})
}

// Many processes that hold little each.
func TestMemoryIsBoundedTogether(t *testing.T) {
	long(t)
	const many = `for i in 1 2 3 4 5 6 7 8; do python3 -c '
import time
x = bytearray(b"x" * (40 << 20))
time.sleep(8)' & done; wait; echo done`
	bothWays(t, func(t *testing.T, b *native.Backend) {
		res := sh(t, b, many, func(s *sandbox.Spec) { s.Memory = 128 << 20 })
		if res.KilledBy != sandbox.KilledOOM && !strings.Contains(res.Err, "Killed") && res.PeakRSS > 160<<20 {
			t.Errorf("got %+v, want it ended or some of it killed", res)
		}
		if res.Ms > 120_000 {
			t.Errorf("took %v ms", res.Ms)
		}
	})
}

// Memory that no process holds as its own: it counts all the same.
func TestMemoryIsBoundedHoweverItIsHeld(t *testing.T) {
	long(t)
	for name, script := range map[string]string{
		"shared": `python3 -c '
import mmap, time
held = []
for i in range(40):
    m = mmap.mmap(-1, 8 << 20)
    for at in range(0, 8 << 20, 4096): m[at] = 1
    held.append(m)
print("done")
time.sleep(5)'`,
		"memory file": `python3 -c '
import os, time
fd = os.memfd_create("x")
for i in range(40): os.write(fd, b"x" * (8 << 20))
print("done")
time.sleep(5)'`,
		"tmpfs": `head -c 320M /dev/zero > /tmp/x && echo done; sleep 1`,
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, b *native.Backend) {
				big := sh(t, b, script, func(s *sandbox.Spec) { s.Memory = 1 << 30 })
				if !strings.Contains(big.Out, "done") && !strings.Contains(big.Err, "not permitted") {
					t.Fatalf("with enough memory: got %+v", big)
				}
				res := sh(t, b, script, func(s *sandbox.Spec) { s.Memory = 128 << 20 })
				if res.Exit == 0 && strings.Contains(res.Out, "done") || res.PeakRSS > 300<<20 {
					t.Errorf("with 128M: got %+v, want it ended", res)
				}
			})
		})
	}
}

func TestNamedPipesWork(t *testing.T) {
	if res := sh(t, backend(t), `mkfifo p && (echo through > p & cat p)`); res.Out != "through\n" {
		t.Errorf("got %+v", res)
	}
}

// A crash in a box calls no program of the host's.
func TestCoreDumps(t *testing.T) {
	if res := sh(t, backend(t), `ulimit -c; ulimit -H -c; kill -SEGV $$`); res.Out != "0\n0\n" || res.Signal != "SIGSEGV" { // 1 byte is 0 blocks
		t.Errorf("got %+v", res)
	}
	if res := sh(t, backend(t), `grep -i core /proc/self/limits`); !strings.Contains(res.Out, " 1 ") {
		t.Errorf("got %q, want 1 byte", res.Out)
	}
}

func TestProcessesAreBounded(t *testing.T) {
	const fork = `i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); echo $i; done; echo done`
	bothWays(t, func(t *testing.T, b *native.Backend) {
		if res := sh(t, b, fork, func(s *sandbox.Spec) { s.Pids = 200 }); !strings.Contains(res.Out, "done") {
			t.Fatalf("with enough: got %+v", res)
		}
		res := sh(t, b, fork, func(s *sandbox.Spec) { s.Pids = 20 })
		if strings.Contains(res.Out, "done") || strings.Contains(res.Out, "\n40\n") {
			t.Errorf("with 20: got %+v, want it stopped", res)
		}
	})
}

// forkBomb does not give up where it may not fork.
const forkBomb = `exec python3 -c '
import os, time
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)'`

func TestAForkBombEnds(t *testing.T) {
	bothWays(t, func(t *testing.T, b *native.Backend) {
		begin := time.Now()
		res := sh(t, b, forkBomb, func(s *sandbox.Spec) { s.Pids, s.Timeout = 64, 2*time.Second })
		if res.KilledBy != sandbox.KilledTimeout || time.Since(begin) > 2*time.Minute {
			t.Errorf("got %+v after %v", res, time.Since(begin))
		}
	})
}

func TestProcessorsAreBounded(t *testing.T) {
	const busy = `began=$(date +%s.%N); python3 -c '
import os, time
for i in range(2):
    if os.fork() == 0: break
end = time.time() + 1.5
while time.time() < end: pass
print(time.process_time())'; sleep 0.3; echo wall $(echo "$(date +%s.%N) $began" | awk "{print \$1 - \$2}")`
	b := backend(t)
	if c, _ := b.Probe(context.Background()).Find("cpus"); !strings.Contains(c.How, "cgroup v") {
		need.Skip(t, "there is no cgroup to measure by")
	}
	res := sh(t, b, busy, func(s *sandbox.Spec) { s.CPUs = 0.2 })
	total, wall := 0.0, 0.0
	used, after, _ := strings.Cut(res.Out, "wall ")
	if _, err := fmt.Sscan(after, &wall); err != nil {
		t.Fatalf("got %+v", res)
	}
	for _, f := range strings.Fields(used) {
		var x float64
		if _, err := fmt.Sscan(f, &x); err == nil {
			total += x
		}
	}
	if total == 0 || total > 0.5*wall {
		t.Errorf("got %v seconds of processor in %v s at 0.2 processors: %+v", total, wall, res)
	}
}

func TestWithoutCgroupsProcessorsArePinned(t *testing.T) {
	b := backend(t, func(c *native.Config) { c.NoCgroups = true })
	res := sh(t, b, `nproc; taskset -c 0,1 nproc 2>&1 || echo refused`, func(s *sandbox.Spec) { s.CPUs = 1 })
	if !strings.HasPrefix(res.Out, "1\n") || !strings.Contains(res.Out, "refused") {
		t.Errorf("got %q, want one processor and no way to another", res.Out)
	}
	_, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"true"}, CPUs: 0.5})
	if err == nil || !strings.Contains(err.Error(), ":cpus 0.5") {
		t.Errorf("half a processor without cgroups: got %v, want a refusal", err)
	}
}

// What is outside of the volume is bounded in bytes and files by the kernel.
func TestTheRootIsBounded(t *testing.T) {
	long(t)
	b := backend(t)
	res := sh(t, b, `head -c 64M /dev/zero > /tmp/a; echo $?; head -c 64M /dev/zero > /work/b; head -c 64M /dev/zero > /dev/shm/c; rm -f /tmp/a /work/b /dev/shm/c
i=0; while [ $i -lt 6000 ] && : > /tmp/f$i; do i=$((i+1)); done; echo files $i`, func(s *sandbox.Spec) { s.Disk = 16 << 20 })
	if !strings.Contains(res.Err, "No space left") && !strings.Contains(res.Err, "File too large") {
		t.Errorf("bytes: got %+v", res)
	}
	if strings.Contains(res.Out, "files 6000") {
		t.Errorf("files: got %+v", res)
	}
}

func TestTheVolumeIsBounded(t *testing.T) {
	long(t)
	b := backend(t)
	for name, script := range map[string]string{
		"one file":   `head -c 64M /dev/zero > f; echo wrote $?; sleep 20`,
		"many files": `i=0; while [ $i -lt 64 ]; do head -c 1M /dev/zero > f$i; i=$((i+1)); done; sync; sleep 100; echo done`,
		"unlinked":   `exec 5> a; rm a; exec 6> b; rm b; exec 7> c; rm c; head -c 12M /dev/zero >&5; head -c 12M /dev/zero >&6; head -c 12M /dev/zero >&7; sync; sleep 100; echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			res := sh(t, b, script, func(s *sandbox.Spec) { s.Volume, s.Disk = "v-"+strings.ReplaceAll(name, " ", "-"), 16<<20 })
			if strings.Contains(res.Out, "done") || strings.Contains(res.Out, "wrote 0") {
				t.Errorf("got %+v, want it ended", res)
			}
			if name != "one file" && res.KilledBy != sandbox.KilledDisk {
				t.Errorf("got killed by %q, want disk", res.KilledBy)
			}
		})
	}
}
