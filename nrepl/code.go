package nrepl

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// codeOps are the ops that transform code.
func (s *Server) codeOps() []op {
	return []op{
		{name: "macroexpand", doc: "Expands the macro calls of a form.", requires: "code", optional: "expander ns display-namespaces print-meta", returns: "expansion", run: s.opMacroexpand},
		{name: "format-code", doc: "Indents code and tidies its blanks; comments stay.", requires: "code", returns: "formatted-code", run: s.opFormatCode},
		{name: "format-edn", doc: "Prints data over several lines where one is too short.", requires: "edn", optional: "right-margin", returns: "formatted-edn", run: s.opFormatEDN},
	}
}

// expanders gives the function of the language for the name of an expander.
func expander(name string) (fn string, ok bool) {
	switch name {
	case "macroexpand-1", "macroexpand":
		return "clojure.core/" + name, true
	case "":
		return "clojure.core/macroexpand", true
	case "macroexpand-all":
		return "clojure.walk/macroexpand-all", true
	}
	return "", false
}

// opMacroexpand runs macros, which are the user's code: it waits for its turn and can be interrupted.
func (s *Server) opMacroexpand(r *request) {
	code, fn, ok := r.text("code"), "", false
	if fn, ok = expander(r.text("expander")); code == "" || !ok {
		r.bad("code or expander", "a form as a string, and macroexpand-1, macroexpand or macroexpand-all")
		return
	}
	r.submit(func(j *job) {
		ns, ok := j.namespace(r.text("ns"))
		if !ok {
			return
		}
		// The form is read as data and handed to the expander: quoting it keeps it from being evaluated.
		in := j.input("(fn* [f] ("+fn+" f))", evalFile)
		in.NS = ns
		var expand value.Value
		in.Last = func(_ *value.Thread, v value.Value) { expand = v }
		scratch := j.begin().Fork()
		if _, err := scratch.Eval(j.ctx, in); err != nil {
			j.macroError(err)
			return
		}
		in = j.input("(quote "+code+"\n)", evalFile)
		in.NS = ns
		text := ""
		in.Last = func(t *value.Thread, form value.Value) {
			v := shortened(t, t.Call1(expand, form), r.text("display-namespaces"))
			text, _ = corelib.Pretty(t, v, corelib.Layout{Length: -1, Level: -1, MaxBytes: s.conf.MaxValue})
		}
		if _, err := scratch.Eval(j.ctx, in); err != nil {
			j.macroError(err)
			return
		}
		j.finish(bencode.Dict{"expansion": valid(text)}, "done")
	})
}

func (j *job) macroError(err error) {
	le, ok := err.(*lisp.Error)
	if !ok || le.Kind == "cancelled" {
		return // who interrupts is told by the end of the job
	}
	j.finish(bencode.Dict{"err": explain(le), "ex": className(le), "root-ex": className(le)}, "error", "macroexpand-error", "done")
}

// shortened takes namespaces off the symbols of a form: none keeps no namespace, tidy none that the reader of the
// namespace can do without. Others stay as they are.
func shortened(t *value.Thread, v value.Value, mode string) value.Value {
	if mode != "none" && mode != "tidy" {
		return v
	}
	aliases := map[string]string{}
	for alias, ns := range t.NS().Aliases() {
		aliases[ns] = alias
	}
	return rename(t, v, func(sym *value.Symbol) *value.Symbol {
		switch {
		case sym.NS == "":
			return sym
		case mode == "none", sym.NS == t.NS().Name, sym.NS == t.Env.Core.Name && t.NS().Var(sym.Name) == nil && t.NS().SeesCore(sym.Name):
			return value.NewSymbol("", sym.Name)
		case aliases[sym.NS] != "":
			return value.NewSymbol(aliases[sym.NS], sym.Name)
		}
		return sym
	})
}

// rename rebuilds a form with its symbols changed.
func rename(t *value.Thread, v value.Value, f func(*value.Symbol) *value.Symbol) value.Value {
	t.Step()
	k := v.Kind()
	if k == value.KindSymbol {
		return value.Of(f(value.As[value.Symbol](v)))
	}
	if !k.IsColl() || k == value.KindRecord {
		return v
	}
	t.Enter()
	defer t.Leave()
	var items []value.Value
	if k.IsMap() {
		value.EachKV(t, v, func(a, b value.Value) bool {
			items = append(items, rename(t, a, f), rename(t, b, f))
			return true
		})
		return value.NewMap(t, items...)
	}
	value.Each(t, v, func(x value.Value) bool {
		items = append(items, rename(t, x, f))
		return true
	})
	switch {
	case k.IsVector():
		return value.NewVector(t, items)
	case k.IsSet():
		return value.NewSet(t, items...)
	}
	return value.NewList(t, items...)
}

func (s *Server) opFormatCode(r *request) {
	code, ok := r.msg["code"].(string)
	if !ok {
		r.bad("code", "a string")
		return
	}
	text, err := formatCode(code)
	if err != nil {
		r.finish(bencode.Dict{"err": err.Error() + "\n", "message": err.Error()}, "error", "format-code-error", "done")
		return
	}
	r.answer(bencode.Dict{"formatted-code": text})
}

// opFormatEDN reads data, without evaluating anything, and prints it.
func (s *Server) opFormatEDN(r *request) {
	edn, ok := r.msg["edn"].(string)
	if !ok {
		r.bad("edn", "a string")
		return
	}
	var forms []string
	err := s.tool(r, func(t *value.Thread, _ *value.Namespace) {
		for _, v := range readEDN(t, edn) {
			text, _ := corelib.Pretty(t, v, corelib.Layout{Width: r.number("right-margin", 0), Length: -1, Level: -1, MaxBytes: s.conf.MaxValue})
			forms = append(forms, text)
		}
	})
	if err != nil {
		r.finish(bencode.Dict{"err": err.Error() + "\n", "message": err.Error()}, "error", "format-edn-error", "done")
		return
	}
	r.answer(bencode.Dict{"formatted-edn": strings.Join(forms, "\n")})
}
