package core_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
)

// budgeted is a role whose budget a test sets, and an agent that evaluates what it is told.
const budgeted = `
(require '[zeno.grant :as grant] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.budget :as budget])
(def role-budget (atom nil))
(def calls (atom 0))
(defn worker-grant []
  {:vocab {"work" (fn [] (swap! calls inc) :done) "hang" (fn [] @(promise))} :budget @role-budget :limits {:eval-timeout "2m"}})
(gateway/start! {:roles {:worker #'worker-grant}})
(defn run [opts f] (spawn/spawn (merge {:role :worker :backend :scripted :agent f} opts)))
(defn run-all [opts & codes]
  (let [seen (atom [])
        res (run opts (fn [{:keys [eval]}] (doseq [c codes] (swap! seen conj (:text (eval c)))) "end"))]
    (assoc res :seen @seen)))
`

func TestBudgetsEndSpawns(t *testing.T) {
	c, _ := start(t, budgeted)
	for _, tt := range []struct{ name, code, want string }{
		{"without a budget all goes on", `(run-all {} "1" "2" "3" "(work)" "(work)")`, `:status :ok`},
		{"evals: the answer", `(:seen (run-all {:budget {:evals 2}} "1" "2" "3"))`, "over-budget"},
		{"evals: the status", `(:status (run-all {:budget {:evals 2}} "1" "2" "3" "4"))`, ":over-budget"},
		{"evals: what it says", `(:error (run-all {:budget {:evals 2}} "1" "2" "3" "4"))`, "evals: got 3 in this spawn, want at most 2"},
		{"calls", `(do (reset! calls 0) [(:status (run-all {:budget {:calls 2}} "(dotimes [_ 9] (work))" "1" "2")) @calls])`, "[:over-budget 2]"},
		{"calls: no agent catches it", `(do (reset! calls 0)
		   [(:status (run-all {:budget {:calls 2}} "(loop [] (try (work) (catch Exception e nil) (finally (work))) (recur))" "1")) @calls])`, "[:over-budget 2]"},
		{"calls: the answer", `(first (:seen (run-all {:budget {:calls 1}} "(do (work) (work))")))`, "over-budget"},
		{"tokens", `((juxt :status :error) (run {:budget {:tokens 100}} (fn [{:keys [eval usage!]}] (usage! {:tokens-in 60}) (eval "1") (usage! {:tokens-out 41}) (eval "2") (eval "3"))))`,
			"[:over-budget \"tokens: got 101 in this spawn"},
		{"money", `((juxt :status :usage) (run {:budget {:usd 0.30}} (fn [{:keys [eval usage!]}] (usage! {:usd 0.1}) (usage! {:usd 0.2}) (eval "1") (usage! {:usd 0.000000001}) @(promise))))`,
			":over-budget"},
		{"money to the cent", `(:status (run {:budget {:usd 0.30}} (fn [{:keys [eval usage!]}] (usage! {:usd 0.1}) (usage! {:usd 0.2}) (:text (eval "1")))))`, ":ok"},
		{"wall", `((juxt :status :error) (run {:budget {:wall "200ms"}} (fn [_] @(promise))))`, "[:over-budget \"wall: got"},
		{"an eval that runs is ended", `(let [p (promise)] [(:status (run {:budget {:wall "300ms"} :timeout "5m"} (fn [{:keys [eval]}] (deliver p (:text (eval "(hang)")))))) (deref p 1 "cut")])`, ":over-budget"},
		{"what the agent is told", `(:seen (run-all {:budget {:evals 5 :tokens 1000}} "(budget)"))`, ":evals {:left 4, :of 5, :by :spawn}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := eval(t, c, tt.code); !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := eval(t, c, `(budget/report)`); !strings.Contains(got, ":tokens 101") || !strings.Contains(got, ":running []") {
		t.Errorf("report: got %s", got)
	}
}

func TestBudgetsOfRolesAndDays(t *testing.T) {
	c, _ := start(t, budgeted)
	for _, tt := range []struct{ code, want string }{
		{`(do (reset! role-budget {:evals 3}) (:status (run-all {} "1" "2")))`, ":ok"},
		{`(:seen (run-all {} "(-> (budget) :run :evals)"))`, ":left 0, :of 3, :by :role, :resets"},
		{`((juxt :status :evals :error) (run-all {} "1"))`, `[:over-budget 0 "evals: got 3 by role worker, want at most 3; there is more from`},
		{`(do (reset! role-budget {:evals 4}) (:status (run-all {} "1")))`, ":ok"}, // live
		{`(do (reset! role-budget nil) (budget/daily! {:spawns 1}) (:error (run-all {} "1")))`, "by the whole instance today"},
		{`(do (budget/daily! {:usd 1.5}) (:status (run {} (fn [{:keys [usage!]}] (usage! {:usd 1.5}) "x"))))`, ":ok"},
		{`(:status (run {} (fn [_] "x")))`, ":over-budget"},
		{`(do (budget/daily! nil) (:status (run {} (fn [_] "x"))))`, ":ok"},
		{`(do (reset! role-budget {:spawns-per-hour 2}) (:error (run {} (fn [_] "x"))))`, "spawns-per-hour: got"},
		{`(do (reset! role-budget {:tokens 0}) (:error (run {} (fn [_] "x"))))`, ":tokens: got 0, want more than 0"},
		{`(do (reset! role-budget {:tockens 5}) (:error (run {} (fn [_] "x"))))`, "tockens"},
		{`(do (reset! role-budget nil) (try (run {:budget {:per :day}} (fn [_] "x")) (catch Exception e (ex-message e))))`, ":per"},
		{`(:in (get (budget/prices! {"some-model" {:in 3 :out 15.5}}) "some-model"))`, "3"},
		{`(try (budget/prices! {"m" {:in 3}}) (catch Exception e (ex-message e)))`, "want both"},
		{`(try (budget/daily! {:usd -1}) (catch Exception e (ex-message e)))`, ":usd: got -1"},
		{`(try (budget/daily! {:zone "Mars/Olympus"}) (catch Exception e (ex-message e)))`, "Mars/Olympus"},
		{`(get-in (budget/report) [:roles :worker :per])`, ":day"},
	} {
		if got := eval(t, c, tt.code); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
}

// The day's budget is counted over restarts, kill -9 included: the second instance finds the first one's books as a killed
// one leaves them.
func TestTheDailyBudgetSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(budgeted+`(budget/daily! {:tokens 100})`), 0o600); err != nil {
		t.Fatal(err)
	}
	boot := func() *core.Core {
		h, err := home.Resolve(dir, os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		c, err := core.New(core.Config{Home: h, Journal: &journal.Memory{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		if err := c.Boot(context.Background()); err != nil {
			t.Fatal(core.Explain(err))
		}
		return c
	}
	first := boot()
	if got := eval(t, first, `(:status (run {} (fn [{:keys [usage!]}] (usage! {:tokens-in 100}) "x")))`); got != ":ok" {
		t.Fatalf("got %s", got)
	}
	second := boot() // the first is not closed
	if got := eval(t, second, `((juxt :status :error) (run {} (fn [_] "x")))`); !strings.Contains(got, "tokens: got 100 by the whole instance today") {
		t.Errorf("got %s, want the day's budget used up", got)
	}
}

// Where the record of what was used cannot be had when the home loads, on a full disk say, the rest of the program loads, no
// spawn starts, and the day's budget counts once the record is there.
func TestTheDailyBudgetWithoutItsRecord(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, home.StateDir, core.BudgetFile)
	if err := os.MkdirAll(file, 0o700); err != nil { // it is a directory
		t.Fatal(err)
	}
	c, said := startIn(t, dir, budgeted+`(budget/daily! {:tokens 100}) (def after 1)`)
	if got := eval(t, c, `[after (:status (run {} (fn [_] "x")))]`); got != "[1 :refused]" {
		t.Errorf("got %s, want the rest of the program and no spawn", got)
	}
	if !strings.Contains(said.String(), "daily!: it counts once") {
		t.Errorf("said: got %s, want that the budget is not set yet", said)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := eval(t, c, `(:status (run {} (fn [{:keys [usage!]}] (usage! {:tokens-in 100}) "x")))`); got != ":ok" {
		t.Fatalf("got %s, want it run", got)
	}
	if got := eval(t, c, `(:error (run {} (fn [_] "x")))`); !strings.Contains(got, "tokens: got 100 by the whole instance today") {
		t.Errorf("got %s, want the day's budget used up", got)
	}
}

// cli makes an instance whose backend "fake" is a shell script; its stream has {"in":n} for tokens and {"answer":…}.
func cli(t *testing.T, src string, scripts map[string]string) *core.Core {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	self, err := guard.Self()
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]backend.Backend{}
	for name, script := range scripts {
		take := map[string][]string{"answer": {"answer"}, "tokens-in": {"in"}, "tokens-out": {"out"}, "usd": {"usd"}, "cache-read": {"cached"}}
		if name == "mute" {
			take = map[string][]string{"answer": {"answer"}}
		}
		table[name] = backend.Backend{Name: name, Argv: []backend.Arg{{Words: []string{"sh"}}, {Words: []string{"-c"}}, {Words: []string{strings.ReplaceAll(script, "$", "$$")}}},
			Stdin: "${prompt}", ToolName: "eval", Install: "apt-get install dash", Tried: "0.5",
			Stream: backend.Stream{Rules: []backend.Rule{{Take: take, Total: name == "tardy"}}}}
	}
	c, err := core.New(core.Config{Home: h, Err: io.Discard, Guard: self, Path: "/usr/bin:/bin", Backends: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := c.Boot(context.Background()); err != nil {
		t.Fatal(core.Explain(err))
	}
	return c
}

func TestACLIIsKilledAtTheFirstCrossing(t *testing.T) {
	c := cli(t, budgeted+`
(budget/prices! {"m" {:in 1000000 :out 1000000 :cache-read 100000}})
(defn cli [backend opts] (spawn/spawn (merge {:role :worker :backend backend :sandbox :none :prompt "go" :model "m" :timeout "5m"} opts)))`,
		map[string]string{
			"busy":   `trap '' TERM; for i in 1 2 3 4; do echo '{"in":30,"out":0}'; done; sleep 600`,
			"quick":  `for i in 1 2 3 4; do echo '{"in":30,"out":0}'; done; echo '{"answer":"42"}'`,
			"cached": `echo '{"in":100,"cached":90,"out":0}'; sleep 600`,
			"liar":   `echo '{"in":-5,"out":1e999}'; echo '{"in":"NaN"}'; echo '{"in":1e300,"out":3}'; sleep 600`,
			"tardy":  `echo '{"in":30,"out":0,"answer":"42"}'; sleep 600`,
			"mute":   `echo '{"answer":"42"}'`,
		})
	got := eval(t, c, `((juxt :status :error) (cli "busy" {:budget {:tokens 100} :grace "300ms"}))`)
	if !strings.HasPrefix(got, `[:over-budget "tokens: got 120 in this spawn, want at most 100`) { // and not the end of its time
		t.Errorf("got %s, want the end at the first crossing", got)
	}
	for _, tt := range []struct{ code, want string }{
		{`(:error (cli "quick" {}))`, "never connected"}, // it ends by itself where there is no budget
		{`((juxt :status :error) (cli "busy" {:budget {:usd 100} :grace "100ms"}))`, `[:over-budget "usd: got $120.00`},
		{`((juxt :status :error) (cli "cached" {:budget {:usd 18} :grace "100ms"}))`, `[:over-budget "usd: got $19.00`},
		{`((juxt :status :error) (cli "liar" {:budget {:tokens 1000000} :grace "100ms"}))`, `[:over-budget "tokens: got 1000000000003`},
		{`((juxt :status :error) (cli "mute" {:budget {:tokens 100}}))`, `[:refused "tokens: got a budget of the spawn, but backend mute reports no usage`},
		{`((juxt :status :error) (cli "tardy" {:budget {:tokens 20}}))`, `backend tardy reports usage only at its end`},
		{`((juxt :status :error) (cli "tardy" {:budget {:tokens 20 :late true}}))`, `[:over-budget "tokens: got 30`},
		{`((juxt :status :error) (cli "quick" {:budget {:usd 1} :model "unheard-of"}))`, `[:refused "usd: got a budget of the spawn, but no price for model unheard-of`},
		{`(do (budget/prices! {"unheard-of" {:in 1 :out 1}}) (:status (cli "quick" {:budget {:usd 1} :model "unheard-of"})))`, ":failed"},
		{`(do (reset! role-budget {:spawn {:tokens 100}}) (:status (cli "busy" {:grace "100ms"})))`, ":over-budget"},
	} {
		if got := eval(t, c, tt.code); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
}

func TestRevokeAndLease(t *testing.T) {
	c, _ := start(t, budgeted+`
(defn during [f & more] ; what the agent sees before and after the operator does something
  (let [seen (atom [])]
    (run {:id (str "s" (rand-int 1000000000))}
         (fn [{:keys [eval]}]
           (swap! seen conj (:text (eval "(work)")))
           (f (:id (first (spawn/ps))))
           (swap! seen conj (:text (eval "(try (work) (catch Exception e [(ex-message e) (ex-data e)]))")))
           (doseq [c more] (swap! seen conj (:text (eval c))))))
    @seen))`)
	for _, tt := range []struct {
		code string
		want []string
	}{
		{`(during (fn [id]))`, []string{`["=> :done" "=> :done"]`}},
		{`(during (fn [id] (grant/revoke! id "work" {:why "freeze"})))`, []string{`"=> :done"`, "the operator has revoked it", "freeze", ":zeno/refused :revoked"}},
		{`(during (fn [id]))`, []string{`["=> :done" "=> :done"]`}}, // of that spawn alone
		{`(during (fn [id] (grant/lease! id "work" {:for "1ms"}) (deref (promise) 20 nil)))`, []string{`"=> :done"`, "its lease has ended", ":expired"}},
		{`(during (fn [id] (grant/lease! id "work" {:for "10m"})))`, []string{`["=> :done" "=> :done"]`}},
		{`(during (fn [id] (grant/lease! id "extra" {:for "10m" :fn (fn [] 7)})) "(extra)" "(map :name (tools))")`, []string{`"=> 7"`, `extra`}},
		{`(during (fn [id] (grant/lease! id "extra" {:for "1ms" :fn (fn [] 7)}) (deref (promise) 20 nil)) "(extra)")`, []string{"unable to resolve"}},
		{`(during (fn [id] (grant/revoke! :worker "work")))`, []string{`"=> :done"`, "revoked"}},
		{`(during (fn [id]))`, []string{"the operator has revoked it"}}, // of the role: the next spawn, too
		{`(during (fn [id] (grant/restore! :worker "work")))`, []string{"revoked", `"=> :done"]`}},
		{`[(grant/restore! :worker "work") (grant/held)]`, []string{"[false"}},
		{`[(grant/revoke! :worker "wrok") (grant/revoke! :worker "work") (grant/revoke! :woker "work") (grant/lease! "s1" "work" {:for "1m"})]`, []string{"[false true false false]"}}, // a slip of the pen
		{`(mapv :name (grant/held))`, []string{"wrok"}},                                                                                                                                // holds all the same
		{`(try (grant/revoke! 7 "work") (catch Exception e (ex-message e)))`, []string{"want a role such as :worker"}},
		{`(try (grant/lease! :worker "work" {}) (catch Exception e (ex-message e)))`, []string{":for"}},
	} {
		got := eval(t, c, tt.code)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", tt.code, got, want)
			}
		}
	}
	kinds := map[string]bool{}
	for _, e := range recorded(t, c) {
		kinds[e.Kind] = true
	}
	if !kinds["grant/revoked"] || !kinds["grant/leased"] || !kinds["grant/restored"] {
		t.Errorf("recorded: got %v, want what the operator did", kinds)
	}
}

func TestRetries(t *testing.T) {
	c, _ := start(t, budgeted+`
(defn trying [opts & outcomes]
  (let [left (atom outcomes) n (atom 0)]
    [(run opts (fn [_] (swap! n inc) (let [x (first @left)] (swap! left rest) (if (string? x) x (throw (ex-info "no luck" {})))))) @n]))`)
	for _, tt := range []struct{ code, want string }{
		{`(let [[r n] (trying {} :fail "x")] [(:status r) n (:attempts r)])`, "[:failed 1 nil]"}, // only where asked
		{`(let [[r n] (trying {:retries {:max 3 :backoff "1ms"}} :fail :fail "x")] [(:status r) n (:answer r) (map :status (:attempts r))])`, `[:ok 3 "x" (:failed :failed :ok)]`},
		{`(let [[r n] (trying {:retries {:max 2 :backoff "1ms"}} :fail :fail :fail "x")] [(:status r) n (:error r) (count (:attempts r))])`, `[:failed 3 "got no success in 3 attempts; the last ended as failed`},
		{`(let [[r n] (trying {:retries {:max 2 :backoff "1ms" :on [:timeout]}} :fail "x")] [(:status r) n])`, `[:failed 1]`},
		{`(let [r (run {:timeout "50ms" :grace "1ms" :retries {:max 1 :backoff "1ms"}} (fn [_] @(promise)))] [(:status r) (map :status (:attempts r))])`, `[:failed (:timeout :timeout)]`},
		{`(let [r (run {:role :nobody :retries {:max 5 :backoff "1ms"}} (fn [_] 1))] [(:status r) (:attempts r)])`, `[:refused nil]`},
		{`(let [[r n] (trying {:budget {:tokens 1} :retries {:max 5 :backoff "1ms"}} :fail "x")] [(:status r) n])`, `[:ok 2]`},
		{`(let [r (run {:retries {:max 1 :on [:refused]}} (fn [_] 1))] [(:status r) (:error r)])`, "want some of failed, timeout, stalled"},
		{`(let [r (run {:retries {:max 1000}} (fn [_] 1))] (:error r))`, "want 0 to 100"},
		{`(let [h (spawn/spawn-async {:role :worker :backend :scripted :retries {:max 9 :backoff "1h"} :agent (fn [_] (throw (ex-info "x" {})))})]
		    (while (not= :backoff (:state (first (spawn/ps)))) (deref (promise) 5 nil))
		    (spawn/cancel! h "enough")
		    ((juxt :status :error) (spawn/wait h)))`, `[:cancelled "cancelled by the operator: enough, while it waited for attempt 2`},
	} {
		if got := eval(t, c, tt.code); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
}

func TestSpawnAsync(t *testing.T) {
	c, _ := start(t, budgeted+`
(defn go [opts f] (spawn/spawn-async (merge {:role :worker :backend :scripted :agent f} opts)))
(defn until [f] (loop [n 0] (or (f) (when (< n 20000) (deref (promise) 5 nil) (recur (inc n))))))
(def gate (promise))
(def held (go {:id "held"} (fn [{:keys [eval]}] (eval "1") @gate "through")))`)
	for _, tt := range []struct{ code, want string }{
		{`[(:id held) (:role held)]`, `["held" :worker]`},
		{`(until (fn [] (= [["held" :running 1]] (map (juxt :id :state :evals) (spawn/ps)))))`, "true"},
		{`(spawn/wait held {:timeout "20ms" :else :later})`, ":later"},
		{`(spawn/wait "held" {:timeout "1ms"})`, "nil"},
		{`(deref (:result held) 10 :not-yet)`, ":not-yet"},
		{`(try (go {:id "held"} (fn [_] 1)) (catch Exception e (ex-message e)))`, `:result`},
		{`(:error @(:result (go {:id "held"} (fn [_] 1))))`, "which runs already"},
		{`(do (deliver gate 1) (:answer (spawn/wait held)))`, `"through"`},
		{`(:status @(:result held))`, ":ok"},
		{`[(spawn/ps) (map (juxt :id :state :status) (spawn/ps {:all true}))]`, `[[] (["held" :ended :ok])]`},
		{`(map :kind (spawn/logs held))`, `(:spawn/started :spawn/progress :eval :spawn/ended)`},
		{`(count (spawn/logs "held" {:max 2}))`, "2"},
		{`(spawn/cancel! held)`, "false"},
		{`(let [h (go {} (fn [_] @(promise)))] (until (fn [] (= :running (:state (first (spawn/ps)))))) [(spawn/cancel! h) (:status (spawn/wait h)) (:error (spawn/wait h))])`, `[true :cancelled "cancelled by the operator"]`},
		{`(try (spawn/wait "nobody") (catch Exception e (ex-message e)))`, "(zeno.spawn/ps {:all true})"},
		{`(try (spawn/cancel! 7) (catch Exception e (ex-message e)))`, "want the id of a spawn"},
		{`(do (reset! role-budget {:concurrent 1 :queue 1}) (def gate (promise))
		      (def a (go {:id "a"} (fn [_] @gate "a"))) (until (fn [] (= :running (:state (first (spawn/ps))))))
		      (def b (go {:id "b"} (fn [_] "b"))) (until (fn [] (= [:running :queued] (map :state (spawn/ps)))))
		      (def r (:error (spawn/wait (go {} (fn [_] "c")))))
		      (deliver gate 1) [(:answer (spawn/wait a)) (:answer (spawn/wait b)) r])`, `["a" "b" "concurrent: got 1 spawns of role worker running and 1 waiting`},
		{`(do (reset! role-budget {:spawns-per-hour 20})
		      (let [all (doall (map (fn [_] (go {} (fn [_] "x"))) (range 60)))]
		        (frequencies (map (fn [h] (:status (spawn/wait h))) all))))`, `:over-budget`},
	} {
		if got := eval(t, c, tt.code); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
	if got := eval(t, c, `(get-in (budget/report) [:roles :worker :last-hour])`); got != "20" {
		t.Errorf("starts: got %s, want just 20 in the hour", got)
	}
}

// Two spawns of two roles take turns at a serial capability of one name, and at those that share a lock.
func TestSerialHoldsAcrossSpawns(t *testing.T) {
	c, _ := start(t, budgeted+`
(def now (atom 0)) (def most (atom 0))
(defn step [] (swap! most max (swap! now inc)) (deref (promise) 20 nil) (swap! now dec) :done)
(defn one [serial] (fn [] {:vocab {"step" {:serial serial :fn step}} :limits {:eval-timeout "2m"}}))
(defn try-with [a b]
  (reset! most 0)
  (gateway/start! {:roles {:a (one a) :b (one b)}})
  (let [all (doall (for [r [:a :b :a :b]] (spawn/spawn-async {:role r :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval "(dotimes [_ 3] (step))")))})))]
    [(vec (distinct (map (comp :answer spawn/wait) all))) @most]))`)
	several := func(with string) string { // they need not meet at the first try
		got := ""
		for range 20 {
			if got = eval(t, c, `(try-with `+with+`)`); !strings.HasSuffix(got, " 1]") {
				break
			}
		}
		return got
	}
	if got := several(`nil nil`); strings.HasSuffix(got, " 1]") {
		t.Errorf("without :serial: got %s, want several at once, or this test shows nothing", got)
	}
	for _, with := range []string{`true true`, `:db :db`} {
		if got := eval(t, c, `(try-with `+with+`)`); got != `[["=> nil"] 1]` {
			t.Errorf("%s: got %s, want one at a time", with, got)
		}
	}
	if got := several(`:db :disk`); strings.HasSuffix(got, " 1]") {
		t.Errorf("different locks: got %s, want two at once", got)
	}
}

// startless is a journal that records no start of a spawn.
type startless struct {
	journal.Memory
	on bool
}

func (f *startless) Append(ctx context.Context, e journal.Event) (journal.Event, error) {
	if f.on && e.Kind == journal.SpawnStarted {
		return e, errors.New("no space left")
	}
	return f.Memory.Append(ctx, e)
}

func TestAStartThatCannotBeRecordedIsRefused(t *testing.T) {
	j := &startless{}
	c, err := core.New(core.Config{Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	eval(t, c, budgeted+`(def ran (atom 0)) (defn try-it [] (run {} (fn [_] (swap! ran inc) "x")))`)
	if got := eval(t, c, `[(:status (try-it)) @ran]`); got != "[:ok 1]" {
		t.Fatalf("got %s", got)
	}
	j.on = true
	if got := eval(t, c, `[(:status (try-it)) @ran (:error (try-it))]`); !strings.HasPrefix(got, "[:refused 1 \"start: nothing was started") {
		t.Errorf("got %s, want it refused and nothing run", got)
	}
}
