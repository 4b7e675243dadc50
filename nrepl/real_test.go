package nrepl

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// TestClientOfNpm runs the client that npm has.
func TestClientOfNpm(t *testing.T) {
	modules, node := npmcli.Modules(t, "nrepl-client"), npmcli.Node(t)
	s := start(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join("testdata", "client.js"), port(s.Port()))
	cmd.Env = []string{"NODE_PATH=" + modules}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	want := strings.TrimLeft(`
describe string
eval 3
unicode "λ€𝄞"
out "printed\n" nil|nil
error UnresolvedSymbolException true
load-file 42
ls-sessions true
interrupt interrupted,done
close session-closed,done
`, "\n")
	if err != nil || string(out) != want {
		t.Errorf("got %v\n%s%s, want\n%s", err, out, errs.String(), want)
	}
}

// clojure is the command that runs Clojure with the nREPL project's own client.
func clojure(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	java := need.Program(t, "java", "default-jre-headless")
	var jars []string
	for _, name := range []string{"nrepl", "clojure", "spec.alpha", "core.specs.alpha"} {
		jar := filepath.Join("/usr/share/java", name+".jar") // where Debian's packages put them
		if _, err := os.Stat(jar); err != nil {
			need.Skip(t, "%s: not found; install it (Debian: apt-get install libnrepl-clojure)", jar)
		}
		jars = append(jars, jar)
	}
	return exec.CommandContext(t.Context(), java, append([]string{"-cp", strings.Join(jars, ":"), "clojure.main"}, args...)...)
}

// TestClientOfNREPL runs the client library of the nREPL project itself.
func TestClientOfNREPL(t *testing.T) {
	need.Full(t, "it starts a JVM")
	s := start(t, Config{})
	cmd := clojure(t, filepath.Join("testdata", "client.clj"), port(s.Port()))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	want := strings.TrimLeft(`
eval [3 "λ€𝄞" {:a [1/2 2N]}]
out {:out "printed\n", :value ["nil"], :status #{"done"}}
error {:ex "UnresolvedSymbolException", :status #{"eval-error" "done"}}
history [42 42]
load-file ["#'a.b/f"]
lookup {:name "f", :ns "a.b", :arglists-str "[x]", :line 2}
completions ("reduce-kv")
unknown-op #{"error" "unknown-op" "done"}
begun ":begun\n"
other [:served]
interrupt #{"done"}
interrupted #{"interrupted" "done"}
after [:alive]
close #{"done" "session-closed"}
`, "\n")
	if err != nil || string(out) != want {
		t.Errorf("got %v\n%s%s, want\n%s", err, out, errs.String(), want)
	}
}

// TestTerminalOfNREPL types into the terminal client of the nREPL project.
func TestTerminalOfNREPL(t *testing.T) {
	need.Full(t, "it starts a JVM")
	s := start(t, Config{})
	cmd := clojure(t, "-m", "nrepl.cmdline", "--connect", "--host", "127.0.0.1", "--port", port(s.Port()))
	cmd.Stdin = strings.NewReader("(println \"some\" 'text)\n(ns a.b)\n(str *ns*)\n(nosuch)\n(+ 40\n2)\n")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"some text\n", `a.b=> "a.b"`, "unable to resolve nosuch", "a.b=> 42"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("got %v\n%s, want %q in it", err, out, want)
		}
	}
}
