package compile

import "github.com/reflection-dev/zeno/lisp/value"

// formBytes is about what the code of one form takes once compiled.
const formBytes = 200

// code is what a function's code keeps alive: its size, and the constants that stand in it.
type code struct {
	forms  int
	consts []value.Value
}

// Mark makes code one of the things that a measurement of live bytes looks into.
func (c *code) Mark(m *value.Marker) {
	m.Bytes(c.forms*formBytes + len(c.consts)*16)
	m.Slots(c.consts)
}

// held gives the object by which the code of a function counts as alive.
func held(arities []*arity) value.Value {
	c := &code{}
	for _, ar := range arities {
		c.forms += 1 + ar.scope.forms
		c.consts = append(c.consts, ar.scope.consts...)
	}
	return value.NewHost("code", c)
}

// keep notes a constant that the code then keeps. It counts as alive from here on, until the code has run.
func (a *analyser) keep(v value.Value) {
	switch v.Kind() {
	case value.KindNil, value.KindBool, value.KindInt, value.KindFloat, value.KindChar:
		return
	}
	a.fn.consts = append(a.fn.consts, v)
	a.kept = append(a.kept, v)
	a.t.Rewatch(a.watch, a.kept)
}

// constant makes the node of a value that stands in the code.
func (a *analyser) constant(v value.Value) node {
	a.keep(v)
	return &constNode{v}
}
