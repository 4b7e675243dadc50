//go:build linux

package native_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// When an attack is shown to work on the host.
const (
	root   = 1 << iota // as root
	user               // as an ordinary user
	never              // it would do harm, or this machine may not have it: only tried inside
	always = root | user
)

// attack is one way out. outside and inside are its arguments; see fill for what stands for what.
type attack struct {
	name    string
	works   int
	outside []string
	inside  []string
}

var attacks = append(firstAttacks, moreAttacks...)

// firstAttacks are refused in every box. Each is first shown to work on the host, where that is harmless: an attack that
// fails everywhere shows nothing.
var firstAttacks = []attack{
	// Mounts.
	{"mount_tmpfs", root, nil, nil}, {"mount_bind", root, nil, nil}, {"mount_proc", root, nil, nil}, {"mount_sysfs", root, nil, nil},
	{"mount_cgroup", root, nil, nil}, {"mount_overlay", never, nil, nil}, {"mount_device", never, nil, nil}, {"remount_usr", root, nil, nil},
	{"umount_sys", never, nil, nil}, {"umount_root", never, nil, nil}, {"do_fsopen", root, nil, nil}, {"do_open_tree", root, nil, nil},
	{"do_fspick", root, nil, nil}, {"do_mount_setattr", root, nil, nil}, {"do_pivot", root, nil, nil}, {"do_chroot", root, nil, nil},
	// Namespaces.
	{"un_user", always, nil, nil}, {"un_mount", root, nil, nil}, {"un_net", root, nil, nil}, {"un_pid", root, nil, nil},
	{"un_cgroup", root, nil, nil}, {"clone_user", always, nil, nil}, {"clone_user_mount", always, nil, nil}, {"clone3_user", always, nil, nil},
	{"setns_file", root, []string{"/proc/self/ns/uts"}, []string{"/proc/1/ns/uts"}}, {"setns_file", root, []string{"/proc/self/ns/uts"}, []string{"/proc/self/ns/uts"}},
	{"setns_pidfd", never, nil, nil}, {"uid_map", always, []string{"UID"}, []string{"0"}},
	// Devices.
	{"node_block", never, nil, nil}, {"node_kmsg", root, nil, nil}, {"dev_kmsg", root, nil, nil}, {"dev_mem", never, nil, nil},
	{"dev_disk", never, nil, nil}, {"dev_kvm", never, nil, nil}, {"dev_fuse", never, nil, nil}, {"dev_tun", never, nil, nil}, {"dev_loop", never, nil, nil},
	// The machine's settings and memory.
	{"core_pattern", root, nil, nil}, {"modprobe_path", never, nil, nil}, {"sys_hostname", root, nil, nil}, {"sys_forward", root, nil, nil},
	{"sys_userns", never, nil, nil}, {"sysrq", never, nil, nil}, {"irq", never, nil, nil}, {"kcore", never, nil, nil}, {"proc_keys", root, nil, nil},
	{"kallsyms", never, nil, nil}, {"uevent_helper", never, nil, nil}, {"cgroup_procs", never, nil, nil}, {"oom_adj", never, nil, nil},
	// The box's own first process.
	{"init_mem", never, nil, nil}, {"init_environ", never, nil, nil}, {"init_root", never, nil, nil}, {"init_cwd", never, nil, nil},
	{"init_exe", never, nil, nil}, {"init_fds", never, nil, nil}, {"init_fd3", never, nil, nil}, {"init_maps", never, nil, nil},
	{"pt_attach", always, []string{"CHILD"}, []string{"1"}}, {"vm_read", always, []string{"CHILD"}, []string{"1"}}, {"signal_one", never, nil, nil},
	{"pidfd_fd", always, []string{"CHILD"}, []string{"1"}}, {"compare", always, []string{"CHILD"}, []string{"1"}},
	// Other processes of the host.
	{"signal_host", always, []string{"CHILD"}, []string{"CHILD"}}, {"pidfd_host", always, []string{"CHILD"}, []string{"CHILD"}},
	{"pt_attach", always, []string{"CHILD"}, []string{"CHILD"}}, {"host_environ", always, []string{"CHILD"}, []string{"CHILD"}},
	{"see_host", always, nil, nil},
	// Rights.
	{"realtime", root, nil, nil}, {"nice_up", root, nil, nil}, {"raise_limit", root, nil, nil}, {"become", root, nil, nil}, {"groups", root, nil, nil},
	{"raise_caps", root, nil, nil}, {"bounding", always, nil, nil}, {"privs", always, nil, nil},
	// Keyrings.
	{"key_add", always, nil, nil}, {"key_session", always, nil, nil}, {"key_request", always, nil, nil},
	// Parts of the kernel that no program in a box needs.
	{"bpf_load", root, nil, nil}, {"bpf_map", root, nil, nil}, {"perf", root, nil, nil}, {"uring", always, nil, nil}, {"uffd", root, nil, nil},
	{"secret_mem", never, nil, nil}, {"kexec", never, nil, nil}, {"kexec_file", never, nil, nil}, {"module", never, nil, nil},
	{"unmodule", never, nil, nil}, {"fanotify", root, nil, nil}, {"by_handle", root, nil, nil}, {"quota", root, nil, nil}, {"swap", root, nil, nil},
	{"boot", root, nil, nil}, {"set_clock", root, nil, nil}, {"set_day", root, nil, nil}, {"adjust", always, nil, nil}, {"accounting", never, nil, nil},
	{"klog", root, nil, nil}, {"do_iopl", never, nil, nil}, {"do_ioperm", never, nil, nil}, {"no_random", always, nil, nil}, {"ldt", always, nil, nil},
	{"host_name", root, nil, nil}, {"domain", root, nil, nil}, {"int80", never, nil, nil}, {"x32", never, nil, nil}, {"tiocsti", never, nil, nil},
	// Sockets and networks.
	{"s_packet", root, nil, nil}, {"s_alg", always, nil, nil}, {"s_vsock", never, nil, nil}, {"s_raw", root, nil, nil}, {"s_nft", always, nil, nil},
	{"s_uevent", always, nil, nil}, {"s_audit", never, nil, nil}, {"s_xfrm", never, nil, nil}, {"s_key", never, nil, nil}, {"link_new", root, nil, nil},
	{"s_abstract", always, []string{"ABSTRACT"}, []string{"ABSTRACT"}}, {"s_path", always, []string{"SOCKET"}, []string{"SOCKET"}},
	{"s_tcp", always, []string{"127.0.0.1", "PORT"}, []string{"127.0.0.1", "PORT"}}, {"s_tcp", never, nil, []string{"169.254.169.254", "80"}},
	{"s_shm", always, []string{"SHM"}, []string{"SHM"}},
	// Files of the host.
	{"read_file", always, []string{"SECRET"}, []string{"SECRET"}}, {"dots", always, []string{"SECRET"}, []string{"SECRET"}},
	{"via_link", always, []string{"SECRET"}, []string{"SECRET"}}, {"via_root", always, []string{"SECRET"}, []string{"SECRET"}},
	{"via_fd", never, nil, []string{"SECRET"}}, {"read_file", never, nil, []string{"/proc/1/root/etc/shadow"}}, {"read_file", root, []string{"/etc/shadow"}, []string{"/etc/shadow"}},
	{"read_file", never, nil, []string{"STATE"}}, {"usr_write", root, nil, nil},
	{"hard_link", never, nil, []string{"SHOWN"}}, {"usr_chmod", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"usr_chown", root, []string{"SHOWN"}, []string{"SHOWN"}},
	{"usr_utime", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"usr_xattr", always, []string{"SHOWN"}, []string{"SHOWN"}},
	{"usr_open", always, []string{"SHOWN"}, []string{"SHOWN"}}, {"usr_trunc", always, []string{"SHOWN"}, []string{"SHOWN"}},
	{"usr_open", never, nil, []string{"/usr/bin/env"}}, {"usr_chmod", never, nil, []string{"/usr/bin/env"}},
	{"leaked", never, nil, nil},
}

// target is what the host has that a box must not reach.
type target struct {
	program string // the attack program
	dir     string // shown to the box, read-only
	words   map[string]string
}

func newTarget(t *testing.T) *target {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		need.Skip(t, "gcc is not installed")
	}
	g := &target{dir: t.TempDir(), words: map[string]string{}}
	for d := g.dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	g.program = filepath.Join(g.dir, "attack")
	if out, err := exec.Command("gcc", "-O1", "-static", "-o", g.program, source(t)).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	hidden := t.TempDir()
	file := func(word, path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("secret of the host"), 0o600); err != nil {
			t.Fatal(err)
		}
		g.words[word] = path
	}
	file("SECRET", filepath.Join(hidden, "secret"))
	file("SHOWN", filepath.Join(g.dir, "shown"))
	os.Chmod(g.words["SHOWN"], 0o644)
	child := exec.Command("sleep", "300")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill(); child.Wait() })
	g.words["CHILD"] = strconv.Itoa(child.Process.Pid)
	g.words["UID"] = strconv.Itoa(os.Getuid())
	g.listen(t, hidden)
	return g
}

// source is the attack program's text; the run as an ordinary user is in another directory.
func source(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"testdata", os.Getenv("ZENO_TEST_DATA")} {
		if path, err := filepath.Abs(filepath.Join(dir, "attack.c")); err == nil {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	t.Fatal("attack.c: not found")
	return ""
}

// listen opens sockets of every kind on the host.
func (g *target) listen(t *testing.T, dir string) {
	t.Helper()
	name := fmt.Sprintf("zeno-attack-%d", os.Getpid())
	for _, l := range []struct{ word, network, addr, value string }{{"ABSTRACT", "unix", "@" + name, name},
		{"SOCKET", "unix", filepath.Join(dir, "s"), filepath.Join(dir, "s")}, {"PORT", "tcp", "127.0.0.1:0", ""}} {
		ln, err := net.Listen(l.network, l.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		g.words[l.word] = l.value
		if l.word == "PORT" {
			g.words[l.word] = strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
		}
	}
	key := os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, 0o1600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	g.words["SHM"] = strconv.Itoa(key)
}

func (g *target) fill(args []string) (out []string) {
	for _, a := range args {
		if w, ok := g.words[a]; ok {
			a = w
		}
		out = append(out, a)
	}
	return out
}

func TestNoAttackGetsOut(t *testing.T) {
	g := newTarget(t)
	me := user
	if os.Geteuid() == 0 {
		me = root
	}
	state := t.TempDir()
	g.words["STATE"] = filepath.Join(state, "boxes")
	tried := map[string]bool{}
	for _, a := range attacks {
		tried[a.name+fmt.Sprint(a.inside)] = true
		if a.works&me == 0 {
			continue
		}
		cmd := exec.Command(g.program, append([]string{a.name}, g.fill(a.outside)...)...)
		cmd.Dir = g.dir
		if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 3 {
			t.Errorf("%s %v shows nothing: outside of a box it should work: %v %s", a.name, a.outside, err, out)
		}
	}
	if len(tried) < 60 {
		t.Fatalf("got %d attacks, want at least 60", len(tried))
	}
	for _, c := range []struct {
		name   string
		change func(*sandbox.Spec)
		host   func(*native.Config)
	}{
		{"default", func(*sandbox.Spec) {}, func(*native.Config) {}},
		{"strict", func(s *sandbox.Spec) { s.Seccomp = "strict" }, func(*native.Config) {}},
		{"as another user", func(s *sandbox.Spec) { s.User = 1000 }, func(*native.Config) {}},
		{"with a volume", func(s *sandbox.Spec) { s.Volume = "v" }, func(*native.Config) {}},
		{"with a network", func(s *sandbox.Spec) {
			s.Proxy, s.Egress = &refuse{}, sandbox.Egress{Default: sandbox.EgressDeny}
		}, func(*native.Config) {}},
		{"without cgroups", func(*sandbox.Spec) {}, func(c *native.Config) { c.NoCgroups = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := backend(t, c.host, func(c *native.Config) { c.StateDir = state })
			attackFrom(t, b, g, c.change)
		})
	}
}

// attackFrom tries every attack in one box, in turn, and prints which worked.
func attackFrom(t *testing.T, b *native.Backend, g *target, change func(*sandbox.Spec)) {
	t.Helper()
	var script strings.Builder
	run := func(a attack) {
		fmt.Fprintf(&script, "out=$(%s %s %s 2>&1); echo \"%s = $? $out\"\n", g.program, a.name, strings.Join(g.fill(a.inside), " "), a.name)
	}
	run(attack{name: "raw_memory"})
	for _, a := range attacks {
		run(a)
	}
	res := sh(t, b, script.String(), change, func(s *sandbox.Spec) { s.Read, s.Timeout = []string{g.dir}, 10*time.Minute })
	lines := strings.Split(strings.TrimSpace(res.Out), "\n")
	if len(lines) != len(attacks)+1 || !strings.HasPrefix(lines[0], "raw_memory = 0") {
		t.Fatalf("want %d answers, the first of which works, got %d:\n%s\n%s", len(attacks)+1, len(lines), res.Out, res.Err)
	}
	for i, line := range lines[1:] {
		if strings.Contains(line, " = 0 ") || strings.Contains(line, " = 2 ") {
			t.Errorf("%s %v: %s", attacks[i].name, attacks[i].inside, line)
		}
	}
}

// refuse is a proxy that resets every connection.
type refuse struct{}

func (*refuse) Env() map[string]string { return nil }
func (*refuse) CA() []byte             { return nil }
func (*refuse) Ports() []int           { return nil }
func (*refuse) Serve(ctx context.Context, l sandbox.Listeners) error {
	l.Close()
	<-ctx.Done()
	return nil
}

// A set-user-id program of the host that a box sees gives it no other user.
func TestSetUserIDPrograms(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Skip(t, "only root can make a set-user-id program")
	}
	g := newTarget(t)
	suid := filepath.Join(g.dir, "suid")
	text, err := os.ReadFile(g.program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(suid, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(suid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(g.program, "setuid_file", suid)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("outside of a box it should work: %v %s", err, out)
	}
	for _, uid := range []int{0, 1000} {
		res := sh(t, backend(t), g.program+" setuid_file "+suid, func(s *sandbox.Spec) { s.Read, s.User = []string{g.dir}, uid })
		if res.Exit != 1 {
			t.Errorf("as %d: got %+v, want it refused", uid, res)
		}
	}
}

// A descriptor that zeno has open without close-on-exec does not reach a program.
func TestDescriptorsDoNotLeak(t *testing.T) {
	g := newTarget(t)
	f, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	cmd := exec.Command(g.program, "leaked")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("outside of a box it should work: %v %s", err, out)
	}
	b := backend(t)
	res := sh(t, b, g.program+" leaked; "+g.program+" via_fd "+g.words["SECRET"], func(s *sandbox.Spec) { s.Read = []string{g.dir} })
	if strings.Contains(res.Out, "worked") || strings.Count(res.Out, "refused") != 2 {
		t.Errorf("got %+v, want no descriptor", res)
	}
}
