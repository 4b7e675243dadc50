package corelib

import (
	"os"
	"slices"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/value"
)

// evalFns holds what reads, expands and evaluates code. An isolate has eval and read-string, within its own environment;
// what loads code from elsewhere is absent there.
func evalFns() []Def {
	return []Def{
		{Name: "eval", F1: eval, Arglists: "([form])", Doc: "Evaluates the form."},
		{Name: "macroexpand-1", F1: macroexpand1, Arglists: "([form])", Doc: "Expands the form once, if it is a macro call."},
		{Name: "macroexpand", F1: macroexpand, Arglists: "([form])", Doc: "Expands the form until it is no macro call."},
		{Name: "special-symbol?", F1: specialSymbol, Arglists: "([s])", Doc: "Whether s names a special form."},
		{Name: "read-string", F1: readString, F2: readStringOpts, Arglists: "([s] [opts s])", Doc: "The first form in the string s. Options: :eof, :read-cond (:allow or :preserve), :features."},
		{Name: "read", N: readIn, Max: 4, Host: true, Arglists: "([] [stream] [opts stream] [stream eof-error? eof-value])", Doc: "The next form of stream, or of *in*."},
		{Name: "read+string", N: readInString, Max: 4, Host: true, Arglists: "([] [stream] [opts stream] [stream eof-error? eof-value])", Doc: "As read, but gives [form text]."},
		{Name: "load-string", F1: loadString, Host: true, Arglists: "([s])", Doc: "Reads and evaluates every form of the string and gives the value of the last."},
		{Name: "load-reader", F1: loadReader, Host: true, Arglists: "([rdr])", Doc: "Reads and evaluates every form of the reader and gives the value of the last."},
		{Name: "load-file", F1: loadFile, Host: true, Arglists: "([name])", Doc: "Reads and evaluates every form of the file and gives the value of the last."},
		{Name: "test", F1: testVar, Host: true, Arglists: "([v])", Doc: "Calls the function under :test of the metadata of v: :ok, or :no-test if there is none."},
		{Name: "clojure-version", F0: versionText("*clojure-version*"), Arglists: "([])", Doc: "The version of Clojure whose semantics the core follows."},
		{Name: "joker-version", F0: versionText("*joker-version*"), Arglists: "([])", Doc: "The version of Joker whose dialect this is."},
		{Name: "munge", F1: munge, Arglists: "([s])", Doc: "s with - as _, as names of types have it."},
		{Name: "namespace-munge", F1: munge, Arglists: "([ns])", Doc: "The name of a namespace with - as _."},
		{Name: "tagged-literal", F2: taggedLiteral, Arglists: "([tag form])", Doc: "The tagged literal of a symbol and a form, as data."},
		{Name: "tagged-literal?", F1: kindTest(value.KindTaggedLiteral), Arglists: "([value])", Doc: "Whether value is a tagged literal."},
		{Name: "reader-conditional", F2: readerConditional, Arglists: "([form splicing?])", Doc: "A reader conditional as data."},
		{Name: "reader-conditional?", F1: kindTest(value.KindReaderConditional), Arglists: "([value])", Doc: "Whether value is a reader conditional."},
	}
}

func eval(t *Thread, form Value) Value {
	t.Enter()
	v := t.Env.Eval(t, form)
	t.Leave()
	return v
}

func macroexpand1(t *Thread, form Value) Value { return t.Env.Macroexpand1(t, form) }

func macroexpand(t *Thread, form Value) Value { return t.Env.Macroexpand(t, form) }

func specialSymbol(_ *Thread, v Value) Value {
	if v.Kind() != value.KindSymbol {
		return value.False
	}
	s := value.As[value.Symbol](v)
	return value.Bool(s.NS == "" && (compile.IsSpecial(s.Name) || slices.Contains([]string{"monitor-enter", "monitor-exit", "deftype*", "reify*", "import*"}, s.Name)))
}

func stringOf(t *Thread, who string, v Value) string {
	if v.Kind() != value.KindString {
		panic(value.TypeError(t, who, v, "a string"))
	}
	return v.Text()
}

func loadString(t *Thread, s Value) Value {
	return t.Env.EvalText(t, stringOf(t, "load-string", s), "load-string")
}

func loadReader(t *Thread, r Value) Value {
	return t.Env.EvalText(t, input(t, "load-reader", r).all(), "load-reader")
}

func loadFile(t *Thread, name Value) Value {
	file := stringOf(t, "load-file", name)
	src, err := os.ReadFile(file)
	if err != nil {
		ex := value.Errorf("FileNotFoundException", "load-file: failed to read %s: %s", file, err)
		ex.Err = err
		panic(ex)
	}
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.NSVar}, []Value{value.Of(t.NS())})
	v := t.Env.EvalText(t, string(src), file)
	t.Binds = saved
	return v
}

func taggedLiteral(t *Thread, tag, form Value) Value {
	symbolOf(t, "tagged-literal", tag)
	t.Charge(64)
	return value.NewTaggedLiteral(tag, form)
}

func readerConditional(t *Thread, form, splicing Value) Value {
	t.Charge(64)
	return value.NewReaderConditional(form, splicing.Truthy())
}

func testVar(t *Thread, v Value) Value {
	f, ok := value.Get(t, metaOf(t, v), value.Kw("test"))
	if !ok || f.IsNil() {
		return value.Kw("no-test")
	}
	t.Call(f)
	return value.Kw("ok")
}

// versionText gives major.minor.incremental of a var that holds a version.
func versionText(name string) func(*Thread) Value {
	return func(t *Thread) Value {
		v := dynamicValue(t, name)
		part := func(key string) string {
			x, _ := value.Get(t, v, value.Kw(key))
			return value.ToString(t, x)
		}
		return value.Str(part("major") + "." + part("minor") + "." + part("incremental"))
	}
}

func munge(t *Thread, v Value) Value {
	s := value.ToString(t, v)
	t.Charge(len(s))
	if v.Kind() == value.KindSymbol {
		return value.Sym(munged(s))
	}
	return value.Str(munged(s))
}
