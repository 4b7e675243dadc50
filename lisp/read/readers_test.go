package read_test

import (
	"errors"
	"io"
	"testing"

	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// TestReadersStartAnew holds that a reader used before reads as a new one does, whatever the last text asked of it, and
// that what was read of one text is not changed by the next.
func TestReadersStartAnew(t *testing.T) {
	var rs read.Readers
	texts := []string{"(a [b {c #{d}}])", "\uFEFFx\ny", "#(+ %1 %2)", "`(a ~b ~@c x#)", "((((((((((1))))))))))", "::k", "", "1 2 3 4 5 6 7 8 9 10 11"}
	all := func(r *read.Reader) (out []value.Value) {
		for {
			v, err := r.Read()
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
	}
	text := func(th *value.Thread, vs []value.Value) (out string) {
		for _, v := range vs {
			out += value.PrStr(th, v) + " "
			if p := value.PosOf(v); p != nil {
				out += p.String()
			}
		}
		return out
	}
	th := trusted()
	opts := func(file string) read.Options {
		return read.Options{File: file, CurrentNS: "user", Gensym: func(p string) string { return p + "1" }}
	}
	var kept [][]value.Value
	var want []string
	for round := range 3 {
		for _, src := range texts {
			r := rs.New(th, src, opts("f"))
			got := all(r)
			rs.Done(r)
			fresh := text(th, all(read.New(th, src, opts("f"))))
			if text(th, got) != fresh {
				t.Errorf("round %d, %q: got %s, want %s", round, src, text(th, got), fresh)
			}
			kept, want = append(kept, got), append(want, fresh)
		}
	}
	for i := range kept {
		if got := text(th, kept[i]); got != want[i] {
			t.Errorf("text %d afterwards: got %s, want %s", i, got, want[i])
		}
	}
}
