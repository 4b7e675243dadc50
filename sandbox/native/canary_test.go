//go:build linux

package native_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
)

// search is a program of an attacker who has the run of the box: it looks through the environment, arguments and memory of
// every process, and through every file that the box has of its own, for values of the form that the planted one has. It
// does not hold one itself.
const search = `
import os, re
form = re.compile(rb"canar[y]-[0-9a-f]{6}")
found = {}
def look(where, data):
    for m in form.findall(data): found.setdefault(m.decode(), set()).add(where)
def read(path):
    try:
        with open(path, "rb") as f: return f.read(64 << 20)
    except OSError: return b""
seen = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    look("environ", read("/proc/%s/environ" % pid)); look("argv", read("/proc/%s/cmdline" % pid))
    try: mem = open("/proc/%s/mem" % pid, "rb", 0)
    except OSError: continue
    seen += 1
    for line in read("/proc/%s/maps" % pid).decode().splitlines():
        a, b = (int(x, 16) for x in line.split()[0].split("-"))
        if " r" not in line or b > 1 << 63 or b - a > 256 << 20: continue
        try: mem.seek(a); data = mem.read(b - a)
        except (OSError, ValueError): continue
        if int(pid) != os.getpid(): look("memory", data or b"")
for top, dirs, files in os.walk("/"):
    if top == "/": dirs[:] = [d for d in dirs if d not in ("proc", "sys", "usr", "opt", "nix", "dev")]
    for f in files:
        path = os.path.join(top, f)
        if os.path.isfile(path): look("file", read(path))
print("processes", seen)
for value, where in sorted(found.items()): print(value, *sorted(where))`

// A secret that was used, echoed, traced and kept is nowhere in the box, whoever looks: a program in it with the same
// rights, or root on the host.
func TestTheValueIsNowhereInABox(t *testing.T) {
	need.Program(t, "curl", "curl")
	need.Program(t, "python3", "python3")
	o := newOutside(t)
	b := backend(t)
	hold := filepath.Join(t.TempDir(), "hold")
	for d := filepath.Dir(hold); d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	if err := os.Mkdir(hold, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(hold, 0o777)
	script := `cat > client.py <<'END'
import os, time, urllib.request
r = urllib.request.Request("https://example.com/", headers={"Authorization": "Bearer " + os.environ["TOKEN"], "X-Mine": os.environ["DECOY"]})
a = urllib.request.urlopen(r, timeout=120); text = a.read(); head = str(a.headers)
open("answer", "wb").write(text + head.encode())
open("ready", "w"); time.sleep(300)
END
python3 client.py & client=$!
curl -sS -m120 --trace trace --trace-ascii trace2 -D head -o body -H "Authorization: Bearer $TOKEN" https://example.com/ || exit 1
git -c http.extraHeader="Authorization: Bearer $TOKEN" ls-remote https://example.com/none.git > git.out 2>&1
while ! [ -e ready ]; do sleep 0.1; done
echo "$DECOY" > decoy
python3 search.py
cp client.py ` + hold + `/looked
while [ -e ` + hold + `/looked ]; do sleep 0.05; done
ulimit -c unlimited 2>/dev/null; kill -SEGV $client; wait $client
find / -name 'core*' -size +100k -newer client.py -not -path '/proc/*' -not -path '/usr/*' 2>/dev/null
python3 search.py | grep -v processes`
	done := make(chan sandbox.Result, 1)
	go func() {
		done <- o.run(b, "cat > search.py <<'END'"+search+"\nEND\n"+script, func(s *sandbox.Spec) {
			s.Name, s.Env, s.Write, s.Volume = "held", map[string]string{"DECOY": "canary-abcdef"}, []string{hold}, "v"
		})
	}()
	looked := filepath.Join(hold, "looked")
	for begin := time.Now(); time.Since(begin) < 5*time.Minute; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(looked); err == nil {
			break
		}
	}
	fromHost(t, b.PS)
	os.Remove(looked)
	res := <-done
	want := "canary-abcdef argv environ file memory"
	if strings.Contains(res.Out, "5d0e77") || strings.Count(res.Out, "canary-abcdef") != 2 || strings.Contains(res.Out, "core") {
		t.Errorf("got %+v, want the decoy twice and nothing else (as %q, but for argv)", res, want)
	}
	if !strings.Contains(res.Out, "canary-abcdef environ file memory") {
		t.Errorf("the search did not find what is there: %+v", res)
	}
	if _, auth, _ := o.seen(); !strings.Contains(fmt.Sprint(auth), planted) {
		t.Errorf("the server never got the value: %q", auth)
	}
	if err := filepath.WalkDir(b.Volumes().Dir, func(path string, d os.DirEntry, err error) error {
		text, _ := os.ReadFile(path)
		if found := spelled(string(text)); len(found) > 0 {
			t.Errorf("%s holds the value, as %q", path, found)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// fromHost looks through the memory of every process of the only box, its first one too, which no program in it can read.
func fromHost(t *testing.T, ps func(context.Context) ([]sandbox.Body, error)) {
	t.Helper()
	bodies, err := ps(context.Background())
	if err != nil || len(bodies) != 1 {
		t.Fatalf("got %v %v, want one body", bodies, err)
	}
	pids := []int{bodies[0].Pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, path := range tasks {
			text, _ := os.ReadFile(path)
			for _, f := range strings.Fields(string(text)) {
				var pid int
				fmt.Sscan(f, &pid)
				pids = append(pids, pid)
			}
		}
	}
	looked := 0
	for i, pid := range pids {
		read, holds := memory(pid, planted)
		if holds || i == 0 && read == 0 {
			t.Errorf("process %d: looked at %d bytes, the value is there: %v", pid, read, holds)
		}
		if read > 0 { // none of one that has ended
			looked++
		}
	}
	if looked < 3 {
		t.Errorf("looked at %d processes, want the first one, the shell and the client", looked)
	}
	if _, holds := memory(os.Getpid(), planted); !holds {
		t.Error("the search finds nothing, not even what is there")
	}
}

// memory searches what a process can write of its memory, and says how much that was.
func memory(pid int, text string) (read int64, holds bool) {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, false
	}
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n != 3 || !strings.HasPrefix(mode, "rw") {
			continue
		}
		const chunk, overlap = 1 << 20, 64
		for at := from; at < to; at += chunk {
			buf := make([]byte, min(chunk+overlap, to-at))
			n, _ := mem.ReadAt(buf, at)
			read += int64(n)
			if bytes.Contains(buf[:n], []byte(text)) {
				return read, true
			}
		}
	}
	return read, false
}
