package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core/journal"
)

// worker is a role that reads, writes one file, and may do nothing else.
const worker = `
(defn out-file [] (str (home/dir) "/out.txt"))
(defcap notes "incident notes, one map each" {:effect :read} []
  [{:service "search" :minutes 30} {:service "mail" :minutes 5} {:service "search" :minutes 12}])
(defcap save! "writes text into the result file" {:effect :write} [text] (spit (out-file) text) :saved)
(defcap admin! "of another role" {:effect :write} [] (spit (out-file) "owned") :owned)
(defn worker-grant [] {:vocab {"notes" notes "save!" save!} :ctx-info {:task "sum the minutes"}})
(defn admin-grant [] {:vocab {"admin!" admin!}})
(gateway/start! {:roles {:worker #'worker-grant :admin #'admin-grant}})
`

// TestRealAgentWorks is the main job: in one run the agent composes capabilities, errs, recovers by the hint, is refused
// what it was not granted, and writes a file; then the program reads how it went.
func TestRealAgentWorks(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		r := startReal(t, cli, worker)
		prompt := []string{
			`(def sums (reduce (fn [m n] (update m (:service n) (fnil + 0) (:minutes n))) (sorted-map) (notes)))`,
			`(save (pr-str sums))`,
			`(save! (pr-str sums))`,
			`(admin!)`,
			`(slurp "/etc/passwd")`,
			`[(count (notes)) (get sums "search") (:task (context))]`,
		}
		eval(t, r.Core, `(def res (real {:prompt `+quote("work "+marks(prompt...))+`}))`)

		r.want(t, `[(:status res) (:exit res) (:evals res) (:boxed res) (:error res)]`, `[:ok 0 6 false nil]`)
		r.want(t, `(:answer res)`, `"RESULT: => [3 42 \"sum the minutes\"]"`)
		r.want(t, `[(get-in res [:usage :tokens-in]) (get-in res [:usage :tokens-out]) (pos? (:ms res)) (string? (:session res))]`,
			`[70 35 true true]`) // seven answers of 10 and 5 tokens
		if cli == "claude" {
			r.want(t, `(pos? (get-in res [:usage :usd]))`, `true`)
		}
		told := r.told()
		for i, want := range []string{`=> #'user/sums`, `did you mean save!?`, `=> :saved`, `unable to resolve admin!`,
			`unable to resolve slurp`, `=> [3 42`} {
			if i >= len(told) || !strings.Contains(told[i], want) {
				t.Errorf("eval %d: the model was told %.300q, want it to hold %q", i+1, told, want)
			}
		}
		data, err := os.ReadFile(filepath.Join(r.dir, "out.txt"))
		if want := `{"mail" 5, "search" 42}`; err != nil || string(data) != want {
			t.Errorf("the file: got %q %v, want %q", data, err, want)
		}
		r.checkJournal(t, prompt)
		r.checkSecrets(t)
	})
}

// marks makes the model evaluate each code in turn.
func marks(codes ...string) string {
	var b strings.Builder
	for _, code := range codes {
		fmt.Fprintf(&b, "[[eval: %s ]] ", code)
	}
	return b.String()
}

// checkJournal holds that every eval, call, refusal and the spawn itself were recorded, in order, with their data.
func (r *real) checkJournal(t *testing.T, codes []string) {
	t.Helper()
	var got []string
	at := 0
	for _, e := range r.events(t) {
		line := strings.TrimSpace(e.Kind + " " + e.Outcome)
		if e.Role != "worker" || e.Spawn == "" || e.At.IsZero() {
			t.Errorf("event %s: got role %q, spawn %q, at %v", line, e.Role, e.Spawn, e.At)
		}
		switch e.Kind {
		case journal.Call:
			line += " " + fmt.Sprint(e.Data["name"], e.Data["args"])
		case journal.Eval:
			if e.Data["code"] != codes[at] || e.Data["steps"].(int64) <= 0 || e.Data["bytes"].(int64) < 0 {
				t.Errorf("eval event %d: got %v", at, e.Data)
			}
			at++
		case journal.SpawnEnded:
			if e.Data["evals"] != len(codes) || e.Data["boxed"] != false || e.Data["tokens-in"] != int64(70) || e.Elapsed <= 0 {
				t.Errorf("the end: got %v after %v", e.Data, e.Elapsed)
			}
		}
		got = append(got, line)
	}
	want := `secret/use ok
spawn/started
call ok notes()
eval ok
eval unresolved
refused unresolved
call/intent
call ok save!("{\"mail\" 5, \"search\" 42}")
eval ok
eval unresolved
refused unresolved
eval unresolved
refused unresolved
call ok notes()
eval ok
spawn/ended ok`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("journal: got\n%s\nwant\n%s", s, want)
	}
}

// checkSecrets holds that neither key nor token came out anywhere, and that the run said that it is unboxed.
func (r *real) checkSecrets(t *testing.T) {
	t.Helper()
	said := r.err.String() + eval(t, r.Core, `(pr-str res)`) + fmt.Sprintf("%+v", r.events(t, journal.SpawnProgress, journal.SpawnEnded, journal.Eval))
	if strings.Contains(said, key) {
		t.Errorf("the key came out in:\n%s", said)
	}
	for _, q := range r.model.Requests() {
		if q.Auth != key {
			t.Errorf("auth: got %q, want the key", q.Auth)
		}
		if strings.Contains(q.Body, "Bearer ") || !strings.Contains(q.Conversation.System, "SYSTEM-MARK") {
			t.Errorf("a request to the model: got %.500s", q.Body)
		}
	}
	if !strings.Contains(r.err.String(), "runs unboxed") {
		t.Errorf("stderr: got %q, want it to say that the spawn runs unboxed", r.err.String())
	}
}
