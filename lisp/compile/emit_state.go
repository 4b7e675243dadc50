package compile

import (
	"runtime/debug"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

func emitDef(n *defNode) exec {
	var init, meta exec
	if n.init != nil {
		init = emit(n.init)
	}
	if n.meta != nil {
		meta = emit(n.meta)
	}
	v := n.v
	return func(t *value.Thread, f []value.Value) value.Value {
		m := value.Nil
		if meta != nil {
			m = meta(t, f)
		}
		if init != nil {
			v.SetRoot(init(t, f))
		}
		v.Macro.Store(n.macro)
		v.Private.Store(n.private)
		if n.init != nil || meta != nil {
			v.SetMeta(m)
			v.SetPos(n.pos)
			if n.text != "" {
				v.SetSource(n.text)
			}
		}
		return value.Of(v)
	}
}

func emitAssign(n *assignNode) exec {
	v, expr := n.v, emit(n.expr)
	return func(t *value.Thread, f []value.Value) value.Value {
		x := expr(t, f)
		b := t.Box(v)
		if b == nil {
			panic(value.StateError("set!: got %s, which has no thread binding, want a var inside its binding form", v.FullName()))
		}
		b.Set(x)
		return x
	}
}

func emitBinding(n *bindingNode) exec {
	inits, run, vars, temp := emitAll(n.inits), emit(n.body), n.vars, n.temp
	return func(t *value.Thread, f []value.Value) value.Value {
		for i, init := range inits {
			if !vars[i].Dynamic.Load() {
				panic(value.StateError("binding: got %s, which is not dynamic, want a var with ^:dynamic", vars[i].FullName()))
			}
			f[temp+i] = init(t, f)
		}
		saved := t.Binds
		t.Bind(vars, f[temp:temp+len(vars)])
		v := run(t, f)
		t.Binds = saved
		return v
	}
}

func emitThrow(n *throwNode) exec {
	expr, pos := emit(n.expr), n.pos
	return func(t *value.Thread, f []value.Value) value.Value {
		x := expr(t, f)
		t.Pos = pos
		if x.Kind() != value.KindException {
			panic(value.TypeError(t, "throw", x, "an exception, as made by ex-info"))
		}
		panic(value.As[value.Exception](x).At(t))
	}
}

func emitTry(n *tryNode) exec {
	run := emit(n.body)
	clauses := make([]exec, len(n.catches))
	for i, c := range n.catches {
		clauses[i] = emit(c.body)
	}
	guarded := run
	if len(clauses) > 0 {
		guarded = func(t *value.Thread, f []value.Value) value.Value {
			v, ex := protect(t, f, run)
			if ex == nil {
				return v
			}
			for i, c := range n.catches {
				if c.class == "" || ex.IsA(c.class) {
					f[c.local.slot] = value.Of(ex)
					return clauses[i](t, f)
				}
			}
			panic(ex)
		}
	}
	if n.finally == nil {
		return guarded
	}
	finally := emit(n.finally)
	return func(t *value.Thread, f []value.Value) value.Value {
		v, ex := protect(t, f, guarded)
		finally(t, f)
		if ex != nil {
			panic(ex)
		}
		return v
	}
}

// What catching an exception costs: Go unwinds its stack, and the exception notes the Lisp one.
const (
	caughtSteps = 4
	caughtBytes = 1024
)

// protect runs code and gives back the exception it threw. A limit passes through: no catch and no finally sees it.
func protect(t *value.Thread, f []value.Value, run exec) (v value.Value, ex *value.Exception) {
	m := t.Mark()
	defer func() {
		if t.Unwinding() {
			return
		}
		if r := recover(); r != nil {
			ex = Caught(t, r)
			t.Unwind(m)
			t.Steps(caughtSteps)
			t.Charge(caughtBytes)
		}
	}()
	return run(t, f), nil
}

// Crash is a Go panic that no Lisp code may see: a defect of ours. The boundary of the evaluation reports it.
type Crash struct {
	Reason any
	Stack  []byte
}

// Caught gives the Lisp exception in a recovered panic, complete with its stack. Anything else goes on its way.
func Caught(t *value.Thread, r any) *value.Exception {
	switch r := r.(type) {
	case *value.Exception:
		return r.At(t)
	case *Crash, *limit.Error:
		panic(r)
	default:
		t.Doom()
		panic(&Crash{r, debug.Stack()})
	}
}

// emitCase looks constants up by hash, then by =.
func emitCase(n *caseNode) exec {
	expr, els, thens := emit(n.expr), emit(n.els), emitAll(n.thens)
	table := make(map[uint64][]int, len(n.consts)) // read only from here on
	for i, h := range n.hashes {
		table[h] = append(table[h], i)
	}
	consts, targets := n.consts, n.targets
	return func(t *value.Thread, f []value.Value) value.Value {
		v := expr(t, f)
		t.Step()
		for _, i := range table[value.Hash(t, v)] {
			if value.Equal(t, v, consts[i]) {
				return thens[targets[i]](t, f)
			}
		}
		return els(t, f)
	}
}

// NewCrash notes a Go panic where it is recovered.
func NewCrash(reason any) *Crash { return &Crash{reason, debug.Stack()} }
