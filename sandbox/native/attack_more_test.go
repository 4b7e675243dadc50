//go:build linux

package native_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// A program that is started in a live body has no way out that the first one has not.
func TestNoAttackGetsOutOfExec(t *testing.T) {
	g := newTarget(t)
	state := t.TempDir()
	g.words["STATE"] = filepath.Join(state, "boxes")
	b := backend(t, func(c *native.Config) { c.StateDir = state })
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		res, err := b.Run(context.Background(), sandbox.Spec{Name: "x", Read: []string{g.dir}, Stdout: signal(started), Argv: []string{"sh", "-c", "echo go; exec sleep 300"}})
		if err != nil || res.KilledBy != sandbox.KilledStop {
			t.Errorf("the body: got %+v %v, want it stopped", res, err)
		}
	}()
	<-started
	var script strings.Builder
	for _, a := range attacks {
		script.WriteString("out=$(" + g.program + " " + a.name + " " + strings.Join(g.fill(a.inside), " ") + " 2>&1); echo \"" + a.name + " = $? $out\"\n")
	}
	res, err := b.Exec(context.Background(), "x", sandbox.ExecSpec{Argv: []string{"sh", "-c", script.String()}, Timeout: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(res.Out), "\n")
	if len(lines) != len(attacks) {
		t.Fatalf("got %d answers, want %d: %+v", len(lines), len(attacks), res)
	}
	for i, line := range lines {
		if strings.Contains(line, " = 0 ") || strings.Contains(line, " = 2 ") {
			t.Errorf("%s %v: %s", attacks[i].name, attacks[i].inside, line)
		}
	}
	if err := b.Stop(context.Background(), "x"); err != nil {
		t.Error(err)
	}
	<-ended
}

// Directories of an image that are links to others do not widen where a program may write.
func TestALinkInAnImageWidensNothing(t *testing.T) {
	const try = `echo other > /proc/self/comm && echo wrote; echo x > /var/own && echo own`
	for _, link := range []string{"", "/proc", "/", "../proc"} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "var"), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{dir, filepath.Join(dir, "var")} {
			os.Chmod(d, 0o755)
		}
		os.CopyFS(filepath.Join(dir, "bin"), os.DirFS("/nonexistent"))
		static(t, filepath.Join(dir, "bin"))
		if link != "" {
			if err := os.Symlink(link, filepath.Join(dir, "srv")); err != nil {
				t.Fatal(err)
			}
		}
		res := sh(t, backend(t), try, func(s *sandbox.Spec) { s.Root = sandbox.Root{Layers: []string{dir}} })
		if strings.Contains(res.Out, "wrote") || !strings.Contains(res.Out, "own") {
			t.Errorf("/srv -> %q: got %+v, want /proc read-only and /var writable", link, res)
		}
	}
}

// static puts a shell that needs no library into dir.
func static(t *testing.T, dir string) {
	t.Helper()
	busybox := need.Program(t, "busybox", "busybox-static")
	text, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sh"), text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// What is hidden from a count counts: directories that nobody may read, and names longer than any path.
func TestTheVolumeIsBoundedWhereItIsHidden(t *testing.T) {
	b := backend(t)
	for name, script := range map[string]string{
		"unreadable": `i=0; while [ $i -lt 12 ]; do mkdir d$i; head -c 4M /dev/zero > d$i/f; chmod 0 d$i; i=$((i+1)); done; sync; sleep 100; echo done`,
		"deep": `python3 -c '
import os, time
name = "x" * 200
for i in range(30):
    os.mkdir(name); os.chdir(name)
for i in range(12):
    with open("f%d" % i, "wb") as f: f.write(b"y" * (4 << 20))
os.sync(); time.sleep(100); print("done")'`,
	} {
		t.Run(name, func(t *testing.T) {
			res := sh(t, b, script, func(s *sandbox.Spec) { s.Volume, s.Disk = "v-"+name, 16<<20 })
			if strings.Contains(res.Out, "done") || res.KilledBy != sandbox.KilledDisk {
				t.Errorf("48 MiB under a bound of 16: got %+v, want it killed by disk", res)
			}
			if err := b.Volumes().Remove("v-" + name); err != nil {
				t.Errorf("removing what it left: %v", err)
			}
		})
	}
}

// Without cgroups nobody counts what the kernel holds for System V queues and semaphores: there are none.
func TestKernelMemoryWithoutCgroups(t *testing.T) {
	const take = `python3 -c '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
q, s = c.msgget(0, 0o1600), c.semget(0, 32000, 0o1600)
print("queue" if q >= 0 else "no", "semaphores" if s >= 0 else "no")'`
	b := backend(t)
	if c, _ := b.Probe(context.Background()).Find("memory"); strings.HasPrefix(c.How, "cgroup") {
		if res := sh(t, b, take); res.Out != "queue semaphores\n" {
			t.Errorf("with cgroups: got %+v", res)
		}
	}
	b = backend(t, func(c *native.Config) { c.NoCgroups = true })
	if res := sh(t, b, take); res.Out != "no no\n" {
		t.Errorf("without: got %+v, want them refused", res)
	}
}

// A service of the host that listens in what a box would be shown refuses the run: read-only keeps nobody from connecting.
func TestSocketsInWhatIsShown(t *testing.T) {
	dir := t.TempDir()
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	path, link := filepath.Join(dir, "a b"), dir+"-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	b := backend(t)
	const dial = `python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
try: s.connect(sys.argv[1]); print("connected")
except OSError as e: print(e)' `
	// The harm: a socket that is made when the box is there already, which nobody can check.
	read := func(s *sandbox.Spec) { s.Read = []string{dir} }
	started, ended := make(chan struct{}), make(chan sandbox.Result, 1)
	go func() {
		res, _ := b.Run(context.Background(), sandbox.Spec{Read: []string{dir}, Stdout: signal(started), Timeout: 3 * time.Minute,
			Argv: []string{"sh", "-c", `echo go; while ! [ -w "` + path + `" ]; do sleep 0.1; done; ` + dial + `"` + path + `"`}})
		ended <- res
	}()
	<-started
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	os.Chmod(path, 0o777)
	if res := <-ended; !strings.Contains(res.Out, "connected") {
		t.Errorf("a socket that is shown: got %+v, want it reached, else the check is for nothing", res)
	}
	for _, shown := range []string{dir, path, link, filepath.Dir(dir)} {
		_, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"true"}, Read: []string{"/usr/bin", shown}})
		var field *sandbox.FieldError
		if !errors.As(err, &field) || field.Field != ":read 1" || !strings.Contains(err.Error(), path) {
			t.Errorf(":read %s: got %v, want it refused with the socket's name", shown, err)
		}
	}
	l.Close()
	if res := sh(t, b, "true", read); res.Exit != 0 {
		t.Errorf("without the socket: got %+v", res)
	}
}

// A box makes no set-user-id file in a directory of the host: there it would be its owner's, root's where zeno is root's.
func TestNoSetUserIDFileOnTheHost(t *testing.T) {
	g := newTarget(t)
	const script = `cp /bin/true a && chmod 4755 a; chmod u+s a; install -m 4755 /bin/true b; mkfifo -m 4644 c; GO creat_suid d; chmod 755 a; mkdir -m 2775 e; ls -d e; ls a`
	run := func(change func(*sandbox.Spec)) sandbox.Result {
		return sh(t, backend(t), strings.ReplaceAll(script, "GO", g.program), change, func(s *sandbox.Spec) { s.Read = []string{g.dir} })
	}
	count := func(dir string) (n int) {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSetuid != 0 {
				n++
			}
			return nil
		})
		return n
	}
	b := backend(t)
	res, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"sh", "-c", script}, Volume: "v"})
	if err != nil || count(b.Volumes().Path("v")) == 0 {
		t.Fatalf("in a volume, which no one but zeno enters, they can be made: got %+v %v", res, err)
	}
	dir := t.TempDir()
	res = run(func(s *sandbox.Spec) { s.Write, s.Dir = []string{dir}, dir })
	if n := count(dir); n != 0 || !strings.Contains(res.Out, "e\na\n") {
		t.Errorf("got %d, want none and the rest of the work done: %+v", n, res)
	}
}
