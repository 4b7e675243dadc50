package corelib

import (
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// state holds the references: atoms, volatiles, delays, refs, and what all of them share.
func state() []Def {
	return concat(atoms(), volatiles(), refs(), references())
}

func atoms() []Def {
	return []Def{
		{Name: "atom", N: newAtom, Min: 1, Arglists: "([x] [x & options])", Doc: "A cell that holds x and changes by swap! and reset!. Options: :meta a map, :validator a predicate of what it may hold."},
		{Name: "swap!", F2: swap2, F3: swap3, N: swap, Min: 4, Arglists: "([atom f] [atom f x] [atom f x y] [atom f x y & args])", Doc: "Replaces what the atom holds by f of it and args, and gives it. f may run more than once."},
		{Name: "swap-vals!", N: swapVals, Min: 2, Arglists: "([atom f] [atom f x] [atom f x y] [atom f x y & args])", Doc: "As swap!, but gives [old new]."},
		{Name: "reset!", F2: reset, Arglists: "([atom newval])", Doc: "Makes the atom hold newval and gives it."},
		{Name: "reset-vals!", F2: resetVals, Arglists: "([atom newval])", Doc: "As reset!, but gives [old new]."},
		{Name: "compare-and-set!", F3: compareAndSet, Arglists: "([atom oldval newval])", Doc: "Makes the atom hold newval if it holds oldval itself; tells whether it did."},
		{Name: "atom?", F1: kindTest(value.KindAtom), Arglists: "([x])", Doc: "Whether x is an atom."},
	}
}

func kindTest(k value.Kind) unary {
	return func(_ *Thread, v Value) Value { return value.Bool(v.Kind() == k) }
}

// options reads :key value pairs.
func options(t *Thread, who string, args []Value, f func(key string, v Value)) {
	if len(args)%2 != 0 {
		panic(value.ArgError("%s: got an option without a value: %s", who, value.Brief(t, args[len(args)-1])))
	}
	for i := 0; i < len(args); i += 2 {
		if args[i].Kind() != value.KindKeyword {
			panic(value.TypeError(t, who, args[i], "a keyword for an option"))
		}
		f(value.As[value.Keyword](args[i]).FullName(), args[i+1])
	}
}

// guarded applies the options of a new reference: :meta and :validator.
func guarded(t *Thread, who string, ref Value, args []Value, more func(key string, v Value)) Value {
	options(t, who, args, func(key string, v Value) {
		switch key {
		case "meta":
			value.AlterMeta(t, who, ref, func(Value) Value { return v })
		case "validator":
			value.SetValidator(t, ref, v)
		default:
			if more != nil {
				more(key, v)
			}
		}
	})
	return ref
}

func newAtom(t *Thread, args []Value) Value {
	opts := args[1:]
	for i := 0; i < len(opts); i += 2 { // Clojure ignores options that it does not know, whatever they are
		if opts[i].Kind() != value.KindKeyword {
			opts = knownOptions(t, opts)
			break
		}
	}
	return guarded(t, "atom", value.Of(value.NewAtom(t, args[0])), opts, nil)
}

// knownOptions leaves out the pairs whose first is no keyword.
func knownOptions(t *Thread, opts []Value) []Value {
	t.Charge(16 * len(opts))
	var out []Value
	for i := 0; i+1 < len(opts); i += 2 {
		t.Step()
		if opts[i].Kind() == value.KindKeyword {
			out = append(out, opts[i], opts[i+1])
		}
	}
	return out
}

func atomOf(t *Thread, who string, v Value) *value.Atom {
	if v.Kind() != value.KindAtom {
		panic(value.TypeError(t, who, v, "an atom"))
	}
	return value.As[value.Atom](v)
}

// callWith calls f with first and then rest.
func callWith(t *Thread, f, first Value, rest []Value) Value {
	switch len(rest) {
	case 0:
		return t.Call1(f, first)
	case 1:
		return t.Call2(f, first, rest[0])
	}
	n := len(rest) + 1
	args := t.Push(n)
	args[0] = first
	copy(args[1:], rest)
	v := t.Call(f, args...)
	t.Pop(n)
	return v
}

func swapBy(t *Thread, who string, args []Value) (old, new Value) {
	a := atomOf(t, who, args[0])
	return a.Swap(t, func(x Value) Value { return callWith(t, args[1], x, args[2:]) })
}

func swap2(t *Thread, a, f Value) Value {
	at := atomOf(t, "swap!", a)
	for {
		p := at.Load()
		v := t.Call1(f, *p)
		if at.Replace(t, p, v) {
			return v
		}
		t.Step()
	}
}

func swap3(t *Thread, a, f, x Value) Value {
	at := atomOf(t, "swap!", a)
	for {
		p := at.Load()
		v := t.Call2(f, *p, x)
		if at.Replace(t, p, v) {
			return v
		}
		t.Step()
	}
}

func swap(t *Thread, args []Value) Value {
	_, v := swapBy(t, "swap!", args)
	return v
}

func swapVals(t *Thread, args []Value) Value {
	old, v := swapBy(t, "swap-vals!", args)
	return value.NewVector(t, []Value{old, v})
}

func reset(t *Thread, a, v Value) Value {
	atomOf(t, "reset!", a).Swap(t, func(Value) Value { return v })
	return v
}

func resetVals(t *Thread, a, v Value) Value {
	old, _ := atomOf(t, "reset-vals!", a).Swap(t, func(Value) Value { return v })
	return value.NewVector(t, []Value{old, v})
}

func compareAndSet(t *Thread, a, old, v Value) Value {
	return value.Bool(atomOf(t, "compare-and-set!", a).CompareAndSet(t, old, v))
}

func volatiles() []Def {
	return []Def{
		{Name: "volatile!", F1: value.NewVolatile, Arglists: "([x])", Doc: "A cell without an atom's promises, for one thread at a time."},
		{Name: "volatile?", F1: kindTest(value.KindVolatile), Arglists: "([x])", Doc: "Whether x is a volatile."},
		{Name: "vreset!", F2: vreset, Arglists: "([vol newval])", Doc: "Makes the volatile hold newval and gives it."},
		{Name: "delay?", F1: kindTest(value.KindDelay), Arglists: "([x])", Doc: "Whether x is a delay."},
		{Name: "force", F1: force, Arglists: "([x])", Doc: "The value of the delay x, computed now if it has not been; x itself if it is no delay."},
		{Name: "deref", F1: deref, F3: derefWithin, Arglists: "([ref] [ref timeout-ms timeout-val])", Doc: "What ref holds: an atom, var, ref, agent, volatile, delay, promise, future or reduced. It waits for a promise or future, with a timeout at most that long. Also written @ref."},
		{Name: "realized?", F1: realized, Arglists: "([x])", Doc: "Whether the value of a delay, promise, future or lazy seq is there."},
	}
}

func vreset(t *Thread, v, x Value) Value {
	if v.Kind() != value.KindVolatile {
		panic(value.TypeError(t, "vreset!", v, "a volatile"))
	}
	value.As[value.Volatile](v).Set(t, x)
	return x
}

func force(t *Thread, v Value) Value {
	if v.Kind() != value.KindDelay {
		return v
	}
	return value.As[value.Delay](v).Force(t)
}

func deref(t *Thread, v Value) Value {
	switch v.Kind() {
	case value.KindAtom:
		return value.As[value.Atom](v).Get()
	case value.KindVar:
		return value.As[value.Var](v).Get(t)
	case value.KindVolatile:
		return value.As[value.Volatile](v).Get()
	case value.KindDelay:
		return value.As[value.Delay](v).Force(t)
	case value.KindReduced:
		return value.Unreduced(v)
	case value.KindRef:
		return value.As[value.Ref](v).Get(t)
	case value.KindAgent:
		return value.As[value.Agent](v).Get()
	case value.KindPromise, value.KindFuture:
		x, _ := await(t, v, -1)
		return x
	}
	if f, ok := value.Method(t, v, "deref"); ok {
		return t.Call1(f, v)
	}
	panic(value.TypeError(t, "deref", v, "a reference"))
}

// await waits for a promise or a future.
func await(t *Thread, v Value, d time.Duration) (Value, bool) {
	if v.Kind() == value.KindPromise {
		return value.As[value.Promise](v).Await(t, d)
	}
	return value.As[value.Future](v).Await(t, d)
}

func derefWithin(t *Thread, v, ms, other Value) Value {
	if k := v.Kind(); k != value.KindPromise && k != value.KindFuture {
		panic(value.TypeError(t, "deref", v, "a promise or future, since there is a timeout"))
	}
	if x, ok := await(t, v, millis(t, "deref", ms)); ok {
		return x
	}
	return other
}

// millis gives a time to wait, which is never negative.
func millis(t *Thread, who string, v Value) time.Duration {
	n := value.ToInt(t, who, v, -1<<63, 1<<63-1)
	return time.Duration(min(max(n, 0), 1<<40)) * time.Millisecond
}

func realized(t *Thread, v Value) Value {
	switch v.Kind() {
	case value.KindDelay:
		return value.Bool(value.As[value.Delay](v).Realized())
	case value.KindLazySeq:
		return value.Bool(value.As[value.LazySeq](v).Realized())
	case value.KindPromise:
		_, ok := value.As[value.Promise](v).Peek()
		return value.Bool(ok)
	case value.KindFuture:
		return value.Bool(value.As[value.Future](v).Done())
	}
	panic(value.TypeError(t, "realized?", v, "a delay, promise, future or lazy seq"))
}

func refs() []Def {
	return []Def{
		{Name: "ref", N: newRef, Min: 1, Arglists: "([x] [x & options])", Doc: "A cell that holds x and changes inside dosync only. Options: :meta a map, :validator a predicate."},
		{Name: "ref-set", F2: refSet, Arglists: "([ref val])", Doc: "Makes the ref hold val, in a transaction."},
		{Name: "alter", N: refAlter("alter"), Min: 2, Arglists: "([ref fun & args])", Doc: "Makes the ref hold fun of what it holds and args, in a transaction."},
		{Name: "commute", N: refAlter("commute"), Min: 2, Arglists: "([ref fun & args])", Doc: "As alter."},
		{Name: "ensure", F1: refEnsure, Arglists: "([ref])", Doc: "What the ref holds; the transaction runs again if another changes it meanwhile."},
		{Name: "dosync*", F1: func(t *Thread, f Value) Value { return t.Transact(func() Value { return t.Call(f) }) }, Arglists: "([f])", Doc: "What dosync expands to: calls f in a transaction."},
		{Name: "ref-history-count", F1: refZero, Arglists: "([ref])", Doc: "0: no history is kept."},
		{Name: "ref-min-history", F1: refZero, F2: refSame, Arglists: "([ref] [ref n])", Doc: "0: no history is kept."},
		{Name: "ref-max-history", F1: refZero, F2: refSame, Arglists: "([ref] [ref n])", Doc: "0: no history is kept."},
	}
}

func newRef(t *Thread, args []Value) Value {
	return guarded(t, "ref", value.Of(value.NewRef(t, args[0])), args[1:], nil)
}

func refOf(t *Thread, who string, v Value) *value.Ref {
	if v.Kind() != value.KindRef {
		panic(value.TypeError(t, who, v, "a ref"))
	}
	return value.As[value.Ref](v)
}

func refSet(t *Thread, r, v Value) Value {
	return refOf(t, "ref-set", r).Set(t, "ref-set", func(Value) Value { return v })
}

func refAlter(who string) func(*Thread, []Value) Value {
	return func(t *Thread, args []Value) Value {
		return refOf(t, who, args[0]).Set(t, who, func(x Value) Value { return callWith(t, args[1], x, args[2:]) })
	}
}

func refEnsure(t *Thread, r Value) Value {
	ref := refOf(t, "ensure", r)
	if !t.InTransaction() {
		panic(value.StateError("ensure: got a ref outside a transaction, want it inside dosync"))
	}
	return ref.Get(t)
}

func refZero(t *Thread, r Value) Value {
	refOf(t, "ref-history-count", r)
	return value.Int(0)
}

func refSame(t *Thread, r, _ Value) Value {
	refOf(t, "ref-history-count", r)
	return r
}

func references() []Def {
	return []Def{
		{Name: "add-watch", F3: addWatch, Arglists: "([reference key fn])", Doc: "Makes fn be called with key, the reference, the old and the new value whenever it changes."},
		{Name: "remove-watch", F2: removeWatch, Arglists: "([reference key])", Doc: "Removes the watch of the key."},
		{Name: "set-validator!", F2: setValidator, Arglists: "([iref validator-fn])", Doc: "Makes validator-fn decide what the reference may hold; nil lets it hold anything."},
		{Name: "get-validator", F1: value.Validator, Arglists: "([iref])", Doc: "The validator of the reference, or nil."},
		{Name: "meta", F1: metaOf, Arglists: "([obj])", Doc: "The metadata of obj, or nil."},
		{Name: "with-meta", F2: withMeta, Arglists: "([obj m])", Doc: "obj with the map m as metadata."},
		{Name: "vary-meta", N: varyMeta, Min: 2, Arglists: "([obj f & args])", Doc: "obj with f of its metadata and args as metadata."},
		{Name: "alter-meta!", N: alterMeta, Min: 2, Arglists: "([iref f & args])", Doc: "Replaces the metadata of a reference, var or namespace by f of it and args."},
		{Name: "reset-meta!", F2: resetMeta, Arglists: "([iref metadata-map])", Doc: "Replaces the metadata of a reference, var or namespace."},
	}
}

func addWatch(t *Thread, ref, key, f Value) Value {
	value.AddWatch(t, ref, key, f)
	return ref
}

func removeWatch(t *Thread, ref, key Value) Value {
	value.RemoveWatch(t, ref, key)
	return ref
}

func setValidator(t *Thread, ref, f Value) Value {
	value.SetValidator(t, ref, f)
	return value.Nil
}

func metaOf(t *Thread, v Value) Value {
	if v.Kind() == value.KindVar {
		return varMeta(t, value.As[value.Var](v))
	}
	if m, ok := value.RefMeta(v); ok {
		return m
	}
	return value.Meta(v)
}

func withMeta(t *Thread, v, m Value) Value { return value.WithMeta(t, v, m) }

func varyMeta(t *Thread, args []Value) Value {
	return value.WithMeta(t, args[0], callWith(t, args[1], metaOf(t, args[0]), args[2:]))
}

func alterMeta(t *Thread, args []Value) Value {
	return changeMeta(t, "alter-meta!", args[0], func(m Value) Value { return callWith(t, args[1], m, args[2:]) })
}

func resetMeta(t *Thread, ref, m Value) Value {
	return changeMeta(t, "reset-meta!", ref, func(Value) Value { return m })
}

// changeMeta replaces the metadata of a reference. That of a var is all that meta tells of it.
func changeMeta(t *Thread, who string, ref Value, f func(Value) Value) Value {
	if ref.Kind() != value.KindVar {
		return value.AlterMeta(t, who, ref, f)
	}
	v := value.As[value.Var](ref)
	if v.Sealed {
		panic(value.StateError("%s: got %s, which is sealed, want a var of yours", who, v.FullName()))
	}
	m := f(varMeta(t, v))
	if !m.IsNil() && !m.Kind().IsMap() {
		panic(value.TypeError(t, who, m, "a map or nil"))
	}
	v.ReplaceMeta(m)
	v.Private.Store(flagged(t, m, "private"))
	v.Macro.Store(flagged(t, m, "macro"))
	return m
}

// flagged tells whether metadata has a key with a true value.
func flagged(t *Thread, m Value, key string) bool {
	x, ok := value.Get(t, m, value.Kw(key))
	return ok && x.Truthy()
}
