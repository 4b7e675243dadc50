package core_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
)

// asking is a role that may ask, and an agent that does what it is told: (go codes after) evaluates codes, and once it is
// resumed the codes that after gives for the answer.
const asking = `
(require '[zeno.grant :refer [defcap]] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.ask :as ask])
(def done (atom []))
(def resumes (atom []))
(def texts (atom []))
(defcap note! "notes x" {:effect :write} [x] (swap! done conj x) x)
(defcap pay! "pays" {:effect :write :approve true} [& args] (swap! done conj (vec args)) {:paid (first args)})
(defcap each! "calls f" {:accepts-fns true} [f] (try (f 1) (catch Exception e (swap! done conj :caught))) (swap! done conj :each) :each)
(def ask-grant true)
(defn grant [] {:vocab {"note!" note! "pay!" pay! "each!" each!} :ask ask-grant :limits {:eval-timeout "2m"}})
(gateway/start! {:roles {:worker #'grant}})
(def codes (atom ["(ask-user \"Which colour?\")"]))
(def after (atom ["(note! :after)"]))
(defn agent-fn [{:keys [eval resume prompt]}]
  (if resume
    (do (swap! resumes conj (assoc resume :prompt prompt))
        (pr-str (mapv (fn [c] (:text (eval c))) @after)))
    (pr-str (mapv (fn [c] (let [t (:text (eval c))] (swap! texts conj t) t)) @codes))))
(defn go [& {:as opts}]
  (spawn/spawn (merge {:role :worker :backend :scripted :agent #'agent-fn} opts)))
`

func asked(t *testing.T) *core.Core {
	t.Helper()
	c, _ := start(t, asking)
	return c
}

func want(t *testing.T, c *core.Core, src, want string) {
	t.Helper()
	if got := eval(t, c, src); got != want {
		t.Errorf("%s: got %s, want %s", src, got, want)
	}
}

func wantIn(t *testing.T, c *core.Core, src string, wants ...string) {
	t.Helper()
	got := eval(t, c, src)
	for _, w := range wants {
		if !strings.Contains(got, w) {
			t.Errorf("%s: got %s, want it to hold %s", src, got, w)
		}
	}
}

func kinds(t *testing.T, c *core.Core, prefix string) []string {
	t.Helper()
	es, err := c.Journal().Since(context.Background(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range es {
		if strings.HasPrefix(e.Kind, prefix) {
			out = append(out, e.Kind)
		}
	}
	return out
}

// TestAnAgentAsks: the main job, with the scripted agent. It asks, is interrupted, the answer comes, it goes on, once.
func TestAnAgentAsks(t *testing.T) {
	c := asked(t)
	eval(t, c, `(reset! codes ["(note! 1) (try (ask-user \"Which colour?\" {:choices [:red :green]}) (note! :no) (catch Throwable e (note! :caught)) (finally (note! :finally)))" "(note! 2)"])`)
	eval(t, c, `(def r (go))`)
	want(t, c, `(select-keys r [:status :ask :answer])`, `{:status :interrupted, :ask "Q-1", :answer ""}`)
	want(t, c, `@done`, `[1]`)
	wantIn(t, c, `(first @texts)`, `[zeno Q-1]`, `handed to a human`, `(note! 1)`, `End your turn`)
	want(t, c, `(= (first @texts) (second @texts))`, `true`)
	want(t, c, `(mapv #(select-keys % [:id :question :choices :state :role]) (ask/inbox))`,
		`[{:id "Q-1", :question "Which colour?", :choices ["red" "green"], :state :asked, :role :worker}]`)
	eval(t, c, `(ask/answer! "Q-1" "Green" "ann")`)
	want(t, c, `(select-keys (ask/wait "Q-1") [:status :answer])`, `{:status :ok, :answer "[\"=> :after\"]"}`)
	want(t, c, `(= (:id r) (:id (ask/wait (:id r))))`, `true`)
	want(t, c, `@done`, `[1 :after]`)
	want(t, c, `(mapv #(select-keys % [:id :answer :by :attempt]) @resumes)`, `[{:id "Q-1", :answer "green", :by "ann", :attempt 1}]`)
	wantIn(t, c, `(:prompt (first @resumes))`, "[zeno Q-1/1]", "Answer: green", "Which colour?", "had defined is gone")
	want(t, c, `(:state (ask/show "Q-1"))`, `:resumed`)
	got := strings.Join(kinds(t, c, "ask/"), " ")
	if got != "ask/asked ask/answered ask/resuming ask/resumed" {
		t.Errorf("steps in the journal: got %s", got)
	}
	if got := kinds(t, c, "spawn/ended"); len(got) != 2 {
		t.Errorf("ends in the journal: got %d, want the interruption and the end", len(got))
	}
}

// TestAskEndsTheEvaluation asks from places that Lisp code could catch, outlive or hide it in. Each time nothing after it
// runs, the agent is told, and there is one question.
func TestAskEndsTheEvaluation(t *testing.T) {
	for name, code := range map[string]string{
		"try, catch, finally":            `(try (ask-user "q") (catch Throwable e (note! :caught)) (catch Object e (note! :caught)) (finally (note! :finally)))`,
		"a future that is waited":        `(do @(future (ask-user "q")) (note! :after))`,
		"a future that nobody waits for": `(do (future (ask-user "q")) (loop [n 0] (if (< n 100000000) (recur (inc n)) (note! :after))))`,
		"two futures":                    `(do (mapv deref (mapv (fn [i] (future (ask-user (str "q" i)))) (range 8))) (note! :after))`,
		"a callback of a capability":     `(do (each! (fn [x] (ask-user "q"))) (note! :after))`,
		"a lazy seq":                     `(do (note! (mapv identity (map (fn [x] (ask-user "q")) [1 2 3]))) (note! :after))`,
		"a macro":                        `(do (defmacro m [] (ask-user "q")) (m) (note! :after))`,
		"a toString of a print":          `(do (println (lazy-seq (ask-user "q"))) (note! :after))`,
		"a delay":                        `(do (force (delay (ask-user "q"))) (note! :after))`,
		"a sort":                         `(do (sort (fn [a b] (ask-user "q")) [2 1]) (note! :after))`,
	} {
		t.Run(name, func(t *testing.T) {
			c := asked(t)
			eval(t, c, `(reset! codes [`+quote(code)+`])`)
			want(t, c, `(:status (go))`, `:interrupted`)
			want(t, c, `(count (ask/inbox))`, `1`)
			want(t, c, `(filterv #{:caught-by-agent :finally :after} @done)`, `[]`)
			wantIn(t, c, `(first @texts)`, `[zeno Q-1] Your question was handed to a human`)
			eval(t, c, `(ask/answer! "Q-1" "yes")`)
			want(t, c, `(:status (ask/wait "Q-1"))`, `:ok`)
			want(t, c, `(count @resumes)`, `1`)
		})
	}
}

// TestAskWithoutTheGrant: where the role does not say so, the name is not there.
func TestAskWithoutTheGrant(t *testing.T) {
	c := asked(t)
	eval(t, c, `(def ask-grant nil)`)
	eval(t, c, `(reset! codes ["(ask-user \"q\")" "(mapv :name (tools))"])`)
	want(t, c, `(:status (go))`, `:ok`)
	wantIn(t, c, `@texts`, `unable to resolve ask-user`)
	want(t, c, `(count (ask/inbox))`, `0`)
	eval(t, c, `(def ask-grant {:max 1 :timeout "1h"})`)
	eval(t, c, `(reset! codes ["(ask-user \"q\" {:timeout \"2h\"})" "(ask-user \"q\")"]) (reset! after ["(ask-user \"again\")"])`)
	want(t, c, `(:ask (go))`, `"Q-1"`)
	wantIn(t, c, `(nth @texts 2)`, `:timeout: got 2h0m0s, want at most 1h0m0s`)
	eval(t, c, `(ask/answer! "Q-1" "ok")`)
	wantIn(t, c, `(:answer (ask/wait "Q-1"))`, `got question 2 of this run, want at most 1`)
}

// TestQuestionsThatAreRefused: what no person could read or answer is an error the agent can act on, and nothing is asked.
func TestQuestionsThatAreRefused(t *testing.T) {
	c := asked(t)
	for code, text := range map[string]string{
		`(ask-user (apply str (repeat 70000 "x")))`: `got 70000 bytes, want at most 65536`,
		`(ask-user "")`:                                `got an empty text`,
		`(ask-user 42)`:                                `the question: got 42, want a string`,
		`(ask-user)`:                                   `got 0 arguments`,
		`(ask-user "q" {:choices ["a" "A"]})`:          `twice, want each once`,
		`(ask-user "q" {:choices (range)})`:            `limit`,
		`(ask-user "q" {:choices (range 100)})`:        `:choices: got`,
		`(ask-user "q" {:choices ["a"] :default "b"})`: `:default: answer: got `,
		`(ask-user "q" {:timeout "400000h"})`:          `:timeout: got`,
		`(ask-user "q" {:colour 1})`:                   `:colour`,
		`(ask-user "q" {:key 1})`:                      `got :key`,
		`(ask-user (str "a" (char 0) "b"))`:            `want UTF-8 without NUL`,
		`(pay! (fn [x] x))`:                            `want plain data`,
		`(pay! ##NaN)`:                                 `do not read back`,
		`(pay! (apply str (repeat 70000 "x")))`:        `a person must be able to read what is approved`,
	} {
		eval(t, c, `(reset! texts []) (reset! codes [`+quote(code)+`])`)
		want(t, c, `(:status (go))`, `:ok`)
		wantIn(t, c, `(first @texts)`, text)
	}
	want(t, c, `(count (ask/inbox))`, `0`)
}

// TestAnswersThatAreRefused: wrong, late, unknown and second answers are explained, and change nothing.
func TestAnswersThatAreRefused(t *testing.T) {
	c := asked(t)
	refused := func(src, text string) {
		t.Helper()
		_, err := c.Eval(context.Background(), src)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want %s", src, err, text)
		}
	}
	refused(`(ask/answer! "Q-1" "x")`, "nothing was asked in this home yet")
	eval(t, c, `(reset! codes ["(ask-user \"q\" {:choices [\"ja\" \"nein\"]})"])`)
	want(t, c, `(:ask (go))`, `"Q-1"`)
	refused(`(ask/answer! "Q-1" "vielleicht")`, `got "vielleicht", want one of "ja", "nein"`)
	refused(`(ask/answer! "Q-1" " ")`, `got an empty text`)
	refused(`(ask/answer! "Q-9" "ja")`, "question Q-9: got no such question")
	refused(`(ask/answer! "nine" "ja")`, `got "nine" as its id`)
	eval(t, c, `(ask/answer! "1" "JA" "ann")`)
	refused(`(ask/answer! "Q-1" "nein")`, `got a second answer; ann answered "ja" at`)
	want(t, c, `(:status (ask/wait "Q-1"))`, `:ok`)
	want(t, c, `(mapv :answer @resumes)`, `["ja"]`)
	eval(t, c, `(reset! codes ["(ask-user \"q\" {:timeout \"100ms\" :default 7})"])`)
	want(t, c, `(:ask (go))`, `"Q-2"`)
	want(t, c, `(:status (ask/wait "Q-2"))`, `:ok`)
	refused(`(ask/answer! "Q-2" "8")`, `got an answer too late`)
	want(t, c, `(mapv (juxt :answer :by) @resumes)`, `[["ja" "ann"] ["7" "(default)"]]`)
	wantIn(t, c, `(:prompt (second @resumes))`, "Nobody answered in time")
}

// TestAQuestionThatExpires without a default fails the spawn, and says so.
func TestAQuestionThatExpires(t *testing.T) {
	c := asked(t)
	eval(t, c, `(reset! codes ["(ask-user \"q\" {:timeout \"50ms\"})"])`)
	want(t, c, `(let [r (go :on-ask :wait)] [(:status r) (:ask r)])`, `[:failed nil]`)
	wantIn(t, c, `(:error (ask/wait "Q-1"))`, "question Q-1: nobody answered until")
	want(t, c, `(count @resumes)`, `0`)
	want(t, c, `(:state (ask/show "Q-1"))`, `:expired`)
}

// TestApproval: a call that a person must approve is made by zeno itself, once, as it was shown; the agent hears of it.
func TestApproval(t *testing.T) {
	c := asked(t)
	eval(t, c, `(reset! codes ["(do (note! 1) (pay! 42 {:to \"Zoë\" :when #inst \"2026-01-01T00:00:00Z\"} [1 'a :b \\c 1.5 2/3 #{1}]) (note! 2))"])`)
	want(t, c, `(:ask (go))`, `"Q-1"`)
	want(t, c, `@done`, `[1]`)
	wantIn(t, c, `(first @texts)`, "A human must approve pay! first", "(note! 1)")
	wantIn(t, c, `(:call (first (ask/inbox)))`, `(pay! 42 {:to `, `Zoë`, `1.5 2/3 #{1}])`)
	refusal := func(text, wants string) {
		t.Helper()
		if _, err := c.Answer(context.Background(), "Q-1", text, "ann"); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("answer %s: got %v, want %s", text, err, wants)
		}
	}
	refusal("sure", `want yes, no, or "no: the reason"`)
	refusal("yes: but only 10", `made just as it was shown`)
	eval(t, c, `(ask/answer! "Q-1" "yes" "ann")`)
	want(t, c, `(:status (ask/wait "Q-1"))`, `:ok`)
	want(t, c, `[(count @done) (= (second @done) [42 {:to "Zoë" :when #inst "2026-01-01T00:00:00Z"} [1 'a :b \c 1.5 2/3 #{1}]])]`, `[3 true]`)
	wantIn(t, c, `(:prompt (first @resumes))`, "approved your call, and it was made, once", "=> {:paid 42}")
	if got := strings.Join(kinds(t, c, "ask/"), " "); got != "ask/asked ask/answered ask/calling ask/called ask/resuming ask/resumed" {
		t.Errorf("steps: got %s", got)
	}
	if got := kinds(t, c, journal.Intent); len(got) != 3 {
		t.Errorf("intents: got %d, want those of note!, pay! and note!", len(got))
	}
	eval(t, c, `(reset! codes ["(pay! 1)"])`)
	want(t, c, `(:ask (go))`, `"Q-2"`)
	eval(t, c, `(ask/answer! "Q-2" "No: too much")`)
	want(t, c, `(:status (ask/wait "Q-2"))`, `:ok`)
	want(t, c, `(count (filterv vector? @done))`, `1`)
	wantIn(t, c, `(:prompt (second @resumes))`, "did not approve your call, and it was not made: (pay! 1)", "Reason: too much")
}

// TestApprovalOfWhatWasTakenAway: between the question and the answer the grant has changed.
func TestApprovalOfWhatWasTakenAway(t *testing.T) {
	c := asked(t)
	eval(t, c, `(reset! codes ["(pay! 1)"])`)
	want(t, c, `(:ask (go))`, `"Q-1"`)
	eval(t, c, `(defn grant [] {:vocab {"note!" note!}})`)
	eval(t, c, `(ask/answer! "Q-1" "yes")`)
	want(t, c, `(:status (ask/wait "Q-1"))`, `:ok`)
	want(t, c, `(filterv vector? @done)`, `[]`)
	wantIn(t, c, `(:prompt (first @resumes))`, "it was not made: (pay! 1)", "pay! is not granted any more")
}

// TestManyAsks: a hundred agents ask at once, and are answered at once.
func TestManyAsks(t *testing.T) {
	c := asked(t)
	eval(t, c, `(def rs (mapv deref (mapv (fn [i] (future (go))) (range 100))))`)
	want(t, c, `(frequencies (map :status rs))`, `{:interrupted 100}`)
	want(t, c, `(count (set (map :ask rs)))`, `100`)
	eval(t, c, `(run! deref (mapv (fn [r] (future (ask/answer! (:ask r) (str "to " (:id r))))) rs))`)
	want(t, c, `(frequencies (map :status (mapv #(ask/wait (:ask %)) rs)))`, `{:ok 100}`)
	want(t, c, `[(count @resumes) (every? #(= (:answer %) (str "to " (:spawn %))) @resumes)]`, `[100 true]`)
	want(t, c, `(count (ask/inbox))`, `0`)
}

// TestTheProgramAsks: zeno.ask/ask waits, and finds its answer by its key.
func TestTheProgramAsks(t *testing.T) {
	c := asked(t)
	eval(t, c, `(def f (future (ask/ask "Ship it?" {:choices ["yes" "no"] :key [:ship 7]})))`)
	waitFor(t, "the question", func() bool { return eval(t, c, `(count (ask/inbox))`) == "1" })
	eval(t, c, `(def g (future (ask/ask "Ship it?" {:choices ["yes" "no"] :key [:ship 7]})))`)
	eval(t, c, `(ask/answer! "Q-1" "yes")`)
	want(t, c, `[@f @g (ask/ask "Ship it?" {:key [:ship 7]})]`, `["yes" "yes" "yes"]`)
	want(t, c, `(ask/ask "q" {:timeout "20ms" :default "d"})`, `"d"`)
	want(t, c, `(try (ask/ask "q" {:timeout "20ms" :key 1}) (catch ExceptionInfo e (:zeno/ask (ex-data e))))`, `:expired`)
	eval(t, c, `(def h (future (ask/ask "q" {:key 1})))`) // an expired one has given its key back
	waitFor(t, "the question", func() bool { return eval(t, c, `(count (ask/inbox))`) == "1" })
	eval(t, c, `(ask/withdraw! (:id (first (ask/inbox))) "no need")`)
	want(t, c, `(try @h (catch Throwable e (str e)))`, eval(t, c, `(try @h (catch Throwable e (str e)))`))
	eval(t, c, `(def k (future (ask/ask "q")))`)
	waitFor(t, "the question", func() bool { return eval(t, c, `(count (ask/inbox))`) == "1" })
	eval(t, c, `(future-cancel k)`)
	waitFor(t, "its withdrawal", func() bool { return eval(t, c, `(count (ask/inbox))`) == "0" })
}

// TestASecretInAQuestion is hidden wherever it is kept; a call with a secret cannot be put to a person.
func TestASecretInAQuestion(t *testing.T) {
	c := asked(t)
	t.Setenv("ZENO_ASK_KEY", "CANARY-in-a-question-4711")
	eval(t, c, `(reset! codes ["(ask-user \"is CANARY-in-a-question-4711 right?\" {:choices [\"CANARY-in-a-question-4711\" \"no\"]})" "(pay! \"CANARY-in-a-question-4711\")"])`)
	eval(t, c, `(def r (go :api-key-env "ZENO_ASK_KEY"))`)
	want(t, c, `(:question (first (ask/inbox)))`, `"is [secret] right?"`)
	eval(t, c, `(reset! codes ["(pay! \"CANARY-in-a-question-4711\")"]) (reset! texts [])`)
	eval(t, c, `(go)`)
	wantIn(t, c, `(first @texts)`, "got arguments that hold a secret")
	if _, err := c.Answer(context.Background(), "Q-1", "CANARY-in-a-question-4711", "ann"); err == nil || !strings.Contains(err.Error(), "holds a secret") {
		t.Errorf("an answer with a secret: got %v, want it refused", err)
	}
	es, err := c.Journal().Since(context.Background(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if strings.Contains(fmt.Sprint(e), "CANARY") {
			t.Errorf("the journal holds a secret: %v", e)
		}
	}
	files, _ := filepath.Glob(filepath.Join(c.Home().Dir, "state", core.AsksFile+"*"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || strings.Contains(string(b), "CANARY") {
			i := strings.Index(string(b), "CANARY")
			t.Errorf("%s holds a secret (%v): %.300s", f, err, b[max(0, i-200):])
		}
	}
	if len(files) == 0 {
		t.Error("got no file of questions")
	}
}

// TestCancelledWhileItAsks: a spawn that is cancelled after it asked takes its question along.
func TestCancelledWhileItAsks(t *testing.T) {
	c := asked(t)
	eval(t, c, `(defn agent-fn [{:keys [eval]}] (eval (first @codes)) (spawn/cancel! "c1") @(promise))`)
	want(t, c, `(:status (go :id "c1"))`, `:cancelled`)
	want(t, c, `[(count (ask/inbox)) (:state (ask/show "Q-1"))]`, `[0 :withdrawn]`)
}

// TestWithdrawn: the operator takes a question back; its spawn ends.
func TestWithdrawn(t *testing.T) {
	c := asked(t)
	eval(t, c, `(go)`)
	eval(t, c, `(ask/withdraw! "Q-1" "not today")`)
	want(t, c, `(:status (ask/wait "Q-1"))`, `:cancelled`)
	wantIn(t, c, `(:error (ask/wait "Q-1"))`, "withdrawn by operator: not today")
	if _, err := c.Answer(context.Background(), "Q-1", "x", "ann"); err == nil || !strings.Contains(err.Error(), "nobody waits for it any more") {
		t.Errorf("an answer: got %v, want it explained", err)
	}
}

// TestChannels: a function, a command that fails at first, and both.
func TestChannels(t *testing.T) {
	c := asked(t)
	out := filepath.Join(t.TempDir(), "out")
	eval(t, c, `(def sent (atom []))`)
	eval(t, c, `(ask/channel! [{:send (fn [q] (swap! sent conj (:question q)))} {:exec ["sh" "-c" `+quote("test -e "+out+" && cat >> "+out+" || { touch "+out+"; exit 1; }")+`]} :http])`)
	eval(t, c, `(go)`)
	waitFor(t, "the command", func() bool { b, _ := os.ReadFile(out); return strings.Contains(string(b), `"id":"Q-1"`) })
	want(t, c, `@sent`, `["Which colour?"]`)
	for _, e := range []string{`(ask/channel! {:exec ["./notify"]})`, `(spit (str (zeno.home/dir) "/notify") "#!/bin/sh\ncat > notified\n")`, `(joker.os/sh "chmod" "755" (str (zeno.home/dir) "/notify"))`} {
		eval(t, c, e)
	}
	eval(t, c, `(go)`) // a path is one of the home, wherever zeno was started
	waitFor(t, "the command of the home", func() bool {
		return strings.Contains(eval(t, c, `(try (slurp (str (zeno.home/dir) "/notified")) (catch Error _ ""))`), "Q-2")
	})
	for src, text := range map[string]string{
		`(ask/channel! :mail)`:                       `got :mail, want :repl, :http`,
		`(ask/channel! {:send 1})`:                   `want one of them`,
		`(ask/channel! {})`:                          `want one of them`,
		`(ask/channel! "x")`:                         `channel: got`,
		`(ask/channel! {:send (fn []) :exec ["x"]})`: `want one of them`,
	} {
		if _, err := c.Eval(context.Background(), src); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want %s", src, err, text)
		}
	}
}

// TestAskHandler serves the inbox over HTTP.
func TestAskHandler(t *testing.T) {
	c := asked(t)
	srv := httptest.NewServer(c.AskHandler(func(*http.Request) string { return "page:ann" }))
	defer srv.Close()
	call := func(method, path, body string, status int, wants string) {
		t.Helper()
		req, _ := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		if res.StatusCode != status || !strings.Contains(string(b), wants) {
			t.Errorf("%s %s: got %d %s, want %d %s", method, path, res.StatusCode, b, status, wants)
		}
	}
	call("GET", "/", "", 200, "[]")
	call("GET", "/Q-1", "", 404, "nothing was asked")
	eval(t, c, `(go)`)
	call("GET", "/", "", 200, `"question":"Which colour?"`)
	call("POST", "/Q-1", `{"answer":""}`, 422, "got an empty text")
	call("POST", "/Q-1", `nonsense`, 422, "want JSON")
	call("POST", "/Q-1", `{"answer":"red"}`, 200, `"by":"page:ann"`)
	call("POST", "/Q-1", `{"answer":"red"}`, 409, "got a second answer")
	want(t, c, `(:status (ask/wait "Q-1"))`, `:ok`)
}

// reopen makes another instance of the home of one that was closed.
func reopen(t *testing.T, dir string) *core.Core {
	t.Helper()
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{Home: h})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Boot(context.Background()); err != nil {
		t.Fatalf("boot: %s", core.Explain(err))
	}
	return c
}

func shut(t *testing.T, c *core.Core) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestAsksOutliveAnOrderlyRestart: the question of an agent, one of the program with a key, one without.
func TestAsksOutliveAnOrderlyRestart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(asking), 0o600); err != nil {
		t.Fatal(err)
	}
	c := reopen(t, dir)
	want(t, c, `(:ask (go :id "s1"))`, `"Q-1"`)
	want(t, c, `(:ask (go :id "s2" :agent (fn [{:keys [eval]}] (eval (first @codes)))))`, `"Q-2"`)
	eval(t, c, `(def f (future (ask/ask "with" {:key :k})))`)
	eval(t, c, `(def g (future (ask/ask "without")))`)
	waitFor(t, "the questions", func() bool { return eval(t, c, `(count (ask/inbox))`) == "4" })
	shut(t, c)
	c = reopen(t, dir)
	defer func() { shut(t, c) }()
	waitFor(t, "the end of the one that nobody waits for", func() bool { return eval(t, c, `(count (ask/inbox))`) == "3" })
	want(t, c, `(mapv :question (ask/inbox))`, `["Which colour?" "Which colour?" "with"]`)
	for _, q := range []string{"Q-1", "Q-2"} {
		eval(t, c, `(ask/answer! "`+q+`" "red")`)
	}
	want(t, c, `(:status (ask/wait "s1"))`, `:ok`)
	want(t, c, `(mapv (juxt :id :answer) @resumes)`, `[["Q-1" "red"]]`)
	want(t, c, `(:status (ask/wait "s2"))`, `:failed`)
	wantIn(t, c, `(:error (ask/wait "s2"))`, "its agent is a function without a name")
	eval(t, c, `(def f (future (ask/ask "with" {:key :k})))`)
	eval(t, c, `(ask/answer! (:id (first (ask/inbox))) "yes")`)
	want(t, c, `@f`, `"yes"`)
}
