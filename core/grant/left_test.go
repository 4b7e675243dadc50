package grant

import (
	"testing"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/limit"
)

// What is said to be left is what is left, not what was used.
func TestLeft(t *testing.T) {
	l := limit.Limits{Steps: 100, Alloc: 1000, Output: 50, Calls: 3}
	got := Left(l, lisp.Usage{Steps: 30, Alloc: 400, Output: 60, Calls: 1})
	if want := "steps 70 of 100, bytes built 600 of 1000, output 0 of 50, calls 2 of 3"; got != want {
		t.Errorf("left: got %q, want %q", got, want)
	}
}
