package stdlib

import (
	"strconv"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// strconvNS is joker.strconv: numbers and quoted text, as Go writes them.
func strconvNS() []value.Builtin {
	return []value.Builtin{
		def("atoi", "([s])", "The integer that s writes in decimal.", func(s string) int64 { return parseInt("atoi", s, 10, 64) }),
		def("itoa", "([i])", "An integer in decimal.", strconv.Itoa),
		def("parse-int", "([s base bitSize])", "The integer that s writes in a base of 2 to 36, or by its prefix where base is 0, and that fits bitSize bits (0: 64).",
			func(s string, base, bits int) int64 { return parseInt("parse-int", s, base, bits) }),
		def("format-int", "([i base])", "An integer in a base of 2 to 36.", formatInt),
		def("parse-bool", "([s])", "The boolean that s writes: 1, t, T, true, True, TRUE, or the same for false.", parseBool),
		def("format-bool", "([b])", "\"true\" or \"false\".", strconv.FormatBool),
		def("parse-double", "([s])", "The double that s writes.", parseDouble),
		def("format-double", "([f fmt prec bitSize])", "A double by the format \\b \\e \\E \\f \\g \\G \\x or \\X, with prec digits (-1: as many as it needs), rounded as one of bitSize bits, 32 or 64.", formatDouble),
		def("quote", "([s])", "s in double quotes, with Go's escapes for what is not printable.", strconv.Quote),
		def("quote-to-ascii", "([s])", "As quote, with escapes for all that is not ASCII.", strconv.QuoteToASCII),
		def("quote-to-graphic", "([s])", "As quote, but leaving all graphic characters as they are.", strconv.QuoteToGraphic),
		def("unquote", "([s])", "The text that s quotes, in single, double or back quotes.", unquote),
		def("can-backquote?", "([s])", "Whether s can stand unchanged between back quotes.", strconv.CanBackquote),
		charFn("quote-char", "c in single quotes, with Go's escapes for what is not printable.", strconv.QuoteRune),
		charFn("quote-char-to-ascii", "As quote-char, with an escape for what is not ASCII.", strconv.QuoteRuneToASCII),
		charFn("quote-char-to-graphic", "As quote-char, but leaving a graphic character as it is.", strconv.QuoteRuneToGraphic),
		charFn("graphic?", "Whether c is graphic: printable, or a space.", strconv.IsGraphic),
		charFn("printable?", "Whether c is printable: a letter, mark, number, punctuation, symbol or ASCII space.", strconv.IsPrint),
	}
}

func charFn[T any](name, doc string, f func(rune) T) value.Builtin {
	return def(name, "([c])", doc, func(t *Thread, c Value) T {
		return f(charOf(t, name, c))
	})
}

func charOf(t *Thread, who string, c Value) rune {
	if c.Kind() != value.KindChar {
		panic(value.TypeError(t, who, c, "a character"))
	}
	return c.Char()
}

func notNumber(who, s, want string) *value.Exception {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return value.Errorf("NumberFormatException", "%s: got %q, want %s", who, s, want)
}

func checkBase(who string, base int, auto bool) {
	if (base < 2 || base > 36) && (base != 0 || !auto) {
		panic(value.ArgError("%s: got the base %d, want 2 to 36", who, base))
	}
}

func parseInt(who, s string, base, bits int) int64 {
	checkBase(who, base, true)
	if bits < 0 || bits > 64 {
		panic(value.ArgError("%s: got %d bits, want 0 to 64", who, bits))
	}
	n, err := strconv.ParseInt(s, base, bits)
	if err != nil {
		panic(notNumber(who, s, "an integer within its range"))
	}
	return n
}

func formatInt(i int64, base int) string {
	checkBase("format-int", base, false)
	return strconv.FormatInt(i, base)
}

func parseBool(s string) bool {
	b, err := strconv.ParseBool(s)
	if err != nil {
		panic(value.ArgError("parse-bool: got %q, want true or false", s))
	}
	return b
}

func parseDouble(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(notNumber("parse-double", s, "a number within the range of doubles"))
	}
	return f
}

func formatDouble(t *Thread, f float64, format Value, prec, bits int) Value {
	c := charOf(t, "format-double", format)
	if !strings.ContainsRune("beEfgGxX", c) || bits != 32 && bits != 64 || prec < -1 || prec > 1<<16 {
		panic(value.ArgError(`format-double: got %c, %d digits and %d bits, want one of \b \e \E \f \g \G \x \X, -1 to 65536 and 32 or 64`, c, prec, bits))
	}
	t.Charge(max(prec, 0) + 400)
	return str(t, strconv.FormatFloat(f, byte(c), prec, bits))
}

func unquote(s string) string {
	out, err := strconv.Unquote(s)
	if err != nil {
		panic(value.ArgError("unquote: got a string that is not quoted right, want one such as %s", strconv.Quote("text")))
	}
	return out
}
