package corelib

import (
	"fmt"
	"math"
	"unicode/utf16"

	"github.com/reflection-dev/zeno/lisp/value"
)

func jsonWrite1(t *Thread, v Value) Value { return value.Str(writeJSON(t, v, &jsonOptions{})) }

func jsonWriteMap(t *Thread, v, opts Value) Value {
	return value.Str(writeJSON(t, v, jsonOptionsMap(t, opts)))
}

func jsonWriteStr(t *Thread, args []Value) Value {
	return value.Str(writeJSON(t, args[0], jsonOptionsOf(t, "json/write-str", args[1:])))
}

func jsonWriteTo(t *Thread, args []Value) Value {
	s := writeJSON(t, args[0], jsonOptionsOf(t, "json/write", args[2:]))
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.OutVar}, []Value{args[1]})
	emit(t, []byte(s))
	t.Binds = saved
	return value.Nil
}

func writeJSON(t *Thread, v Value, o *jsonOptions) string {
	e := &jsonEncoder{t: t, o: o, p: value.NewPrinter(false)}
	e.value(v)
	return e.p.Take(t)
}

// jsonEncoder writes JSON into a printer, which charges for it.
type jsonEncoder struct {
	t     *Thread
	o     *jsonOptions
	p     *value.Printer
	level int
}

func (e *jsonEncoder) text(s string) { e.p.Text(e.t, s) }

func (e *jsonEncoder) value(v Value) {
	e.t.Step()
	switch k := v.Kind(); {
	case k == value.KindNil:
		e.text("null")
	case k == value.KindBool:
		e.p.Print(e.t, v)
	case k.IsNumber():
		e.number(v)
	case k == value.KindString:
		e.string(v.Text())
	case k == value.KindKeyword, k == value.KindSymbol:
		e.string(nameOf(e.t, v).Text())
	case k == value.KindChar, k == value.KindUUID, k == value.KindInst:
		e.string(value.ToString(e.t, v))
	case k.IsMap():
		e.t.Enter()
		e.object(v)
		e.t.Leave()
	case k.IsColl():
		e.t.Enter()
		e.array(v)
		e.t.Leave()
	default:
		panic(value.TypeError(e.t, "json", v, "data: a map, a collection, a string, a number, a boolean or nil"))
	}
}

func (e *jsonEncoder) number(v Value) {
	switch v.Kind() {
	case value.KindFloat:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			panic(value.ArgError("json: got %s, want a finite number", value.Brief(e.t, v)))
		}
		e.p.Print(e.t, v)
	case value.KindRatio:
		e.p.Print(e.t, value.Float(value.ToFloat(e.t, v)))
	default:
		e.text(value.ToString(e.t, v))
	}
}

// line starts a new line under :indent.
func (e *jsonEncoder) line() {
	if !e.o.indent {
		return
	}
	e.text("\n")
	for range e.level {
		e.t.Step()
		e.text("  ")
	}
}

func (e *jsonEncoder) array(v Value) {
	e.text("[")
	e.level++
	n := 0
	value.Each(e.t, v, func(x Value) bool {
		if n > 0 {
			e.text(",")
		}
		n++
		e.line()
		e.value(x)
		return true
	})
	e.level--
	if n > 0 {
		e.line()
	}
	e.text("]")
}

func (e *jsonEncoder) object(m Value) {
	e.text("{")
	e.level++
	n := 0
	value.EachKV(e.t, m, func(k, v Value) bool {
		key := e.key(k)
		if !e.o.valueFn.IsNil() {
			v = e.t.Call2(e.o.valueFn, k, v)
			if value.Identical(v, e.o.valueFn) { // as data.json has it: leave the entry out
				return true
			}
		}
		if n > 0 {
			e.text(",")
		}
		n++
		e.line()
		e.string(key)
		e.text(":")
		if e.o.indent {
			e.text(" ")
		}
		e.value(v)
		return true
	})
	e.level--
	if n > 0 {
		e.line()
	}
	e.text("}")
}

func (e *jsonEncoder) key(k Value) string {
	if !e.o.keyFn.IsNil() {
		k = e.t.Call1(e.o.keyFn, k)
	}
	switch k.Kind() {
	case value.KindNil:
		panic(value.ArgError("json: got nil for a key, want a string, keyword or symbol"))
	case value.KindKeyword, value.KindSymbol:
		return nameOf(e.t, k).Text()
	}
	return value.ToString(e.t, k)
}

func (e *jsonEncoder) string(s string) {
	e.text(`"`)
	start := 0
	for i, r := range s {
		esc := e.escape(r)
		if esc == "" {
			continue
		}
		e.t.Step()
		e.text(s[start:i])
		e.text(esc)
		start = i + len(string(r))
	}
	e.text(s[start:])
	e.text(`"`)
}

// escape gives what stands for r inside a string, or "" for r itself.
func (e *jsonEncoder) escape(r rune) string {
	switch r {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '/':
		if e.o.escapeSlash {
			return `\/`
		}
		return ""
	}
	switch {
	case r < ' ' || r == '\u2028' || r == '\u2029':
		return fmt.Sprintf(`\u%04x`, r)
	case r > 0xffff && e.o.escapeAll:
		a, b := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, a, b)
	case r > 126 && e.o.escapeAll:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return ""
}
