package lisp

import (
	"errors"
	"io"
	"strings"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// readOptions reads programs for t's environment.
func readOptions(t *value.Thread, rt *Runtime, file string, line, column int) read.Options {
	return read.Options{
		File: file, StartLine: line, StartColumn: column, Intern: rt.interns, CoreNS: CoreName,
		CurrentNS: t.NS().Name,
		AliasNS:   func(t *value.Thread, alias string) (string, bool) { return t.NS().Aliased(alias) },
		Resolve:   compile.Qualify,
		Regex:     corelib.CompileRegex,
		Tags:      corelib.ProgramTags(t),
	}
}

// evalSource reads and evaluates every form of src, in order, and gives the value of the last.
func evalSource(t *value.Thread, rt *Runtime, src, file string, line, column int) value.Value {
	r := rt.readers.New(t, src, readOptions(t, rt, file, line, column))
	v, outer := value.Nil, t.Form
	defer func() { t.Form = outer }()
	for {
		from := r.Offset()
		form, err := r.Read()
		if err == io.EOF {
			rt.readers.Done(r)
			return v
		}
		if err != nil {
			panic(readException(err))
		}
		noteForm(t, src, from, r.Offset())
		v = compile.Eval(t, form)
		r.InNS(t.NS().Name)
	}
}

// noteForm keeps the text of the form to be evaluated, for what it defines. An isolate's texts are not kept: they would
// count against nothing.
func noteForm(t *value.Thread, src string, from, to int) {
	if t.Env.Isolate {
		return
	}
	text := src[from:to]
	for {
		text = strings.TrimLeft(text, " \t\r\n,")
		if !strings.HasPrefix(text, ";") && !strings.HasPrefix(text, "#!") {
			break
		}
		_, text, _ = strings.Cut(text, "\n")
	}
	t.Form = text
}

func readException(err error) *value.Exception {
	var re *read.Error
	if errors.As(err, &re) {
		return re.Exception()
	}
	return value.WrapError(err)
}

// boundary runs f on t and turns every panic into an Error. It is the only place where a limit or a crash stops.
func boundary(t *value.Thread, sources texts, f func() value.Value) (v value.Value, err error) {
	m := t.Mark()
	defer func() {
		if r := recover(); r != nil {
			err = describe(t, crash(r), sources)
			v = value.Nil
			t.Unwind(m)
		}
	}()
	return f(), nil
}

// crash marks a Go panic that no Lisp try has met on its way.
func crash(r any) any {
	switch r.(type) {
	case *value.Exception, *LimitError, *compile.Crash:
		return r
	}
	return compile.NewCrash(r)
}
