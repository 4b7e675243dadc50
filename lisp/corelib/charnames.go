package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// charConstants are the two maps of the core that name characters.
func charConstants() []Const {
	t := unlimited()
	escapes := value.NewMap(t, value.Char('\n'), value.Str(`\n`), value.Char('\t'), value.Str(`\t`), value.Char('\r'), value.Str(`\r`),
		value.Char('"'), value.Str(`\"`), value.Char('\\'), value.Str(`\\`), value.Char('\f'), value.Str(`\f`), value.Char('\b'), value.Str(`\b`))
	names := value.NewMap(t, value.Char('\n'), value.Str("newline"), value.Char('\t'), value.Str("tab"), value.Char(' '), value.Str("space"),
		value.Char('\b'), value.Str("backspace"), value.Char('\f'), value.Str("formfeed"), value.Char('\r'), value.Str("return"))
	return []Const{
		{Name: "char-escape-string", Value: escapes, Doc: "A map from characters to the escapes that strings have for them."},
		{Name: "char-name-string", Value: names, Doc: "A map from characters to their names."},
	}
}
