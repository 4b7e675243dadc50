package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// errorFns holds what makes and looks into exceptions.
func errorFns() []Def {
	return []Def{
		{Name: "ex-info", F2: exInfo, F3: exInfoCause, Arglists: "([msg map] [msg map cause])", Doc: "An exception with a message, a map of data and a cause, to throw."},
		{Name: "ex-data", F1: exData, Arglists: "([ex])", Doc: "The map of an ex-info, or nil."},
		{Name: "ex-message", F1: exMessage, Arglists: "([ex])", Doc: "The message of an exception, or nil."},
		{Name: "ex-cause", F1: exCause, Arglists: "([ex])", Doc: "The cause of an exception, or nil."},
		{Name: "exception?", F1: kindTest(value.KindException), Arglists: "([x])", Doc: "Whether x is an exception."},
		{Name: "Throwable->map", F1: throwableMap, Arglists: "([o])", Doc: "An exception as data: :cause, :via and :trace, and :data if it has any."},
	}
}

func exInfo(t *Thread, msg, data Value) Value { return exInfoCause(t, msg, data, value.Nil) }

func exInfoCause(t *Thread, msg, data, cause Value) Value {
	if !msg.IsNil() && msg.Kind() != value.KindString {
		panic(value.TypeError(t, "ex-info", msg, "a string for the message"))
	}
	if data.IsNil() {
		panic(value.ArgError("ex-info: got nil, want a map of data; {} if there is none"))
	}
	if !data.Kind().IsMap() {
		panic(value.TypeError(t, "ex-info", data, "a map of data"))
	}
	if !cause.IsNil() && cause.Kind() != value.KindException {
		panic(value.TypeError(t, "ex-info", cause, "an exception for the cause"))
	}
	t.Charge(256)
	return value.Of(value.ExInfo(msg, data, cause))
}

// newException is (IllegalStateException. message cause): both may be absent, and a cause may stand alone.
func newException(t *Thread, typ *value.Type, args []Value) Value {
	if !typ.Constructible() || typ.Name == "ExceptionInfo" && len(args) < 2 {
		panic(value.ArgError("new: got %s, want a type of the program's own or an exception; ex-info makes an ExceptionInfo", typ.Name))
	}
	if typ.Name == "ExceptionInfo" {
		return exInfoOf(t, args)
	}
	if len(args) > 2 {
		panic(value.ArgError("%s: got %d values, want a message and a cause at most", typ.Name, len(args)))
	}
	t.Charge(256)
	ex := value.Errorf(typ.Name, "")
	ex.Message = value.Nil
	if len(args) == 1 && args[0].Kind() == value.KindException {
		ex.Cause, ex.Message = args[0], value.Str(value.ToString(t, args[0]))
		return value.Of(ex)
	}
	for i, x := range args {
		switch {
		case i == 0 && (x.IsNil() || x.Kind() == value.KindString):
			ex.Message = x
		case i == 0 && typ.Name == "AssertionError":
			ex.Message = value.Str(value.ToString(t, x))
		case i == 0:
			panic(value.TypeError(t, typ.Name, x, "a string for the message"))
		case x.IsNil() || x.Kind() == value.KindException:
			ex.Cause = x
		default:
			panic(value.TypeError(t, typ.Name, x, "an exception for the cause"))
		}
	}
	return value.Of(ex)
}

func exInfoOf(t *Thread, args []Value) Value {
	if len(args) == 2 {
		return exInfo(t, args[0], args[1])
	}
	if len(args) == 3 {
		return exInfoCause(t, args[0], args[1], args[2])
	}
	panic(value.ArgError("ExceptionInfo: got %d values, want a message, a map and a cause at most", len(args)))
}

func exceptionOf(v Value) *value.Exception {
	if v.Kind() != value.KindException {
		return nil
	}
	return value.As[value.Exception](v)
}

func exData(_ *Thread, v Value) Value {
	if ex := exceptionOf(v); ex != nil {
		return ex.Data
	}
	return value.Nil
}

func exMessage(_ *Thread, v Value) Value {
	if ex := exceptionOf(v); ex != nil {
		return ex.Message
	}
	return value.Nil
}

func exCause(_ *Thread, v Value) Value {
	if ex := exceptionOf(v); ex != nil {
		return ex.Cause
	}
	return value.Nil
}

func throwableMap(t *Thread, v Value) Value {
	ex := exceptionOf(v)
	if ex == nil {
		panic(value.TypeError(t, "Throwable->map", v, "an exception"))
	}
	var via []Value
	root := ex
	for e := ex; e != nil; e = exceptionOf(e.Cause) {
		t.Step()
		t.Charge(256)
		kvs := []Value{value.Kw("type"), value.Sym(value.TypeOf(value.Of(e)).FullName()), value.Kw("message"), e.Message}
		if !e.Data.IsNil() {
			kvs = append(kvs, value.Kw("data"), e.Data)
		}
		via = append(via, value.NewMap(t, kvs...))
		root = e
	}
	kvs := []Value{value.Kw("via"), value.NewVector(t, via), value.Kw("trace"), trace(t, ex), value.Kw("cause"), root.Message}
	if !root.Data.IsNil() {
		kvs = append(kvs, value.Kw("data"), root.Data)
	}
	return value.NewMap(t, kvs...)
}

// trace gives the stack of an exception as a vector of [name file line].
func trace(t *Thread, ex *value.Exception) Value {
	var out []Value
	for _, f := range ex.Trace {
		t.Step()
		t.Charge(128)
		name, file, line := "top-level", value.Nil, value.Nil
		if f.Code != nil {
			name = f.Code.Name
		}
		if f.Pos != nil {
			file, line = value.Str(f.Pos.File), value.Int(int64(f.Pos.Line))
		}
		out = append(out, value.NewVector(t, []Value{value.Sym(name), file, line}))
	}
	return value.NewVector(t, out)
}
