package corelib

import (
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

func stateMacros() []value.Builtin {
	return []value.Builtin{
		macro("lazy-seq", 0, many, "([& body])", "A seq whose elements are those of the value of body, which is evaluated when first needed, once.", macLazySeq),
		macro("lazy-cat", 0, many, "([& colls])", "The elements of colls, each of which is evaluated when first needed.", macLazyCat),
		macro("delay", 0, many, "([& body])", "A value that force or deref computes by body, once.", macDelay),
		macro("future", 0, many, "([& body])", "Evaluates body on another thread; deref waits for its value.", macFuture),
		macro("pvalues", 0, many, "([& exprs])", "The seq of the values of exprs, evaluated in parallel.", macPvalues),
		macro("locking", 1, many, "([x & body])", "Evaluates body while no other thread is in a locking of the same x.", macLocking),
		macro("dosync", 0, many, "([& exprs])", "Evaluates exprs in a transaction over refs.", macDosync),
		macro("sync", 1, many, "([flags & body])", "Evaluates body in a transaction over refs; flags are ignored.", macSync),
		macro("io!", 0, many, "([& body])", "Evaluates body, which is not fit for a transaction; a string before it says why.", macIO),
		macro("vswap!", 2, many, "([vol f & args])", "Sets a volatile to f of its value and args.", macVswap),
		macro("amap", 4, 4, "([a idx ret expr])", "A copy of the array a, called ret, with each element set to expr, in which idx is its index.", macAmap),
		macro("areduce", 5, 5, "([a idx ret init expr])", "Reduces over the array a: ret starts as init and becomes expr for each index idx.", macAreduce),
		hostMacro("time", 1, 1, "([expr])", "Evaluates expr, prints how long it took and gives its value.", macTime),
		{Name: "locking*", F2: lockingStar, Arglists: "([x f])", Doc: "What locking expands to: calls f while no other thread holds x."},
		{Name: "io-check*", F1: ioCheck, Arglists: "([message])", Doc: "What io! expands to: throws message inside a transaction."},
		{Name: "nano-time*", F0: nanoTime, Host: true, Arglists: "([])", Doc: "What time expands to: nanoseconds of a clock that only goes forward."},
	}
}

func macLazySeq(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formSplice(t, args, sfLazySeq)
}

func macLazyCat(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	t.Charge(16 * len(args))
	xs := make([]value.Value, len(args))
	for i, x := range args {
		xs[i] = placed(formOf(t, sfLazySeq, x), x)
	}
	return formSplice(t, xs, fnConcat)
}

func macDelay(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formSplice(t, args, sfDelay)
}

func macFuture(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnFutureCall, formThunk(t, args))
}

func macPvalues(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	t.Charge(16 * len(args))
	xs := make([]value.Value, len(args))
	for i, x := range args {
		xs[i] = formThunk(t, []value.Value{x})
	}
	return formSplice(t, xs, fnPcalls)
}

func macLocking(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnLocking, args[0], formThunk(t, args[1:]))
}

func macDosync(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnDosync, formThunk(t, args))
}

func macSync(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	return formOf(t, fnDosync, formThunk(t, args[1:]))
}

func macIO(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	message := value.Str("I/O in transaction")
	if len(args) > 0 && args[0].Kind() == value.KindString {
		message, args = args[0], args[1:]
	}
	return formSplice(t, args, sfDo, formOf(t, fnIOCheck, message))
}

// ioCheck throws inside a transaction.
func ioCheck(t *value.Thread, message value.Value) value.Value {
	if t.InTransaction() {
		panic(value.StateError("io!: %s; do it before or after dosync", value.PrintStr(t, message)))
	}
	return value.Nil
}

func macVswap(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	v := freshName(t, "vol")
	next := formSplice(t, args[2:], args[1], formOf(t, fnDeref, v))
	return formOf(t, sfLet, formVector(t, v, args[0]), formOf(t, fnVreset, v, next))
}

func macAmap(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	a, n, idx, ret := freshName(t, "array"), freshName(t, "n"), args[1], args[2]
	if !isPlain(idx) || !isPlain(ret) {
		panic(malformed(form, "amap: got %s and %s, want two plain names", value.Brief(t, idx), value.Brief(t, ret)))
	}
	turn := formOf(t, sfDo, formOf(t, fnAset, ret, idx, args[3]), formOf(t, sfRecur, formOf(t, fnInc, idx)))
	loop := formOf(t, sfLoop, formVector(t, idx, value.Int(0)), formOf(t, sfIf, formOf(t, fnLess, idx, n), turn, ret))
	return formOf(t, sfLet, formVector(t, a, args[0], n, formOf(t, fnAlength, a), ret, formOf(t, fnAclone, a)), loop)
}

func macAreduce(t *value.Thread, form, _ value.Value, args []value.Value) value.Value {
	a, n, idx, ret := freshName(t, "array"), freshName(t, "n"), args[1], args[2]
	if !isPlain(idx) || !isPlain(ret) {
		panic(malformed(form, "areduce: got %s and %s, want two plain names", value.Brief(t, idx), value.Brief(t, ret)))
	}
	turn := formOf(t, sfRecur, formOf(t, fnInc, idx), args[4])
	loop := formOf(t, sfLoop, formVector(t, idx, value.Int(0), ret, args[3]), formOf(t, sfIf, formOf(t, fnLess, idx, n), turn, ret))
	return formOf(t, sfLet, formVector(t, a, args[0], n, formOf(t, fnAlength, a)), loop)
}

func macTime(t *value.Thread, _, _ value.Value, args []value.Value) value.Value {
	start, v := freshName(t, "start"), freshName(t, "value")
	ms := formOf(t, fnDiv, formOf(t, fnMinus, formOf(t, fnNanoTime), start), value.Float(1e6))
	text := formOf(t, fnStr, value.Str("Elapsed time: "), ms, value.Str(" msecs"))
	return formOf(t, sfLet, formVector(t, start, formOf(t, fnNanoTime), v, args[0]), formOf(t, fnPrn, text), v)
}

// timeEpoch is what nano-time* counts from: only differences mean anything.
var timeEpoch = time.Now()

func nanoTime(*value.Thread) value.Value { return value.Int(int64(time.Since(timeEpoch))) }
