package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const suiteHead = "(ns a-test (:require [clojure.test :refer [deftest is]] [lib]))\n"

// writeAll writes files of text below dir.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWatch changes a test, then what it requires, and interrupts.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{
		"lib.joke":    "(ns lib)\n(def n 1)\n",
		"a_test.joke": suiteHead + "(deftest a (is (= 1 lib/n)))\n",
		"b_test.joke": "(ns b-test (:require [clojure.test :refer [deftest is]]))\n(deftest b (is true))\n",
	})
	s := open(t, nil, "test", "--watch", dir)
	s.want(`2 tests in 2 files, 2 assertions: 0 failures`)
	s.want(`waiting for a change`)
	time.Sleep(20 * time.Millisecond) // a file system's clock may be coarse
	writeAll(t, dir, map[string]string{"a_test.joke": suiteHead + "(deftest a (is (= 22 lib/n)))\n"})
	s.want(`changed: .*a_test.joke`)
	s.want(`FAIL\S* in a-test/a`)
	s.want(`1 test in 1 file, 1 assertion: 1 failure`) // b has not changed
	s.want(`waiting`)
	writeAll(t, dir, map[string]string{"lib.joke": "(ns lib)\n(def n 22)\n"})
	s.want(`2 tests in 2 files, 2 assertions: 0 failures`)
	s.want(`waiting`)
	s.send("\x03")
	s.end(ExitInterrupted)
}

// TestTestInterrupted ends a test that would not end, and reports what ran before it.
func TestTestInterrupted(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{
		"lib.joke":    "(ns lib)\n",
		"a_test.joke": suiteHead + "(deftest a (is true))\n(deftest b (println \"started\") (loop [] (recur)))\n",
	})
	s := open(t, nil, "test", dir)
	s.want(`started`)
	s.send("\x03")
	s.want(`1 test in 1 file, 1 assertion: 0 failures`)
	s.want(`the rest did not run`)
	s.end(ExitInterrupted)
}
