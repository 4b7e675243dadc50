package native

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/reflection-dev/zeno/sandbox"
)

// cgroups are the directories under which this process may make groups for its boxes, found once.
type cgroups struct {
	v1     map[string]string // memory, pids, cpu -> directory
	v2     string            // one directory whose children have all three controllers
	reason string            // why there are none
}

func (c *cgroups) usable() bool { return c.v2 != "" || len(c.v1) == len(controllers) }

var controllers = []string{"memory", "pids", "cpu"}

// findCgroups looks at where this process is and tries to make a group there.
func findCgroups(mountinfo, selfCgroup string) *cgroups {
	c := &cgroups{v1: map[string]string{}}
	own := ownGroups(selfCgroup)
	for _, m := range cgroupMounts(mountinfo) {
		if m.v2 {
			for _, dir := range v2Candidates(m.dir(own[""])) {
				if err := tryV2(dir); err == nil {
					c.v2 = dir
					break
				} else if c.reason == "" {
					c.reason = err.Error()
				}
			}
			continue
		}
		for _, ctl := range controllers {
			if path, ok := own[ctl]; ok && m.controllers[ctl] {
				if err := tryGroup(m.dir(path)); err == nil {
					c.v1[ctl] = m.dir(path)
				} else {
					c.reason = err.Error()
				}
			}
		}
	}
	if c.reason == "" {
		c.reason = "no cgroup hierarchy with memory, pids and cpu is mounted"
	}
	return c
}

type cgroupMount struct {
	v2          bool
	root, point string
	controllers map[string]bool
}

// dir is where the group of that path stands in the mount.
func (m cgroupMount) dir(path string) string {
	rel, ok := strings.CutPrefix(path, strings.TrimSuffix(m.root, "/"))
	if !ok {
		rel = ""
	}
	return filepath.Join(m.point, rel)
}

func cgroupMounts(mountinfo string) (out []cgroupMount) {
	s := bufio.NewScanner(strings.NewReader(mountinfo))
	for s.Scan() {
		left, right, ok := strings.Cut(s.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		m := cgroupMount{v2: r[0] == "cgroup2", root: l[3], point: l[4], controllers: map[string]bool{}}
		if r[0] != "cgroup" && r[0] != "cgroup2" {
			continue
		}
		for _, o := range strings.Split(r[2], ",") {
			m.controllers[o] = true
		}
		out = append(out, m)
	}
	return out
}

// ownGroups reads /proc/self/cgroup: the path by controller, "" for v2.
func ownGroups(text string) map[string]string {
	own := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, ctl := range strings.Split(f[1], ",") {
			own[ctl] = f[2]
		}
	}
	return own
}

// v2Candidates are this process's group and those above it: a group that holds processes cannot give its children
// controllers, so that a sibling is what systemd's user sessions allow.
func v2Candidates(dir string) []string {
	return []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))}
}

// tryGroup makes a group and removes it.
func tryGroup(dir string) error {
	name := filepath.Join(dir, "zeno-probe-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(name, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Remove(name)
}

func tryV2(dir string) error {
	enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, ctl := range controllers {
		if strings.Contains(" "+strings.TrimSpace(string(enabled))+" ", " "+ctl+" ") {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+ctl), 0); err != nil {
			return err
		}
	}
	if err := tryGroup(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0) // to start a process in a child
	if err == nil {
		f.Close()
	}
	return err
}

// group is the cgroups of one box.
type group struct {
	c    *cgroups
	dirs map[string]string // v1: by controller; v2: ""
}

// plan names the groups of a box; make makes them. The name says whose they are, so that they are found when the zeno is
// gone and its records with it.
func (c *cgroups) plan(id string, owner int, start uint64) *group {
	g := &group{c: c, dirs: map[string]string{}}
	name := fmt.Sprintf("zeno-%d-%d-%s", owner, start, id)
	for ctl, dir := range c.parents() {
		g.dirs[ctl] = filepath.Join(dir, name)
	}
	return g
}

// parents are the directories that groups are made in, by controller; "" is v2.
func (c *cgroups) parents() map[string]string {
	if c.v2 != "" {
		return map[string]string{"": c.v2}
	}
	return c.v1
}

// sweep removes empty groups whose zeno is gone, and says how many.
func (c *cgroups) sweep() (n int) {
	for _, dir := range c.parents() {
		found, _ := filepath.Glob(filepath.Join(dir, "zeno-*-*-*"))
		for _, f := range found {
			var owner int
			var start uint64
			var id string
			if k, _ := fmt.Sscanf(filepath.Base(f), "zeno-%d-%d-%s", &owner, &start, &id); k == 3 && !alive(owner, start) && syscall.Rmdir(f) == nil {
				n++
			}
		}
	}
	return n
}

func (g *group) paths() (out []string) {
	for _, d := range g.dirs {
		out = append(out, d)
	}
	return out
}

// make makes the groups, without limits yet.
func (g *group) make() error {
	for _, d := range g.dirs {
		if err := os.Mkdir(d, 0o755); err != nil {
			g.remove()
			return fmt.Errorf("failed to make cgroup: %w", err)
		}
	}
	return nil
}

// limit sets the limits of the spec. overhead is the number of threads of stage two.
func (g *group) limit(s *sandbox.Spec, overhead int) error {
	for _, w := range g.limits(s, overhead) {
		err := writeFile(filepath.Join(w.dir, w.file), w.value)
		if err != nil && !(w.optional && errors.Is(err, os.ErrNotExist)) {
			return &sandbox.Unenforceable{Backend: "native", What: w.what, Why: fmt.Sprintf("writing %s to %s: %v", w.value, w.file, err),
				Fix: "give zeno a cgroup with the memory, pids and cpu controllers (systemd: Delegate=yes)"}
		}
	}
	return nil
}

type setting struct {
	dir, file, value, what string
	optional               bool
}

const period = 100000 // microseconds: the kernel's own default

func (g *group) limits(s *sandbox.Spec, overhead int) []setting {
	memory, pids := strconv.FormatInt(s.Memory, 10), strconv.Itoa(s.Pids+overhead)
	quota := strconv.Itoa(max(1000, int(s.CPUs*period)))
	if d, ok := g.dirs[""]; ok {
		return []setting{{d, "memory.max", memory, ":memory", false}, {d, "memory.swap.max", "0", ":memory", true},
			{d, "memory.oom.group", "0", ":memory", true}, {d, "pids.max", pids, ":pids", false},
			{d, "cpu.max", quota + " " + strconv.Itoa(period), ":cpus", false}}
	}
	m, p, c := g.dirs["memory"], g.dirs["pids"], g.dirs["cpu"]
	return []setting{{m, "memory.limit_in_bytes", memory, ":memory", false}, {m, "memory.memsw.limit_in_bytes", memory, ":memory", true},
		{p, "pids.max", pids, ":pids", false},
		{c, "cpu.cfs_quota_us", quota, ":cpus", false}}
}

// writeFile is one write: os.WriteFile would truncate, which some control files refuse.
func writeFile(name, value string) error {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(value))
	return err
}

// enter puts the calling thread into the v1 groups. Writing 0 to tasks moves one thread without the lock on all processes
// of the machine that moving a process takes; what the thread forks is born there.
func (g *group) enter() error {
	for ctl, d := range g.dirs {
		if ctl == "" {
			continue
		}
		if err := writeFile(filepath.Join(d, "tasks"), "0"); err != nil {
			return fmt.Errorf("failed to enter cgroup %s: %w", ctl, err)
		}
	}
	return nil
}

// oomKills counts processes that were killed for memory.
func (g *group) oomKills() int {
	file := filepath.Join(g.dirs["memory"], "memory.oom_control")
	if d, ok := g.dirs[""]; ok {
		file = filepath.Join(d, "memory.events")
	}
	text, _ := os.ReadFile(file)
	for _, line := range strings.Split(string(text), "\n") {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, _ := strconv.Atoi(n)
			return kills
		}
	}
	return 0
}

// peak is the most memory that the box used; 0 where the kernel does not say.
func (g *group) peak() int64 {
	file := filepath.Join(g.dirs["memory"], "memory.max_usage_in_bytes")
	if d, ok := g.dirs[""]; ok {
		file = filepath.Join(d, "memory.peak")
	}
	text, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// kill kills what is in the groups, also in groups below them.
func (g *group) kill() {
	for _, d := range g.paths() {
		_ = filepath.WalkDir(d, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				killGroup(path)
			}
			return nil
		})
	}
}

// remove removes the groups; they are empty, but the kernel may need a moment to know it.
func (g *group) remove() error { return removeGroups(g.paths()) }
