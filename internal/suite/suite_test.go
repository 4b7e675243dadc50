package suite

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/lisp"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// project writes the files of a txtar archive into a directory and goes there.
func project(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// config runs files in plain environments of the language.
func config() Config {
	rt := lisp.New()
	return Config{Explain: core.Explain, Env: func(libs []string) (*lisp.Env, func(), error) {
		h := &home.Home{Paths: libs}
		env := rt.NewEnv(lisp.EnvConfig{Source: h.Source})
		return env, env.Close, nil
	}}
}

func runAll(t *testing.T, c Config, paths ...string) []Result {
	t.Helper()
	files, err := Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	var out []Result
	for _, f := range files {
		res, err := Run(t.Context(), f, c)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, res)
	}
	return out
}

func TestFind(t *testing.T) {
	project(t, `
-- a_test.joke --
-- a.joke --
-- src/b.joke --
-- src/deep/c_test.joke --
-- test/helper.joke --
-- test/x/y.joke --
-- test/notes.txt --
-- .hidden/d_test.joke --
-- node_modules/e_test.joke --
`)
	for _, c := range []struct{ paths, want []string }{
		{[]string{"."}, []string{"a_test.joke", "src/deep/c_test.joke", "test/helper.joke", "test/x/y.joke"}},
		{[]string{"test"}, []string{"test/helper.joke", "test/x/y.joke"}},
		{[]string{"test/x"}, []string{"test/x/y.joke"}},
		{[]string{"src"}, []string{"src/deep/c_test.joke"}},
		{[]string{"a.joke", "src", "a.joke"}, []string{"a.joke", "src/deep/c_test.joke"}},
	} {
		files, err := Find(c.paths)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.paths, diff)
		}
	}
	wd, _ := os.Getwd()
	files, _ := Find([]string{"test"})
	if diff := cmp.Diff([]string{wd + "/test/x", wd + "/test", wd, wd + "/src"}, files[1].Libs); diff != "" {
		t.Errorf("libs of test/x/y.joke: %s", diff)
	}
	for _, paths := range [][]string{{"nowhere"}, {"node_modules/nothing"}} {
		if _, err := Find(paths); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: got %v, want that it does not exist", paths, err)
		}
	}
	if err := os.Mkdir("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find([]string{"empty"}); err == nil || !strings.Contains(err.Error(), "no *_test.joke") {
		t.Errorf("an empty directory: got %v, want an error that says what is looked for", err)
	}
}

func TestReport(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/report.txtar")
	if err != nil {
		t.Fatal(err)
	}
	project(t, string(txtar.Format(archive)))
	want, err := os.ReadFile("want")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := NewReport(&out, false)
	for _, res := range runAll(t, config(), ".") {
		r.Add(res)
	}
	counts := r.End()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`\d+ ms|\d+\.\d s`).ReplaceAllString(strings.ReplaceAll(out.String(), wd, "WD"), "T")
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("report: %s", diff)
	}
	if counts.OK() {
		t.Error("the counts are OK, want failures")
	}

	var x bytes.Buffer
	if err := WriteJUnit(&x, r.Results()); err != nil {
		t.Fatal(err)
	}
	var all xmlSuites
	if err := xml.Unmarshal(x.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, s := range all.Suites {
		tests += len(s.Cases)
	}
	if all.Tests != counts.Tests || tests != counts.Tests || all.Failures != 1 || all.Errors != 4 {
		t.Errorf("JUnit: got %d tests (%d cases), %d failed, %d in error, want %d, 1, 4", all.Tests, tests, all.Failures, all.Errors, counts.Tests)
	}
}

// What one file does to the language is not there in the next.
func TestFilesAreApart(t *testing.T) {
	project(t, `
-- a_test.joke --
(ns a-test (:require [clojure.test :refer [deftest is]] [shared]))
(intern 'clojure.core 'leaked 1)
(reset! shared/state 1)
(deftest a (is (= 1 @shared/state leaked)))
-- b_test.joke --
(ns b-test (:require [clojure.test :refer [deftest is]] [shared]))
(deftest b (is (= 0 @shared/state)) (is (nil? (resolve 'leaked))) (is (nil? (find-ns 'a-test))))
-- src/shared.joke --
(ns shared)
(def state (atom 0))
`)
	if c := Count(runAll(t, config(), ".")...); c != (Counts{Files: 2, Tests: 2, Assertions: 4}) {
		t.Errorf("got %v, want 4 assertions and nothing wrong", c)
	}
}

func TestOnlyAndHooks(t *testing.T) {
	project(t, `
-- a_test.joke --
(ns a-test (:require [clojure.test :as t]))
(def log (atom []))
(t/use-fixtures :once (fn [f] (swap! log conj :once) (f)))
(t/use-fixtures :each (fn [f] (swap! log conj :each) (f)))
(t/deftest one (t/is (= [:once :each] @log)))
(t/deftest two (t/is (some #{:each} @log)) (t/do-report {:type :pass}))
(t/deftest three (one))
-- hook_test.joke --
(ns hook-test (:require [clojure.test :as t]))
(t/deftest second-one (t/is true))
(t/deftest first-one (t/is true))
(defn test-ns-hook [] (first-one) (second-one))
`)
	names := func(res Result) (out []string) {
		for _, t := range res.Tests {
			out = append(out, t.Name)
		}
		return out
	}
	c := config()
	all := runAll(t, c, "a_test.joke", "hook_test.joke")
	if got := Count(all...); got.Tests != 6 || got.Assertions != 6 || got.Failures != 1 { // one, called by three, sees another log
		t.Errorf("got %v, want 6 tests, 6 assertions, 1 failure", got)
	}
	if got := names(all[1]); !slices.Equal(got, []string{"first-one", "second-one"}) {
		t.Errorf("the hook: got %v, want its order", got)
	}
	c.Only = regexp.MustCompile(`a-test/t|second`)
	some := runAll(t, c, "a_test.joke", "hook_test.joke")
	if got := names(some[0]); !slices.Equal(got, []string{"two", "one", "three"}) {
		t.Errorf("only t…: got %v, want two, and three with the one it calls", got)
	}
	if got := names(some[1]); !slices.Equal(got, []string{"second-one"}) {
		t.Errorf("only second: got %v, want second-one", got)
	}
}

// A run that is cancelled ends soon and says so, with what it got so far.
func TestCancelled(t *testing.T) {
	project(t, `
-- a_test.joke --
(ns a-test (:require [clojure.test :as t]))
(t/deftest one (t/is true))
(t/deftest two (loop [] (recur)))
`)
	files, err := Find([]string{"."})
	if err != nil {
		t.Fatal(err)
	}
	var res Result
	for _, within := range []time.Duration{3 * time.Second, 15 * time.Second, time.Minute} { // the first test must have ended by then
		ctx, cancel := context.WithTimeout(t.Context(), within)
		res, err = Run(ctx, files[0], config())
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if Count(res).Tests == 1 {
			break
		}
	}
	if c := Count(res); c.Tests != 1 || c.Assertions != 1 {
		t.Errorf("got %v, want the test that ended", c)
	}
}

func TestWatcher(t *testing.T) {
	project(t, "-- a.joke --\n-- sub/b.joke --\n")
	w := NewWatcher(5*time.Millisecond, func() []string { return []string{".", "nowhere"} })
	for _, step := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return os.WriteFile("sub/b.joke", []byte("1"), 0o600) }, []string{"sub/b.joke"}},
		{func() error { return os.WriteFile("sub/c.joke", nil, 0o600) }, []string{"sub/c.joke"}},
		{func() error { return os.Remove("a.joke") }, []string{"a.joke"}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := w.Wait(t.Context()); !slices.Equal(got, step.want) {
			t.Errorf("got %v, want %v", got, step.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if got := w.Wait(ctx); got != nil {
		t.Errorf("nothing changed: got %v, want nil", got)
	}
}
