package value

// Callable is what a multimethod or a protocol's function does when called. It must not keep args.
type Callable interface {
	Invoke(t *Thread, args []Value) Value
}

// Generic is a function that chooses what to do by its arguments: KindMultiFn or KindProtocolFn.
type Generic struct {
	Header
	meta *MetaBox
	Impl Callable
}

// NewGeneric makes a function of kind KindMultiFn or KindProtocolFn.
func NewGeneric(k Kind, impl Callable) Value { return Of(&Generic{Header: Head(k), Impl: impl}) }

// IsCallable tells whether v can be called.
func IsCallable(t *Thread, v Value) bool {
	switch k := v.Kind(); k {
	case KindFn, KindMultiFn, KindProtocolFn, KindKeyword, KindSymbol, KindVar, KindVector, KindMapEntry,
		KindArrayMap, KindHashMap, KindSortedMap, KindHashSet, KindSortedSet,
		KindTransientVector, KindTransientMap, KindTransientSet, KindPromise, KindRef:
		return true
	case KindRecord, KindInstance:
		_, ok := Method(t, v, "invoke")
		return ok
	}
	return false
}

// callOther calls what is no Fn.
func (t *Thread) callOther(f Value, args []Value) Value {
	t.Step()
	switch k := f.Kind(); {
	case k == KindKeyword:
		return lookup(t, ":"+As[Keyword](f).FullName(), args, f)
	case k == KindSymbol:
		return lookup(t, As[Symbol](f).FullName(), args, f)
	case k == KindMultiFn || k == KindProtocolFn:
		return As[Generic](f).Impl.Invoke(t, args)
	case k == KindVar:
		t.Enter()
		v := t.Call(As[Var](f).Get(t), args...)
		t.Leave()
		return v
	case k.IsVector() || k == KindTransientVector:
		wantArgs("vector", args, 1, 1)
		v, _ := Nth(t, f, vectorIndex(t, "vector", args[0], Count(t, f)))
		return v
	case k.IsMap() && k != KindRecord || k == KindTransientMap:
		wantArgs("map", args, 1, 2)
		return getOr(t, f, args[0], args[1:])
	case k.IsSet() || k == KindTransientSet:
		wantArgs("set", args, 1, 1)
		return getOr(t, f, args[0], nil)
	}
	if v, ok := t.callObject(f, args); ok {
		return v
	}
	if f.IsNil() {
		panic(Errorf("NullPointerException", "call: got nil, want a function"))
	}
	ex := Errorf("ClassCastException", "call: got %s (%s), want a function", Brief(t, f), f.Kind())
	if f.Kind() == KindType && As[RecordType](f).Constructible() {
		ex.Hint = "(" + As[RecordType](f).Name + ". …) makes a value of the type"
	}
	panic(ex)
}

// lookup calls a keyword or symbol: it looks itself up.
func lookup(t *Thread, who string, args []Value, key Value) Value {
	wantArgs(who, args, 1, 2)
	return getOr(t, args[0], key, args[1:])
}

func getOr(t *Thread, coll, k Value, other []Value) Value {
	if v, ok := Get(t, coll, k); ok {
		return v
	}
	if len(other) > 0 {
		return other[0]
	}
	return Nil
}

func wantArgs(who string, args []Value, lo, hi int) {
	if n := len(args); n < lo || n > hi {
		want := "1"
		if hi == 2 {
			want = "1 or 2"
		}
		panic(Errorf("ArityException", "%s: got %d argument%s, want %s", who, n, plural(n), want))
	}
}
