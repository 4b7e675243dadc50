package value_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// TestInternerConcurrent holds that threads that intern the same names at once get the same objects.
func TestInternerConcurrent(t *testing.T) {
	var in value.Interner
	const workers, names = 4, 200
	got := make([][names]*value.Keyword, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			th := printThread(limit.Trusted())
			for i := range names {
				got[w][i] = in.Keyword(th, fmt.Sprintf("n/k%d", i))
				in.Symbol(th, fmt.Sprintf("s%d", i))
			}
		})
	}
	wg.Wait()
	for w := range workers {
		if got[w] != got[0] {
			t.Fatal("two threads got different objects for one name")
		}
	}
}

// TestInternerBounds holds that long names are not kept, and that a name past the bound is still right.
func TestInternerBounds(t *testing.T) {
	var in value.Interner
	th := printThread(limit.Trusted())
	long := strings.Repeat("x", 200)
	a, b := in.Symbol(th, long), in.Symbol(th, long)
	if a == b || !a.Same(b) {
		t.Error("a long name was kept, or came out different")
	}
	for i := range 66_000 {
		in.Keyword(th, fmt.Sprintf("k%d", i))
	}
	a1, b1 := in.Keyword(th, "late/one"), in.Keyword(th, "late/one")
	if a1 == b1 || !a1.Same(b1) || a1.NS != "late" || a1.Name != "one" {
		t.Error("a name past the bound was kept, or came out wrong")
	}
	if k := in.Keyword(th, "k7"); k != in.Keyword(th, "k7") {
		t.Error("a name within the bound was not kept")
	}
}
