package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screen is a zeno on a pseudo-terminal.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	file *os.File

	mu   sync.Mutex
	text string // what came and has not been matched yet
	gone chan struct{}
}

// open starts zeno on a terminal with an empty HOME, where env may say otherwise.
// colours, in the environment of a screen, is a terminal as it is without NO_COLOR.
const colours = "COLOURS=1"

func open(t *testing.T, env []string, args ...string) *screen {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: append([]string{"zeno"}, args...)}
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "TMPDIR=" + t.TempDir()}, env...)
	if !slices.Contains(env, colours) {
		cmd.Env = append(cmd.Env, "NO_COLOR=1") // most tests read what is on the screen
	}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, cmd: cmd, file: f, gone: make(chan struct{})}
	go s.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = f.Close()
		<-s.gone
	})
	return s
}

func (s *screen) read() {
	defer close(s.gone)
	buf := make([]byte, 4096)
	for {
		n, err := s.file.Read(buf)
		s.mu.Lock()
		s.text += string(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// patienceOfTests is how long what must come may take, on however slow a machine.
const patienceOfTests = time.Minute

// want waits for text that matches the pattern and drops everything up to its end.
func (s *screen) want(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		if at := re.FindStringIndex(s.text); at != nil {
			got := s.text[:at[1]]
			s.text = s.text[at[1]:]
			s.mu.Unlock()
			return got
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("screen: got …%q, want %s", s.text[max(len(s.text)-2000, 0):], pattern)
	return ""
}

func (s *screen) send(text string) {
	s.t.Helper()
	if _, err := s.file.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// say waits for the prompt and types a line.
func (s *screen) say(line string) {
	s.t.Helper()
	s.want(`=> `)
	s.send(line + "\r")
}

// interrupts presses ctrl-C until the pattern is there: what it is for may just be starting.
func (s *screen) interrupts(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	stop := time.After(patienceOfTests)
	for {
		time.Sleep(300 * time.Millisecond)
		s.mu.Lock()
		there := re.MatchString(s.text)
		s.mu.Unlock()
		if there {
			s.want(pattern)
			return
		}
		s.send(ctrlC)
		select {
		case <-stop:
			s.want(pattern)
		default:
		}
	}
}

// end waits for the process and wants its exit code.
func (s *screen) end(code int) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patienceOfTests):
		s.t.Fatal("zeno did not end")
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code: got %d, want %d; screen %q", got, code, s.text)
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	up    = "\x1b[A"
)

func TestREPL(t *testing.T) {
	s := open(t, nil)
	s.want(`zeno .*, no home\. :help`)
	s.say(`(+ 1 2)`)
	s.want(`\n3\r\n`)
	s.say(`nil`)
	s.want(`\nnil\r\n`)
	s.say(`(inc *1)`) // of nil
	s.want(`REPL:3:1: .*nil`)
	s.say(`(ex-message *e)`)
	s.want(`"[^"]*nil`)
	s.say(`(ns there)`)
	s.want(`\nnil\r\n`)
	if got := s.want(`=> `); !strings.Contains(got, "there=> ") {
		t.Errorf("prompt: got %q, want the namespace there", got)
	}
	s.send("(print 1)\r")
	s.want(`\r\n1\r\nnil\r\n`)
	s.say(`(range)`)
	s.want(`998 999 \.\.\.\)\r\n; \*print-length\* is 1000`)
	s.say(`(do (set! *print-length* 3) (range 5))`)
	s.want(`\(0 1 2 \.\.\.\)`)
	s.say(`:ns`)
	s.want(`-- more`)
	s.send("a")
	s.want(`\nuser\r\n`)
	s.say(`:ns user`)
	s.want(`user`)
	s.say(`:doc map`)
	s.want(`\nmap `)
	s.say(`:help`)
	s.want(`ctrl-C interrupts`)
	s.say(`:not-a-command`)
	s.want(`\n:not-a-command\r\n`)
	s.want(`=> `)
	s.send(ctrlD)
	s.end(ExitOK)
}

// TestREPLExits leaves by the program's own call, with its code.
func TestREPLExits(t *testing.T) {
	s := open(t, nil)
	s.say(`(joker.os/exit 3)`)
	s.end(3)
}

func TestREPLReadsSeveralLines(t *testing.T) {
	s := open(t, nil)
	s.say(`(defn f [x]`)
	s.want(`   \.\.\. `)
	s.send("\r(str \"two\r")
	s.want(`   \.\.\. `)
	s.send("lines\" x))\r")
	s.want(`#'user/f`)
	s.say(`(count (f 1))`)
	s.want(`\n10\r\n`)
	s.say(`(defn g [`)
	s.want(`   \.\.\. `)
	s.send(ctrlC) // drops it
	s.say(`1 2 :done`)
	s.want(`\n1\r\n2\r\n:done\r\n`)
	s.say(`:quit`)
	s.end(ExitOK)
}

func TestREPLInterrupts(t *testing.T) {
	s := open(t, nil)
	for _, code := range []string{`(loop [] (recur))`, `(count (range))`, `(deref (promise))`, `(read-line)`} {
		s.say(`(do (println "be" "gun") ` + code + `)`)
		s.want(`be gun`)
		time.Sleep(50 * time.Millisecond)
		s.send(ctrlC)
		s.want(`(?s)interrupted.*\r\n`)
	}
	s.say(`(+ 40 2)`)
	s.want(`\n42\r\n`)
	s.want(`=> `)
	s.send(ctrlC)
	s.want(`ctrl-D or :quit leaves`)
	s.say(`:quit`)
	s.end(ExitOK)
}

func TestREPLHistoryAndCompletion(t *testing.T) {
	home := t.TempDir()
	s := open(t, nil, "--home", home)
	s.say(`(defn some-long-name [] 7)`)
	s.want(`#'user`)
	s.say(` (def secret 1)`) // a leading space: not kept
	s.want(`#'user`)
	s.want(`=> `)
	s.send("(some-lo\t)\r")
	s.want(`\n7\r\n`)
	s.send("(interleave\t") // the whole name: how it is called, and the line goes on
	s.want(`interleave \(\[\].*\r\n`)
	s.send(" [1] [2])\r")
	s.want(`\n\(1 2\)\r\n`)
	s.say(`(require '[joker.string :as strs])`)
	s.want(`=> `)
	s.send("(strs/upper-c\t \"a\")\r")
	s.want(`\n"A"\r\n`)
	s.say(`(get {:a-rare-keyword 5} :a-rare-keyword)`)
	s.want(`\n5\r\n`)
	s.want(`=> `)
	s.send(":a-ra\t\r")
	s.want(`\n:a-rare-keyword\r\n`)
	s.want(`=> `)
	s.send(ctrlD)
	s.end(ExitOK)

	file := filepath.Join(home, "state", "history")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "some-long-name") || strings.Contains(string(text), "secret") {
		t.Errorf("history: got %q, %v; want what was typed without a leading space", text, err)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o600 {
		t.Errorf("history: got mode %v, want 0600", info.Mode())
	}
	s = open(t, nil, "--home", home) // the next one has it
	s.want(`=> `)
	s.send(up + up + "\r")
	s.want(`\n5\r\n`)
	s.say(`:quit`)
	s.end(ExitOK)
}

// TestREPLComesUp holds law 8: whatever is wrong with the home, the prompt is there.
func TestREPLComesUp(t *testing.T) {
	write := func(init string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "init.joke"), []byte(init), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	unreadable := t.TempDir()
	if err := os.Mkdir(filepath.Join(unreadable, "init.joke"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"broken init":   {args: []string{"--home", write("(def a 1)\n(oops)")}, want: `init.joke:2:2`},
		"unclosed init": {args: []string{"--home", write("(def a")}, want: `did not load`},
		"init a folder": {args: []string{"--home", unreadable}, want: `did not load`},
		"no home":       {args: []string{"--home", "/nonexistent"}, want: `does not exist`},
		"home a file":   {args: []string{"--home", "/dev/null"}, want: `does not exist`},
		"no HOME":       {env: []string{"HOME="}, want: `starting without a home`},
		"no colours":    {env: []string{"NO_COLOR=1"}, args: []string{"--home", write("(oops)")}, want: `did not load`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, c.env, c.args...)
			s.want(c.want)
			s.say(`(+ 40 2)`)
			s.want(`\n42\r\n`)
			s.say(`:quit`)
			s.end(ExitOK)
		})
	}
}

// TestREPLInterruptsInit has an init.joke that never ends.
func TestREPLInterruptsInit(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "init.joke"), []byte(`(println "starting") (loop [] (recur))`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, nil, "--home", dir)
	s.want("starting")
	s.send(ctrlC)
	s.want("did not load")
	s.say(`(+ 40 2)`)
	s.want(`\n42\r\n`)
	s.say(`:quit`)
	s.end(ExitOK)
}

func TestREPLOnADumbTerminal(t *testing.T) {
	s := open(t, []string{"TERM=dumb"})
	s.want(`user=> `)
	s.send("(+ 1\n")
	s.want(`   \.\.\. `)
	s.send("2)\n")
	s.want(`\n3\r\n`)
	s.say(`(do (println "be" "gun") (loop [] (recur)))`)
	s.want(`be gun`)
	s.send(ctrlC)
	s.want(`interrupted`)
	s.want(`user=> `)
	s.send(ctrlC)
	s.want(`ctrl-D or :quit leaves`)
	s.say(`(oops)`)
	if got := s.want(`oops`); strings.Contains(got, "\x1b") {
		t.Errorf("error: got %q, want no colours", got)
	}
	s.want(`=> `)
	s.send(ctrlD)
	s.end(ExitOK)
}

func TestREPLColours(t *testing.T) {
	for env, want := range map[string]bool{colours: true, "NO_COLOR=1": false} {
		s := open(t, []string{env})
		s.say(`(nonsuch)`)
		got := s.want(`at top level`)
		if coloured := strings.Contains(got, "\x1b[1;31m"); coloured != want {
			t.Errorf("%s: got %q, want colours %v", env, got, want)
		}
		s.say(`{:a "b"}`)
		if got := s.want(`\n\{[^\n]*\}\r\n`); strings.Contains(got, "\x1b[36m:a\x1b[0m") != want {
			t.Errorf("%s: got %q, want a value with colours %v", env, got, want)
		}
	}
}

// TestSignals ends zeno at the prompt, in an evaluation, in a program and in a spawn.
func TestSignals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.joke")
	if err := os.WriteFile(file, []byte(`(println "running") (loop [] (recur))`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		wait  string
		types string
		sig   os.Signal
		code  int
	}{
		"TERM at the prompt":   {nil, "=> ", "", syscall.SIGTERM, ExitTerminated},
		"HUP at the prompt":    {nil, "=> ", "", syscall.SIGHUP, ExitTerminated},
		"TERM in evaluation":   {nil, "=> ", "(do (println \"run\" \"ning\") (loop [] (recur)))\r", syscall.SIGTERM, ExitTerminated},
		"INT in a program":     {[]string{file}, "running", "", os.Interrupt, ExitInterrupted},
		"TERM in a program":    {[]string{file}, "running", "", syscall.SIGTERM, ExitTerminated},
		"INT in an expression": {[]string{"-e", `(do (println "running") (deref (promise)))`}, "running", "", os.Interrupt, ExitInterrupted},
		"INT in eval":          {[]string{"eval", "-e", `(deref (promise))`}, "", "", os.Interrupt, ExitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.wait == "" {
				signalled(t, c.args, c.sig, c.code)
				return
			}
			s := open(t, nil, c.args...)
			s.want(c.wait)
			if c.types != "" {
				s.send(c.types)
				s.want("run ning")
			}
			if err := s.cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			s.end(c.code)
		})
	}
}

// signalled signals a zeno that says nothing before its end, so that how far it has come is not known: one that had not
// begun to listen ends by the signal itself, and is given more time.
func signalled(t *testing.T, args []string, sig os.Signal, code int) {
	t.Helper()
	for wait := 2 * time.Second; ; wait *= 4 {
		s := open(t, nil, args...)
		time.Sleep(wait)
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait()
		if got := s.cmd.ProcessState.ExitCode(); got == code {
			return
		} else if got != -1 || wait > patienceOfTests/2 {
			t.Fatalf("exit code: got %d, want %d; screen %q", got, code, s.text)
		}
	}
}
