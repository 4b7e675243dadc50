package corelib

import (
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// stringNS is clojure.string, with what joker.string has besides. Indices count code points.
func stringNS() []Def {
	return concat(caseAndTrim(), searching(), rebuilding(), splitting(), replacing())
}

// text1 makes a function from a text to a text that is not longer.
func text1(name, doc string, f func(string) string) Def {
	return def1(name, "[s]", doc, func(t *Thread, s Value) Value {
		text := textOf(t, name, s)
		t.Steps(len(text) / 16)
		out := f(text)
		if len(out) == len(text) {
			return s
		}
		return piece(t, out, 0, len(out))
	})
}

func caseAndTrim() []Def {
	left := func(s string) string { return strings.TrimLeftFunc(s, isSpace) }
	right := func(s string) string { return strings.TrimRightFunc(s, isSpace) }
	return []Def{
		def1("upper-case", "[s]", "s in capital letters.", func(t *Thread, s Value) Value {
			return newStr(t, upper(t, shown(t, "upper-case", s)))
		}),
		def1("lower-case", "[s]", "s in small letters.", func(t *Thread, s Value) Value {
			return newStr(t, lower(t, shown(t, "lower-case", s)))
		}),
		def1("capitalize", "[s]", "The first character of s as a capital, the rest in small letters.", capitalize),
		text1("trim", "s without the white space at both ends.", func(s string) string { return strings.TrimFunc(s, isSpace) }),
		text1("triml", "s without the white space before it.", left),
		text1("trimr", "s without the white space behind it.", right),
		text1("trim-left", "s without the white space before it.", left),
		text1("trim-right", "s without the white space behind it.", right),
		text1("trim-newline", "s without the line ends behind it.", func(s string) string { return strings.TrimRight(s, "\r\n") }),
		def1("blank?", "[s]", "True when s is nil, empty or white space only.", func(t *Thread, s Value) Value {
			if s.IsNil() {
				return value.True
			}
			text := textOf(t, "blank?", s)
			t.Steps(len(text) / 16)
			return value.Bool(strings.TrimLeftFunc(text, isSpace) == "")
		}),
	}
}

func capitalize(t *Thread, s Value) Value {
	text := shown(t, "capitalize", s)
	_, n := utf8.DecodeRuneInString(text)
	b := builder{t: t}
	b.add(upper(t, text[:n]))
	b.add(lower(t, text[n:]))
	return b.value()
}

// within makes a predicate of a text and a part.
func within(name, doc string, show bool, f func(t *Thread, s, part string) bool) Def {
	return def2(name, "[s substr]", doc, func(t *Thread, s, part Value) Value {
		if show {
			return value.Bool(f(t, shown(t, name, s), textOf(t, name, part)))
		}
		return value.Bool(f(t, shown(t, name, s), chars(t, name, part)))
	})
}

func searching() []Def {
	return []Def{
		within("includes?", "True when substr is a part of s.", false, func(t *Thread, s, part string) bool {
			return indexFrom(t, s, part, 0) >= 0
		}),
		within("starts-with?", "True when s begins with substr.", true, func(t *Thread, s, part string) bool {
			t.Steps(len(part) / 64)
			return strings.HasPrefix(s, part)
		}),
		within("ends-with?", "True when s ends with substr.", true, func(t *Thread, s, part string) bool {
			t.Steps(len(part) / 64)
			return strings.HasSuffix(s, part)
		}),
		{Name: "index-of", Arglists: "([s value] [s value from-index])",
			Doc: "Where value, a string or a character, first stands in s, from an index on; nil if nowhere.",
			F2:  func(t *Thread, s, v Value) Value { return indexOf(t, s, v, value.Int(0)) }, F3: indexOf},
		{Name: "last-index-of", Arglists: "([s value] [s value from-index])",
			Doc: "Where value, a string or a character, last stands in s, from an index backwards; nil if nowhere.",
			F2:  func(t *Thread, s, v Value) Value { return lastIndexOf(t, s, v, value.Int(maxIndex)) }, F3: lastIndexOf},
	}
}

// indexValue gives a byte offset of text as an index in code points; nil when it is below zero.
func indexValue(t *Thread, s *value.String, text string, i int) Value {
	if i < 0 {
		return value.Nil
	}
	if s.ASCII() {
		return value.Int(int64(i))
	}
	t.Steps(i / 64)
	return value.Int(int64(utf8.RuneCountInString(text[:i])))
}

// shownString is shown, as a string value.
func shownString(t *Thread, who string, s Value) *value.String {
	if s.Kind() != value.KindString {
		s = value.Str(shown(t, who, s))
	}
	return value.As[value.String](s)
}

func indexOf(t *Thread, s, v, from Value) Value {
	obj, part := shownString(t, "index-of", s), chars(t, "index-of", v)
	text := value.Of(obj).Text()
	start := value.ToInt(t, "index-of", from, minIndex, maxIndex)
	if int(start) > obj.Len() && part != "" {
		return value.Nil
	}
	return indexValue(t, obj, text, indexFrom(t, text, part, byteAt(t, obj, text, int(start))))
}

func lastIndexOf(t *Thread, s, v, from Value) Value {
	obj, part := shownString(t, "last-index-of", s), chars(t, "last-index-of", v)
	text := value.Of(obj).Text()
	start := value.ToInt(t, "last-index-of", from, minIndex, maxIndex)
	if start < 0 {
		return value.Nil
	}
	end := min(byteAt(t, obj, text, int(start))+len(part), len(text))
	t.Steps(end / 16)
	return indexValue(t, obj, text, strings.LastIndex(text[:end], part))
}

func rebuilding() []Def {
	return []Def{
		{Name: "join", Arglists: "([coll] [separator coll])", Doc: "The texts of the elements of coll, with separator between them.",
			F1: func(t *Thread, coll Value) Value { return join(t, "", coll) },
			F2: func(t *Thread, sep, coll Value) Value { return join(t, value.ToString(t, sep), coll) }},
		def1("reverse", "[s]", "s from its end to its beginning.", reverse),
		def2("escape", "[s cmap]", "s with each character replaced by what cmap gives for it, if anything.", escape),
		{Name: "pad-left", Arglists: "([s pad n])", Doc: "s with pad put before it until it is n characters long.",
			F3: func(t *Thread, s, pad, n Value) Value { return padded(t, "pad-left", s, pad, n, true) }},
		{Name: "pad-right", Arglists: "([s pad n])", Doc: "s with pad put behind it until it is n characters long.",
			F3: func(t *Thread, s, pad, n Value) Value { return padded(t, "pad-right", s, pad, n, false) }},
	}
}

func join(t *Thread, sep string, coll Value) Value {
	b := builder{t: t}
	first := true
	value.Each(t, coll, func(x Value) bool {
		if !first {
			b.add(sep)
		}
		first = false
		b.add(value.ToString(t, x))
		return true
	})
	return b.value()
}

func reverse(t *Thread, s Value) Value {
	text := textOf(t, "reverse", s)
	t.Steps(len(text) / 16)
	t.Charge(len(text) + stringBytes)
	out := make([]byte, len(text))
	for i, end := 0, len(text); i < len(text); {
		_, n := utf8.DecodeRuneInString(text[i:])
		copy(out[end-n:], text[i:i+n])
		i, end = i+n, end-n
	}
	return value.Str(string(out))
}

func escape(t *Thread, s, cmap Value) Value {
	b := builder{t: t}
	for _, r := range textOf(t, "escape", s) {
		t.Step()
		if x := t.Call1(cmap, value.Char(r)); !x.IsNil() && x.Truthy() {
			b.add(value.ToString(t, x))
		} else {
			b.rune(r)
		}
	}
	return b.value()
}

func padded(t *Thread, who string, s, pad, n Value, before bool) Value {
	text, fill := textOf(t, who, s), chars(t, who, pad)
	missing := int(value.ToInt(t, who, n, minIndex, maxIndex)) - value.As[value.String](s).Len()
	if missing <= 0 || fill == "" {
		return s
	}
	b := builder{t: t}
	if !before {
		b.add(text)
	}
	for missing > 0 {
		t.Step()
		if size := utf8.RuneCountInString(fill); size > missing {
			fill = fill[:byteAt(t, nil, fill, missing)]
		}
		b.add(fill)
		missing -= utf8.RuneCountInString(fill)
	}
	if before {
		b.add(text)
	}
	return b.value()
}
