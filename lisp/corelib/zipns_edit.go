package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// zipEdits change the tree at a location.
func zipEdits() []Def {
	return []Def{
		{Name: "insert-left", Arglists: "([loc item])", Doc: "Puts an item to the left, without moving.", F2: zipInsertLeft},
		{Name: "insert-right", Arglists: "([loc item])", Doc: "Puts an item to the right, without moving.", F2: zipInsertRight},
		{Name: "replace", Arglists: "([loc node])", Doc: "Replaces the node, without moving.", F2: zipReplace},
		{Name: "edit", Arglists: "([loc f & args])", Doc: "Replaces the node by f of it and args.",
			N: func(t *Thread, args []Value) Value {
				return zipReplace(t, args[0], callMore(t, args[1], locAt(t, args[0]).node, args[2:]))
			}, Min: 2},
		{Name: "insert-child", Arglists: "([loc item])", Doc: "Puts an item before the children, without moving.",
			F2: func(t *Thread, v, x Value) Value {
				l := locAt(t, v)
				return zipReplace(t, v, l.make(l.node, value.Cons(t, x, l.children())))
			}},
		{Name: "append-child", Arglists: "([loc item])", Doc: "Puts an item after the children, without moving.",
			F2: func(t *Thread, v, x Value) Value {
				l := locAt(t, v)
				return zipReplace(t, v, l.make(l.node, lazyConcatOf(t, []Value{l.children(), value.NewList(t, x)})))
			}},
		{Name: "remove", Arglists: "([loc])", Doc: "Takes the node away and gives the location before it in a walk.", F1: zipRemove},
	}
}

// below gives a location that must not be the root.
func below(t *Thread, who string, v Value) loc {
	l := locAt(t, v)
	if l.path.IsNil() {
		panic(value.Errorf("Exception", "%s: got the root, want a location below it", who))
	}
	return l
}

func zipInsertLeft(t *Thread, v, x Value) Value {
	l := below(t, "insert-left", v)
	path := value.Assoc(t, l.path, zipL, value.Conj(t, l.way(zipL), x))
	return l.at(l.node, value.Assoc(t, path, zipChanged, value.True))
}

func zipInsertRight(t *Thread, v, x Value) Value {
	l := below(t, "insert-right", v)
	path := value.Assoc(t, l.path, zipR, value.Cons(t, x, l.way(zipR)))
	return l.at(l.node, value.Assoc(t, path, zipChanged, value.True))
}

func zipReplace(t *Thread, v, node Value) Value {
	l := locAt(t, v)
	path := l.path
	if value.Identical(path, zipEndKey) {
		return l.at(node, path)
	}
	return l.at(node, value.Assoc(t, path, zipChanged, value.True))
}

func zipRemove(t *Thread, v Value) Value {
	l := below(t, "remove", v)
	if ls := l.way(zipL); !isEmpty(t, ls) {
		path := value.Assoc(t, l.path, zipL, value.Pop(t, ls))
		return zipDeepest(t, l.at(value.Peek(t, ls), value.Assoc(t, path, zipChanged, value.True)))
	}
	up := l.way(zipPPath)
	if !up.IsNil() {
		up = value.Assoc(t, up, zipChanged, value.True)
	}
	return l.at(l.make(value.Peek(t, l.way(zipPNodes)), l.way(zipR)), up)
}
