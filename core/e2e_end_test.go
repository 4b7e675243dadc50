package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
)

// waiter is a role whose evals take long: in a capability, or in the language itself.
const waiter = `
(def waiting (atom 0))
(def gate (promise))
(defcap wait "waits for ever" [] (swap! waiting inc) @(promise))
(defcap pass "waits for the gate" [] (swap! waiting inc) @gate)
(defcap mark "notes that an eval runs" [] (swap! waiting inc))
(def grant (fn [] {:vocab {"wait" wait "pass" pass "mark" mark} :limits {:eval-timeout "5m" :steps 1000000000000}}))
(defn worker-grant [] (grant))
(gateway/start! {:roles {:worker #'worker-grant}})
`

// waitBegun waits until n evals of the role are in the middle of it.
func (r *real) waitBegun(t *testing.T, n string) {
	t.Helper()
	waitFor(t, "an eval in the middle", func() bool { return eval(t, r.Core, `@waiting`) == n })
}

// endsSoon waits for the eval that runs to be recorded with the outcome, and fails where that takes much longer than a moment.
func (r *real) endsSoon(t *testing.T, since time.Time, outcome string) {
	t.Helper()
	waitFor(t, "the end of the eval", func() bool { return len(r.events(t, journal.Eval)) > 0 })
	took := time.Since(since)
	if e := r.events(t, journal.Eval)[0]; e.Outcome != outcome || took > 30*time.Second {
		t.Errorf("the eval: got %s after %v (%v), want %s at once", e.Outcome, took, e.Data["error"], outcome)
	}
}

// TestRealCancel cancels a spawn from the program, in the middle of an eval: in a capability, and in a loop. The eval ends
// at once, and nothing of the CLI's process tree is left when the spawn has ended.
func TestRealCancel(t *testing.T) {
	for name, code := range map[string]string{"capability": `(wait)`, "loop": `(do (mark) (loop [n 0] (recur (inc n))))`} {
		t.Run(name, func(t *testing.T) {
			eachCLI(t, func(t *testing.T, cli string) {
				r := startReal(t, cli, waiter)
				eval(t, r.Core, `(def f (future (real {:prompt `+quote(marks(code))+`})))`)
				r.waitBegun(t, "1")
				if before := processesWith("HOME=" + r.dir); len(before) < 2 {
					t.Errorf("processes before: got %v, want the guard and the CLI", before)
				}
				begun := time.Now()
				r.want(t, `(future-cancel f)`, `true`)
				r.endsSoon(t, begun, "cancelled")
				waitFor(t, "the end of the spawn", func() bool { return len(r.events(t, journal.SpawnEnded)) > 0 })
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("the spawn ended after %v, want about its grace of 1s", took)
				}
				if after := processesWith("HOME=" + r.dir); len(after) != 0 {
					t.Errorf("processes after: got %v, want none", after)
				}
				if e := r.events(t, journal.SpawnEnded)[0]; e.Outcome != "cancelled" || e.Data["evals"] != 1 {
					t.Errorf("the end: got %s %v, want cancelled and 1 eval", e.Outcome, e.Data)
				}
			})
		})
	}
}

// TestRealTimeout: the spawn's time ends in the middle of an eval.
func TestRealTimeout(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		var r *real
		limit := 0
		for _, limit = range []int{20, 60, 240} { // a CLI may take that long to start where the machine is busy
			r = startReal(t, cli, waiter)
			eval(t, r.Core, fmt.Sprintf(`(def res (real {:timeout "%ds" :prompt %s}))`, limit, quote(marks(`(wait)`))))
			if eval(t, r.Core, `@waiting`) == "1" {
				break
			}
		}
		// An answer is not asked about: a CLI may say what became of its eval before it has taken the TERM.
		r.want(t, fmt.Sprintf(`[(:status res) (:evals res) @waiting (< %d (:ms res) %d)]`, limit*1000, limit*1000+60_000), `[:timeout 1 1 true]`)
		r.wantIn(t, `(:error res)`, fmt.Sprintf("got no end within %v", time.Duration(limit)*time.Second))
		if e := r.events(t, journal.Eval); len(e) != 1 || e[0].Outcome != "cancelled" {
			t.Errorf("the eval: got %+v, want it cancelled", e)
		}
	})
}

// TestRealCloseEndsSpawns: an instance that closes interrupts what runs and waits for it.
func TestRealCloseEndsSpawns(t *testing.T) {
	r := startReal(t, "claude", waiter)
	eval(t, r.Core, `(def f (future (real {:prompt `+quote(marks(`(wait)`))+`})))`)
	r.waitBegun(t, "1")
	r.close(t)
	if e := r.events(t, journal.SpawnEnded); len(e) != 1 || e[0].Outcome != "interrupted" {
		t.Errorf("the end: got %+v, want one interrupted spawn", e)
	}
}

// TestRealRevoke takes the token away in the middle of a run: the eval that runs ends, the next one is not answered, and
// the spawn does not pass for a success.
func TestRealRevoke(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		r := startReal(t, cli, waiter)
		eval(t, r.Core, `(def f (future (real {:timeout "5m" :prompt `+quote(marks(`(+ 1 2)`, `(wait)`, `(mark)`))+`})))`)
		r.waitBegun(t, "1")
		id := r.events(t, journal.SpawnStarted)[0].Spawn
		begun := time.Now()
		r.Gateway().Revoke(id)
		waitFor(t, "the end of the eval", func() bool { return len(r.events(t, journal.Eval)) > 1 })
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("the eval ended after %v, want at once", took)
		}
		eval(t, r.Core, `(def res @f)`)
		r.want(t, `[(:status res) (:evals res) @waiting]`, `[:failed 2 1]`)
		r.wantIn(t, `(:error res)`, "the token of this spawn was taken away")
	})
}

// TestRealGrantRedefined redefines the grant between two evals of one run: the next call of the CLI sees it.
func TestRealGrantRedefined(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		r := startReal(t, cli, waiter)
		eval(t, r.Core, `(def f (future (real {:prompt `+quote(marks(`(pass)`, `(mapv :name (tools))`, `(fresh 41)`, `(pass)`))+`})))`)
		r.waitBegun(t, "1")
		eval(t, r.Core, `(def grant (fn [] {:vocab {"fresh" inc}}))`)
		eval(t, r.Core, `(deliver gate :through)`)
		r.want(t, `(select-keys @f [:status :evals])`, `{:status :ok, :evals 4}`)
		told := r.told()
		want := []string{`=> :through`, `=> ["fresh"]`, `=> 42`, `unable to resolve pass`}
		if len(told) != 4 || !slices.EqualFunc(told, want, strings.Contains) {
			t.Errorf("the model was told %q, want %q", told, want)
		}
	})
}

// TestRealDeadlineOfTheCaller: the context of the Go caller ends the spawn just as well.
func TestRealDeadlineOfTheCaller(t *testing.T) {
	r := startReal(t, "claude", waiter)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := r.Eval(ctx, `(real {:prompt `+quote(marks(`(wait)`))+`})`)
	if e := r.events(t, journal.SpawnEnded); len(e) != 1 || e[0].Outcome != "timeout" {
		t.Errorf("the end: got %+v (%v), want one spawn that timed out", e, err)
	}
}
