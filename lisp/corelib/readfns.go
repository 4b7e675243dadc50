package corelib

import (
	"errors"
	"fmt"
	"io"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// programOptions reads program text for t's environment, with the tags of *data-readers*.
func programOptions(t *Thread) read.Options {
	o := read.Options{
		ReadCond: read.CondForbid, CoreNS: t.Env.Core.Name, CurrentNS: t.NS().Name,
		AliasNS: func(t *value.Thread, alias string) (string, bool) { return t.NS().Aliased(alias) },
		Resolve: compile.Qualify,
		Regex:   CompileRegex,
	}
	o.Tags = ProgramTags(t)
	return o
}

// ProgramTags makes the look-up of tags for program text: the functions of *data-readers*, records by the name they print
// with, and *default-data-reader-fn*. An agent has the records only.
func ProgramTags(t *Thread) func(string) read.TagFunc {
	return func(tag string) read.TagFunc {
		if !t.Env.Isolate {
			if f, ok := value.Get(t, dynamicValue(t, "*data-readers*"), value.Sym(tag)); ok && !f.IsNil() {
				return func(t *Thread, form Value) Value { return t.Call1(f, form) }
			}
		}
		if typ := compile.RecordNamed(t, tag); typ != nil {
			return func(t *Thread, form Value) Value { return recordOf(t, typ, form) }
		}
		if f := dynamicValue(t, "*default-data-reader-fn*"); !t.Env.Isolate && tag != "inst" && tag != "uuid" && !f.IsNil() {
			return func(t *Thread, form Value) Value { return t.Call2(f, value.Sym(tag), form) }
		}
		return nil
	}
}

// recordOf makes a record of what stands after its name in a text: #my.Point{:x 1 :y 2} or #my.Point[1 2].
func recordOf(t *Thread, typ *value.Type, form Value) Value {
	if k := form.Kind(); k == value.KindVector {
		return newObject(t, append([]Value{value.Of(typ)}, value.ToSlice(t, form)...))
	} else if k.IsMap() {
		return mapToRecord(t, value.Of(typ), form)
	}
	panic(value.TypeError(t, "#"+typ.FullName(), form, "a map or a vector of the fields"))
}

// tagsOf makes the look-up of tags of a map from symbol to function.
func tagsOf(t *Thread, m Value) func(string) read.TagFunc {
	if m.IsNil() || value.Count(t, m) == 0 {
		return nil
	}
	return func(tag string) read.TagFunc {
		f, ok := value.Get(t, m, value.Sym(tag))
		if !ok || f.IsNil() {
			return nil
		}
		return func(t *Thread, form Value) Value { return t.Call1(f, form) }
	}
}

// applyOptions reads the options of read-string: :read-cond and :features; it gives :eof.
func applyOptions(t *Thread, o *read.Options, m Value) (eof Value, hasEOF bool) {
	get := func(key string) (Value, bool) { return value.Get(t, m, value.Kw(key)) }
	if v, ok := get("read-cond"); ok {
		switch {
		case value.Identical(v, value.Kw("allow")):
			o.ReadCond = read.CondAllow
		case value.Identical(v, value.Kw("preserve")):
			o.ReadCond = read.CondPreserve
		}
	}
	if v, ok := get("features"); ok && !v.IsNil() {
		o.Features = []string{"joker"}
		value.Each(t, v, func(x Value) bool {
			if x.Kind() == value.KindKeyword {
				t.Charge(16)
				o.Features = append(o.Features, value.As[value.Keyword](x).FullName())
			}
			return true
		})
	}
	eof, hasEOF = get("eof")
	return eof, hasEOF && !value.Identical(eof, value.Kw("eofthrow"))
}

// readError is a fault in a text as Lisp sees it.
func readError(err error) *value.Exception {
	var bad *read.Error
	switch {
	case errors.As(err, &bad):
		ex := bad.Exception()
		if bad.Pos != nil && bad.Pos.File == "" { // a text without a name, such as a string: the call has the place to look at
			ex.Message = value.Str(fmt.Sprintf("%s (line %d, column %d of the text)", bad.Message, bad.Pos.Line, bad.Pos.Column))
			ex.Pos, ex.Err = nil, nil
		}
		return ex
	case errors.Is(err, io.EOF):
		return value.Errorf("ParseError", "read: got the end of the text, want a form")
	}
	return value.WrapError(err)
}

// readFirst reads the first form of src.
func readFirst(t *Thread, src string, o read.Options, eof Value, hasEOF bool) Value {
	v, err := read.New(t, src, o).Read()
	if errors.Is(err, io.EOF) && hasEOF {
		return eof
	}
	if err != nil {
		panic(readError(err))
	}
	return v
}

// readData reads a form of data that Go code wrote.
func readData(t *Thread, src string) (Value, error) {
	return read.New(t, src, read.Options{EDN: true}).Read()
}

// stringOptions reads program text in a string: as in Clojure, what is read of it does not say where in it it stood.
func stringOptions(t *Thread) read.Options {
	o := programOptions(t)
	o.Unplaced = true
	return o
}

func readString(t *Thread, s Value) Value {
	return readFirst(t, stringOf(t, "read-string", s), stringOptions(t), value.Nil, false)
}

func readStringOpts(t *Thread, opts, s Value) Value {
	o := stringOptions(t)
	eof, has := applyOptions(t, &o, opts)
	return readFirst(t, stringOf(t, "read-string", s), o, eof, has)
}

// readArgs sorts the arguments of read out.
type readArgs struct {
	from   *lines
	opts   read.Options
	eof    Value
	hasEOF bool
}

func readArgsOf(t *Thread, who string, args []Value) readArgs {
	a := readArgs{opts: programOptions(t)}
	a.opts.ReadCond = read.CondForbid
	var stream Value
	switch {
	case len(args) == 0:
		stream = dynamicValue(t, "*in*")
	case len(args) == 2:
		a.eof, a.hasEOF = applyOptions(t, &a.opts, args[0])
		stream = args[1]
	default:
		stream = args[0]
		a.hasEOF = len(args) > 1 && !args[1].Truthy()
		if len(args) > 2 {
			a.eof = args[2]
		}
	}
	a.from = input(t, who, stream)
	return a
}

func readIn(t *Thread, args []Value) Value {
	a := readArgsOf(t, "read", args)
	v, _, err := a.from.form(t, a.opts)
	if errors.Is(err, io.EOF) && a.hasEOF {
		return a.eof
	}
	if err != nil {
		panic(readError(err))
	}
	return v
}

func readInString(t *Thread, args []Value) Value {
	a := readArgsOf(t, "read+string", args)
	v, text, err := a.from.form(t, a.opts)
	if errors.Is(err, io.EOF) && a.hasEOF {
		return value.NewVector(t, []Value{a.eof, value.Str("")})
	}
	if err != nil {
		panic(readError(err))
	}
	return value.NewVector(t, []Value{v, value.Str(text)})
}
