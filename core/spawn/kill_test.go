package spawn

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/need"
)

// nobody is a gateway without an endpoint, for a zeno that is killed before anyone would connect.
type nobody struct{}

func (nobody) Endpoint(string) string { return "http://127.0.0.1:9/mcp/reader" }
func (nobody) Issue(_, spawn string, _ time.Duration) (string, error) {
	return tokenPrefix + spawn, nil
}
func (nobody) Revoke(string)            {}
func (nobody) Activity(string) Activity { return Activity{} }

// playParent runs one spawn of script and never returns.
func playParent(state, script string) {
	self, err := guard.Self()
	if err != nil {
		panic(err)
	}
	r, err := New(Config{Guard: self, Gateway: nobody{}, StateDir: state, Path: "/usr/bin:/bin", Backends: sh(script)})
	if err != nil {
		panic(err)
	}
	res := r.Run(context.Background(), Request{ID: "doomed", Role: "reader", Backend: "fake", Sandbox: SandboxNone, Prompt: "go", Grace: 300 * time.Millisecond})
	panic(fmt.Sprintf("the spawn ended before its zeno was killed: %+v", res))
}

// stubborn ignores TERM and leaves a grandchild in a session of its own, its parent gone; it writes their pids to a file.
const stubborn = `trap '' TERM; echo $$ >> PIDS; (setsid sh -c 'trap "" TERM; echo $$ >> PIDS; sleep 300; :' &) ; ` +
	`echo '{"session":"abc"}'; sleep 300; :`

// TestKillNine kills a whole zeno in the middle of a spawn: nothing of the spawn may live on, and the next zeno finds a
// clean state directory and the session it can resume.
func TestKillNine(t *testing.T) {
	needSetsid(t)
	state := t.TempDir()
	pids := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(os.Args[0], parentWord, state, strings.ReplaceAll(stubborn, "PIDS", pids))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tree := waitForPIDs(t, pids, 2)
	index := filepath.Join(state, "sessions", ".ids", "fake-abc")
	eventually(t, "the session is written down", func() bool { _, err := os.Stat(index); return err == nil })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		t.Log(lines.Text())
	}
	_ = cmd.Wait()
	for _, pid := range tree {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !running(pid) })
	}
	h := newHouse(t, func(c *Config) { c.StateDir, c.Backends = state, sh(goodAnswer) })
	if left, err := os.ReadDir(h.spawnsDir()); err != nil || len(left) != 0 {
		t.Errorf("left in the state directory: %v %v, want nothing", left, err)
	}
}

// TestSweepEndsStrays kills zeno and the guard too: what is left of the tree ends when the next zeno starts.
func TestSweepEndsStrays(t *testing.T) {
	needSetsid(t)
	state := t.TempDir()
	home := filepath.Join(state, "spawns", "old", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "300")
	cmd.Env = []string{"HOME=" + home}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	newHouse(t, func(c *Config) { c.StateDir = state })
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the stray still runs")
		_ = cmd.Process.Kill()
		<-done
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("the stray's home is still there")
	}
}

// TestSweepLeavesRunningSpawnsAlone opens a second Runner on the state directory of one that works.
func TestSweepLeavesRunningSpawnsAlone(t *testing.T) {
	free := filepath.Join(t.TempDir(), "free")
	h, q := fake(t, `echo '{"text":"up"}'; until test -e `+free+`; do sleep 0.05; done; ls -d "$HOME" >&2; `+goodAnswer, true)
	q.ID = "works"
	result := make(chan Result, 1)
	go func() { result <- h.Run(context.Background(), q) }()
	eventually(t, "the CLI says something", func() bool { return h.began(q.ID) })
	newHouse(t, func(c *Config) { c.StateDir = h.conf.StateDir })
	if err := os.WriteFile(free, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	res := <-result
	want(t, res, OK, "")
	if !strings.Contains(res.Stderr, "/home") {
		t.Errorf("home: got %q, want it to live on", res.Stderr)
	}
}

func TestCancelEndsTheTree(t *testing.T) {
	needSetsid(t)
	pids := filepath.Join(t.TempDir(), "pids")
	h, q := fake(t, strings.ReplaceAll(stubborn, "PIDS", pids), true)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		waitForPIDs(t, pids, 2)
		cancel()
	}()
	want(t, h.Run(ctx, q), Cancelled, "cancelled")
	for _, pid := range waitForPIDs(t, pids, 2) {
		if running(pid) {
			t.Errorf("process %d outlived its spawn", pid)
		}
	}
}

// TestKilledGuard lets the CLI kill its own guard, as any process of the same user may.
func TestKilledGuard(t *testing.T) {
	needSetsid(t)
	pids := filepath.Join(t.TempDir(), "pids")
	h, q := fake(t, `echo $$ >> `+pids+`; setsid sh -c 'echo $$ >> `+pids+`; sleep 300; :' & until test $(wc -l < `+pids+`) = 2; do sleep 0.05; done; kill -9 $PPID; sleep 300; :`, true)
	want(t, h.Run(context.Background(), q), Failed, "guard: the guard of fake was killed")
	for _, pid := range waitForPIDs(t, pids, 2) {
		if running(pid) {
			t.Errorf("process %d outlived its spawn", pid)
		}
	}
}

func waitForPIDs(t *testing.T, file string, n int) []int {
	t.Helper()
	var pids []int
	eventually(t, "the pids are written", func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pids = nil
		for _, line := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(line); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) >= n
	})
	return pids
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("timed out waiting until %s", what)
}

// running tells whether a process lives; a zombie does not.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func needSetsid(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		need.Skip(t, "setsid: not found; install util-linux")
	}
}
