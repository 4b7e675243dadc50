package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/journal"
)

// recorded are all events.
func recorded(t testing.TB, c *core.Core) []journal.Event {
	t.Helper()
	es, err := c.Journal().Since(context.Background(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// A capability's lazy result is realised while the capability runs: with its power, under its timeout, and before the
// record says how the call went.
func TestALazyResultIsRealisedByTheCapability(t *testing.T) {
	c, _ := start(t, `
(require '[zeno.gateway :as gateway] '[zeno.spawn :as spawn])
(def open? (atom true))
(defn grant []
  {:vocab {"lines" (fn [] (map (fn [i] (if @open? i (throw (ex-info "closed" {})))) (range 100)))
           "slow"  {:timeout "100ms" :fn (fn [] (map (fn [_] @(promise)) [1 2]))}
           "late"  (fn [] (map (fn [i] (throw (ex-info "no luck" {:i i}))) [7]))
           "endless" {:timeout "20s" :fn (fn [] (repeat "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"))}
           "code"  (fn [] [1 inc])
           "big"   (fn [] (vec (repeat 200000 "0123456789012345678901234567890123456789")))}
   :limits {:eval-timeout "60s"}})
(defn small [] (assoc-in (grant) [:limits :alloc] "24M"))
(defn tight [] (assoc-in (grant) [:limits :bytes] "8M"))
(gateway/start! {:roles {:r #'grant :small #'small :tight #'tight}})
(defn say-tight [code] (:answer (spawn/spawn {:role :tight :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval code)))})))
(defn say-small [code] (:answer (spawn/spawn {:role :small :backend :scripted :agent (fn [{:keys [eval]}] (:text (eval code)))})))
(defn say [code] (:answer (spawn/spawn {:role :r :backend :scripted :timeout "2m" :agent (fn [{:keys [eval]}] (:text (eval code)))})))
`)
	if got := eval(t, c, `(say "(reduce + (lines))")`); got != `"=> 4950"` {
		t.Errorf("a lazy result: got %s, want its sum", got)
	}
	begun := time.Now()
	if got := eval(t, c, `(say "(try (first (slow)) (catch Exception e (ex-message e)))")`); !strings.Contains(got, "slow: got no answer within 100ms") {
		t.Errorf("a lazy result that takes long: got %s, want the capability's timeout", got)
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("it took %v, want about 100ms", took)
	}
	if got := eval(t, c, `(say "(:i (ex-data (try (late) (catch Exception e e))))")`); got != `"=> 7"` {
		t.Errorf("a lazy result that throws: got %s, want its data at the call", got)
	}
	if got := eval(t, c, `(say "(code)")`); !strings.Contains(got, "its result: got") {
		t.Errorf("code in a result: got %s, want a refusal", got)
	}
	if got := eval(t, c, `(say "(endless)")`); !strings.Contains(got, "limit") && !strings.Contains(got, "within") {
		t.Errorf("an endless result: got %s, want a limit", got)
	}
	if got := eval(t, c, `(say-tight "(endless)")`); !strings.Contains(got, "the limit is 33554432") {
		t.Errorf("an endless result for an agent that may keep 8 MiB: got %s, want 32 MiB as its limit", got)
	}
	if got := eval(t, c, `(say-small "(do (big) (big) (big) (big) 1)")`); !strings.Contains(got, "limit/alloc") {
		t.Errorf("results beyond what the agent may build: got %s, want its limit", got)
	}
	outcomes := map[any]string{}
	for _, e := range recorded(t, c) {
		if e.Kind == journal.Call {
			outcomes[e.Data["name"]] = e.Outcome
		}
	}
	for name, want := range map[string]string{"lines": "ok", "slow": "error", "late": "error", "code": "error", "endless": "error"} {
		if outcomes[name] != want {
			t.Errorf("record of %s: got %s, want %s", name, outcomes[name], want)
		}
	}
}
