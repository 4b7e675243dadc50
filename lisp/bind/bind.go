// Package bind makes Lisp functions of Go functions.
//
// A Go function's parameters are decoded from Lisp data and its result is encoded to it: maps with keyword keys fill
// structs, "30s" fills a Duration, "64M" a Size. The invariant: bad data never reaches the Go function, and every decoding
// error names its path (`:egress :allow 2: got 42, want a string`).
//
// Start with Func; Decode and Encode are its two halves.
package bind

import (
	"context"
	"fmt"
	"reflect"

	"github.com/reflection-dev/zeno/lisp/value"
)

var (
	ctxType    = reflect.TypeFor[context.Context]()
	threadType = reflect.TypeFor[*value.Thread]()
	errType    = reflect.TypeFor[error]()
	valueType  = reflect.TypeFor[value.Value]()
)

// Func makes a builtin of fn. Its leading parameters may be a context.Context (that of the calling evaluation) and a
// *value.Thread; the others decode from the arguments, pointers at the end being optional. Its results may be nothing,
// a value, an error, or both. It panics when fn is no such function: that is a defect of the caller's.
func Func(name, arglists, doc string, fn any) value.Builtin {
	f := newFunc(name, fn)
	return value.Builtin{Name: name, Arglists: arglists, Doc: doc, Host: true, N: f.call, Min: f.required, Max: f.most()}
}

type function struct {
	name     string
	fn       reflect.Value
	typ      reflect.Type
	hidden   []reflect.Type // leading parameters that no argument fills
	params   []reflect.Type
	required int
}

func newFunc(name string, fn any) *function {
	f := &function{name: name, fn: reflect.ValueOf(fn), typ: reflect.TypeOf(fn)}
	if f.typ == nil || f.typ.Kind() != reflect.Func || f.typ.NumOut() > 2 {
		panic(fmt.Sprintf("bind: %s: got %T, want a function of at most two results", name, fn))
	}
	for i := range f.typ.NumIn() {
		p := f.typ.In(i)
		if (p == ctxType || p == threadType) && len(f.params) == 0 {
			f.hidden = append(f.hidden, p)
			continue
		}
		f.params = append(f.params, p)
	}
	f.required = len(f.params)
	if f.typ.IsVariadic() {
		f.required--
	}
	for f.required > 0 && f.params[f.required-1].Kind() == reflect.Pointer {
		f.required--
	}
	return f
}

// most is the greatest number of arguments; 0 means any number.
func (f *function) most() int {
	if f.typ.IsVariadic() {
		return 0
	}
	return max(len(f.params), 1)
}

func (f *function) call(t *value.Thread, args []value.Value) value.Value {
	if !f.typ.IsVariadic() && len(args) > len(f.params) {
		panic(value.ArgError("%s: got %d arguments, want at most %d", f.name, len(args), len(f.params)))
	}
	in := make([]reflect.Value, 0, f.typ.NumIn())
	for _, h := range f.hidden {
		if h == ctxType {
			in = append(in, reflect.ValueOf(t.Context))
		} else {
			in = append(in, reflect.ValueOf(t))
		}
	}
	in = append(in, f.decode(t, args)...)
	return f.result(t, f.fn.Call(in))
}

func (f *function) decode(t *value.Thread, args []value.Value) []reflect.Value {
	var in []reflect.Value
	for i, p := range f.params {
		if f.typ.IsVariadic() && i == len(f.params)-1 {
			for j := i; j < len(args); j++ {
				in = append(in, f.argument(t, p.Elem(), args[j], j))
			}
			return in
		}
		if i >= len(args) {
			in = append(in, reflect.Zero(p))
			continue
		}
		in = append(in, f.argument(t, p, args[i], i))
	}
	return in
}

func (f *function) argument(t *value.Thread, p reflect.Type, v value.Value, i int) reflect.Value {
	out := reflect.New(p).Elem()
	if err := decode(t, v, out, nil); err != nil {
		what := fmt.Sprintf("%s: argument %d", f.name, i+1)
		if len(f.params) == 1 {
			what = f.name
		}
		panic(value.ArgError("%s: %s", what, err))
	}
	return out
}

func (f *function) result(t *value.Thread, out []reflect.Value) value.Value {
	if n := len(out); n > 0 && f.typ.Out(n-1) == errType {
		if err, _ := out[n-1].Interface().(error); err != nil {
			panic(value.WrapError(fmt.Errorf("%s: %w", f.name, err)))
		}
		out = out[:n-1]
	}
	if len(out) == 0 {
		return value.Nil
	}
	return encode(t, out[0])
}
