package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrepare(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"x.joke":                    "run -- x.joke",
		"x.joke --home d -e 1":      "run -- x.joke --home d -e 1",
		"x.joke -- y":               "run -- x.joke -- y",
		"--home d x.joke init":      "run --home=d -- x.joke init",
		"--home=d x.joke -h":        "run --home=d -- x.joke -h",
		"-e 1 -e -2 init x":         "run --expr=1 --expr=-2 -- init x",
		"-e1 a":                     "run -e1 -- a",
		"-e":                        "-e",
		"--home d -e 1":             "--home=d --expr=1",
		"init x":                    "init x",
		"--home d spawn r p --json": "--home=d spawn r p --json",
		"spawn r -- -p":             "spawn r -- -p",
		"eval --role r -e -1":       "eval --role r --expr=-1",
		"connect -e -1":             "connect --expr=-1",
		"nrepl --connect=h -e -1":   "nrepl --connect=h --expr=-1",
		"eval f --json":             "eval f --json",
		"- a -b":                    "run -- - a -b",
		"-- x":                      "-- x",
		"--version":                 "--version",
	} {
		if diff := cmp.Diff(strings.Fields(want), prepare(strings.Fields(in)), cmp.Transformer("nil", func(s []string) string { return strings.Join(s, "|") })); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}
