package lisp

import (
	"context"
	"testing"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Everything that isolates share is immutable: no cell, no protocol to extend, no multimethod to add to, nothing that is
// computed later. What one isolate did to such a thing, all would see.
func TestWhatIsSharedCannotChange(t *testing.T) {
	rt := New()
	spaces := []*value.Namespace{rt.core}
	for _, ns := range rt.shared {
		spaces = append(spaces, ns)
	}
	seen := 0
	for _, ns := range spaces {
		for _, v := range ns.Vars() {
			seen++
			if !v.Sealed {
				t.Errorf("%s: got a var that is not sealed", v.FullName())
			}
			if root, ok := v.Root(); ok {
				immutable(t, v.FullName(), root, 0)
			}
			immutable(t, v.FullName()+": metadata", v.MetaMap(), 0)
		}
	}
	if seen < 500 {
		t.Errorf("got %d vars, want the whole core", seen)
	}
}

func immutable(t *testing.T, where string, v Value, depth int) {
	if depth > 10 {
		t.Fatalf("%s: nests deeper than the core should", where)
	}
	th := value.NewThread(value.NewRun(context.Background(), Limits{}.OrDefault()), nil)
	switch k := v.Kind(); k {
	case value.KindAtom, value.KindVolatile, value.KindRef, value.KindAgent, value.KindPromise, value.KindFuture, value.KindDelay,
		value.KindLazySeq, value.KindGenSeq, value.KindArray, value.KindTransientVector, value.KindTransientMap, value.KindTransientSet,
		value.KindProtocol, value.KindMultiFn, value.KindProtocolFn, value.KindInstance, value.KindMatcher, value.KindHost, value.KindEduction:
		t.Errorf("%s: got %s, which can change", where, k)
	case value.KindVar:
		if !value.As[value.Var](v).Sealed {
			t.Errorf("%s: got a var that is not sealed", where)
		}
	case value.KindType:
		if !value.As[value.Type](v).Sealed() {
			t.Errorf("%s: got %s, a type that methods can be given to", where, value.Brief(nil, v))
		}
	case value.KindFn:
		for _, c := range value.As[value.Fn](v).Caps {
			immutable(t, where, c, depth+1)
		}
	default:
		if k.IsColl() {
			value.Each(th, v, func(x Value) bool { immutable(t, where, x, depth+1); return true })
		}
	}
	if m := value.Meta(v); !m.IsNil() {
		immutable(t, where+": metadata", m, depth+1)
	}
}
