package cli

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/internal/need"
)

// The unit of docs/guide/daemon.md is one that systemd takes.
func TestTheUnitVerifies(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		need.Skip(t, "systemd-analyze is not there: apt-get install systemd")
	}
	b, err := os.ReadFile("../../docs/guide/daemon.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "    # /etc/systemd/system/zeno.service\n")
	if !ok {
		t.Fatal("the guide has no unit")
	}
	var unit []string
	for _, l := range strings.Split(text, "\n") {
		if l != "" && !strings.HasPrefix(l, "    ") {
			break
		}
		unit = append(unit, strings.TrimPrefix(l, "    "))
	}
	all := strings.ReplaceAll(strings.Join(unit, "\n"), "/usr/local/bin/zeno", "/bin/true") // it must be there
	all = strings.Replace(all, "User=zeno", "User=root", 1)
	file := filepath.Join(t.TempDir(), "zeno.service")
	if err := os.WriteFile(file, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "verify", "--man=no", file).CombinedOutput()
	var bad []string
	for _, l := range strings.Split(string(out), "\n") {
		if strings.Contains(l, "zeno.service") {
			bad = append(bad, l)
		}
	}
	if len(bad) > 0 {
		t.Errorf("systemd-analyze verify: %v: %s", err, strings.Join(bad, "\n"))
	}
	// It would find a mistake.
	if err := os.WriteFile(file, []byte(strings.Replace(all, "Type=notify", "Type=notify\nProtectSytem=1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.Command(tool, "verify", "--man=no", file).CombinedOutput(); !strings.Contains(string(out), "ProtectSytem") {
		t.Errorf("got %q, want the mistake to be found: the test shows nothing", out)
	}
}

// A daemon tells systemd that it is up and that it stops, and feeds the watchdog.
func TestNotify(t *testing.T) {
	dir := t.TempDir()
	sock := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: sock, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer discard(l)
	h := &home.Home{Dir: filepath.Join(dir, "home")}
	if err := os.Mkdir(h.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(shellDir(t), "zeno"), "--home", h.Dir, "--daemon")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+sock, "WATCHDOG_USEC=200000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	seen, told := map[string]int{}, false
	buf := make([]byte, 1000)
	for seen["STOPPING=1"] == 0 {
		_ = l.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := l.Read(buf)
		if err != nil {
			t.Fatalf("got %v and %v, want READY, WATCHDOG and STOPPING", seen, err)
		}
		seen[string(buf[:n])]++
		if !told && seen["READY=1"] == 1 && seen["WATCHDOG=1"] >= 2 {
			told = true // a second signal would not wait
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit code 0", err)
	}
	if seen["READY=1"] != 1 {
		t.Errorf("got %v, want READY once", seen)
	}
}
