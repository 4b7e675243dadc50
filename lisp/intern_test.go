package lisp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

// flood is code that reads as n names nobody else has.
func flood(n, round int) string {
	var b strings.Builder
	b.WriteString("(quote [")
	for i := range n {
		fmt.Fprintf(&b, ":f%d-%d ", round, i)
	}
	return b.String() + "]) 1"
}

// One agent that floods the runtime with names costs the others nothing: what they read again is still known.
func TestOneAgentDoesNotFillTheInterner(t *testing.T) {
	rt := lisp.New()
	const code = `(quote [:some/name :another :third symbols that-are-mine]) 1`
	limits := lisp.Limits{Steps: 1 << 40, Bytes: 1 << 30, Alloc: 1 << 40}
	cost := func(i *lisp.Isolate) int64 {
		i.Eval(context.Background(), code)
		return i.Eval(context.Background(), code).Used.Alloc
	}
	before := cost(rt.NewIsolate(limits))
	greedy := rt.NewIsolate(limits)
	for round := range 3 { // more than all places there are
		if res := greedy.Eval(context.Background(), flood(70_000, round)); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	if after := cost(rt.NewIsolate(limits)); after != before {
		t.Errorf("reading names that were read before: got %d bytes, want the %d of before the flood", after, before)
	}
	// many agents, each within its share
	for i := range 80 {
		rt.NewIsolate(limits).Eval(context.Background(), flood(1_000, 100+i))
	}
	if after := cost(rt.NewIsolate(limits)); after != before {
		t.Errorf("after many agents: got %d bytes, want the %d of before", after, before)
	}
}

// The harm that the shares keep away: without a place, a name is made again each time it is read.
func TestANameWithoutAPlaceCostsEachTime(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{Bytes: 1 << 30})
	cost := func(code string) int64 {
		iso.Eval(context.Background(), code)
		return iso.Eval(context.Background(), code).Used.Alloc
	}
	long := ":" + strings.Repeat("n", 300) // too long to be kept
	if kept, not := cost(`:name 1`), cost(long+` 1`); not < kept+300 {
		t.Errorf("got %d bytes for a name that is kept and %d for one that is not, want the difference", kept, not)
	}
}
