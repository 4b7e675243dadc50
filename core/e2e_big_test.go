package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lavish is a role whose evals may give much.
const lavish = `
(defn worker-grant [] {:limits {:output "4MB" :bytes "64MB" :alloc "512MB" :eval-timeout "1m"}})
(gateway/start! {:roles {:worker #'worker-grant}})
`

// TestRealBigResult: an eval gives a megabyte. No CLI may break on it; how much of it the model gets to see differs.
func TestRealBigResult(t *testing.T) {
	eachCLI(t, func(t *testing.T, cli string) {
		r := startReal(t, cli, lavish)
		eval(t, r.Core, `(def res (real {:prompt `+quote(marks(`(apply str "BEGIN" (repeat 1000000 "x"))`, `(+ 1 2)`))+`}))`)
		r.want(t, `[(:status res) (:evals res) (:answer res) (:error res)]`, `[:ok 2 "RESULT: => 3" nil]`)
		told := r.told()
		if len(told) != 2 {
			t.Fatalf("the model was told %d results, want 2", len(told))
		}
		t.Logf("the model got %d bytes: %.100q … %.200q", len(told[0]), told[0], told[0][max(0, len(told[0])-200):])
		if !strings.Contains(told[0], "BEGINxxx") || !strings.Contains(told[0], "bytes left out; to see more, (def v") {
			t.Errorf("the model was told %.300q …, want the beginning, and how to see more", told[0])
		}
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "pi-mcp-*")); len(left) > 0 {
			t.Errorf("left outside of the home: %v", left)
		}
	})
}
