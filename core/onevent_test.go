package core_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/guard"
)

// heardOf is a role whose agent does n evals.
const heardOf = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(defn grant [] {})
(gateway/start! {:roles {:worker #'grant}})
(def n (atom 2))
(def heard (atom []))
(defn agent-fn [{:keys [eval usage!]}]
  (dotimes [i @n] (eval (str "(+ " i " 1)")) (usage! {:tokens-in 10 :tokens-out 5}))
  "DONE")
(defn go [f & {:as opts}]
  (def res (spawn/spawn (merge {:id "s1" :role :worker :backend :scripted :agent #'agent-fn :prompt "p" :on-event f} opts)))
  (:status res))
`

// startSaying is start for an instance whose warnings are looked at.
func startSaying(t *testing.T, src string) (*core.Core, *buffer) {
	t.Helper()
	self, err := guard.Self()
	if err != nil {
		t.Fatal(err)
	}
	dir, said := t.TempDir(), &buffer{}
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{Home: h, Out: io.Discard, Err: said, Guard: self, Path: "/usr/bin:/bin"})
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
	return c, said
}

// TestOnEventHearsInOrder: all of it has been heard when spawn returns.
func TestOnEventHearsInOrder(t *testing.T) {
	c, _ := startSaying(t, heardOf)
	want(t, c, `(go (fn [e] (swap! heard conj e)))`, `:ok`)
	want(t, c, `(mapv :kind @heard)`, `[:started :call :usage :call :usage :ended]`)
	want(t, c, `(mapv (juxt :tool :code) (filter #(= :call (:kind %)) @heard))`, `[["eval" "(+ 0 1)"] ["eval" "(+ 1 1)"]]`)
	want(t, c, `(mapv :tokens-in (filter #(= :usage (:kind %)) @heard))`, `[10 20]`)
	want(t, c, `(select-keys (last @heard) [:spawn :run :role :backend :status :answer :evals])`,
		`{:spawn "s1", :run "s1", :role :worker, :backend :scripted, :status :ok, :answer "DONE", :evals 2}`)
	want(t, c, `(every? some? (map :at @heard))`, `true`)
	// What never ran has an end, too.
	want(t, c, `(do (reset! heard []) (go (fn [e] (swap! heard conj e)) :role :nobody))`, `:refused`)
	want(t, c, `(mapv (juxt :kind :status) @heard)`, `[[:ended :refused]]`)
}

// TestOnEventThatThrows is reported once, hears of the rest, and hurts nothing.
func TestOnEventThatThrows(t *testing.T) {
	c, said := startSaying(t, heardOf)
	want(t, c, `(go (fn [e] (swap! heard conj e) (throw (ex-info "HANDLER-BROKE" {}))))`, `:ok`)
	want(t, c, `[(count @heard) (:answer res)]`, `[6 "DONE"]`)
	if got := strings.Count(said.String(), "HANDLER-BROKE"); got != 1 {
		t.Errorf("reported: got %d times, want once:\n%s", got, said)
	}
}

// TestOnEventThatIsSlow: the spawn does not wait for its handler, and what the handler misses is counted.
func TestOnEventThatIsSlow(t *testing.T) {
	c, said := startSaying(t, heardOf)
	eval(t, c, `(def gate (promise))`)
	eval(t, c, `(def emptied (promise))`)
	eval(t, c, `(reset! n 600)`) // 1202 events
	eval(t, c, `(defn agent-fn [{:keys [eval usage!]}]
	  (dotimes [i @n] (eval "1") (usage! {:tokens-in 1}))
	  (deliver gate true) @emptied (eval "2") "DONE")`)
	want(t, c, `(go (fn [e] @gate (swap! heard conj e) (when (= 1000 (count @heard)) (deliver emptied true))))`, `:ok`)
	want(t, c, `(let [d (reduce + (keep :dropped @heard))] [(pos? d) (= 1203 (+ d (count @heard))) (:kind (last @heard))])`, `[true true :ended]`)
	if strings.Contains(said.String(), "on-event") {
		t.Errorf("said: %s", said)
	}
}

// TestOnEventThatNeverReturns is cancelled a while after the spawn's end.
func TestOnEventThatNeverReturns(t *testing.T) {
	c, said := startSaying(t, heardOf)
	begun := time.Now()
	want(t, c, `(go (fn [e] (swap! heard conj e) @(promise)))`, `:ok`)
	if took := time.Since(begun); took > 2*time.Minute {
		t.Errorf("took %v, want some seconds", took)
	}
	want(t, c, `(count @heard)`, `1`)
	if !strings.Contains(said.String(), "spawn s1: on-event: got no return") {
		t.Errorf("said: got %q, want it to tell of the handler", said)
	}
}

// TestOnEventOfACancelledSpawn: its end is heard all the same.
func TestOnEventOfACancelledSpawn(t *testing.T) {
	c, _ := startSaying(t, heardOf)
	eval(t, c, `(def reached (promise))`)
	eval(t, c, `(defn agent-fn [_] (deliver reached true) @(promise))`)
	eval(t, c, `(def s (spawn/spawn-async {:role :worker :backend :scripted :agent #'agent-fn :prompt "p" :grace "1s" :on-event (fn [e] (swap! heard conj e))}))`)
	want(t, c, `(deref reached 120000 :never)`, `true`)
	eval(t, c, `(spawn/cancel! s)`)
	want(t, c, `(:status (spawn/wait s {:timeout "2m"}))`, `:cancelled`)
	want(t, c, `(mapv (juxt :kind :status) @heard)`, `[[:started nil] [:ended :cancelled]]`)
}

// TestOnEventInGo: another program hears of them as well, over rounds.
func TestOnEventInGo(t *testing.T) {
	c := advisedCore(t, `["no\nVERDICT: object" "VERDICT: approve"]`)
	var mu sync.Mutex
	var got []string
	agent := func(ctx context.Context, cl spawn.Client) (string, error) { return "A", nil }
	adviser := 0
	res := c.SpawnWith(t.Context(), spawn.Request{ID: "g1", Role: "worker", Backend: spawn.Scripted, Agent: agent, Prompt: "p",
		Review: &spawn.Review{Agent: func(context.Context, spawn.Client) (string, error) {
			if adviser++; adviser == 1 {
				return "VERDICT: object", nil
			}
			return "VERDICT: approve", nil
		}}}, core.SpawnOptions{OnEvent: func(_ context.Context, h core.Heard) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(h.Event.Spawn, " ", h.Kind))
		return nil
	}})
	if res.Status != spawn.OK || len(res.Advice) != 2 {
		t.Errorf("got %+v, want it approved in the second round", res)
	}
	want := "g1 started,g1 ended,g1.advice1 started,g1.advice1 ended,g1.r2 started,g1.r2 ended,g1.advice2 started,g1.advice2 ended"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("heard: got %s, want %s", s, want)
	}
}

// callingCLI is an agent CLI in bash: it calls eval over MCP by itself and prints what came, as a stream of its own form.
const callingCLI = `#!/bin/bash
prompt=$(cat)
echo "{\"kind\":\"hello\",\"session\":\"sess-1\",\"mode\":\"$MODE\",\"extra\":\"$(cat "$HOME/conf.json" | tr -d '\n" ')\"}"
url=${1#http://}; host=${url%%/*}; path=/${url#*/}
exec 3<>"/dev/tcp/${host%%:*}/${host##*:}"
body='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":{"code":"(twice '$prompt')"}}}'
printf 'POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
  "$path" "$host" "$ZENO_TOKEN" "${#body}" "$body" >&3
answer=$(cat <&3 | grep -oE '(>|u003e) [0-9]+' | head -1 | grep -oE '[0-9]+$')
echo "{\"kind\":\"say\",\"words\":\"thinking\",\"in\":3,\"out\":4}"
echo "{\"kind\":\"end\",\"words\":\"$answer\"}"
`

// TestABackendAsAMap: a home brings a CLI of its own, described as zeno's own table describes the others.
func TestABackendAsAMap(t *testing.T) {
	c, said := startSaying(t, `
(require '[zeno.grant :refer [defcap]] '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(defcap twice "doubles x" {:effect :read} [x] (* 2 x))
(defn grant [] {:vocab {"twice" twice}})
(gateway/start! {:roles {:worker #'grant}})
(def heard (atom []))`)
	cli := filepath.Join(t.TempDir(), "own-cli")
	if err := os.WriteFile(cli, []byte(callingCLI), 0o755); err != nil {
		t.Fatal(err)
	}
	eval(t, c, `(def own {:name :own :argv [`+quote(cli)+` "${endpoint}" {:args ["-m" "${model}"] :if :model}] :stdin "${prompt}"
	  :env {:MODE "${mode}"} :vars {:mode :quick} :tool-name :eval
	  :files {"conf.json" {:data {:level 3 :name :x :list [:a "b"]}}}
	  :stream {:rules [{:when {:kind :hello} :take {:session :session}}
	                   {:when {:kind :say} :take {:text :words :tokens-in [:in] :tokens-out [:out]}}
	                   {:when {:kind #{:end}} :take {:answer :words}}]}
	  :install "none" :tried "1"})`)
	want(t, c, `(def res (spawn/spawn {:role :worker :sandbox :none :backend own :prompt "21" :on-event (fn [e] (swap! heard conj e))}))`, `#'user/res`)
	want(t, c, `(select-keys res [:status :answer :evals :session :error])`, `{:status :ok, :answer "42", :evals 1, :session "sess-1"}`)
	want(t, c, `(:usage res)`, `{:tokens-in 3, :tokens-out 4, :usd 0.0}`)
	want(t, c, `(mapv (juxt :kind :text) @heard)`, `[[:started nil] [:text "thinking"] [:usage nil] [:ended nil]]`)
	want(t, c, `(:backend (first @heard))`, `:own`)
	// Its own variables are overridden by the spawn; others are an error.
	want(t, c, `(:status (spawn/spawn {:role :worker :sandbox :none :backend own :prompt "1" :vars {:mode "slow"}}))`, `:ok`)
	wantIn(t, c, `(:error (spawn/spawn {:role :worker :sandbox :none :backend own :prompt "1" :vars {:speed "slow"}}))`, "a variable this backend does not have, want one of mode")
	// A budget of tokens holds for it as for the others.
	want(t, c, `(:status (spawn/spawn {:role :worker :sandbox :none :backend own :prompt "1" :budget {:tokens 5}}))`, `:over-budget`)
	if !strings.Contains(said.String(), "runs unboxed") {
		t.Errorf("said: got %s, want that it runs unboxed", said)
	}
}
