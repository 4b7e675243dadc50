// Package suite runs test suites that are written in the language itself, with clojure.test, and words what came of them:
// it is what `zeno test` does.
//
// The invariant: no file's tests see what another file did. Each file is loaded in an environment of its own, its tests
// run there, and the environment is closed before the next file's turn; only the namespaces that it requires are found
// for it, from the same directories every time.
//
// Find lists the files (find.go), Run runs one (run.go, collect.go), a Report prints results as they come (report.go) and
// WriteJUnit writes them for a machine (junit.go). Watch waits for a change (watch.go).
package suite

import (
	"fmt"
	"regexp"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// Config says how files are run.
type Config struct {
	// Env makes the environment of one file: libs is where its namespaces are found. The second result closes it.
	Env func(libs []string) (*lisp.Env, func(), error)

	Only    *regexp.Regexp     // which tests run, by namespace/name; nil: all
	Explain func(error) string // words an error with its place and stack; nil: its message
}

func (c Config) explain(err error) string {
	if c.Explain == nil {
		return err.Error()
	}
	return c.Explain(err)
}

// Result is what came of one file.
type Result struct {
	File  string
	Tests []Test
	Took  time.Duration
}

// Test is what came of one test, or of loading the file: then Name is "load".
type Test struct {
	NS, Name string
	File     string
	Line     int
	Took     time.Duration
	Passed   int // assertions
	Problems []Problem
}

// Problem is an assertion that failed, or an exception that none asked for.
type Problem struct {
	Error            bool // an exception
	File             string
	Line             int      // 0: not known
	Contexts         []string // of testing, outermost first
	Message          string   // of the assertion; may be empty
	Expected, Actual string   // printed; Actual of an Error is the exception in words
	Diff             []string // lines that start with - or +; may be empty
}

// Counts are sums over results.
type Counts struct{ Files, Tests, Assertions, Failures, Errors int }

// Count adds results up. A file without a test does not count.
func Count(results ...Result) Counts {
	var c Counts
	for _, r := range results {
		if len(r.Tests) == 0 {
			continue
		}
		c.Files++
		for _, t := range r.Tests {
			c.Tests++
			c.Assertions += t.Passed + len(t.Problems)
			for _, p := range t.Problems {
				if p.Error {
					c.Errors++
				} else {
					c.Failures++
				}
			}
		}
	}
	return c
}

// OK tells whether nothing failed.
func (c Counts) OK() bool { return c.Failures == 0 && c.Errors == 0 }

func (c Counts) String() string {
	return fmt.Sprintf("%s in %s, %s: %s, %s", plural(c.Tests, "test"), plural(c.Files, "file"),
		plural(c.Assertions, "assertion"), plural(c.Failures, "failure"), plural(c.Errors, "error"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
