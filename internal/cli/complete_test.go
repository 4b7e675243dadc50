package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reflection-dev/zeno/internal/need"
)

// completions runs complete-words.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer discard(out)
	std := Std{In: os.Stdin, Out: out, Err: os.Stderr, Getenv: func(string) string { return "" }}
	if code := Main(append([]string{"complete-words", "--"}, words...), std); code != 0 {
		t.Errorf("%q: got exit code %d, want 0", words, code)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		word, _, _ := strings.Cut(l, "\t")
		got = append(got, word)
	}
	return got
}

func TestCompleteWords(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string // all of these, and
		not   string // none of those
	}{
		{[]string{""}, "ps freeze journal :files", "run complete-words"},
		{[]string{"fr"}, "freeze :files", "ps"},
		{[]string{"journal", ""}, "verify tail", "ps :files"},
		{[]string{"journal", "tail", "--f"}, "--follow", "--json tail"},
		{[]string{"completions", ""}, "bash zsh fish", "ps"},
		{[]string{"completions", "z"}, "zsh", "bash"},
		{[]string{"--home", ""}, ":dirs", "ps"},
		{[]string{"--home", "x", "stop", "--n"}, "--now --no-wait", "--timeout"},
		{[]string{"--d"}, "--daemon --drain", "--help"},
		{[]string{"ps", ""}, "", "ps :files"},
		{[]string{"backup", ""}, ":files", ""},
		{[]string{"nonsense", "--", "\x00"}, "", ""},
	} {
		got := completions(t, test.words...)
		for _, w := range strings.Fields(test.want) {
			if !slices.Contains(got, w) {
				t.Errorf("%q: got %q, want %s among them", test.words, got, w)
			}
		}
		for _, w := range strings.Fields(test.not) {
			if slices.Contains(got, w) {
				t.Errorf("%q: got %q, want no %s", test.words, got, w)
			}
		}
	}
}

// shellPath finds a shell.
func shellPath(t *testing.T, shell string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		need.Skip(t, "%s is not there: apt-get install %s", shell, shell)
	}
	return path
}

// shellDir has a zeno and its completions.
func shellDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript's binary is zeno where it is called so.
	if err := os.Symlink(self, filepath.Join(dir, "zeno")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"zeno.bash": bashCompletions, "_zeno": zshCompletions, "zeno.fish": fishCompletions} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func inShell(t *testing.T, dir, shell string, args ...string) string {
	t.Helper()
	cmd := exec.Command(shellPath(t, shell), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", shell, err, out)
	}
	return string(out)
}

func TestBashCompletes(t *testing.T) {
	dir := shellDir(t)
	for line, want := range map[string]string{"zeno fr": "freeze", "zeno journal ve": "verify", "zeno stop --no": "--no-wait --now", "zeno completions ": "bash fish zsh"} {
		script := fmt.Sprintf(`. ./zeno.bash; COMP_LINE=%q; COMP_POINT=${#COMP_LINE}; COMP_WORDS=($COMP_LINE); [[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _zeno; printf '%%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '`, line)
		if got := strings.TrimSpace(inShell(t, dir, "bash", "--norc", "-c", script)); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestFishCompletes(t *testing.T) {
	dir := shellDir(t)
	for line, want := range map[string]string{"zeno fr": "freeze", "zeno journal ve": "verify", "zeno stop --no": "--now"} {
		got := inShell(t, dir, "fish", "--no-config", "-c", fmt.Sprintf("source zeno.fish; complete -C %q", line))
		if !strings.Contains(got, want) || strings.Contains(got, "thaw") {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// zsh completes only at a prompt: it is given one, and a tab.
func TestZshCompletes(t *testing.T) {
	dir := shellDir(t)
	cmd := exec.Command(shellPath(t, "zsh"), "-f")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "TERM=dumb", "PS1=READY>")
	term, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		discard(term)
		_ = cmd.Wait()
	}()
	all := ""
	until := func(want string) {
		t.Helper()
		_ = term.SetReadDeadline(time.Now().Add(time.Minute))
		buf := make([]byte, 4096)
		for !strings.Contains(all, want) {
			n, err := term.Read(buf)
			all += string(buf[:n])
			if err != nil {
				t.Fatalf("got %q, %v, want %q", all, err, want)
			}
		}
		_, all, _ = strings.Cut(all, want)
	}
	until("READY>")
	_, _ = term.WriteString("fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo in''it\n")
	until("init\r")
	until("READY>")
	_, _ = term.WriteString("zeno fre\t")
	until("freeze")
	_, _ = term.WriteString("\x15zeno journal ver\t")
	until("verify")
}
