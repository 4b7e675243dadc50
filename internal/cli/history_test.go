package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntriesOf(t *testing.T) {
	for in, want := range map[string][]string{
		"(+ 1 2)":                   {"(+ 1 2)"},
		" (secret)":                 nil,
		"(defn f [x]\n  (* x x))":   {"(defn f [x] (* x x))"},
		"(f ; why\n 1)":             {"(f ; why", " 1)"},
		"(str \"two\nlines\")":      {"(str \"two", "lines\")"},
		"(str \"a\"\n     \"b\")\n": {`(str "a" "b")`},
		"; only a comment":          {"; only a comment"},
	} {
		if diff := cmp.Diff(want, entriesOf(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "history")
	h := openHistory(file)
	for i := range 2*maxEntries + 10 {
		h.add(fmt.Sprint(i))
	}
	h.add(strings.Repeat("x", maxEntry+1)) // not kept
	h = openHistory(file)
	if n, last := len(h.entries), h.entries[len(h.entries)-1]; n != maxEntries || last != fmt.Sprint(2*maxEntries+9) {
		t.Errorf("history: got %d entries ending in %q, want %d", n, last, maxEntries)
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Count(string(b), "\n") != maxEntries {
		t.Errorf("file: got %d lines, %v, want %d", strings.Count(string(b), "\n"), err, maxEntries)
	}
}

func TestHistoryWithoutAFile(t *testing.T) {
	for _, file := range []string{"", "/dev/null/x/history", "/proc/nothing/history"} {
		h := openHistory(file)
		h.add("x") // does not fail
	}
}

func TestHistoryFile(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"":                                  {},
		"/state/zeno/history":               {"XDG_STATE_HOME": "/state", "HOME": "/h"},
		"/h/.local/state/zeno/history":      {"HOME": "/h", "XDG_STATE_HOME": "relative"},
		"/nobody/.local/state/zeno/history": {"HOME": "/nobody"},
	} {
		if got := historyFile(nil, func(k string) string { return env[k] }); got != want {
			t.Errorf("%v: got %q, want %q", env, got, want)
		}
	}
}
