package corelib

import (
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

func replacing() []Def {
	return []Def{
		{Name: "replace", Arglists: "([s match replacement])",
			Doc: "s with every match replaced: a string by a string, a character by a character, or a regex by a string in which " +
				"$1 and ${name} stand for groups, or by what a function gives for the match.",
			F3: func(t *Thread, s, m, r Value) Value { return replace(t, "replace", s, m, r, -1) }},
		{Name: "replace-first", Arglists: "([s match replacement])", Doc: "Like replace, for the first match only.",
			F3: func(t *Thread, s, m, r Value) Value { return replace(t, "replace-first", s, m, r, 1) }},
		def1("re-quote-replacement", "[replacement]", "replacement with every $ and \\ made to stand for itself.", quoteReplacement),
		def1("re-quote", "[s]", "A regex that matches s and nothing else.", reQuote),
	}
}

// replace replaces at most n matches; all when n is below zero.
func replace(t *Thread, who string, s, match, by Value, n int) Value {
	obj := shownString(t, who, s)
	s = value.Of(obj)
	text := s.Text()
	switch match.Kind() {
	case value.KindString:
		return replaceText(t, text, match.Text(), textOf(t, who, by), n)
	case value.KindChar:
		if by.Kind() != value.KindChar {
			panic(value.TypeError(t, who, by, "a character, as what it replaces"))
		}
		return replaceText(t, text, chars(t, who, match), chars(t, who, by), n)
	case value.KindRegex:
		r := value.As[value.Regex](match)
		if by.Kind() == value.KindString {
			template := by.Text()
			return replaceRegex(t, s, text, r, n, func(b *builder, loc []int) { expand(b, who, r, template, text, loc) })
		}
		return replaceRegex(t, s, text, r, n, func(b *builder, loc []int) {
			b.add(textOf(t, who, t.Call1(by, groups(t, text, loc))))
		})
	}
	panic(value.TypeError(t, who, match, "a string, a character or a regex to replace"))
}

func replaceText(t *Thread, text, old, by string, n int) Value {
	b := builder{t: t}
	start := 0
	for ; n != 0; n-- {
		i := 0
		if old != "" {
			t.Step()
			if i = indexFrom(t, text, old, start); i < 0 {
				break
			}
			b.add(text[start:i])
			b.add(by)
			start = i + len(old)
			continue
		}
		t.Step()
		b.add(by)
		if start == len(text) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		b.add(text[start : start+size])
		start += size
	}
	b.add(text[start:])
	return b.value()
}

// replaceRegex has put append what stands for each match.
func replaceRegex(t *Thread, s Value, text string, r *value.Regex, n int, put func(b *builder, loc []int)) Value {
	b := builder{t: t}
	start, found := 0, false
	eachMatch(t, r, text, func(loc []int) bool {
		t.Step()
		b.add(text[start:loc[0]])
		put(&b, loc)
		start, found = loc[1], true
		n--
		return n != 0
	})
	if !found {
		return s
	}
	b.add(text[start:])
	return b.value()
}

// expand appends a replacement in Java's notation: $1, ${name}, and \ before a character that stands for itself.
func expand(b *builder, who string, r *value.Regex, template, text string, loc []int) {
	for i := 0; i < len(template); {
		j := strings.IndexAny(template[i:], `$\`)
		if j < 0 {
			b.add(template[i:])
			return
		}
		b.t.Step()
		b.add(template[i : i+j])
		i += j
		if i+1 == len(template) {
			panic(value.ArgError("%s: got a replacement that ends in %q, want a character behind it", who, template[i:]))
		}
		if template[i] == '\\' {
			_, n := utf8.DecodeRuneInString(template[i+1:])
			b.add(template[i+1 : i+1+n])
			i += 1 + n
			continue
		}
		group, next := reference(who, r, template, i+1)
		if loc[2*group] >= 0 {
			b.add(text[loc[2*group]:loc[2*group+1]])
		}
		i = next
	}
}

// reference reads the group that is named after a dollar sign at i: as many digits as make a group that there is.
func reference(who string, r *value.Regex, template string, i int) (group, next int) {
	if template[i] == '{' {
		end := strings.IndexByte(template[i:], '}')
		for n, name := range r.Names {
			if end > 0 && name != "" && name == template[i+1:i+end] {
				return n, i + end + 1
			}
		}
		panic(value.ArgError("%s: got $%s, want the name of a group of the regex", who, template[i:]))
	}
	if template[i] < '0' || template[i] > '9' {
		panic(value.ArgError("%s: Illegal group reference: a $ in a replacement wants a number behind it, or a \\ before it", who))
	}
	group = int(template[i] - '0')
	if group > r.Groups {
		panic(value.Errorf("IndexOutOfBoundsException", "%s: got $%d, want a group from 0 to %d", who, group, r.Groups))
	}
	for i++; i < len(template) && template[i] >= '0' && template[i] <= '9'; i++ {
		more := group*10 + int(template[i]-'0')
		if more > r.Groups {
			break
		}
		group = more
	}
	return group, i
}

func quoteReplacement(t *Thread, s Value) Value {
	b := builder{t: t}
	for _, r := range shown(t, "re-quote-replacement", s) {
		t.Step()
		if r == '$' || r == '\\' {
			b.rune('\\')
		}
		b.rune(r)
	}
	return b.value()
}

func reQuote(t *Thread, s Value) Value {
	b := builder{t: t}
	for _, r := range textOf(t, "re-quote", s) {
		t.Step()
		b.add(quoteRune(r))
	}
	return CompileRegex(t, b.text())
}
