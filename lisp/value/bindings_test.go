package value

import (
	"fmt"
	"testing"
)

// Frames with few vars are searched and frames with many are indexed: both must agree, and leave what is below alone.
func TestBindingsOfManyVars(t *testing.T) {
	for _, n := range []int{1, fewBindings, fewBindings + 1, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			th := testThread()
			vars, vals := make([]*Var, n), make([]Value, n)
			for i := range vars {
				vars[i], vals[i] = NewVar("n", fmt.Sprint("v", i)), Int(int64(i))
			}
			th.Bind(vars, vals)
			outer := th.Binds
			th.Bind(vars[:1], []Value{Int(-1)})
			th.Bind([]*Var{vars[n-1], vars[n-1]}, []Value{Int(-2), Int(-3)})
			for i, v := range vars {
				want := int64(i)
				switch i {
				case n - 1:
					want = -3
				case 0:
					want = -1
				}
				if got := th.Box(v).Get().Int(); got != want {
					t.Errorf("var %d: got %d, want %d", i, got, want)
				}
				if got := outer.find(v).Get().Int(); got != int64(i) {
					t.Errorf("var %d below: got %d, want it unchanged", i, got)
				}
			}
			if th.Box(NewVar("n", "other")) != nil {
				t.Error("a var without a binding: got one, want none")
			}
			if all, _ := th.Bound(); len(all) != n {
				t.Errorf("Bound: got %d vars, want %d", len(all), n)
			}
		})
	}
}

func TestBindAllGoesAbove(t *testing.T) {
	th := testThread()
	a, b := NewVar("n", "a"), NewVar("n", "b")
	th.Bind([]*Var{a}, []Value{Int(1)})
	over := th.Binds
	th.Binds = nil
	th.Bind([]*Var{a, b}, []Value{Int(10), Int(20)})
	th.BindAll(over)
	if x, y := th.Box(a).Get().Int(), th.Box(b).Get().Int(); x != 1 || y != 20 {
		t.Errorf("BindAll: got %d and %d, want 1 and 20", x, y)
	}
	th.BindAll(nil)
	if th.Box(b) == nil {
		t.Error("BindAll of nothing: got the bindings lost, want them kept")
	}
}
