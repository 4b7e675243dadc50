package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/sandbox"
)

// Hybrid, pure v2 and container hierarchies, as the kernel prints them.
func TestCgroupMounts(t *testing.T) {
	const hybrid = `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
22 27 0:21 / /proc rw - proc proc rw`
	ms := cgroupMounts(hybrid)
	if len(ms) != 3 || !ms[0].controllers["memory"] || !ms[1].controllers["cpu"] || !ms[2].v2 {
		t.Fatalf("got %+v", ms)
	}
	if d := ms[0].dir("/a/b"); d != "/sys/fs/cgroup/memory/a/b" {
		t.Errorf("got %s", d)
	}
	in := cgroupMounts("30 29 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory")
	if d := in[0].dir("/docker/abc/x"); d != "/sys/fs/cgroup/memory/x" {
		t.Errorf("in a container: got %s", d)
	}
	own := ownGroups("4:memory:/a\n3:cpu,cpuacct:/b\n0::/user.slice/x:y\n")
	if own["memory"] != "/a" || own["cpu"] != "/b" || own[""] != "/user.slice/x:y" {
		t.Errorf("got %v", own)
	}
}

// On a directory that is shaped as a v2 group: the controllers are asked for, and the limits are what the kernel reads.
func TestV2Groups(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.subtree_control", "cpu memory\n")
	write("cgroup.procs", "")
	if err := tryV2(dir); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); strings.TrimSpace(string(text)) != "+pids" {
		t.Errorf("asked for %q, want +pids: the others are there", text)
	}
	c := &cgroups{v2: dir}
	g := c.plan("x", 1, 2)
	s := sandbox.Spec{Memory: 64 << 20, Pids: 10, CPUs: 0.5}
	var got []string
	for _, l := range g.limits(&s, 2) {
		got = append(got, l.file+" "+l.value)
	}
	want := []string{"memory.max 67108864", "memory.swap.max 0", "memory.oom.group 0", "pids.max 12", "cpu.max 50000 100000"}
	if !slices.Equal(got, want) || !c.usable() {
		t.Errorf("got %q, want %q", got, want)
	}
	if tryV2(t.TempDir()) == nil {
		t.Error("a directory that is no cgroup was taken for one")
	}
}

func TestRangesOfIDs(t *testing.T) {
	r := &idRanges{taken: append(subIDs("me:100000:65536\nyou:231072:65536\nbad\n"), userIDs("u:x:170000:1::/:\nroot:x:0:0::/:\n")...)}
	var free []int
	for slot := range 4 {
		if base := idFirst + slot*idWidth; !r.overlaps(base) {
			free = append(free, base)
		}
	}
	if !slices.Equal(free, []int{296608}) {
		t.Errorf("got %v, want only 296608: the others are someone's", free)
	}
	if !mapped("0 0 4294967295\n") || mapped("0 1000 1\n") || mapped("0 100000 65536\n") {
		t.Error("the ranges that this user namespace has are misread")
	}
}

// Groups whose zeno is gone are found without a record; those of a live one are left.
func TestSweepingGroups(t *testing.T) {
	c := &cgroups{v2: t.TempDir()}
	me, start := os.Getpid(), startOf(os.Getpid())
	live, dead := c.plan("live", me, start), c.plan("dead", me, start+1)
	for _, g := range []*group{live, dead} {
		if err := g.make(); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(c.v2, "zeno-other"), 0o755)
	if n := c.sweep(); n != 1 {
		t.Errorf("got %d removed, want 1", n)
	}
	left, _ := filepath.Glob(filepath.Join(c.v2, "*"))
	want := []string{live.dirs[""], filepath.Join(c.v2, "zeno-other")}
	if slices.Sort(left); !slices.Equal(left, want) {
		t.Errorf("got %v, want %v", left, want)
	}
}
