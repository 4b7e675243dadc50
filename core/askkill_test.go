package core_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// askChild holds, in the environment of a child, the point at which it kills itself: POINT, or "none".
const askChild = "ZENO_ASK_CHILD"

// askChildMain is a zeno that serves the home in ZENO_HOME until it is killed.
func askChildMain() int {
	point := os.Getenv(askChild)
	h, err := home.Resolve(os.Getenv("ZENO_HOME"), os.Getenv)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	self, err := guard.Self()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c, err := core.New(core.Config{Home: h, Err: os.Stderr, Guard: self, Path: os.Getenv("ZENO_ASK_PATH")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c.AtAsk(func(p string) {
		if p == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	if err := c.Boot(context.Background()); err != nil {
		fmt.Println(core.Explain(err))
		return 1
	}
	time.Sleep(20 * time.Minute) // the parent kills long before
	return 3
}

// kills is a home that is served by one child after the other.
type kills struct {
	t    *testing.T
	dir  string
	path string // PATH of the CLIs
}

func newKills(t *testing.T, program, path string) *kills {
	t.Helper()
	k := &kills{t: t, dir: t.TempDir(), path: path}
	if err := os.WriteFile(filepath.Join(k.dir, home.InitFile), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// serve starts a child that kills itself at point. The returned function kills it if need be, and waits.
func (k *kills) serve(point string) (cmd *exec.Cmd, end func()) {
	k.t.Helper()
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), askChild+"="+point, "ZENO_HOME="+k.dir, "ZENO_ASK_PATH="+k.path)
	var said buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return cmd, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if k.t.Failed() {
			k.t.Logf("a child that was to be killed at %s said:\n%s", point, said.String())
		}
	}
}

// desk gives the file of questions once a child has made it.
func (k *kills) desk() *ask.Desk {
	k.t.Helper()
	path := filepath.Join(k.dir, "state", core.AsksFile)
	waitFor(k.t, "the file of questions", func() bool { _, err := os.Stat(path); return err == nil })
	d, err := ask.Open(context.Background(), ask.Config{Path: path, Poll: 20 * time.Millisecond})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = d.Close() })
	return d
}

// lines counts the lines of the file that the program writes its effects to.
func (k *kills) lines(prefix string) int {
	b, _ := os.ReadFile(filepath.Join(k.dir, "effects"))
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// journal opens the journal, also while a child writes it.
func (k *kills) journal() *journal.Reader {
	k.t.Helper()
	r, err := journal.OpenReader(context.Background(), filepath.Join(k.dir, "state", core.JournalFile))
	if err != nil {
		k.t.Fatal(err)
	}
	return r
}

// missing gives those of wants that the journal does not hold yet.
func (k *kills) missing(wants ...string) []string {
	k.t.Helper()
	r := k.journal()
	defer r.Close()
	es, err := r.Since(context.Background(), 0, 10_000)
	if err != nil {
		k.t.Fatal(err)
	}
	return slices.DeleteFunc(wants, func(want string) bool {
		return slices.ContainsFunc(es, func(e journal.Event) bool { return e.Kind == want })
	})
}

// verify checks the journal's chain.
func (k *kills) verify() {
	k.t.Helper()
	r := k.journal()
	defer r.Close()
	if rep, err := r.Verify(context.Background(), journal.Anchor{}); err != nil || rep.Broken != nil {
		k.t.Errorf("the journal: got %v %v, want it whole", rep.Broken, err)
	}
}

const killProgram = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.ask :as ask] '[zeno.home :as home])
(defn effect! [x] (spit (str (home/dir) "/effects") (str x "\n") :append true))
(defn grant [] {:vocab {"pay!" {:fn (fn [x] (effect! (str "paid " x)) x) :effect :write :approve true}
                        "note!" {:fn (fn [x] (effect! (str "note " x)) x) :effect :write}} :ask true})
(gateway/start! {:roles {:worker #'grant}})
(defn agent-fn [{:keys [eval resume]}]
  (if resume
    (do (effect! (str "resume " (:id resume))) (eval "(note! 2)") "done")
    (do (eval "(note! 1)") (eval "(pay! 42)") "asked")))
(when-not (.exists? (str (home/dir) "/begun"))
  (spit (str (home/dir) "/begun") "x")
  (future (spawn/spawn {:id "s1" :role :worker :backend :scripted :agent #'agent-fn})))
`

// TestAskSurvivesKill kills a zeno at every point of the way of an approval, starts another, and counts: the call is made
// once and the agent goes on once, or the question is unknown and waits for the operator.
func TestAskSurvivesKill(t *testing.T) {
	for point, unknown := range map[string]bool{"none": false, "asked": false, "calling": true, "made": true, "called": false,
		"resuming": false, "started": false, "resumed": false, "ending": false} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			k := newKills(t, strings.Replace(killProgram, `(.exists? (str (home/dir) "/begun"))`, `(joker.os/exists? (str (home/dir) "/begun"))`, 1), "")
			first, end := k.serve(point)
			d := k.desk()
			waitFor(t, "the question", func() bool { q, err := d.Get(context.Background(), "Q-1"); return err == nil && q.State == ask.Asked })
			if point == "asked" {
				_ = first.Wait()
			}
			if point != "asked" {
				if _, err := d.Answer(context.Background(), "Q-1", "yes", "ann"); err != nil {
					t.Fatal(err)
				}
			}
			if point != "none" {
				waitFor(t, "the kill", func() bool {
					return first.ProcessState != nil || syscall.Kill(first.Process.Pid, 0) != nil || zombie(first.Process.Pid)
				})
				end()
				_, end = k.serve("none")
			}
			defer func() { end() }()
			if point == "asked" {
				if _, err := d.Answer(context.Background(), "Q-1", "yes", "ann"); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			q, err := d.Wait(ctx, "Q-1", func(q ask.Ask) bool { return q.State == ask.Resumed || q.State == ask.Unknown })
			if err != nil {
				t.Fatalf("got %s, want an end: %v", q.State, err)
			}
			if (q.State == ask.Unknown) != unknown {
				t.Errorf("got %s (%s), want unknown: %v", q.State, q.Note, unknown)
			}
			if unknown {
				if want := map[string]int{"calling": 0, "made": 1}[point]; k.lines("paid") != want {
					t.Errorf("paid %d times, want %d", k.lines("paid"), want)
				}
				if k.lines("resume") != 0 {
					t.Error("the agent was told something that nobody knows")
				}
				if _, err := d.Decide(context.Background(), "Q-1", "", "ann"); err == nil {
					t.Error("a decision without a note: got it taken, want it refused")
				}
				if _, err := d.Decide(context.Background(), "Q-1", "it went through", "ann"); err != nil {
					t.Fatal(err)
				}
			}
			sp, err := d.WaitSpawn(ctx, "s1")
			if err != nil {
				t.Fatal(err)
			}
			want := `"Status":"ok"`
			if point == "resumed" || point == "ending" {
				want = `"Status":"interrupted"` // the agent had the answer, and was at work
			}
			if !strings.Contains(string(sp.Result), want) {
				t.Errorf("the spawn: got %s, want %s", sp.Result, want)
			}
			if point != "calling" && k.lines("paid") != 1 {
				t.Errorf("paid %d times, want once", k.lines("paid"))
			}
			if n := k.lines("resume"); n != 1 && !(point == "resumed" && n == 0) {
				t.Errorf("resumed %d times, want once", n)
			}
			// A step that a kill kept from the journal is handed on by the next zeno.
			waitFor(t, "every step in the journal", func() bool {
				return len(k.missing("ask/asked", "ask/answered", "ask/resumed", journal.SpawnEnded)) == 0
			})
			end()
			k.verify()
		})
	}
}

// zombie tells whether a process has ended and nobody has waited for it.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

// TestRealAskSurvivesKill does so with the real CLIs: in the session the answer stands once, whatever was killed when.
func TestRealAskSurvivesKill(t *testing.T) {
	twoCLIs(t, func(t *testing.T, cli string) {
		for _, point := range []string{"asked", "resuming", "started", "resumed"} {
			t.Run(point, func(t *testing.T) {
				path := npmcli.Need(t, cli)
				setKey()
				model := modelserver.New(modelserver.Config{})
				t.Cleanup(model.Close)
				base := model.URL
				if cli == "omp" {
					base += "/v1"
				}
				k := newKills(t, realKillProgram(cli, base), path)
				first, end := k.serve(point)
				defer func() { end() }()
				d := k.desk()
				waitFor(t, "the question", func() bool { _, err := d.Get(context.Background(), "Q-1"); return err == nil })
				answer := func() {
					if _, err := d.Answer(context.Background(), "Q-1", "green "+marks(`(note! 2)`), "ann"); err != nil {
						t.Error(err)
					}
				}
				if point != "asked" {
					answer()
				}
				waitFor(t, "the kill", func() bool { return zombie(first.Process.Pid) })
				end()
				waitFor(t, "the end of the CLI", func() bool { return len(processesWith("HOME="+k.dir)) == 0 })
				_, end = k.serve("none")
				if point == "asked" {
					answer()
				}
				ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
				defer cancel()
				q, err := d.Wait(ctx, "Q-1", func(q ask.Ask) bool { return q.State == ask.Resumed || q.State == ask.Unknown })
				if err != nil {
					t.Fatalf("got %s, want an end: %v", q.State, err)
				}
				if q.State == ask.Unknown && point != "started" {
					t.Errorf("got unknown (%s), want it decided", q.Note)
				}
				if q.State == ask.Unknown {
					t.Logf("%s, killed at %s: unknown: %s", cli, point, q.Note)
					if n := k.lines("note 2"); n != 0 {
						t.Errorf("got %d effects of an answer that nobody knows of, want none", n)
					}
					if _, err := d.Decide(ctx, "Q-1", "", "ann"); err != nil {
						t.Fatal(err)
					}
				}
				sp, err := d.WaitSpawn(ctx, "s1")
				if err != nil {
					t.Fatal(err)
				}
				ended := strings.Contains(string(sp.Result), `"Status":"interrupted"`)
				if n := k.lines("note 2"); n != 1 && !(ended && n == 0) {
					t.Errorf("got %d effects of the answer, want one (%s)", n, sp.Result)
				}
				if point != "resumed" && ended {
					t.Errorf("got %s, want the agent to go on", sp.Result)
				}
				requests := model.Requests()
				last := fmt.Sprint(requests[len(requests)-1].Conversation.Turns)
				if n := strings.Count(last, "Answer: green"); n != 1 {
					t.Errorf("the conversation holds the answer %d times, want once: %s", n, last)
				}
			})
		}
	})
}

// twoCLIs runs a test for a CLI that writes its session before it asks the model, and for one that does not.
func twoCLIs(t *testing.T, test func(t *testing.T, cli string)) {
	for _, cli := range []string{"claude", "omp"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			test(t, cli)
		})
	}
}

func realKillProgram(cli, base string) string {
	return `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.ask :as ask] '[zeno.home :as home])
(defn effect! [x] (spit (str (home/dir) "/effects") (str x "\n") :append true))
(defn grant [] {:vocab {"note!" {:fn (fn [x] (effect! (str "note " x)) x) :effect :write}} :ask true})
(gateway/start! {:roles {:worker #'grant}})
(when-not (joker.os/exists? (str (home/dir) "/begun"))
  (spit (str (home/dir) "/begun") "x")
  (future (spawn/spawn {:id "s1" :role :worker :backend :` + cli + ` :sandbox :none :trust true :model "m1" :base-url ` + strconv.Quote(base) + ` :api-key-env "` + keyVar + `"
    :timeout "5m" :grace "1s" :prompt ` + quote(marks(`(ask-user "Which?")`)) + `})))
`
}
