package corelib

import (
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

func TestFormat(t *testing.T) {
	evals(t, [][2]string{
		{`(format "%-5d|" 42)`, `"42   |"`}, {`(format "%05d" -42)`, `"-0042"`}, {`(format "%,d" 1234567)`, `"1,234,567"`}, {`(format "%+d" 5)`, `"+5"`},
		{`(format "% d" 5)`, `" 5"`}, {`(format "%(d" -5)`, `"(5)"`}, {`(format "%d" 12345678901234567890N)`, `"12345678901234567890"`},
		{`(format "%x" 255)`, `"ff"`}, {`(format "%X" 255)`, `"FF"`}, {`(format "%#x" 255)`, `"0xff"`}, {`(format "%08x" 48879)`, `"0000beef"`},
		{`(format "%x" -1)`, `"ffffffffffffffff"`}, {`(format "%x" -255N)`, `"-ff"`}, {`(format "%o" 8)`, `"10"`}, {`(format "%10s|" "hi")`, `"        hi|"`},
		{`(format "%-10s|" "hi")`, `"hi        |"`}, {`(format "%.3s" "abcdef")`, `"abc"`}, {`(format "%S" "straße")`, `"STRASSE"`}, {`(format "%s" nil)`, `"null"`},
		{`(format "%d" nil)`, `"null"`}, {`(format "%c" \a)`, `"a"`}, {`(format "%c" 97)`, `"a"`}, {`(format "%b" nil)`, `"false"`}, {`(format "%B" 1)`, `"TRUE"`},
		{`(format "%.2f" 3.14159)`, `"3.14"`}, {`(format "%f" 1.5)`, `"1.500000"`}, {`(format "%.0f" 2.5)`, `"3"`}, {`(format "%.1f" 0.25)`, `"0.3"`},
		{`(format "%.2f" 1.005)`, `"1.01"`}, {`(format "%,.2f" 1234567.891)`, `"1,234,567.89"`}, {`(format "%8.3f|" 3.14159)`, `"   3.142|"`},
		{`(format "%08.2f" -3.14159)`, `"-0003.14"`}, {`(format "%.3f" 1.0005M)`, `"1.001"`}, {`(format "%f" ##Inf)`, `"Infinity"`}, {`(format "%.2f" -0.0)`, `"-0.00"`},
		{`(format "%e" 12345.678)`, `"1.234568e+04"`}, {`(format "%.2e" 0.00012)`, `"1.20e-04"`}, {`(format "%e" 0.0)`, `"0.000000e+00"`}, {`(format "%.0e" 9.5)`, `"1e+01"`},
		{`(format "%E" 1e100)`, `"1.000000E+100"`}, {`(format "%g" 0.0001)`, `"0.000100000"`}, {`(format "%g" 123456.0)`, `"123456"`}, {`(format "%g" 1234567.0)`, `"1.23457e+06"`},
		{`(format "%g" 0.0)`, `"0.00000"`}, {`(format "%%")`, `"%"`}, {`(format "%n")`, `"\n"`}, {`(format "%2$s %1$s" "a" "b")`, `"b a"`}, {`(format "%s %<s" "a")`, `"a a"`},
		{`(format "%d%%" 50)`, `"50%"`}, {`(format "%s" [1 "a"])`, `"[1 \"a\"]"`}, {`(format "x" 1)`, `"x"`}, {`(format "é%3s" "λ")`, `"é  λ"`},
	})
}

func TestFormatErrors(t *testing.T) {
	evals(t, [][2]string{
		{`(format "%s")`, "!IllegalArgumentException: format: in %s: got 0 arguments"}, {`(format "%f" 1)`, "!IllegalArgumentException: format: in %f: got 1 (integer), want a float"},
		{`(format "%d" 1.5)`, "!IllegalArgumentException"}, {`(format "%q" 1)`, "!IllegalArgumentException"}, {`(format "%")`, "!IllegalArgumentException"},
		{`(format "%-d" 1)`, "!IllegalArgumentException"}, {`(format "%.2d" 1)`, "!IllegalArgumentException"}, {`(format "%é" 1)`, "!IllegalArgumentException"},
		{`(format "%c" "a")`, "!IllegalArgumentException"}, {`(format nil)`, "!NullPointerException"}, {`(format "%<s" 1)`, "!IllegalArgumentException"}, {`(format "%.f" 1.0)`, "!IllegalArgumentException"},
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%5.2f", "%-,d", "%2$s", "%<x", "%(,+010d%%", "%S%n"} {
		f.Add(s, 1.5)
	}
	f.Fuzz(func(_ *testing.T, format string, x float64) {
		c := newCalc(limit.Limits{Steps: 1_000_000, Alloc: 8 << 20}.OrDefault())
		defer func() {
			switch r := recover().(type) {
			case nil, *value.Exception, *limit.Error:
			default:
				panic(r)
			}
		}()
		Format(c.t, format, []Value{value.Float(x), value.Int(int64(len(format))), value.Str(format)})
	})
}
