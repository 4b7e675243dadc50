package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
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
	time.Sleep(20 * time.Minute) // the parent kills long before
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
