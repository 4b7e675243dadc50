package guard

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/noleak"
)

// parentWord makes the test binary play zeno: it starts a guarded tree and waits to be killed.
const parentWord = "__test-parent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Word:
			os.Exit(Main(os.Args[2:]))
		case parentWord:
			os.Exit(playParent(os.Args[2]))
		}
	}
	noleak.Main(m)
}

func playParent(script string) int {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	self, err := Self()
	if err != nil {
		return 1
	}
	handle, err := Wrap(self, cmd, 200*time.Millisecond)
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	handle.Started()
	_ = cmd.Wait()
	return 0
}

// run starts script under a guard and returns the command, its handle and its standard output.
func run(t *testing.T, script string, grace time.Duration) (*exec.Cmd, *Handle, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdout, cmd.Stderr = &out, &out
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	handle, err := Wrap(self, cmd, grace)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	handle.Started()
	t.Cleanup(handle.Abandon)
	return cmd, handle, &out
}

func TestExitCodePassesThrough(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143} {
		t.Run(script, func(t *testing.T) {
			cmd, _, out := run(t, "echo hello; "+script, time.Second)
			err := cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("exit code: got %d (%v), want %d", code, err, want)
			}
			if out.String() != "hello\n" {
				t.Errorf("output: got %q, want hello", out)
			}
		})
	}
}

func TestMissingBinaryIsInternal(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/nonexistent/cli")
	cmd.Path = "/nonexistent/cli"
	cmd.Err = nil
	handle, err := Wrap(self, cmd, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Abandon()
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	handle.Started()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ExitInternal || !strings.Contains(out.String(), "cannot start") {
		t.Errorf("got exit %d and %q, want %d and a reason", code, &out, ExitInternal)
	}
}

// stubborn ignores TERM in every process, leaves a child in the group and a grandchild in a session of its own whose
// parent is gone, and prints their pids.
const stubborn = `trap '' TERM; echo $$; sleep 300 & echo $!; ` +
	`setsid sh -c 'trap "" TERM; echo $$; (trap "" TERM; sleep 300; :) & sleep 300; :' & wait; sleep 300; :`

func TestKillReachesTheWholeTree(t *testing.T) {
	needSetsid(t)
	cmd, handle, _ := run(t, stubborn, 300*time.Millisecond)
	deadline := time.Now().Add(time.Minute)
	var tree []int
	for len(tree) < 5 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		tree = below(t, cmd.Process.Pid)
	}
	if len(tree) < 5 {
		t.Fatalf("tree: got %v, want at least 5 processes before the kill", tree)
	}
	begin := time.Now()
	handle.Kill()
	_ = cmd.Wait()
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("kill took %v, want about the grace period", took)
	}
	for _, pid := range tree {
		if alive(pid) {
			t.Errorf("process %d outlived the guard", pid)
		}
	}
}

func TestLeftoversEndWithTheCommand(t *testing.T) {
	needSetsid(t)
	begun := filepath.Join(t.TempDir(), "begun")
	cmd, _, out := run(t, `setsid sh -c 'echo $$; echo > `+begun+`; sleep 300; :' & until test -e `+begun+`; do sleep 0.05; done; exit 3`, time.Second)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code: got %d, want 3", code)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatalf("pid: got %q: %v", out, err)
	}
	if alive(pid) {
		t.Errorf("background process %d outlived its command", pid)
	}
}

// TestKillNineOfTheParent is the reason this package exists. The same tree is first started without a guard, to prove
// that a kill -9 of its parent leaves orphans there.
func TestKillNineOfTheParent(t *testing.T) {
	needSetsid(t)
	t.Run("without guard orphans stay", func(t *testing.T) {
		cmd := exec.Command("/bin/sh", "-c", `setsid sh -c 'echo $$; exec sleep 300' & wait`)
		pids := startAndReadPIDs(t, cmd, 1)
		_ = cmd.Process.Kill()
		if !alive(pids[0]) {
			t.Error("the unguarded grandchild is gone: this test proves nothing here")
		}
		_ = syscall.Kill(pids[0], syscall.SIGKILL)
		_ = cmd.Wait()
	})
	t.Run("with guard none", func(t *testing.T) {
		self, err := Self()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self[0], parentWord, stubborn)
		pids := startAndReadPIDs(t, cmd, 3)
		time.Sleep(100 * time.Millisecond)
		tree := below(t, cmd.Process.Pid)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		for _, pid := range append(tree, pids...) {
			if !goneWithin(pid, time.Minute) {
				t.Errorf("process %d survived kill -9 of its zeno", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

// startAndReadPIDs starts cmd and reads n pids, one a line, from its output.
func startAndReadPIDs(t *testing.T, cmd *exec.Cmd, n int) []int {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var pids []int
	for lines := bufio.NewScanner(read); len(pids) < n && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("pid: got %q, want a number", lines.Text())
		}
		pids = append(pids, pid)
	}
	if len(pids) < n {
		t.Fatalf("pids: got %d, want %d", len(pids), n)
	}
	return pids
}

func below(t *testing.T, root int) []int {
	t.Helper()
	table, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	return descendants(table, root)
}

func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	table, err := processes()
	if err != nil {
		return true
	}
	for _, p := range table {
		if p.pid == pid {
			return !p.zombie
		}
	}
	return false
}

func goneWithin(pid int, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !alive(pid) {
			return true
		}
	}
	return false
}

func needSetsid(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		need.Skip(t, "setsid: not found; install util-linux")
	}
}

func TestMainRefusesBadArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"1", "/bin/true"}, {"soon", "/bin/true", "true"}, {"-1", "/bin/true", "true"}} {
		if code := Main(args); code != ExitInternal {
			t.Errorf("Main(%q): got %d, want %d", args, code, ExitInternal)
		}
	}
}

func TestDescendants(t *testing.T) {
	table := []proc{{10, 1, false}, {11, 10, false}, {12, 11, true}, {13, 12, false}, {20, 1, false}, {10, 13, false}}
	if got := fmt.Sprint(descendants(table, 10)); got != "[11 13]" {
		t.Errorf("got %s, want [11 13]: below 10, without the zombie, without going round", got)
	}
}

func ExampleWrap() {
	self, _ := Self()
	cmd := exec.Command("/bin/echo", "hello from below the guard")
	cmd.Stdout = os.Stdout
	handle, err := Wrap(self, cmd, time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer handle.Abandon()
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	handle.Started()
	_ = cmd.Wait()
	// Output: hello from below the guard
}
