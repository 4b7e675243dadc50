package cli

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// TestMain makes the test binary zeno, its guard and a stand-in for an agent CLI, each when it is called so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == stage2.Word {
		stage2.Main()
	}
	if len(os.Args) > 1 && os.Args[1] == guard.Word {
		os.Exit(guard.Main(os.Args[2:]))
	}
	testscript.Main(checked{m}, map[string]func(){
		"zeno":   func() { os.Exit(Main(os.Args[1:], Process())) },
		"claude": func() { os.Exit(playClaude()) },
	})
}

// checked fails where tests leave goroutines behind.
type checked struct{ m *testing.M }

func (c checked) Run() int {
	code := c.m.Run()
	if code == 0 {
		if err := noleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			return 1
		}
	}
	return code
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/nobody") // it does not exist
			e.Setenv("TMPDIR", e.WorkDir+"/.tmp")
			return nil
		},
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "waitfile": waitFile, "eventually": eventually, "post": deliver},
	})
}

// waitFile waits until a file is there.
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfile FILE")
	}
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s: still not there", args[0])
}

// exitCode runs a command and wants the exit code that stands before it: code 3 zeno eval …
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args...]")
	}
	want := args[0]
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = lastWord(err.Error())
	}
	if got != want {
		ts.Fatalf("exit code: got %s (%v), want %s", got, err, want)
	}
}

// lastWord of "exit status 3" is the code.
func lastWord(s string) string {
	i := len(s)
	for i > 0 && s[i-1] != ' ' {
		i--
	}
	return s[i:]
}

// eventually runs a command until its output matches: eventually 'what' zeno ps
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP command [args...]")
	}
	want := regexp.MustCompile(args[0])
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...) // what it prints is what counts
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%q: still not in the output of %v: %s", args[0], args[1:], ts.ReadFile("stdout"))
}
