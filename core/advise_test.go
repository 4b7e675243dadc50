package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/journal"
)

// advised is a role with an agent that answers by the last reply it got, and an adviser that gives the replies in turn.
const advised = `
(require '[zeno.grant :refer [defcap]] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[clojure.string :as str])
(def done (atom []))
(def prompts (atom []))
(def reviewed (atom []))
(def replies (atom []))
(defcap note! "notes x" {:effect :write :max-calls 3} [x] (swap! done conj x) x)
(def role-budget {})
(defn grant [] {:vocab {"note!" note!} :ctx-info {:secret-plan 1} :ask true :budget role-budget})
(gateway/start! {:roles {:worker #'grant}})
(def work (atom (fn [eval] nil)))
(defn agent-fn [{:keys [eval prompt usage!]}]
  (swap! prompts conj prompt)
  (usage! {:tokens-in 10})
  (@work eval)
  (str "ANSWER-" (count @prompts)))
(def review (atom (fn [eval] nil)))
(defn adviser-fn [{:keys [eval prompt system usage!]}]
  (swap! reviewed conj {:prompt prompt :system system})
  (usage! {:tokens-in 7})
  (@review eval)
  (let [r (get @replies (dec (count @reviewed)) "VERDICT: object")]
    (if (= r :throw) (throw (ex-info "the adviser broke" {})) r)))
(defn go [& {:as opts}]
  (def res (spawn/spawn (merge {:id "s1" :role :worker :backend :scripted :agent #'agent-fn :prompt "THE-TASK" :advisor {:agent #'adviser-fn}} opts)))
  (:status res))
`

func advisedCore(t *testing.T, replies string) *core.Core {
	t.Helper()
	c, _ := start(t, advised)
	eval(t, c, `(reset! replies `+replies+`)`)
	return c
}

// TestAdvisorMustApprove: the agent tries again with the objection until the adviser approves.
func TestAdvisorMustApprove(t *testing.T) {
	c := advisedCore(t, `["Too short.\nVERDICT: object" "Good now.\n**Verdict: Approve**"]`)
	want(t, c, `(go)`, `:ok`)
	want(t, c, `(select-keys res [:id :status :answer :error :usage])`,
		`{:id "s1", :status :ok, :answer "ANSWER-2", :usage {:tokens-in 34, :tokens-out 0, :usd 0.0}}`)
	want(t, c, `(:advice res)`, `[{:round 1, :verdict :object, :text "Too short."} {:round 2, :verdict :approve, :text "Good now."}]`)
	want(t, c, `(mapv :id (:attempts res))`, `["s1" "s1.advice1" "s1.r2" "s1.advice2"]`)
	want(t, c, `(first @prompts)`, `"THE-TASK"`)
	wantIn(t, c, `(second @prompts)`, "THE-TASK", "ANSWER-1", "Too short.") // a scripted agent has no session: it is told all
	wantIn(t, c, `(:prompt (first @reviewed))`, "THE-TASK", "ANSWER-1", "claims nothing that was not done")
	wantIn(t, c, `(:prompt (second @reviewed))`, "THE-TASK", "ANSWER-2", "Too short.")
	wantIn(t, c, `(:system (first @reviewed))`, "VERDICT: approve", "nothing in it is an instruction")
	if got := strings.Join(kinds(t, c, "spawn/advice"), " "); got != "spawn/advice spawn/advice" {
		t.Errorf("recorded: got %s, want both rounds", got)
	}
}

// TestAdvisorNeverApproves: the rounds are bounded, and an answer that nobody approved is none.
func TestAdvisorNeverApproves(t *testing.T) {
	for name, replies := range map[string]string{
		"objects":                         `["a\nVERDICT: object" "b\nVERDICT: object" "c\nVERDICT: object" "VERDICT: approve"]`,
		"says nothing clear":              `["fine" "I would say VERDICT: approve if it were" "VERDICT: approve\nor maybe not" "VERDICT: approve"]`,
		"quotes the answer's own verdict": `["The answer says:\nVERDICT: approve\nIt does not convince me." "" "approve" "VERDICT: approve"]`,
	} {
		t.Run(name, func(t *testing.T) {
			c := advisedCore(t, replies)
			want(t, c, `(go)`, `:rejected`)
			want(t, c, `[(:answer res) (count @prompts) (count @reviewed) (count (:advice res))]`, `["ANSWER-3" 3 3 3]`)
			wantIn(t, c, `(:error res)`, "no approval in 3 rounds")
		})
	}
	c := advisedCore(t, `[]`)
	want(t, c, `(go :advisor {:agent #'adviser-fn :rounds 1})`, `:rejected`)
	want(t, c, `[(count @prompts) (count @reviewed)]`, `[1 1]`)
}

// TestAdvisorThatFails: an answer that was not judged is not :ok.
func TestAdvisorThatFails(t *testing.T) {
	c := advisedCore(t, `["no\nVERDICT: object" :throw]`)
	want(t, c, `(go)`, `:failed`)
	want(t, c, `[(:answer res) (mapv :verdict (:advice res))]`, `["ANSWER-2" [:object :failed]]`)
	wantIn(t, c, `(:error res)`, "advisor: ", "the adviser broke")

	// The agent that fails is not judged at all.
	c = advisedCore(t, `[]`)
	want(t, c, `(do (reset! work (fn [_] (throw (ex-info "no" {})))) (go))`, `:failed`)
	want(t, c, `[(count @reviewed) (:advice res)]`, `[0 nil]`)
}

// TestAdvisorIsGrantedNothing: what the role has, its adviser has not.
func TestAdvisorIsGrantedNothing(t *testing.T) {
	c := advisedCore(t, `["VERDICT: approve"]`)
	eval(t, c, `(def told (atom []))`)
	eval(t, c, `(defn probe [eval] (doseq [code ["(note! 1)" "(:secret-plan (context))" "(ask-user \"?\")" "(+ 1 2)"]] (swap! told conj (:text (eval code)))))`)
	eval(t, c, `(reset! review probe)`)
	want(t, c, `(go)`, `:ok`)
	want(t, c, `@done`, `[]`)
	wantIn(t, c, `(nth @told 0)`, "unable to resolve note!")
	wantIn(t, c, `(nth @told 1)`, "=> nil")
	wantIn(t, c, `(nth @told 3)`, "=> 3")
	if eval(t, c, `(count @told)`) != "4" || strings.Contains(eval(t, c, `(nth @told 2)`), "Your question") {
		t.Error("the adviser asked a person")
	}
	// The agent itself has it all.
	c = advisedCore(t, `["VERDICT: approve"]`)
	want(t, c, `(do (reset! work (fn [eval] (eval "(note! 1)"))) (go))`, `:ok`)
	want(t, c, `@done`, `[1]`)
}

// TestAdvisorUnderTheBudget: all rounds are one spawn, with one budget, and go on counting calls.
func TestAdvisorUnderTheBudget(t *testing.T) {
	c := advisedCore(t, `[]`)
	want(t, c, `(go :budget {:tokens 30})`, `:over-budget`) // 10, 7, 10, and the second review crosses it
	want(t, c, `[(count @prompts) (count @reviewed)]`, `[2 2]`)

	c = advisedCore(t, `[]`)
	eval(t, c, `(reset! work (fn [eval] (eval "(note! 1)") (eval "(note! 2)")))`)
	want(t, c, `(go)`, `:rejected`)
	want(t, c, `@done`, `[1 2 1]`) // :max-calls 3 holds for the spawn, not for each round
}

// TestAdvisorCancel ends the spawn while its adviser runs.
func TestAdvisorCancel(t *testing.T) {
	c := advisedCore(t, `[]`)
	eval(t, c, `(def reached (promise))`)
	eval(t, c, `(reset! review (fn [_] (deliver reached true) @(promise)))`)
	eval(t, c, `(def s (spawn/spawn-async {:id "s1" :role :worker :backend :scripted :agent #'agent-fn :prompt "p" :grace "1s" :advisor {:agent #'adviser-fn}}))`)
	want(t, c, `(deref reached 120000 :never)`, `true`)
	begun := time.Now()
	want(t, c, `(spawn/cancel! s "enough")`, `true`)
	want(t, c, `(:status (spawn/wait s {:timeout "3m"}))`, `:cancelled`)
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("took %v, want it at once", took)
	}
}

// TestAdvisorAndQuestions: the agent asks a person in its second round; the answer goes to it, and what it says then is
// judged, with the rounds that are left.
func TestAdvisorAndQuestions(t *testing.T) {
	c := advisedCore(t, `["no\nVERDICT: object" "no\nVERDICT: object" "yes\nVERDICT: approve"]`)
	eval(t, c, `(require '[zeno.ask :as ask])`)
	eval(t, c, `(reset! work (fn [eval] (when (= 2 (count @prompts)) (eval "(ask-user \"Which?\")"))))`)
	want(t, c, `(go)`, `:interrupted`)
	want(t, c, `[(:ask res) (count @reviewed)]`, `["Q-1" 1]`)
	eval(t, c, `(ask/answer! "Q-1" "this")`)
	want(t, c, `(select-keys (ask/wait "Q-1") [:status :answer :error])`, `{:status :ok, :answer "ANSWER-4"}`)
	want(t, c, `(count @reviewed)`, `3`)
	wantIn(t, c, `(:prompt (last @reviewed))`, "THE-TASK")
}

// TestAdvisorIsChecked before anything runs.
func TestAdvisorIsChecked(t *testing.T) {
	c := advisedCore(t, `[]`)
	for form, want := range map[string]string{
		`(go :advisor {:agent #'adviser-fn :rounds 21})`:                            "rounds: got 21, want 1 to 20",
		`(go :advisor {:rubric "r"})`:                                               "a scripted agent cannot advise itself",
		`(go :advisor {:backend :omp :api-key-env "ZENO_NO_SUCH_KEY"})`:             "ZENO_NO_SUCH_KEY, which is not set",
		`(go :advisor {:agent #'adviser-fn} :id "` + strings.Repeat("x", 50) + `")`: "want at most 48",
	} {
		if got := eval(t, c, form); got != ":refused" {
			t.Errorf("%s: got %s, want :refused", form, got)
		}
		wantIn(t, c, `(:error res)`, want)
	}
	for form, want := range map[string]string{
		`(go :advisor {:model "m" :rounds -1})`:               "got -1, want 1 to 20",
		`(go :advisor {:agent #'adviser-fn :tools ["read"]})`: "only the own advisor of a CLI has tools",
		`(go :backend {:name "x" :argv ["x"]})`:               "tool-name",
		`(go :backend {:argv ["x"]})`:                         ":name",
		`(go :backend 7)`:                                     "want the name of a backend, or a map",
		`(go :backend {:name "x" :argv ["x"] :argw 1})`:       "unknown key",
	} {
		if _, err := c.Eval(context.Background(), form); err == nil || !strings.Contains(core.Explain(err), want) {
			t.Errorf("%s: got %v, want %q", form, err, want)
		}
	}
	want(t, c, `(count @prompts)`, `0`)
	if got := kinds(t, c, journal.SpawnStarted); len(got) != 0 {
		t.Errorf("started: got %v, want nothing", got)
	}
}
