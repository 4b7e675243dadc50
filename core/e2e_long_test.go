package core_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/internal/need"
)

// sleeper is a role whose evals may take longer than any client waits by itself.
const sleeper = `
(require '[joker.time :as time])
(defcap pause "waits for so many seconds" {:timeout "5m"} [s] (time/sleep (* s 1000000000)) :rested)
(defn worker-grant [] {:vocab {"pause" pause} :limits {:eval-timeout "5m"}})
(gateway/start! {:roles {:worker #'worker-grant}})
`

// TestRealLongEval: an eval takes longer than most clients wait by default. What holds the call open differs: claude (60 s)
// goes by the keepalive, so the timeout that its backend sets is taken out here; omp (30 s) does not go by progress, so it
// is that timeout, as TestRealOmpCutsAt30 shows.
func TestRealLongEval(t *testing.T) {
	need.Full(t, "takes more than a minute")
	t.Parallel()
	eachCLI(t, func(t *testing.T, cli string) {
		var change []func(*core.Config)
		if cli == "claude" {
			change = append(change, withoutTimeout(t, cli))
		}
		r := startReal(t, cli, sleeper, change...)
		eval(t, r.Core, `(def res (real {:timeout "10m" :prompt `+quote(marks(`(pause 90)`, `(+ 1 2)`))+`}))`)
		r.want(t, `[(:status res) (:evals res) (:answer res)]`, `[:ok 2 "RESULT: => 3"]`)
		if told := r.told(); len(told) != 2 || told[0] != "=> :rested" {
			t.Errorf("the model was told %q, want the value of the long eval first", told)
		}
		if e := r.events(t, journal.Eval); len(e) != 2 || e[0].Outcome != "ok" || e[0].Elapsed < 90*time.Second {
			t.Errorf("evals: got %+v, want a long one that ended well", e)
		}
	})
}

// TestRealOmpCutsAt30 holds why the backend's timeout is needed: without it omp gives the call up, and the eval ends with
// it. The model hears of it and the run goes on.
func TestRealOmpCutsAt30(t *testing.T) {
	need.Full(t, "takes half a minute")
	t.Parallel()
	r := startReal(t, "omp", sleeper, withoutTimeout(t, "omp"))
	eval(t, r.Core, `(def res (real {:timeout "10m" :prompt `+quote(marks(`(pause 120)`, `(+ 1 2)`))+`}))`)
	r.want(t, `[(:status res) (:evals res) (:answer res)]`, `[:ok 2 "RESULT: => 3"]`)
	if told := r.told(); len(told) != 2 || !strings.Contains(told[0], "timeout after 30000ms") {
		t.Errorf("the model was told %q, want that the client gave up", told)
	}
	if e := r.events(t, journal.Eval); len(e) != 2 || e[0].Outcome != "cancelled" || e[0].Elapsed > 100*time.Second {
		t.Errorf("evals: got %+v, want the first one cut off", e)
	}
}

// withoutTimeout takes the client's timeout out of the MCP configuration that the backend writes.
func withoutTimeout(t *testing.T, cli string) func(*core.Config) {
	t.Helper()
	table := backend.Table()
	b := table[cli]
	b.Files = maps.Clone(b.Files)
	changed := 0
	for name, f := range b.Files {
		data, _ := f.Data.(map[string]any)
		servers, ok := data["mcpServers"].(map[string]any)
		if !ok {
			continue
		}
		zeno := maps.Clone(servers["zeno"].(map[string]any))
		if _, ok := zeno["timeout"]; ok {
			changed++
		}
		delete(zeno, "timeout")
		f.Data = map[string]any{"mcpServers": map[string]any{"zeno": zeno}}
		b.Files[name] = f
	}
	if changed != 1 {
		t.Fatalf("backend %s: got %d MCP configurations with a timeout, want one", cli, changed)
	}
	table[cli] = b
	return func(c *core.Config) { c.Backends = table }
}
