package core_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/loop"
)

// clocked boots an instance whose program is src and whose clock is virtual: 1 January 2024, a Monday, 00:00 UTC.
func clocked(t *testing.T, src string, set ...func(*core.Config)) (*core.Core, *buffer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	said := &buffer{}
	conf := core.Config{Home: h, Err: said, Clock: loop.NewVirtual(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))}
	for _, f := range set {
		f(&conf)
	}
	c, err := core.New(conf)
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

// loopy counts the runs of a few processes.
const loopy = `
(require '[zeno.loop :as loop])
(def seen (atom {}))
(defn note [k] (swap! seen update k (fnil inc 0)))
(defn half-hourly [] (note :half))
(defn weekdays [] (note :nine))
(loop/every :half "30m" #'half-hourly)
(loop/every "nine" "0 9 * * 1-5" #'weekdays {:zone "Europe/Berlin"})
(loop/start!)
`

func TestAWeekOfProcesses(t *testing.T) {
	c, _ := clocked(t, loopy)
	start := time.Now()
	if got, want := eval(t, c, `(loop/advance! "7d") (into (sorted-map) @seen)`), `{:half 336, :nine 5}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if took := time.Since(start); took > 5*time.Minute {
		t.Errorf("a virtual week took %s", took)
	}
	if got, want := eval(t, c, `(map (juxt :name :schedule :status :runs :failures :last-outcome :last-at :next) (loop/processes))`),
		`([:half "30m" :waiting 336 0 :ok "2024-01-08T00:00:00Z" "2024-01-08T00:30:00Z"] `+
			`[:nine "0 9 * * 1-5" :waiting 5 0 :ok "2024-01-05T08:00:00Z" "2024-01-08T08:00:00Z"])`; got != want {
		t.Errorf("processes: got %s, want %s", got, want)
	}
	if got, want := eval(t, c, `(loop/now)`), "1704672000000"; got != want {
		t.Errorf("now: got %s, want %s", got, want)
	}
}

// Law 9: the var of a process is looked up at each run.
func TestAProcessIsItsVar(t *testing.T) {
	c, _ := clocked(t, loopy)
	got := eval(t, c, `(loop/advance! "1h") (defn half-hourly [] (note :new)) (loop/advance! "1h") @seen`)
	if want := `{:half 2, :new 2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProcessesThatFail(t *testing.T) {
	c, said := clocked(t, `
(require '[zeno.loop :as loop])
(defn fail []
  (throw (ex-info "no luck" {:code 7})))
(loop/every :bad "1m" #'fail)
(loop/every :good "1m" (fn [] 1))
(loop/every :arity "1h" (fn [x] x))
(loop/every :deaf "1h" (fn [] (loop/sleep "1h")) {:timeout "90s"})`)
	eval(t, c, `(loop/advance! "8m")`)
	if got, want := eval(t, c, `(def p (first (filter #(= :bad (:name %)) (loop/processes)))) [((juxt :status :runs :failures :failing :last-outcome :next) p) (dissoc (:error p) :time :at)]`),
		`[[:backoff 4 4 4 :user "2024-01-01T00:16:00Z"] {:kind :user, :message "no luck", :stack ["user/fail (`; !strings.HasPrefix(got, want) {
		t.Errorf("bad: got %s, want %s…", got, want)
	}
	if got := eval(t, c, `(:at (:error p))`); !strings.HasSuffix(got, `init.joke:4:3"`) {
		t.Errorf("its place: got %s, want init.joke:4:3", got)
	}
	for _, want := range []string{"process bad failed: ", "init.joke:4:3: no luck\n", "data: {:code 7}", "  at user/fail (", "process bad failed (4 times in a row): "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("report: got %q, want it to hold %q", said, want)
		}
	}
	// bad ran after 1, 2, 4, 8, 16, and then every 15 minutes, the most that it waits
	if got := eval(t, c, `(loop/advance! "1h") (for [p (loop/processes)] [(:name p) (:runs p) (:last-outcome p)])`); got != `([:arity 1 :arity] [:bad 8 :user] [:deaf 1 :timeout] [:good 68 :ok])` {
		t.Errorf("the others: got %s", got)
	}
	if want := "process deaf: got no end within 1m30s, want one"; !strings.Contains(said.String(), want) {
		t.Errorf("report: got %q, want it to hold %q", said, want)
	}
	got := eval(t, c, `(frequencies (map (juxt :outcome (comp :process :data)) (filter #(= :process/run (:kind %)) (zeno.journal/events))))`)
	for _, want := range []string{"[:ok \"good\"] 68", "[:user \"bad\"] 8", "[:arity \"arity\"] 1", "[:timeout \"deaf\"] 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("journal: got %s, want it to hold %s", got, want)
		}
	}
	got = eval(t, c, `(last (filter #(= "deaf" (:process (:data %))) (zeno.journal/events)))`)
	for _, want := range []string{`:at "2024-01-01T01:01:30Z"`, `:ms 90000`, `exceeded its timeout: got 1m30s, want at most 1m30s`, `:trigger "schedule"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the event of a timeout: got %s, want it to hold %s", got, want)
		}
	}
}

func TestControlOfProcesses(t *testing.T) {
	c, _ := clocked(t, loopy)
	for _, tt := range []struct{ code, want string }{
		{`(loop/pause! :half "nine") (loop/advance! "1d") @seen`, `{}`},
		{`(map :status (loop/processes))`, `(:paused :paused)`},
		{`(loop/run-now! :half)`, `:started`},
		{`(loop/advance! 0) @seen`, `{:half 1}`},
		{`(loop/resume!) (loop/advance! "1d") @seen`, `{:half 49, :nine 1}`},
		{`(:status (loop/every :slow "1d" (fn [] (loop/sleep "10s") (note :slow))))`, `:waiting`},
		{`[(loop/run-now! :slow) (loop/run-now! :slow)]`, `[:started :running]`},
		{`(loop/advance! "10s") (:slow @seen)`, `1`},
		{`(loop/stop!) (loop/stop!) (map :status (loop/processes))`, `(:stopped :stopped :stopped)`},
		{`(loop/start!) (loop/start!) (map :status (loop/processes))`, `(:waiting :waiting :waiting)`},
		{`(loop/remove! :half) (map :name (loop/processes))`, `(:nine :slow)`},
		{`(:next (loop/every :soon 1500 #'half-hourly {:immediate true}))`, `"2024-01-03T00:00:10Z"`},
	} {
		if got := eval(t, c, tt.code); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
}

func TestErrorsOfTheLoop(t *testing.T) {
	c, _ := clocked(t, loopy)
	for _, tt := range []struct{ code, want string }{
		{`(loop/every :p "soon" #'note)`, `every: process p: schedule: got "soon", want an interval such as "250ms"`},
		{`(loop/every :p "0 25 * * *" #'note)`, `every: process p: cron: got "0 25 * * *", end of range (25) above maximum (23)`},
		{`(loop/every :p [1] #'note)`, `every: argument 2: got [1] (vector), want an interval such as "30s" or a cron`},
		{`(loop/every :p 0 #'note)`, `want an interval from 1ms to 366d`},
		{`(loop/every :p "30s" :note)`, `every: process p: got :note (keyword), want a function or a var such as #'f`},
		{`(loop/every :p "30s" #'note {:jiter "1s"})`, `got the key :jiter, want one of :immediate :jitter :timeout :zone`},
		{`(loop/every :p "30s" #'note {:jitter "1m"})`, `process p: got the jitter 1m0s, want one from 0 to its interval 30s`},
		{`(loop/every :p "30s" #'note {:zone "Berlin"})`, `:zone: got "Berlin", want a name such as "Europe/Berlin"`},
		{`(loop/every "" "30s" #'note)`, `got the name "", want a word`},
		{`(loop/pause! :haf)`, `process haf: not registered; there are half, nine`},
		{`(loop/tick [["a" 42]])`, `tick: steps: 0: a: got 42 (integer), want a function or a var`},
		{`(loop/tick [["a" note] note])`, `tick: steps: 1: got `},
		{`(loop/tick {:a note})`, `tick: steps: got {:a `},
		{`(loop/advance! "soon")`, `advance!: got "soon" (string), want a time span`},
		{`(loop/every :p "1m" (fn [] (loop/advance! "1s"))) (loop/advance! "1m") (throw (ex-info (:message (:error (last (loop/processes)))) {}))`,
			`got an advance from inside a running process`},
	} {
		_, err := c.Eval(context.Background(), tt.code)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.code, err, tt.want)
		}
	}
	onWall, _ := start(t, loopy)
	if _, err := onWall.Eval(context.Background(), `(loop/advance! "1s")`); err == nil || !strings.Contains(err.Error(), "got the real clock, want a virtual one") {
		t.Errorf("the real clock: got %v", err)
	}
}

// One pass: a step that throws is told of, and what it was given goes on.
func TestTick(t *testing.T) {
	c, said := clocked(t, `
(require '[zeno.loop :as loop])
(defn add [ctx] (update ctx :n inc))
(defn fail [ctx]
  (throw (ex-info "no luck" ctx)))
(def ^:dynamic *who* :nobody)
(defn who [ctx] (assoc ctx :who *who*))
(defn pass [] (loop/tick [["fail" #'fail] [:cancelled (fn [_] (loop/sleep "1h"))] ["never" #'add]] {:n 0}))
(loop/every :pass "1h" #'pass {:timeout "1m"})`)
	for _, tt := range []struct{ code, want string }{
		{`(loop/tick [["a" #'add] ["b" #'fail] ["c" add]] {:n 1})`, `{:n 3}`},
		{`(loop/tick [] 7)`, `7`},
		{`(loop/tick [[:a (fn [ctx] [ctx])]])`, `[nil]`},
		{`(loop/tick [[:a (fn [ctx] nil)] [:b #(vector %)]] 1)`, `[nil]`},
		{`(binding [*who* :me] (loop/tick (list ["who" #'who]) {}))`, `{:who :me}`},
		{`(loop/tick [["stack" (fn f [n] (f (inc n)))]] 1)`, `1`},
		{`(do (loop/advance! "2h") (map (juxt :runs :last-outcome) (loop/processes)))`, `([1 :timeout])`},
	} {
		if got := eval(t, c, tt.code); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.code, got, tt.want)
		}
	}
	for _, want := range []string{"zeno: step b failed: ", "init.joke:5:3: no luck\n", "  at user/fail (", "process pass: step fail failed: "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("report: got %q, want it to hold %q", said, want)
		}
	}
	got := eval(t, c, `(map (juxt :outcome :data) (filter #(= :process/step (:kind %)) (zeno.journal/events)))`)
	for _, want := range []string{`[:user {:error `, `no luck`, `:step "b"`, `:process "pass"`} {
		if !strings.Contains(got, want) {
			t.Errorf("journal: got %s, want it to hold %s", got, want)
		}
	}
	if strings.Contains(got, `:step "cancelled"`) || strings.Contains(got, `:step "never"`) {
		t.Errorf("journal: got %s: a step that was cancelled has not failed, and none comes after it", got)
	}
}

// A limit or a defect is nothing that a tick holds back: only what a program could catch.
func TestTickOfACancelledEvaluation(t *testing.T) {
	c, said := clocked(t, loopy)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if v, err := c.Eval(ctx, `(loop/tick [["endless" (fn [_] (while true))] ["next" (fn [_] (note :next))]])`); err == nil {
		t.Errorf("got %v, want the end of the evaluation", v)
	}
	if got := eval(t, c, `@seen`); got != "{}" || strings.Contains(said.String(), "endless") {
		t.Errorf("got %s, reports %q: want no further step and no report", got, said)
	}
}

// On the real clock, from Boot to Close: processes run side by side, a busy one is cancelled by Close.
func TestProcessesOnTheRealClock(t *testing.T) {
	c, _ := start(t, `
(require '[zeno.loop :as loop])
(def turns (atom 0))
(def three (promise))
(loop/every :busy "1ms" (fn [] (while true)))
(loop/every :waits "1ms" (fn [] @(promise)))
(loop/every :quick "1ms" (fn [] (when (= 3 (swap! turns inc)) (deliver three :ok))) {:jitter "1ms"})`)
	if got := eval(t, c, `(deref three 120000 :late)`); got != ":ok" {
		t.Fatalf("got %s, want three runs", got)
	}
	waitFor(t, "both of the others to run", func() bool {
		return eval(t, c, `(map :status (filter #(#{:busy :waits} (:name %)) (loop/processes)))`) == "(:running :running)"
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := c.Eval(context.Background(), `(zeno.loop/start!)`); err == nil {
		t.Error("start! of a closed instance: got no error")
	}
	if got := c.Loop().Processes()[0]; got.State != loop.Inactive || got.Last.Outcome != loop.Cancelled || got.Failures != 0 {
		t.Errorf("busy: got %+v, want it cancelled, which is no failure", got)
	}
}

// A command that borrows the home starts none of its processes, also if init.joke says so; the program still may.
func TestAnIdleInstanceStartsNothing(t *testing.T) {
	c, _ := clocked(t, loopy, func(conf *core.Config) { conf.Idle = true })
	if got := eval(t, c, `(loop/advance! "1d") [@seen (map :status (loop/processes))]`); got != `[{} (:stopped :stopped)]` {
		t.Errorf("got %s, want nothing run", got)
	}
	if got := eval(t, c, `(loop/start!) (loop/advance! "1h") @seen`); got != `{:half 2}` {
		t.Errorf("started by hand: got %s, want two runs", got)
	}
}

// Law 8: what a broken program had registered runs, and an instance without a home has a loop too.
func TestTheLoopComesUpWithABrokenProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, home.InitFile), []byte(loopy+`(throw (ex-info "no luck" {}))`), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Resolve(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*home.Home{h, nil} {
		c, err := core.New(core.Config{Home: h, Clock: loop.NewVirtual(time.Unix(0, 0))})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Boot(context.Background()); (err == nil) != (h == nil) {
			t.Errorf("boot: got %v", err)
		}
		got := eval(t, c, `(def n (atom 0)) (zeno.loop/every :p "1h" #(swap! n inc)) (zeno.loop/advance! "1d") @n`)
		if got != "24" {
			t.Errorf("got %s runs, want 24", got)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
