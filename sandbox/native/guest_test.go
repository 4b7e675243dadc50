//go:build linux

package native_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// asRunsc takes runsc's words, refuses those that it was not told to expect, and lets runc, which runs the same bundles,
// run this one: what the bundle says is tried for real, on a kernel that is not gVisor's.
const asRunsc = `#!/bin/sh
printf '%%s\n' "$*" >> %[1]s
own=
while [ $# -gt 0 ]; do
  case $1 in
  --root=*|--log=*|--log-format=json) own="$own $1";;
  --network=none|--platform=systrap|--ignore-cgroups=true|--overlay2=none|--host-uds=none|--host-fifo=none) ;;
  -*) echo "unknown flag $1" >&2; exit 99;;
  *) break;;
  esac
  shift
done
[ "$1" = run ] && cp "${2#--bundle=}/config.json" %[1]s.json
exec %[2]s $own "$@"
`

// underGVisor is a backend whose runsc is that; said gives what it was told.
func underGVisor(t *testing.T) (b *native.Backend, said func() string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("as an ordinary user it is refused, see TestGVisorThatCannotBeEnforced")
		return nil, nil
	}
	runc := need.Program(t, "runc", "runc")
	dir := t.TempDir()
	log := filepath.Join(dir, "said")
	runsc := filepath.Join(dir, "runsc")
	if err := os.WriteFile(runsc, fmt.Appendf(nil, asRunsc, log, runc), 0o755); err != nil {
		t.Fatal(err)
	}
	return backend(t, func(c *native.Config) { c.Runsc = runsc }), func() string {
		text, _ := os.ReadFile(log)
		return string(text)
	}
}

func gvisor(s *sandbox.Spec) { s.Runtime = "runsc" }

func TestGVisorRunsTheBundle(t *testing.T) {
	b, said := underGVisor(t)
	if b == nil {
		return
	}
	res := sh(t, b, `echo "in: $(cat)"; echo "$GREETING $(pwd) $(id -u) $(hostname)"; echo no >&2; cat /proc/self/status | grep -E '^(CapEff|NoNewPrivs)'
grep -c . /proc/net/dev; touch /usr/x /x /etc/x 2>/dev/null && echo wrote; echo t > /tmp/t && echo w > w && cat /tmp/t w; ls /proc/1/exe >/dev/null && exit 7`, gvisor, func(s *sandbox.Spec) {
		s.Name, s.In, s.Env = "guest", "text", map[string]string{"GREETING": "hello"}
	})
	want := "in: text\nhello /work 0 guest\nNoNewPrivs:\t1\nCapEff:\t0000000000000000\n"
	if !strings.HasPrefix(strings.Replace(res.Out, "CapEff:\t0000000000000000\nNoNewPrivs:\t1", "NoNewPrivs:\t1\nCapEff:\t0000000000000000", 1), want) ||
		!strings.HasSuffix(res.Out, "3\nt\nw\n") || res.Err != "no\n" || res.Exit != 7 || res.Status != "failed" || res.Name != "guest" {
		t.Errorf("got %+v", res)
	}
	for _, w := range []string{"--network=none", "--ignore-cgroups=true", "--overlay2=none", "--host-uds=none", "--platform=systrap", " run --bundle=", " delete --force "} {
		if !strings.Contains(said(), w) {
			t.Errorf("runsc was told %q, want %q in it", said(), w)
		}
	}
}

func TestGVisorOnAnImage(t *testing.T) {
	b, _ := underGVisor(t)
	if b == nil {
		return
	}
	low, high := busybox(t), t.TempDir()
	os.Chmod(high, 0o755)
	if err := os.WriteFile(filepath.Join(high, "who"), []byte("high\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(low, "who"), []byte("low\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := b.Run(context.Background(), sandbox.Spec{Runtime: "runsc", Root: sandbox.Root{Layers: []string{low, high}, Env: map[string]string{"FROM": "image"}},
		Argv: []string{"/bin/busybox", "sh", "-c", "/bin/busybox cat /who; echo $FROM; echo x > /who || echo read-only"}})
	if err != nil || res.Out != "high\nimage\nread-only\n" {
		t.Errorf("got %+v %v", res, err)
	}
	if found, _ := os.ReadDir(low); len(found) != 2 {
		t.Errorf("the layer: got %v, want it as it was", found)
	}
}

// busybox is a layer with one program.
func busybox(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(need.Program(t, "busybox", "busybox-static"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin/busybox"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGVisorIsBounded(t *testing.T) {
	b, _ := underGVisor(t)
	if b == nil {
		return
	}
	for name, tt := range map[string]struct {
		script string
		change func(*sandbox.Spec)
		killed string
	}{
		"time":    {"sleep 30", func(s *sandbox.Spec) { s.Timeout = 700 * time.Millisecond }, sandbox.KilledTimeout},
		"silence": {"echo x; sleep 30", func(s *sandbox.Spec) { s.IdleTimeout = 500 * time.Millisecond }, sandbox.KilledIdle},
		"memory":  {"head -c 300m /dev/zero | tail; sleep 5", func(s *sandbox.Spec) { s.Memory = 64 << 20 }, ""},
		"disk":    {"for i in 1 2 3 4 5 6; do head -c 2097152 /dev/zero > f$i; sleep 0.2; done; sleep 60", func(s *sandbox.Spec) { s.Volume, s.Disk = "full", 4<<20 }, sandbox.KilledDisk},
		"tmp":     {"head -c 8388608 /dev/zero > /tmp/f && echo more || echo full", func(s *sandbox.Spec) { s.Disk = 4 << 20 }, ""},
		"pids":    {"i=0; while [ $i -lt 400 ]; do sleep 4 & i=$((i+1)); done; echo all", func(s *sandbox.Spec) { s.Pids = 16 }, ""},
	} {
		began := time.Now()
		res := sh(t, b, tt.script, gvisor, tt.change)
		switch {
		case res.KilledBy != tt.killed && name != "memory":
			t.Errorf("%s: got %+v, want it killed by %q", name, res, tt.killed)
		case name == "memory" && res.Exit == 0 && res.Err == "" || name == "tmp" && !strings.Contains(res.Out, "full") || name == "pids" && strings.Contains(res.Out, "all"):
			t.Errorf("%s: got %+v, want it bounded", name, res)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// What runs is listed and can be stopped; a volume is kept and has one holder; nothing is left behind.
func TestGVisorLeavesNothing(t *testing.T) {
	b, _ := underGVisor(t)
	if b == nil {
		return
	}
	before := leftovers(t)
	ctx := context.Background()
	done := make(chan sandbox.Result, 1)
	go func() {
		res, err := b.Run(ctx, sandbox.Spec{Name: "long", Runtime: "runsc", Volume: "kept", Argv: []string{"sh", "-c", "echo kept > f; sleep 60"}})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	f := filepath.Join(b.Volumes().Path("kept"), "f")
	for range 6000 {
		if text, _ := os.ReadFile(f); string(text) == "kept\n" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	ps, err := b.PS(ctx)
	if err != nil || len(ps) != 1 || ps[0].Name != "long" || ps[0].Volume != "kept" {
		t.Errorf("ps: got %+v %v", ps, err)
	}
	var busy *sandbox.Busy
	if _, err := b.Run(ctx, sandbox.Spec{Runtime: "runsc", Volume: "kept", Argv: []string{"true"}}); !errors.As(err, &busy) {
		t.Errorf("a second on the volume: got %v, want it refused", err)
	}
	var no *sandbox.Unenforceable
	if _, err := b.Exec(ctx, "long", sandbox.ExecSpec{Argv: []string{"true"}}); !errors.As(err, &no) || !strings.HasPrefix(no.What, "exec") {
		t.Errorf("exec: got %v, want it refused by name", err)
	}
	if err := b.Stop(ctx, "long"); err != nil {
		t.Error(err)
	}
	if res := <-done; res.KilledBy != sandbox.KilledStop {
		t.Errorf("stopped: got %+v", res)
	}
	if res := sh(t, b, "cat f; (sleep 300 &) ; exit 0", gvisor, func(s *sandbox.Spec) { s.Volume = "kept" }); res.Out != "kept\n" || res.Status != "ok" {
		t.Errorf("the volume: got %+v", res)
	}
	if after := leftovers(t); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
	if found, err := filepath.Glob(filepath.Join(filepath.Dir(b.Volumes().Dir), "boxes", "*")); err != nil || len(found) > 0 {
		t.Errorf("left behind: %v %v", found, err)
	}
}

// leftovers are the cgroups and mounts of boxes on this machine.
func leftovers(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/zeno-" + fmt.Sprint(os.Getpid()) + "-*")
	return fmt.Sprint(strings.Count(string(mounts), "\n"), groups)
}

func TestGVisorSaysWhatFailed(t *testing.T) {
	b, _ := underGVisor(t)
	if b == nil {
		return
	}
	if _, err := b.Run(context.Background(), sandbox.Spec{Runtime: "runsc", Argv: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("got %v, want the program's name", err)
	}
	broken := backend(t, func(c *native.Config) { c.Runsc = need.Program(t, "false", "coreutils") })
	if res, err := broken.Run(context.Background(), sandbox.Spec{Runtime: "runsc", Argv: []string{"true"}}); err == nil && res.Exit == 0 {
		t.Errorf("a runsc that fails: got %+v, want a failure", res)
	}
}

// What a box under gVisor would not be held to is refused by name, and so is gVisor where it is missing.
func TestGVisorThatCannotBeEnforced(t *testing.T) {
	there := need.Program(t, "true", "coreutils")
	b := backend(t, func(c *native.Config) { c.Runsc = there })
	missing := backend(t, func(c *native.Config) { c.Runsc = filepath.Join(t.TempDir(), "runsc") })
	uncounted := backend(t, func(c *native.Config) { c.Runsc, c.NoCgroups = there, true })
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		b    *native.Backend
		spec sandbox.Spec
		want string
	}{
		"missing":   {missing, sandbox.Spec{}, ":runtime :runsc"},
		"uncounted": {uncounted, sandbox.Spec{}, ":memory, :pids and :cpus with :runtime :runsc"},
		"egress":    {b, sandbox.Spec{Proxy: &echo{}, Egress: sandbox.Egress{Default: sandbox.EgressDeny}}, ":egress :deny with :runtime :runsc"},
		"write":     {b, sandbox.Spec{Write: []string{dir}}, ":work in a directory of the host with :runtime :runsc"},
		"strict":    {b, sandbox.Spec{Seccomp: "strict"}, ":seccomp :strict with :runtime :runsc"},
	} {
		tt.spec.Argv, tt.spec.Runtime = []string{"true"}, "runsc"
		_, err := tt.b.Run(context.Background(), tt.spec)
		var no *sandbox.Unenforceable
		if os.Geteuid() != 0 {
			tt.want = ":memory, :pids and :cpus with :runtime :runsc"
		}
		if !errors.As(err, &no) || no.What != tt.want || no.Why == "" || no.Fix == "" {
			t.Errorf("%s: got %v, want %q refused", name, err, tt.want)
		}
	}
}

// A zeno that is killed leaves a box under gVisor to the next one, which ends it and removes its bundle and its groups.
func TestAKilledZenoLeavesNoGuest(t *testing.T) {
	if state := os.Getenv("ZENO_TEST_GUEST"); state != "" {
		b := backend(t, func(c *native.Config) { c.StateDir, c.Runsc = state, os.Getenv("ZENO_TEST_RUNSC") })
		_, _ = b.Run(context.Background(), sandbox.Spec{Name: "guest", Runtime: "runsc", Stdout: os.Stdout,
			Argv: []string{"sh", "-c", "setsid sleep 4321 & echo inside; sleep 4321"}})
		return
	}
	b, _ := underGVisor(t)
	if b == nil {
		return
	}
	state := t.TempDir()
	runsc := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(runsc, fmt.Appendf(nil, asRunsc, runsc+".said", need.Program(t, "runc", "runc")), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "ZENO_TEST_GUEST="+state, "TMPDIR="+t.TempDir(), "ZENO_TEST_RUNSC="+runsc, "ZENO_TEST_STAGE2="+stage2Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "inside"; {
	}
	next := backend(t, func(c *native.Config) { c.StateDir, c.Runsc = state, runsc })
	ps, err := next.PS(context.Background())
	if err != nil || len(ps) != 1 {
		t.Fatalf("ps: got %+v %v, want the guest", ps, err)
	}
	records, _ := filepath.Glob(state + "/boxes/*.json")
	for begin := time.Now(); len(sleepers()) < 2 && time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
	}
	if len(records) != 1 || len(sleepers()) != 2 {
		t.Errorf("got the records %v and %d processes, want one and two", records, len(sleepers()))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	found, err := next.Reap(context.Background())
	if err != nil || len(found) != 1 || found[0] != "guest" {
		t.Errorf("reap: got %v %v", found, err)
	}
	if left, _ := filepath.Glob(state + "/boxes/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if groups := groupsLeft([]string{strings.TrimSuffix(filepath.Base(records[0]), ".json")}); len(groups) > 0 {
		t.Errorf("left: %v", groups)
	}
	for begin := time.Now(); len(sleepers()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("left: %v", sleepers())
		}
	}
}

// sleepers are the processes of that box.
func sleepers() (out []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range found {
		if text, _ := os.ReadFile(f); string(text) == "sleep\x004321\x00" {
			out = append(out, f)
		}
	}
	return out
}
