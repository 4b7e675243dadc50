package core_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/core/rehearsal"
)

// rehearsalHome is one process that spawns an agent, which reads and writes, and does things by itself.
const rehearsalHome = `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn] '[zeno.loop :as loop] '[zeno.ask :as ask]
         '[joker.http :as http] '[joker.os :as os] '[joker.time :as time])
(def wrote (atom []))
(def seen (atom nil))
(defn worker [] {:vocab {"items" {:fn (fn [] [1 2 3]) :effect :read}
                         "put!"  {:fn (fn [x] (swap! wrote conj x) :put) :effect :write}
                         "pay!"  {:fn (fn [x] (swap! wrote conj x) :paid) :effect :write :approve true}
                         "old!"  (fn [x] (swap! wrote conj x))}})
(gateway/start! {:port 1 :roles {:worker #'worker}})
(loop/every :work "1h" (fn [] (reset! seen (spawn/spawn {:role :worker :prompt "go" :backend BACKEND AGENT}))))
(loop/every :ask "6h" (fn [] (def said (ask/ask "which?" {:choices ["left" "right"] :default "right"}))))
(loop/every :post "12h" (fn [] (http/send {:url "http://127.0.0.1:1/" :method :post})))
(loop/every :get "12h" (fn [] (http/send {:url "http://127.0.0.1:1/"})))
(loop/every :sh "12h" (fn [] (os/sh "sh" "-c" "echo x > $MARK")))
(loop/every :nap "6h" (fn [] (let [a (time/now)] (time/sleep (* 30 time/minute)) (def slept (- (inst-ms (time/now)) (inst-ms a))))))
`

const workerAgent = `:agent (fn [{:keys [eval]}] (:text (eval "(put! (count (items))) (pay! 7) (old! 8)")))`

func rehearse(t *testing.T, d time.Duration, src, stand string, conf core.Rehearsal) (*core.Core, rehearsal.Report) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{home.InitFile: src, core.RehearsalFile: stand} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, _ := home.Resolve(dir, os.Getenv)
	clock := loop.NewVirtual(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	var errs bytes.Buffer
	c, err := core.New(core.Config{Home: h, Clock: clock, Err: &errs, Rehearsal: &conf, Journal: &journal.Memory{Now: clock.Now}})
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	rep, err := c.Rehearse(ctx, d)
	if err != nil {
		t.Fatalf("rehearse: %s\n%s", core.Explain(err), errs.String())
	}
	return c, rep
}

// counts gives "kind what outcome" -> how often.
func counts(rep rehearsal.Report) map[string]int {
	out := map[string]int{}
	for _, l := range rep.Lines {
		out[fmt.Sprintf("%s %s %s", l.Kind, l.What, l.Outcome)] = l.Count
	}
	return out
}

func wantCounts(t *testing.T, rep rehearsal.Report, want map[string]int) {
	t.Helper()
	got := counts(rep)
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: got %d, want %d, of %v", k, got[k], n, got)
		}
	}
}

// A day passes in a moment; what has an effect is told and not done.
func TestRehearse(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("MARK", mark)
	src := strings.NewReplacer("BACKEND", ":scripted", "AGENT", workerAgent).Replace(rehearsalHome)
	c, rep := rehearse(t, 24*time.Hour, src, "", core.Rehearsal{})
	wantCounts(t, rep, map[string]int{"process work ok": 24, "spawn worker ok": 24, "call worker/items ok": 24,
		"write worker/put! recorded": 24, "write worker/pay! recorded": 24, "write worker/old! recorded": 24,
		"ask worker/pay! approved": 24, "ask which? answered": 4, "process ask ok": 4,
		"effect joker.http/send refused": 4, "effect joker.os/sh refused": 2})
	if got := eval(t, c, "[@wrote said slept]"); got != `[[] "right" 1800000]` {
		t.Errorf(`got %s, want [[] "right" 1800000]: nothing written, the default as answer, half a virtual hour slept`, got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command was run")
	}
	if d := rep.To.Sub(rep.From); d != 24*time.Hour || rep.Stopped != "" {
		t.Errorf("passed: got %v %q", d, rep.Stopped)
	}
}

// The same program in earnest writes, asks and runs commands: what the rehearsal holds back.
func TestRehearsedInEarnest(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("MARK", mark)
	clock := loop.NewVirtual(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	c, err := core.New(core.Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	src := strings.NewReplacer("BACKEND", ":scripted", "AGENT", `:agent (fn [{:keys [eval]}] (:text (eval "(put! 1) (old! 8)")))`, ":port 1", ":port 0").Replace(rehearsalHome)
	src = src[:strings.Index(src, "(loop/every :ask")] + `(loop/every :sh "12h" (fn [] (os/sh "sh" "-c" "echo x > $MARK")))`
	if _, err := c.Eval(context.Background(), src+"(loop/start!)"); err != nil {
		t.Fatal(core.Explain(err))
	}
	if err := clock.Advance(context.Background(), 12*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := eval(t, c, "(count @wrote)"); got != "24" {
		t.Errorf("written: got %s, want 24", got)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the command: got %v", err)
	}
}

// The home's own stand-ins play agents, capabilities and people; an agent CLI is never started.
func TestRehearsalStandIns(t *testing.T) {
	src := strings.NewReplacer("BACKEND", ":claude :model \"m\"", "AGENT", "").Replace(rehearsalHome)
	c, rep := rehearse(t, 12*time.Hour, src, `
(zeno.dry-run/agent! :worker (fn [{:keys [eval prompt]}] (str prompt " " (:text (eval "[(items) (put! 2)]")))))
(zeno.dry-run/capability! "put!" (fn [x] [:would-put x]))
(zeno.dry-run/capability! "items" (fn [] [9]))
(zeno.dry-run/answer! (fn [q] (first (:choices q))))
(alter-var-root #'joker.http/send (constantly (fn [_] {:status 200})))`, core.Rehearsal{AllowExec: true})
	wantCounts(t, rep, map[string]int{"spawn worker ok": 12, "call worker/items stand-in": 12, "write worker/put! stand-in": 12,
		"process post ok": 1, "process sh ok": 1, "effect joker.os/sh made": 0})
	if got := eval(t, c, "[(:answer @seen) said]"); !strings.Contains(got, "go => [[9] [:would-put 2]]") || !strings.Contains(got, `"left"`) {
		t.Errorf("got %s, want the stand-ins' answers", got)
	}
	_, rep = rehearse(t, 2*time.Hour, src, "", core.Rehearsal{})
	wantCounts(t, rep, map[string]int{"spawn worker ok": 2})
}

// Requests are made where that is allowed, and only those that read.
func TestRehearsalNet(t *testing.T) {
	src := strings.NewReplacer("BACKEND", ":scripted", "AGENT", workerAgent).Replace(rehearsalHome)
	_, rep := rehearse(t, 12*time.Hour, src, "", core.Rehearsal{AllowNet: true})
	wantCounts(t, rep, map[string]int{"effect joker.http/send made": 1, "effect joker.http/send refused": 1})
}

// What a rehearsal keeps does not grow with its length.
func TestRehearsalIsBounded(t *testing.T) {
	r := rehearsal.New(time.Now)
	for i := range 100_000 {
		r.Add(rehearsal.Write, fmt.Sprint("role/cap", i%5000), "recorded", strings.Repeat("ä", 2000))
	}
	rep := r.Report()
	if len(rep.Lines) != rehearsal.MaxLines || len(rep.Timeline) != rehearsal.MaxMoment || rep.More+len(rep.Timeline) != 100_000 ||
		len(rep.Lines[0].Detail) > rehearsal.MaxDetail+3 || rep.Others == 0 {
		t.Errorf("got %d lines, %d moments, %d more, %d others", len(rep.Lines), len(rep.Timeline), rep.More, rep.Others)
	}
}

// A home that does not load, and a run that does not end, are told with what happened before.
func TestRehearsalStops(t *testing.T) {
	dir := t.TempDir()
	h, _ := home.Resolve(dir, os.Getenv)
	_ = os.WriteFile(filepath.Join(dir, home.InitFile), []byte(`(zeno.loop/every :stuck "1h" (fn [] (deref (promise))))`), 0o600)
	var rep rehearsal.Report
	var err error
	for _, within := range []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Minute} { // it must have begun by then
		clock := loop.NewVirtual(time.Now())
		c, failed := core.New(core.Config{Home: h, Clock: clock, Rehearsal: &core.Rehearsal{}, Journal: &journal.Memory{}})
		if failed != nil {
			t.Fatal(failed)
		}
		defer c.Close(context.Background())
		ctx, cancel := context.WithTimeout(context.Background(), within)
		rep, err = c.Rehearse(ctx, 24*time.Hour)
		cancel()
		if strings.Contains(rep.Stopped, "did not come to rest") {
			break
		}
	}
	if err == nil || !strings.Contains(rep.Stopped, "did not come to rest") {
		t.Errorf("got %v %+v", err, rep)
	}
}
