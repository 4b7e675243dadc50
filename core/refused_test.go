package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/internal/need"
)

// refusals gives the outcomes of the refused events.
func refusals(t *testing.T, c *core.Core) []string {
	t.Helper()
	events, err := c.Journal().Since(context.Background(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		if e.Kind == journal.Refused {
			out = append(out, e.Outcome)
		}
	}
	return out
}

// A call that is refused while it is made is recorded as refused, as an unknown name is.
func TestRefusedCallsAreRecorded(t *testing.T) {
	c, _ := start(t, reader)
	eval(t, c, `(talk :reader "(once)" "(try (once) (catch Exception e :caught))" "(nobody)")`)
	eval(t, c, `
(spawn/spawn {:role :reader :backend :scripted
  :agent (fn [{:keys [eval]}]
    (eval "(defn f [] (echo 1))")
    (defn grant [] {:vocab {}})
    (eval "(f)"))})`)
	if got, want := strings.Join(refusals(t, c), " "), "max-calls unresolved revoked"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What an agent can make the journal hold is bounded by its calls, whether they are made or not.
func TestRefusedCallsAreCounted(t *testing.T) {
	c, _ := start(t, reader)
	for _, code := range []string{
		`(once) (dotimes [n 100000] (try (once) (catch Exception e nil)))`,
		`(dotimes [n 100000] (try (echo inc) (catch Exception e nil)))`,
	} {
		before := c.Journal()
		was, _ := before.Since(context.Background(), 0, 100_000)
		if got := eval(t, c, `(say `+quote(code)+`)`); !strings.Contains(got, "calls limit") {
			t.Errorf("%s: got %s, want the calls limit", code, got)
		}
		if now, _ := before.Since(context.Background(), 0, 100_000); len(now)-len(was) > 200 {
			t.Errorf("%s: got %d events, want about the 100 calls of the role", code, len(now)-len(was))
		}
	}
}

// A serial capability runs one call at a time in a spawn, and a call that waits for its turn ends with its evaluation.
func TestSerialCapabilities(t *testing.T) {
	c, _ := start(t, `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(def now (atom 0))
(def most (atom 0))
(def within (atom "2m"))
(defn grant [] {:vocab {"step" {:serial true :fn (fn [] (swap! most max (swap! now inc)) (deref (promise) 5 nil) (swap! now dec) :done)}
                        "self" {:serial true :accepts-fns true :fn (fn [f] (f))}}
                :limits {:eval-timeout @within}})
(gateway/start! {:roles {:r #'grant}})
(defn say [code] (:answer (spawn/spawn {:role :r :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval code)))})))
`)
	if got := eval(t, c, `[(say "(mapv deref (doall (map (fn [_] (future (step))) (range 8))))") @most]`); got != `["=> [:done :done :done :done :done :done :done :done]" 1]` {
		t.Errorf("got %s, want eight calls, one at a time", got)
	}
	eval(t, c, `(reset! within "1s")`)
	begun := time.Now()
	if got := eval(t, c, `(say "(self (fn [] (self (fn [] 1))))")`); !strings.Contains(got, "limit/time") {
		t.Errorf("a serial capability that waits for itself: got %s, want the time limit", got)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it ended after %v, want after the eval timeout of 1s", took)
	}
}

// A grant function that does not end fails closed, within its time.
func TestAGrantThatHangsFailsClosed(t *testing.T) {
	need.Full(t, "takes 5 s")
	c, _ := start(t, reader)
	eval(t, c, `(defn grant [] (loop [] (recur)))`)
	begun := time.Now()
	got := eval(t, c, `(:status (spawn/spawn {:role :reader :backend :scripted :timeout "10m" :agent (fn [{:keys [eval]}] (:text (eval "(+ 1 2)")))}))`)
	if took := time.Since(begun); got != ":refused" || took > 5*time.Minute {
		t.Errorf("got %s after %v, want an end long before the spawn's", got, took)
	}
}

// What a person must approve is not done where nobody could go on with the outcome: an evaluation without a spawn.
func TestApprovalFailsClosed(t *testing.T) {
	c, _ := start(t, reader)
	eval(t, c, `(do (def done (atom 0)) (defn grant [] {:vocab {"pay!" {:fn (fn [] (swap! done inc)) :approve true}}}))`)
	if res := c.EvalAs(context.Background(), "reader", "(pay!)"); res.Err == nil || !strings.Contains(res.Err.Message, "a person must answer") {
		t.Errorf("got %+v, want a refusal", res)
	}
	if got := eval(t, c, `@done`); got != "0" || strings.Join(refusals(t, c), " ") != "approval" {
		t.Errorf("got %s calls and refusals %v, want none made and one recorded", got, refusals(t, c))
	}
}
