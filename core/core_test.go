package core_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guard.Word {
		os.Exit(guard.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == stage2.Word {
		stage2.Main()
	}
	if os.Getenv(askChild) != "" {
		os.Exit(askChildMain())
	}
	if os.Getenv(crashChild) != "" {
		os.Exit(crashChildMain())
	}
	noleak.Main(m)
}

// start makes an instance whose program is src.
func start(t testing.TB, src string) (*core.Core, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c, err := core.New(core.Config{Home: h, Out: &out, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := c.Boot(context.Background()); err != nil {
		t.Fatalf("boot: %s", core.Explain(err))
	}
	return c, &out
}

// eval evaluates src and gives the printed value.
func eval(t testing.TB, c *core.Core, src string) string {
	t.Helper()
	v, err := c.Eval(context.Background(), src)
	if err != nil {
		t.Fatalf("%s: %s", src, core.Explain(err))
	}
	s, err := c.Env().Print(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reader is a role with a few capabilities, and an agent that evaluates what it is told.
const reader = `
(require '[zeno.grant :refer [defcap]] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(def calls (atom []))
(defcap echo "gives x back" {:effect :read} [x] (swap! calls conj x) x)
(defcap boom "always fails" [] (throw (ex-info "boom: no luck" {:code 7})))
(defcap once "may be called once" {:max-calls 1} [] :done)
(defcap slow "takes too long" {:timeout "20ms"} [] @(promise))
(defcap apply-it "calls f" {:accepts-fns true} [f x] (f x))
(defcap who "who calls" [] (spawn/caller))
(defn grant []
  {:vocab {"echo" echo "boom" boom "once" once "slow" slow "apply-it" apply-it "who" who "plain" (fn [x] (inc x)) "gh/issues" (fn [] [1 2])}
   :docs {"plain" "(plain x) - one more than x"}
   :ctx-info {:repo "acme/site"}
   :limits {:eval-timeout "1m" :calls 100}})
(defn other-grant [] {:vocab {"other" (fn [] :other)}})
(gateway/start! {:roles {:reader #'grant :other #'other-grant}})
(defn talk [role & codes]
  (:answer (spawn/spawn {:role role :backend :scripted
                         :agent (fn [{:keys [eval]}] (pr-str (mapv (fn [c] (:text (eval c))) codes)))})))
(defn say [code] (first (read-string (talk :reader code))))
`

func TestAnAgentUsesItsGrant(t *testing.T) {
	c, _ := start(t, reader)
	for _, tt := range []struct{ name, code, want string }{
		{"a value", `(+ 1 2)`, "=> 3"},
		{"a capability", `(echo {:a [1 2]})`, "=> {:a [1 2]}"},
		{"composed", `(reduce + (map (comp plain :n) [{:n 1} {:n 2}]))`, "=> 5"},
		{"a name with a slash", `(count (gh/issues))`, "=> 2"},
		{"a lazy seq crosses realised", `(echo (map inc (range 3)))`, "=> (1 2 3)"},
		{"its context", `(:repo (context))`, `=> "acme/site"`},
		{"its tools", `(sort (map :name (tools)))`, `=> ("apply-it" "boom" "echo" "gh/issues" "once" "plain" "slow" "who")`},
		{"a doc", `(doc echo)`, `(echo x) - gives x back`},
		{"a doc of the core", `(doc map)`, `map `},
		{"a search", `(map :name (search "gives x"))`, `("echo"`},
		{"what was printed", `(println "hello") 1`, "hello"},
		{"an error of a capability", `(boom)`, "boom: no luck"},
		{"its data", `(try (boom) (catch Exception e (:code (ex-data e))))`, "=> 7"},
		{"a timeout of a capability", `(slow)`, "slow: got no answer within 20ms"},
		{"a function crosses where declared", `(apply-it (fn [x] (* x 2)) 21)`, "=> 42"},
		{"and nowhere else", `(echo inc)`, "echo: argument 1: got"},
		{"who it is", `(:role (who))`, "=> :reader"},
		{"a misspelt name", `(ecko 1)`, "did you mean echo?"},
		{"a capability of another role", `(other)`, "unable to resolve other"},
		{"a capability gets no endless seq", `(echo (range))`, "limit"},
		{"the engine is not there", `(zeno.spawn/spawn {:role :reader})`, "unable to resolve"},
		{"the orchestrator's vars are not there", `calls`, "unable to resolve"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := c.Eval(context.Background(), `(say `+quote(tt.code)+`)`)
			if err != nil {
				t.Fatal(core.Explain(err))
			}
			if got := v.Text(); !strings.Contains(got, tt.want) {
				t.Errorf("%s: got %q, want it to hold %q", tt.code, got, tt.want)
			}
		})
	}
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Definitions live from one eval of a spawn to the next, and are gone with it.
func TestDefinitionsLiveWithTheSpawn(t *testing.T) {
	c, _ := start(t, reader)
	if got, want := eval(t, c, `(talk :reader "(def x 41)" "(inc x)")`), `"[\"=> #'user/x\" \"=> 42\"]"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := eval(t, c, `(say "x")`); !strings.Contains(got, "unable to resolve x") {
		t.Errorf("another spawn sees the definition: got %s", got)
	}
}

func TestMaxCallsCountsOverTheSpawn(t *testing.T) {
	c, _ := start(t, reader)
	got := eval(t, c, `(talk :reader "(once)" "(once)" "(:calls-left (first (filter #(= \"once\" (:name %)) (tools))))")`)
	for _, want := range []string{`=> :done`, `got call 2, want at most 1`, `=> 0`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to hold %s", got, want)
		}
	}
}

// Law 9: a grant redefined while a spawn runs is what its next call sees.
func TestRedefiningAGrantChangesTheNextCall(t *testing.T) {
	c, _ := start(t, reader)
	got := eval(t, c, `
(spawn/spawn {:role :reader :backend :scripted
  :agent (fn [{:keys [eval]}]
    (let [before (:text (eval "(echo 1)"))]
      (defn grant [] {:vocab {"echo" (fn [x] [:new x]) "fresh" (fn [] :fresh)}})
      (let [after (:text (eval "[(echo 1) (fresh)]"))]
        (defn grant [] {:vocab {}})
        (pr-str [before after (:text (eval "(echo 1)"))]))))})`)
	for _, want := range []string{`=> 1`, `=> [[:new 1] :fresh]`, `unable to resolve echo`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to hold %s", got, want)
		}
	}
}

// A name that was compiled into a function while it was granted fails at its next call once it is not.
func TestARevokedCapabilityFailsAtItsNextCall(t *testing.T) {
	c, _ := start(t, reader)
	got := eval(t, c, `
(spawn/spawn {:role :reader :backend :scripted
  :agent (fn [{:keys [eval]}]
    (eval "(defn f [] (echo 1))")
    (defn grant [] {:vocab {}})
    (:text (eval "(f)")))})`)
	if !strings.Contains(got, "no longer granted") {
		t.Errorf("got %s, want an error that echo is no longer granted", got)
	}
}

// A grant that breaks fails closed: nothing more is evaluated, the operator's error does not reach the agent, and no spawn
// starts, since nobody knows its budget.
func TestABrokenGrantFailsClosed(t *testing.T) {
	c, _ := start(t, reader+`(def good grant)`)
	for _, grant := range []string{
		`(defn grant [] (throw (ex-info "secret detail" {})))`,
		`(defn grant [] {:vocab {"x y" inc}})`,
		`(defn grant [] {:vocab {"doc" inc}})`,
		`(defn grant [] {:vocab {"f" 42}})`,
		`(defn grant [] {:limits {:steps "many"}})`,
		`(defn grant [] {:docs {"nothing" "x"}})`,
		`(defn grant [] {:vocabulary {}})`,
		`(defn grant [] 42)`,
	} {
		eval(t, c, `(defn grant [] (good))`)
		got := eval(t, c, `(:answer (spawn/spawn {:role :reader :backend :scripted :agent (fn [{:keys [eval]}] `+grant+` (:text (eval "(+ 1 2)")))}))`)
		if !strings.Contains(got, "grant for this role is broken") || strings.Contains(got, "=> 3") || strings.Contains(got, "secret detail") {
			t.Errorf("%s: got %s, want a refusal without detail", grant, got)
		}
		if got := eval(t, c, `((juxt :status :error) (spawn/spawn {:role :reader :backend :scripted :agent (fn [_] "ran")}))`); !strings.HasPrefix(got, `[:refused "role reader: its grant is broken`) {
			t.Errorf("%s: got %s, want no start", grant, got)
		}
	}
}

// Law 8: a program that throws leaves an instance that works.
func TestABrokenInitLeavesAWorkingInstance(t *testing.T) {
	dir := t.TempDir()
	src := "(def x 1)\n(throw (ex-info \"no luck\" {}))\n"
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, _ := home.Resolve(dir, os.Getenv)
	var errs bytes.Buffer
	c, err := core.New(core.Config{Home: h, Err: &errs})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.Boot(context.Background()); err == nil {
		t.Fatal("boot: got no error, want the one of init.joke")
	}
	if got := errs.String(); !strings.Contains(got, "init.joke:2:1") || !strings.Contains(got, "no luck") {
		t.Errorf("report: got %q, want the place and the message", got)
	}
	if got := eval(t, c, `(inc x)`); got != "2" {
		t.Errorf("what stood before the error: got %s, want 2", got)
	}
}

func TestEvalAs(t *testing.T) {
	c, _ := start(t, reader)
	ctx := context.Background()
	if r := c.EvalAs(ctx, "reader", `(plain 1)`); r.Err != nil || r.Value != "2" {
		t.Errorf("as a role: got %q %v, want 2", r.Value, r.Err)
	}
	if r := c.EvalAs(ctx, "", `(plain 1)`); r.Err == nil || r.Err.Kind != "unresolved" {
		t.Errorf("as nobody: got %q %v, want unresolved", r.Value, r.Err)
	}
	if r := c.EvalAs(ctx, "nobody", `1`); r.Err == nil || !strings.Contains(r.Err.Message, "not registered") {
		t.Errorf("as an unknown role: got %q %v, want an error that says so", r.Value, r.Err)
	}
}

// Every eval, call and spawn is in the journal.
func TestTheJournalTells(t *testing.T) {
	c, _ := start(t, reader)
	eval(t, c, `(talk :reader "(echo 1)" "(slurp \"x\")")`)
	events, err := c.Journal().Since(context.Background(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		if e.Kind != "spawn/progress" {
			kinds = append(kinds, e.Kind+" "+e.Outcome)
		}
	}
	want := "spawn/started , call ok, eval ok, eval unresolved, refused unresolved, spawn/ended ok"
	if got := strings.Join(kinds, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
