package core_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
)

// crashChild holds, in the environment of a child, its crashJob as JSON.
const crashChild = "ZENO_CRASH_CHILD"

// crashJob is what a child is to do until it is killed.
type crashJob struct {
	Home  string
	Point string   // of a write, or of the way of a question, where it kills itself; "": its parent does
	N     int      // at the Nth time
	Args  []string // of the program: its generation, the seconds that a body in a box sleeps or "-", and keys of work to be done once that it asks for again
}

// The points where a child kills itself.
func journalPoints() []string { return []string{"begin", "event", "written", "commit", "committed"} }
func askPoints() []string {
	return []string{"asked", "calling", "made", "called", "resuming", "started", "resumed", "ending"}
}

// lineWriter hands on whole lines, each in one write: what is said before a kill is read.
type lineWriter struct {
	mu  sync.Mutex
	buf []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	if i := bytes.LastIndexByte(w.buf, '\n'); i >= 0 {
		_, _ = os.Stdout.Write(w.buf[:i+1])
		w.buf = append(w.buf[:0], w.buf[i+1:]...)
	}
	return len(p), nil
}

// crashChildMain serves a home that works hard, until it is killed.
func crashChildMain() int {
	var job crashJob
	if err := json.Unmarshal([]byte(os.Getenv(crashChild)), &job); err != nil {
		fmt.Println("error", err)
		return 1
	}
	h, err := home.Resolve(job.Home, os.Getenv)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	self, err := guard.Self()
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	idle := backend.Backend{Name: "idle", Argv: []backend.Arg{{Words: []string{"sh"}}, {Words: []string{"-c"}}, {Words: []string{"sleep 300 & sleep 300"}}},
		Stdin: "${prompt}", ToolName: "eval", Install: "apt-get install dash", Tried: "0.5",
		Stream: backend.Stream{Rules: []backend.Rule{{Take: map[string][]string{"answer": {"answer"}}}}}}
	c, err := core.New(core.Config{Home: h, Out: &lineWriter{}, Err: os.Stderr, Guard: self, Path: "/usr/bin:/bin", Serve: true, BoxSelf: true, Args: job.Args,
		Backends: map[string]backend.Backend{"idle": idle}})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	var mu sync.Mutex
	at := func(point string) {
		if point != job.Point {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if job.N--; job.N <= 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	c.AtWrite(at)
	c.AtAsk(at)
	if err := c.Boot(context.Background()); err != nil {
		fmt.Println("error", core.Explain(err))
		return 1
	}
	fmt.Println("ready")
	time.Sleep(2 * time.Minute) // the parent kills long before
	return 3
}

// hardWork is a home under load: processes, work to be done once, agents with an effect, agents that ask a person, and a
// CLI. It says on stdout what it was told is done. With the generation "end" it begins nothing new.
const hardWork = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.loop :as loop] '[zeno.journal :as journal] '[zeno.ask :as ask] '[zeno.sandbox :as sandbox])
(def gen (first *command-line-args*))
(def body (second *command-line-args*))
(def n (atom 0))
(defn id [kind] (str kind gen "-" (swap! n inc)))
(defn say [& words] (print (str (apply str (interpose " " words)) "\n")))
(defn once [k] (journal/once k (fn [] (say "body" k) k)))
(defn do-once [] (let [k (id "k")] (once k) (say "once" k)))
(defn grant [] {:vocab {"put!" {:fn (fn [x] (say "effect" x) x) :effect :write} "look" (fn [x] x)}})
(defn asking [] {:vocab {"pay!" {:fn (fn [x] (say "paid" x) x) :effect :write :approve true}} :ask true})
(gateway/start! {:roles {:worker #'grant :asker #'asking}})
(ask/channel! {:send (fn [q] nil)})
(defn worker [me] (fn [{:keys [eval]}]
  (eval "(def x (look 1))")
  (when (= (:text (eval (str "(put! \"" me "\")"))) (str "=> \"" me "\"")) (say "call" me))
  "done"))
(defn spawn-one [] (let [me (id "s")] (when (= :ok (:status (spawn/spawn {:id me :role :worker :backend :scripted :agent (worker me)}))) (say "spawn" me))))
(defn patient [{:keys [eval prompt resume]}]
  (if resume (do (say "resumed" (:id resume)) "done") (do (eval (str "(pay! \"" prompt "\")")) "asked")))
(defn ask-one [] (let [me (id "q")] (when (= :interrupted (:status (spawn/spawn {:id me :role :asker :backend :scripted :prompt me :agent #'patient}))) (say "asked" me))))
(defn answer-all [] (doseq [q (ask/inbox)]
  (when (= :asked (:state q)) (when (try (ask/answer! (:id q) "yes" "ann") true (catch Exception e false)) (say "answered" (:id q))))))
(doseq [k (drop 2 *command-line-args*)]
  (try (say "again" k (once k)) (catch Exception e (say "unknown" k (name (:zeno/once (ex-data e)))))))
(when-not (= gen "end")
  (loop/every :once "3ms" #'do-once)
  (loop/every :once2 "5ms" #'do-once)
  (loop/every :spawn "20ms" #'spawn-one)
  (loop/every :spawn2 "20ms" #'spawn-one)
  (loop/every :ask "60ms" #'ask-one)
  (spawn/spawn-async {:id (id "c") :role :worker :backend "idle" :sandbox :none :prompt "x" :timeout "5m"}))
(when-not (= body "-")
  (future (try (sandbox/run {:argv ["sleep" body]}) (catch Exception e (say "nobox" body))))
  (loop/every :body "30ms" (fn [] (doseq [b (sandbox/ps)] (say "box" (second (:argv b)))))))
(loop/every :answer "25ms" #'answer-all)
`

// crashes is one home, served by one child after the other.
type crashes struct {
	t     *testing.T
	dir   string
	said  map[string]map[string]int // by the first word: what, and how often, over all children
	hits  map[string]int            // kills by point
	ends  journal.Anchor
	body  string   // that the child runs in a box; "-": none
	again []string // keys that the next child asks for again
}

// run starts a child and gives the lines it said until it was killed.
func (k *crashes) run(job crashJob, after time.Duration, until ...func() bool) []string {
	k.t.Helper()
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	job.Home = k.dir
	b, err := json.Marshal(job)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashChild+"="+string(b), "ZENO_HOME="+k.dir)
	errs := &buffer{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var lines []string
	ready := false
	for sc := bufio.NewScanner(out); sc.Scan(); {
		line := sc.Text()
		if line == "ready" {
			ready = true
			defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop()
			for _, f := range until {
				ended := make(chan struct{})
				defer func() { <-ended }()
				go func() {
					defer close(ended)
					for begun := time.Now(); time.Since(begun) < after && !f(); {
					}
					_ = cmd.Process.Kill()
				}()
			}
			continue
		}
		lines = append(lines, line)
	}
	_ = cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		k.t.Fatalf("child of %+v: got %v, want it killed: %q\n%s", job, cmd.ProcessState, lines, errs.String())
	}
	if !ready && job.Point == "" {
		k.t.Fatalf("child of %+v: got no start within a minute: %s", job, errs.String())
	}
	return lines
}

// take counts what a child said. fresh is what this one said.
func (k *crashes) take(lines []string) (fresh map[string]map[string]bool) {
	k.t.Helper()
	fresh = map[string]map[string]bool{}
	for _, l := range lines {
		w := strings.Fields(l)
		if len(w) < 2 || w[0] == "error" {
			k.t.Fatalf("a child said %q", l)
		}
		if k.said[w[0]] == nil {
			k.said[w[0]] = map[string]int{}
		}
		if fresh[w[0]] == nil {
			fresh[w[0]] = map[string]bool{}
		}
		k.said[w[0]][w[1]]++
		fresh[w[0]][w[1]] = true
	}
	return fresh
}

// check looks at what a killed child left.
func (k *crashes) check(fresh map[string]map[string]bool) {
	k.t.Helper()
	ctx := context.Background()
	waitFor(k.t, "the end of the CLIs and their guards", func() bool {
		return len(processesWith("HOME="+k.dir))+len(processesWith("ZENO_HOME="+k.dir)) == 0
	})
	waitFor(k.t, "the end of what ran in a box", func() bool { return k.body == "-" || !sleeps(k.body) })
	s, err := journal.Open(ctx, journal.Config{Path: filepath.Join(k.dir, "state", core.JournalFile), LockWait: 10 * time.Second, Retention: journal.Retention{Events: -1}})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	rep, err := s.Verify(ctx, k.ends)
	if err != nil || rep.Broken != nil {
		k.t.Fatalf("the chain: got %v, %v, want it whole", rep.Broken, err)
	}
	k.ends = rep.To
	k.agents(s, fresh)
	k.again = nil
	for key := range fresh["body"] {
		m, ok, err := s.LookMark(ctx, fmt.Sprintf("%q", key))
		if err != nil || !ok {
			k.t.Errorf("work %s, whose body ran: got no mark, %v", key, err)
		}
		if !fresh["once"][key] {
			k.again = append(k.again, key)
		} else if m.State != journal.MarkDone {
			k.t.Errorf("work %s, which was done: got %s", key, m.State)
		}
	}
	for key := range fresh["once"] {
		if len(k.again) < 5 {
			k.again = append(k.again, key)
		}
	}
}

// sleeps tells whether a process sleeps for so many seconds.
func sleeps(seconds string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "sleep\x00"+seconds) {
			return true
		}
	}
	return false
}

// agents wants every acknowledged end of an agent, and every acknowledged effect, in the record.
func (k *crashes) agents(s *journal.SQLite, fresh map[string]map[string]bool) {
	k.t.Helper()
	for _, x := range []struct {
		said  string
		kinds []string
	}{{"spawn", []string{journal.SpawnStarted, journal.SpawnEnded}}, {"call", []string{journal.SpawnStarted, journal.Intent, journal.Call}},
		{"effect", []string{journal.Intent}}, {"asked", []string{journal.SpawnStarted, journal.SpawnEnded}}} {
		for id := range fresh[x.said] {
			es, err := s.Show(context.Background(), id, 0, 100)
			if err != nil {
				k.t.Fatal(err)
			}
			var got []string
			for _, e := range es {
				got = append(got, e.Kind)
			}
			for _, kind := range x.kinds {
				if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+kind+" ") {
					k.t.Errorf("%s %s was said, and the journal has no %s: %v", x.said, id, kind, got)
				}
			}
		}
	}
}

// kill lets one child work until it is killed, and checks what it left.
func (k *crashes) kill(gen int) {
	k.t.Helper()
	k.body = "-"
	if gen%8 == 3 {
		k.body = fmt.Sprint(1_000_000_000 + rand.IntN(1_000_000_000))
	}
	job := crashJob{Args: append([]string{fmt.Sprint("g", gen), k.body}, k.again...)}
	switch gen % 4 {
	case 0:
	case 1:
		job.Point, job.N = askPoints()[gen/4%len(askPoints())], 1+rand.IntN(2)
	default:
		job.Point, job.N = journalPoints()[gen/2%len(journalPoints())], 1+rand.IntN(80)
	}
	after := time.Duration(rand.IntN(400)) * time.Millisecond
	if job.Point != "" {
		after = 3 * time.Second // where its point does not come
	}
	asked := k.again
	fresh := k.take(k.run(job, after))
	k.hits[job.Point]++
	k.check(fresh)
	if len(fresh["once"])+len(fresh["effect"]) > 0 { // it came as far as the work of this generation
		for _, key := range asked {
			if k.said["unknown"][key] == 0 && k.said["again"][key] == 0 {
				k.t.Errorf("work %s, asked for again: got no answer", key)
			}
		}
	}
}

// end starts a last child that begins nothing, and waits until what was cut off has come to its end.
func (k *crashes) end() {
	k.t.Helper()
	settled := func() bool { // seen twice, a second apart: the record follows
		for range 2 {
			time.Sleep(time.Second)
			if d, err := ask.Open(context.Background(), ask.Config{Path: filepath.Join(k.dir, "state", core.AsksFile)}); err == nil {
				open, err := d.In(context.Background(), ask.Asked, ask.Answered, ask.Calling, ask.Resuming)
				waiting, werr := d.Waiting(context.Background())
				unknown, uerr := d.In(context.Background(), ask.Unknown)
				_ = d.Close()
				if err != nil || werr != nil || uerr != nil || len(open) > 0 || len(waiting) > len(unknown) {
					return false
				}
			}
		}
		return true
	}
	k.body = "-"
	k.check(k.take(k.run(crashJob{Args: append([]string{"end", k.body}, k.again...)}, 30*time.Second, settled)))
	d, err := ask.Open(context.Background(), ask.Config{Path: filepath.Join(k.dir, "state", core.AsksFile)})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	open, err := d.In(context.Background(), ask.Asked, ask.Answered, ask.Calling, ask.Resuming)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, q := range open {
		k.t.Errorf("question %s of %s: got %s (%s) after the last start, want it settled or unknown", q.ID, q.Spawn, q.State, q.Note)
	}
	unknown := map[string]bool{}
	list, err := d.In(context.Background(), ask.Unknown)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, q := range list {
		unknown[q.Spawn] = true
	}
	s, err := journal.Open(context.Background(), journal.Config{Path: filepath.Join(k.dir, "state", core.JournalFile)})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	left, err := s.CutOff(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, b := range left {
		if !unknown[b.Spawn] {
			k.t.Errorf("spawn %s: got a beginning (event %d) and no end in the record", b.Spawn, b.Seq)
		}
	}
	if rep, err := s.Verify(context.Background(), journal.Anchor{}); err != nil || rep.Broken != nil {
		k.t.Errorf("the whole chain: got %v, %v", rep.Broken, err)
	}
	k.t.Logf("%d questions are unknown and wait for the operator", len(list))
}

// TestNothingIsLostByKills kills a zeno under load at every point of a write of the journal, at every point of the way of a
// question, and at random times. After each: what was acknowledged is in the record, the chain holds, nothing that was to
// be done once was done twice, no CLI or guard is left; and in the end everything that was cut off has come to an end.
func TestNothingIsLostByKills(t *testing.T) {
	kills, homes := 304, 4
	if testing.Short() {
		kills, homes = 24, 2
	}
	for h := range homes {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			t.Parallel()
			k := &crashes{t: t, dir: t.TempDir(), said: map[string]map[string]int{}, hits: map[string]int{}}
			if err := os.WriteFile(filepath.Join(k.dir, home.InitFile), []byte(hardWork), 0o600); err != nil {
				t.Fatal(err)
			}
			for gen := range kills / homes {
				k.kill(gen + h)
				if t.Failed() {
					t.Fatalf("kill %d (%v)", gen, k.hits)
				}
			}
			k.end()
			for _, once := range []string{"body", "effect", "paid", "resumed"} {
				for what, n := range k.said[once] {
					if n != 1 {
						t.Errorf("%s %s: got it %d times, want once", once, what, n)
					}
				}
			}
			sum := map[string]int{}
			for word, m := range k.said {
				sum[word] = len(m)
			}
			t.Logf("killed %v; said %v; journal ends at %d", k.hits, sum, k.ends.Seq)
			if sum["box"] == 0 && sum["nobox"] == 0 {
				t.Error("got no body in a box before a kill: the test saw too little to mean anything")
			}
			for _, word := range []string{"once", "body", "spawn", "call", "asked", "again"} {
				if sum[word] == 0 {
					t.Errorf("got no %q: the test saw too little to mean anything", word)
				}
			}
		})
	}
}
