package examples_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/examples"
	"github.com/reflection-dev/zeno/internal/suite"
	"github.com/reflection-dev/zeno/lisp"
)

// Each machine's own tests pass.
func TestMachines(t *testing.T) {
	dirs, err := fs.Glob(os.DirFS("machines"), "*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("machines: got %v %v, want some", dirs, err)
	}
	for _, name := range dirs {
		if _, err := examples.Machine(name); err != nil {
			t.Errorf("%s is not in the binary: %v", name, err)
		}
		files, err := suite.Find([]string{filepath.Join("machines", name)})
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got no tests (%v), want some", name, err)
		}
		for _, f := range files {
			runSuite(t, f)
		}
	}
	if _, err := examples.Machine("nosuch"); err == nil {
		t.Error("a machine that is not there: got no error")
	}
}

func runSuite(t *testing.T, f suite.File) {
	t.Helper()
	var out bytes.Buffer
	report := suite.NewReport(&out, false)
	res, err := suite.Run(context.Background(), f, suite.Config{Explain: core.Explain, Env: func(libs []string) (*lisp.Env, func(), error) {
		c, err := core.New(core.Config{Libs: libs})
		if err != nil {
			return nil, nil, err
		}
		return c.Env(), func() { closeCore(t, c) }, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	report.Add(res)
	if counts := report.End(); !counts.OK() || counts.Tests == 0 {
		t.Errorf("%s:\n%s", f.Path, out.String())
	}
}

func closeCore(t *testing.T, c *core.Core) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

const queueHome = `
(require '[machine.queue :as queue] '[zeno.ask :as ask])
(defn worker [] {:vocab {}})
(zeno.gateway/start! {:roles {:queue-hand #'worker}})
(def plays (atom 0))
(queue/start! {:name :q :every "1h" :role :queue-hand :fetch (fn [] [{:id 1} {:id 2}]) :prompt (fn [i] (str "do " (:id i)))
               :spawn {:backend :scripted :agent (fn [{:keys [prompt]}] (swap! plays inc) (str "did " prompt))}
               :ask (fn [i r] (str "write " (:id i) "?"))
               :write! (fn [i r] (spit (str (zeno.home/dir) "/written") (str (:id i) (:answer r) "\n") :append true))})`

// A zeno that ends while a person is asked, and one after it: no agent works twice, the question is asked once, and
// the write is made once.
func TestQueueOverRestarts(t *testing.T) {
	dir := t.TempDir()
	lib, err := filepath.Abs("machines/queue")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"init.joke": queueHome, "deps.edn": `{:deps {zeno/queue {:local/root "` + lib + `"}}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(f func(eval func(string) string)) {
		h, _ := home.Resolve(dir, os.Getenv)
		var errs safe
		c, err := core.New(core.Config{Home: h, Err: &errs})
		if err != nil {
			t.Fatal(err)
		}
		defer closeCore(t, c)
		if err := c.Boot(context.Background()); err != nil {
			t.Fatalf("%s\n%s", core.Explain(err), errs.String())
		}
		f(func(src string) string {
			v, err := c.Eval(context.Background(), "(str "+src+")")
			if err != nil {
				t.Fatalf("%s: %s\n%s", src, core.Explain(err), errs.String())
			}
			return v.Text()
		})
	}
	const waits = `(loop [n 500] (cond (= 2 (count (ask/inbox))) :yes (zero? n) :no :else (do (deref (promise) 20 nil) (recur (dec n)))))`
	with(func(eval func(string) string) {
		eval("(queue/poll! :q)")
		if eval(waits) != ":yes" || eval("@plays") != "2" {
			t.Errorf("first: got %s questions, %s plays", eval("(count (ask/inbox))"), eval("@plays"))
		}
	})
	with(func(eval func(string) string) {
		eval("(queue/poll! :q)")
		if eval(waits) != ":yes" || eval("@plays") != "0" {
			t.Errorf("second: got %s questions, %s plays, want the two questions of the first and no work done again", eval("(count (ask/inbox))"), eval("@plays"))
		}
		eval(`(doseq [q (ask/inbox)] (ask/answer! (:id q) "yes"))`)
		if got := eval(`(loop [n 500] (cond (= {:written 2} (:counts (queue/status :q))) :yes (zero? n) (queue/status :q) :else (do (deref (promise) 20 nil) (recur (dec n)))))`); got != ":yes" {
			t.Errorf("written: got %s", got)
		}
	})
	with(func(eval func(string) string) {
		if got := eval("(queue/poll! :q)"); got != "0" {
			t.Errorf("third: got %s taken, want 0", got)
		}
	})
	b, _ := os.ReadFile(filepath.Join(dir, "written"))
	if got := string(b); strings.Count(got, "\n") != 2 || !strings.Contains(got, "1did do 1") || !strings.Contains(got, "2did do 2") {
		t.Errorf("written: got %q, want each once", got)
	}
}
