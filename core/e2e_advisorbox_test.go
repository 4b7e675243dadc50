//go:build linux

package core_test

import (
	"testing"

	"github.com/reflection-dev/zeno/internal/modelserver"
)

// TestRealBoxedAdvisor: the adviser runs in a box of its own, and the agent's session goes on in another one.
func TestRealBoxedAdvisor(t *testing.T) {
	r := startBoxed(t, "claude", worker)
	r.model.Set(modelserver.Config{Decide: strict})
	eval(t, r.Core, `(def res (boxed {:prompt `+quote("FIRST-PROMPT "+marks(`(count (notes))`))+` :advisor {:model "m2" :rubric "RUBRIC-MARK"}}))`)
	r.want(t, `[(:status res) (:answer res) (:evals res) (:boxed res) (:error res)]`, `[:ok "RESULT: => 42" 2 true nil]`)
	r.want(t, `(mapv (juxt :round :verdict) (:advice res))`, `[[1 :object] [2 :approve]]`)
	r.adviserSees(t)
	boxes := map[string]int{}
	for _, e := range r.events(t, "sandbox/started") {
		if e.Spawn != "" { // looking for what the machine can do starts some, too
			boxes[e.Spawn]++
		}
	}
	if len(boxes) != 4 {
		t.Errorf("boxes: got %v, want one for each run", boxes)
	}
	holdsNo(t, r.dir, "CANARY")
}
