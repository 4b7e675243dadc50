package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core/journal"
)

// The journal keeps the start of long arguments, and looks at no more of them than that.
func TestTheJournalKeepsTheStartOfArguments(t *testing.T) {
	c, _ := start(t, reader)
	eval(t, c, `(talk :reader "(echo (vec (range 100000)))" "(who)" "(loop [x [1] n 0] (if (< n 40) (recur (echo [x x]) (inc n)) n))")`)
	events, err := c.Journal().Since(context.Background(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	last := ""
	for _, e := range events {
		switch e.Kind {
		case journal.Call:
			if s, ok := e.Data["args"].(string); ok { // none where the arguments did not cross
				args = append(args, s)
			}
		case journal.Eval:
			last = e.Outcome
		}
	}
	if len(args) < 3 || !strings.HasPrefix(args[0], "([0 1 2 3 ") || len(args[0]) > 4100 || len(args[0]) < 4000 || args[1] != "()" {
		t.Errorf("arguments: got %d, %.100q, want the start of the first and () of the second", len(args), args)
	}
	for _, a := range args {
		if len(a) > 4100 {
			t.Errorf("an argument of %d bytes was recorded", len(a))
		}
	}
	if !strings.HasPrefix(last, "limit/") {
		t.Errorf("an argument that doubles at every call: got %q, want a limit", last)
	}
}
