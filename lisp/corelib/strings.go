package corelib

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

func coreStrings() []Def {
	return []Def{
		{Name: "str", Arglists: "([] [x] [x & ys])", Doc: "The texts of its arguments, one after the other; nil has none.",
			F0: func(t *Thread) Value { return newStr(t, "") }, F1: str1, N: str, Min: 2},
		{Name: "subs", Arglists: "([s start] [s start end])", Doc: "The part of s from start up to end, end left out.",
			F2: func(t *Thread, s, start Value) Value {
				textOf(t, "subs", s)
				return subs(t, s, start, value.Int(int64(value.As[value.String](s).Len())))
			}, F3: subs},
		{Name: "format", Arglists: "([fmt & args])", Doc: "Fills args into fmt, in the way of java.util.Formatter: %s %d %x %o %c %b %e %f %g %n %%.",
			N: func(t *Thread, xs []Value) Value { return Format(t, textOf(t, "format", xs[0]), xs[1:]) }, Min: 1},
	}
}

func str1(t *Thread, x Value) Value {
	if x.Kind() == value.KindString {
		return x
	}
	return newStr(t, value.ToString(t, x))
}

func str(t *Thread, xs []Value) Value {
	b := builder{t: t}
	for _, x := range xs {
		t.Step()
		b.add(value.ToString(t, x))
	}
	return b.value()
}

// subs takes its indices in code points.
func subs(t *Thread, s, start, end Value) Value {
	text := textOf(t, "subs", s)
	obj := value.As[value.String](s)
	i, j, n := value.ToInt(t, "subs", start, minIndex, maxIndex), value.ToInt(t, "subs", end, minIndex, maxIndex), obj.Len()
	if i < 0 || j > int64(n) || i > j {
		panic(value.Errorf("StringIndexOutOfBoundsException", "subs: got %d to %d, want a range within 0 to %d", i, j, n))
	}
	from, to := byteAt(t, obj, text, int(i)), len(text)
	switch {
	case obj.ASCII():
		to = int(j)
	case j < int64(n):
		to = from + byteAt(t, nil, text[from:], int(j-i))
	}
	if from == 0 && to == len(text) {
		return s
	}
	t.Steps((to - from) / 64)
	return piece(t, text, from, to)
}

// The range of an index argument.
const (
	minIndex = -1 << 31
	maxIndex = 1<<31 - 1
)
