package compile

import "github.com/reflection-dev/zeno/lisp/value"

// local is a name bound in a function: a slot of its frame.
type local struct {
	sym  *value.Symbol
	slot int
	fn   *fnScope
	used bool
}

// scope is the locals in force at a point, innermost first.
type scope struct {
	local *local
	up    *scope
}

// fnScope is one function arity being analysed: it hands out the slots of its frame and knows what it captures.
type fnScope struct {
	up       *fnScope
	outer    *scope // locals in force where the function stands
	captures []capture
	next     int           // next free slot
	size     int           // slots the frame needs
	consts   []value.Value // constants in the code, and what the functions inside it hold
	forms    int           // how much code there is
	nesting  int
	deepest  int // deepest nesting of expressions: each costs Go stack
}

// capture copies a local of the enclosing function into a slot of this one.
type capture struct {
	from *local
	to   *local
}

// deepen notes that expressions nest n deeper from here on.
func (f *fnScope) deepen(n int) {
	f.nesting += n
	f.deepest = max(f.deepest, f.nesting)
}

func (f *fnScope) slot() int { return f.slots(1) }

// slots reserves n slots in a row.
func (f *fnScope) slots(n int) int {
	s := f.next
	f.next += n
	f.size = max(f.size, f.next)
	return s
}

// bind makes a new local and puts it in force.
func (a *analyser) bind(sym *value.Symbol) *local {
	a.locals = true
	l := &local{sym: sym, slot: a.fn.slot(), fn: a.fn}
	a.scope = &scope{l, a.scope}
	return l
}

// lookup finds what an unqualified symbol means as a local, capturing it from enclosing functions on the way.
func (a *analyser) lookup(sym *value.Symbol) *local {
	if sym.NS != "" {
		return nil
	}
	return find(a.t, a.fn, a.scope, sym.Name)
}

func find(t *value.Thread, fn *fnScope, s *scope, name string) *local {
	n := 0
	for ; s != nil; s = s.up {
		if n++; s.local.sym.Name == name {
			t.Steps(n >> 4)
			s.local.used = true
			return s.local
		}
	}
	t.Steps(n>>4 + len(fn.captures)>>4)
	if fn.up == nil {
		return nil
	}
	from := find(t, fn.up, fn.outer, name)
	if from == nil {
		return nil
	}
	for _, c := range fn.captures {
		if c.from == from {
			return c.to
		}
	}
	to := &local{sym: from.sym, slot: -1, fn: fn}
	fn.captures = append(fn.captures, capture{from, to})
	return to
}

// localNames lists the locals in force, for &env and for hints.
func (a *analyser) localNames() []string {
	var out []string
	fn, s := a.fn, a.scope
	for {
		for ; s != nil; s = s.up {
			out = append(out, s.local.sym.Name)
		}
		if fn.up == nil {
			return out
		}
		fn, s = fn.up, fn.outer
	}
}
