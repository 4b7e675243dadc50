package corelib

import (
	"context"
	"errors"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// calc evaluates calls of builtins whose arguments are data or calls: enough to write the tests of functions in Lisp.
type calc struct {
	t   *value.Thread
	fns map[string]value.Value
}

func newCalc(l limit.Limits) *calc {
	env := value.NewEnv(value.NewNamespace("clojure.core"), nil)
	c := &calc{t: value.NewThread(value.NewRun(context.Background(), l), env), fns: map[string]value.Value{}}
	c.add("", concat(numbers(), numberTests(), casts(), bits(), random(), coreStrings(), regexes(), calcExtras()))
	c.add("str/", stringNS())
	c.add("math/", clojureMath())
	c.add("jm/", jokerMath())
	return c
}

func (c *calc) add(prefix string, defs []Def) {
	for i := range defs {
		c.fns[prefix+defs[i].Name] = value.Of(value.NewBuiltin(prefix+defs[i].Name, &defs[i]))
	}
}

// calcExtras are what tests need of other themes.
func calcExtras() []Def {
	return []Def{
		{Name: "=", F2: func(t *Thread, a, b Value) Value { return value.Bool(value.Equal(t, a, b)) }},
		{Name: "hash", F1: func(t *Thread, a Value) Value { return value.Int(int64(value.Hash(t, a))) }},
		{Name: "compare", F2: func(t *Thread, a, b Value) Value { return value.Int(int64(value.Compare(t, a, b))) }},
		{Name: "count", F1: func(t *Thread, a Value) Value { return value.Int(int64(value.Count(t, a))) }},
		{Name: "first", F1: value.First},
		{Name: "list", N: func(t *Thread, xs []Value) Value { return value.NewList(t, xs...) }},
		{Name: "repeat-str", F2: func(t *Thread, n, s Value) Value {
			b := builder{t: t}
			for range n.Int() {
				b.add(s.Text())
			}
			return b.value()
		}},
	}
}

func (c *calc) eval(v Value) Value {
	switch v.Kind() {
	case value.KindSymbol:
		f, ok := c.fns[value.As[value.Symbol](v).FullName()]
		if !ok {
			panic(errors.New("no function " + value.As[value.Symbol](v).FullName()))
		}
		return f
	case value.KindList:
		xs := value.ToSlice(c.t, v)
		if s := xs[0]; s.Kind() == value.KindSymbol && value.As[value.Symbol](s).Name == "quote" {
			return xs[1]
		}
		for i := range xs {
			xs[i] = c.eval(xs[i])
		}
		return c.t.Call(xs[0], xs[1:]...)
	case value.KindVector:
		xs := value.ToSlice(c.t, v)
		for i := range xs {
			xs[i] = c.eval(xs[i])
		}
		return value.NewVector(c.t, xs)
	}
	return v
}

// run evaluates the text of one form. It gives what it prints as, or the class and message of what it throws.
func (c *calc) run(src string) (out string, err error) {
	m := c.t.Mark()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Exception:
			c.t.Unwind(m)
			out, err = r.Class+": "+r.Error(), r
		case *limit.Error:
			out, err = string(r.Kind), r
		default:
			panic(r)
		}
	}()
	form, err := read.New(c.t, src, read.Options{Regex: CompileRegex, CurrentNS: "user"}).Read()
	if err != nil {
		return "read: " + err.Error(), err
	}
	return value.PrStr(c.t, c.eval(form)), nil
}

// evals tests texts against what they print; "!" and a text is an error whose class and message begin so.
func evals(t *testing.T, cases [][2]string) {
	t.Helper()
	c := newCalc(limit.Trusted())
	for _, x := range cases {
		got, err := c.run(x[0])
		if err != nil {
			got = "!" + got
		}
		want := x[1]
		if err != nil && len(want) > 0 && want[0] == '!' && len(got) > len(want) {
			got = got[:len(want)]
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", x[0], got, want)
		}
	}
}

// trips runs a text under small limits and gives the limit it hits.
func trips(l limit.Limits, src string) limit.Kind {
	_, err := newCalc(l.OrDefault()).run(src)
	var le *limit.Error
	if errors.As(err, &le) {
		return le.Kind
	}
	return ""
}
