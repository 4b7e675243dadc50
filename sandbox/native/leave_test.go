//go:build linux

package native_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// traces are what boxes could leave on this machine: processes, cgroups, files of the state directory, descriptors, and
// mounts of this process. Network and other namespaces live as long as a process or descriptor holds them.
func traces(state string) (out []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		if text, err := os.ReadFile(p); err == nil && strings.HasPrefix(string(text), "zeno-box") && ours(filepath.Dir(p), os.Getpid()) {
			out = append(out, "process "+filepath.Dir(p))
		}
	}
	filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, "file "+path)
		}
		return nil
	})
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	out = append(out, fmt.Sprintf("mounts %d", strings.Count(string(mounts), "\n")))
	fds, _ := os.ReadDir("/proc/self/fd")
	out = append(out, fmt.Sprintf("descriptors %d", len(fds)))
	for _, ns := range []string{"net", "user", "mnt", "pid"} {
		out = append(out, namespacesOf(ns)...)
	}
	sort.Strings(out)
	return out
}

// ours says whether a process descends from this one.
func ours(dir string, me int) bool {
	for range 10 {
		text, err := os.ReadFile(dir + "/status")
		if err != nil {
			return false
		}
		var ppid int
		for _, line := range strings.Split(string(text), "\n") {
			fmt.Sscanf(line, "PPid:\t%d", &ppid)
		}
		if ppid == me {
			return true
		}
		if ppid <= 1 {
			return false
		}
		dir = fmt.Sprintf("/proc/%d", ppid)
	}
	return false
}

// namespacesOf lists the namespaces that this process's descendants are in.
func namespacesOf(kind string) (out []string) {
	own, _ := os.Readlink("/proc/self/ns/" + kind)
	links, _ := filepath.Glob("/proc/[0-9]*/ns/" + kind)
	for _, l := range links {
		if ns, err := os.Readlink(l); err == nil && ns != own && ours(filepath.Dir(filepath.Dir(l)), os.Getpid()) {
			out = append(out, kind+" "+ns)
		}
	}
	return out
}

// groupsLeft lists cgroups of boxes of these ids.
func groupsLeft(ids []string) (out []string) {
	for _, pattern := range []string{"/sys/fs/cgroup/zeno-*", "/sys/fs/cgroup/*/zeno-*", "/sys/fs/cgroup/*/*/zeno-*", "/sys/fs/cgroup/*/*/*/zeno-*"} {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			for _, id := range ids {
				if strings.HasSuffix(f, id) {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// settled waits until the traces are as before; what the kernel ends, it ends in its own time.
func settled(t *testing.T, state string, before []string, ids []string) {
	t.Helper()
	var after, groups []string
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		after, groups = traces(state), groupsLeft(ids)
		if strings.Join(after, "\n") == strings.Join(before, "\n") && len(groups) == 0 {
			return
		}
	}
	t.Errorf("boxes left something: before\n%s\nafter\n%s\ncgroups %v", strings.Join(before, "\n"), strings.Join(after, "\n"), groups)
}

func TestBoxesLeaveNothing(t *testing.T) {
	row, width := 200, 20
	if testing.Short() {
		row, width = 20, 8
	}
	var mu sync.Mutex
	var ids []string
	state := t.TempDir()
	b := backend(t, func(c *native.Config) {
		c.StateDir = state
		c.Events = func(e sandbox.Event) {
			mu.Lock()
			ids = append(ids, strings.TrimPrefix(e.Box, "box-"))
			mu.Unlock()
		}
	})
	sh(t, b, "true") // what is made once
	before := traces(state)
	for i := range row {
		if res := sh(t, b, "sleep 100 & setsid sleep 100 & exit 0"); res.Exit != 0 {
			t.Fatalf("box %d: got %+v", i, res)
		}
	}
	settled(t, state, before, ids)
	var wg sync.WaitGroup
	for i := range width {
		wg.Add(1)
		go func() {
			defer wg.Done()
			switch i % 4 {
			case 0:
				b.Run(context.Background(), sandbox.Spec{Argv: []string{"no-such-program"}})
			case 1:
				b.Run(context.Background(), sandbox.Spec{Argv: []string{"sleep", "100"}, Timeout: 200 * time.Millisecond})
			default:
				spec := sandbox.Spec{Argv: []string{"sh", "-c", "sleep 100 & echo $$; exit 0"}}
				if i%4 == 3 {
					spec.Proxy, spec.Egress = &echo{}, sandbox.Egress{Default: sandbox.EgressDeny}
				}
				res, err := b.Run(context.Background(), spec)
				if err != nil || res.Exit != 0 {
					t.Errorf("got %+v %v", res, err)
				}
			}
		}()
	}
	wg.Wait()
	settled(t, state, before, ids)
}

// A box ends with the zeno that runs it, however that ends, and the next one finds its record.
func TestAKilledZenoLeavesNoBody(t *testing.T) {
	if os.Getenv("ZENO_TEST_VICTIM") != "" {
		victim(t)
		return
	}
	state := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestAKilledZenoLeavesNoBody$")
	cmd.Env = append(os.Environ(), "ZENO_TEST_VICTIM="+state, "TMPDIR="+t.TempDir(), "ZENO_TEST_STAGE2="+stage2Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "inside" {
	}
	b := backend(t, func(c *native.Config) { c.StateDir = state })
	ps, err := b.PS(context.Background())
	if err != nil || len(ps) != 1 || ps[0].Owner != cmd.Process.Pid {
		t.Errorf("ps from another zeno: got %+v %v", ps, err)
	}
	if found, err := b.Reap(context.Background()); err != nil || len(found) != 0 {
		t.Errorf("reap while it lives: got %v %v, want nothing touched", found, err)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	found, err := b.Reap(context.Background())
	if err != nil || len(found) != 1 || found[0] != "victim" {
		t.Errorf("reap: got %v %v, want the box", found, err)
	}
	if len(ps) == 1 {
		for begin := time.Now(); syscall.Kill(ps[0].Pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatal("the box outlived its zeno")
			}
		}
	}
	if found, err := b.Reap(context.Background()); err != nil || len(found) != 0 {
		t.Errorf("a second reap: got %v %v", found, err)
	}
	left, _ := filepath.Glob(state + "/boxes/*")
	if len(left) != 0 {
		t.Errorf("records left: %v", left)
	}
	if res := sh(t, b, "cat mark", func(s *sandbox.Spec) { s.Volume = "v" }); res.Out != "here\n" {
		t.Errorf("the volume after the crash: got %+v", res)
	}
}

func victim(t *testing.T) {
	b := backend(t, func(c *native.Config) { c.StateDir = os.Getenv("ZENO_TEST_VICTIM") })
	b.Run(context.Background(), sandbox.Spec{Name: "victim", Volume: "v", Stdout: os.Stdout,
		Argv: []string{"sh", "-c", "echo here > mark; trap '' TERM HUP; setsid sleep 300 & echo inside; sleep 300"}})
}

// A body of another zeno can be stopped, not entered.
func TestStoppingAnothersBody(t *testing.T) {
	state := t.TempDir()
	one := backend(t, func(c *native.Config) { c.StateDir = state })
	two := backend(t, func(c *native.Config) { c.StateDir = state })
	started, ended := make(chan struct{}), make(chan sandbox.Result, 1)
	go func() {
		res, _ := one.Run(context.Background(), sandbox.Spec{Name: "x", Argv: []string{"sh", "-c", "echo go; sleep 100"}, Stdout: signal(started)})
		ended <- res
	}()
	<-started
	if _, err := two.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "belongs to zeno") {
		t.Errorf("exec: got %v", err)
	}
	if err := two.Stop(context.Background(), "x"); err != nil {
		t.Error(err)
	}
	if res := <-ended; res.Status != "killed" || res.KilledBy != sandbox.KilledStop {
		t.Errorf("got %+v, want it killed by stop", res)
	}
}

// A record that a killed zeno had begun to write is removed at the next start, however soon that is; one that is being
// written is left, and what is no record at all is removed too.
func TestARecordThatWasBegunIsReaped(t *testing.T) {
	state := t.TempDir()
	b := backend(t, func(c *native.Config) { c.StateDir = state })
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))[19]
	mine := fmt.Sprintf("new-%d-%s-aaaaaaaaaaaa", os.Getpid(), start)
	if err := os.MkdirAll(state+"/boxes", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{mine, fmt.Sprintf("new-%d-1-bbbbbbbbbbbb", os.Getpid()), "new-99999999-5-cccccccccccc", "dddddddddddd.json"} {
		if err := os.WriteFile(state+"/boxes/"+name, []byte(`{"id":"aa`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := b.Reap(context.Background()); err != nil || len(found) != 0 {
		t.Errorf("got %v %v, want no box found", found, err)
	}
	left, _ := filepath.Glob(state + "/boxes/*")
	if len(left) != 1 || filepath.Base(left[0]) != mine {
		t.Errorf("got %v left, want what is being written", left)
	}
}
