package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tmux is a zeno in a tmux of its own: unlike a bare pseudo-terminal it shows what is on the screen after all that a
// program sent to move about on it.
type tmux struct {
	t       *testing.T
	program string
	socket  string
	env     []string
}

func inTmux(t *testing.T, home string, args ...string) *tmux {
	t.Helper()
	// The path of a socket must be short: not that of t.TempDir.
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		t.Fatal(err)
	}
	m := &tmux{t: t, program: shellPath(t, "tmux"), socket: filepath.Join(dir, "s")}
	m.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "TMPDIR=" + dir}
	t.Cleanup(func() {
		_ = m.command("kill-server").Run() // it may have ended with zeno
		_ = os.RemoveAll(dir)
	})
	m.do("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
		"exec "+filepath.Join(shellDir(t), "zeno")+" --home "+home+" "+strings.Join(args, " ")+"; echo no exec")
	return m
}

func (m *tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command(m.program, append([]string{"-S", m.socket}, args...)...)
	cmd.Env = m.env
	return cmd
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// keys presses keys by the names that tmux gives them; text goes as it is.
func (m *tmux) keys(keys ...string) {
	m.t.Helper()
	m.do(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the screen matches.
func (m *tmux) shows(pattern string) string {
	m.t.Helper()
	re := regexp.MustCompile(pattern)
	got := ""
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = strings.TrimRight(m.do("capture-pane", "-p"), "\n"); re.MatchString(got) {
			return got
		}
	}
	m.t.Fatalf("the screen shows\n%s\nwant %s", got, pattern)
	return ""
}

func TestREPLInTmux(t *testing.T) {
	home := t.TempDir()
	m := inTmux(t, home)
	m.shows(`user=>$`)
	m.keys("(defn twice [x]", "Enter")
	m.shows(`(?m)^   \.\.\.$`)
	m.keys("  (* 2 x))", "Enter")
	m.shows(`#'user/twice\nuser=>$`)

	// editing: a letter in the middle, a word of two columns a letter before the cursor, and the end of the line
	m.keys("(twce 4)", "C-a", "Right", "Right", "Right", "i", "C-e", "Enter")
	m.shows(`user=> \(twice 4\)\n8\nuser=>$`)
	m.keys("(count \"日本語\")", "Left", "Left", "Left", "BSpace", "Enter")
	m.shows(`user=> \(count "日語"\)\n2\nuser=>$`)

	// completion: one goes in, of several all are shown
	m.keys("(twi", "Tab")
	m.shows(`user=> \(twice$`)
	m.keys(" 21)", "Enter")
	m.shows(`\n42\nuser=>$`)
	m.keys("(some", "Tab", "Tab")
	m.shows(`some->>[^\n]*`)
	m.keys("C-c")
	m.shows(`ctrl-D or :quit leaves\nuser=>$|\nuser=>$`)

	// ctrl-C stops what runs, and the history has it
	m.keys("(do (prn (+ 3 4)) (loop [] (recur)))", "Enter")
	m.shows(`\n7$`)
	m.keys("C-c")
	m.shows(`; interrupted\nuser=>$`)
	m.keys("Up", "Up", "Enter")
	m.shows(`user=> \(twice 21\)\n42\nuser=>$`)

	// a window of another size pages by it
	m.do("resize-window", "-x", "60", "-y", "10")
	m.keys("(vec (range 900))", "Enter")
	screen := m.shows(`-- more[^\n]*$`)
	if n := strings.Count(screen, "\n") + 1; n != 10 {
		t.Errorf("a screen of 10 lines shows %d", n)
	}
	m.keys("a")
	m.shows(`898 899\]\nuser=>$`)
	m.keys("C-d")
	for deadline := time.Now().Add(patienceOfTests); m.command("has-session").Run() == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("ctrl-D does not leave; the screen shows\n%s", m.do("capture-pane", "-p"))
		}
	}
	text, err := os.ReadFile(filepath.Join(home, "state", "history"))
	if err != nil || !strings.Contains(string(text), "(defn twice [x] (* 2 x))\n") {
		t.Errorf("history: got %q, %v; want the lines of one input as one", text, err)
	}
}

// A program at the prompt of `zeno connect` reads what is typed there; ctrl-C takes the reading back from it.
func TestConnectReadsInTmux(t *testing.T) {
	home := t.TempDir()
	inTmux(t, home).shows(`user=>$`)
	m := inTmux(t, home, "connect")
	m.shows(`user=>$`)
	m.keys("(do (prn (+ 1 1)) (str (read-line) (read-line)))", "Enter")
	m.shows(`\n2$`)
	m.keys("one", "Enter", "two 日本", "Enter")
	m.shows(`"onetwo 日本"\nuser=>$`)
	m.keys("(do (prn (+ 3 4)) (read-line))", "Enter")
	m.shows(`\n7$`)
	m.keys("C-c")
	m.shows(`; interrupted\nuser=>$`)
	m.keys("(* 6 7)", "Enter")
	m.shows(`\(\* 6 7\)\n42\nuser=>$`)
}
