package corelib

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

func splitting() []Def {
	return []Def{
		{Name: "split", Arglists: "([s re] [s re limit])",
			Doc: "A vector of the parts of s between the matches of re. With a limit above zero at most so many parts; " +
				"empty parts at the end are left out unless a limit is given.",
			F2: func(t *Thread, s, re Value) Value { return split(t, s, re, value.Int(0)) }, F3: split},
		def1("split-lines", "[s]", `A vector of the lines of s, which end in \n or \r\n.`, splitLines),
	}
}

// parts gathers strings for a vector.
type parts struct {
	t  *Thread
	xs []Value
}

func (p *parts) add(text string, i, j int) {
	p.t.Step()
	p.t.Charge(32)
	x := piece(p.t, text, i, j)
	p.t.Pin(stringBytes + j - i + 32)
	p.xs = append(p.xs, x)
}

// vector ends the gathering; trim leaves out the empty parts at the end.
func (p *parts) vector(trim bool) Value {
	n := len(p.xs)
	for trim && n > 0 && p.xs[n-1].Text() == "" {
		n--
	}
	v := value.NewVectorOwned(p.t, p.xs[:n:n])
	for _, x := range p.xs {
		p.t.Unpin(stringBytes + len(x.Text()) + 32)
	}
	return v
}

func split(t *Thread, s, re, limit Value) Value {
	text := textOf(t, "split", s)
	if re.Kind() == value.KindString {
		panic(value.TypeError(t, "split", re, "a regex such as #\",\""))
	}
	r := regexOf(t, "split", re)
	return splitBy(t, s, text, r, int(value.ToInt(t, "split", limit, minIndex, maxIndex)))
}

// splitBy follows Java's Pattern.split.
func splitBy(t *Thread, s Value, text string, r *value.Regex, limit int) Value {
	p := parts{t: t}
	start, found := 0, false
	if limit != 1 {
		eachMatch(t, r, text, func(loc []int) bool {
			if loc[1] == 0 { // an empty match at the beginning parts nothing
				return true
			}
			p.add(text, start, loc[0])
			start, found = loc[1], true
			return limit <= 0 || len(p.xs) < limit-1
		})
	}
	if !found {
		return value.NewVector(t, []Value{s})
	}
	p.add(text, start, len(text))
	return p.vector(limit == 0)
}

func splitLines(t *Thread, s Value) Value {
	text := textOf(t, "split-lines", s)
	p := parts{t: t}
	start := 0
	for {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			break
		}
		t.Steps(i / 64)
		end := start + i
		if end > start && text[end-1] == '\r' {
			end--
		}
		p.add(text, start, end)
		start += i + 1
	}
	if start == 0 {
		return value.NewVector(t, []Value{s})
	}
	p.add(text, start, len(text))
	return p.vector(true)
}
