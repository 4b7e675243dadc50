package corelib

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// maxProgram is how many instructions a pattern may compile to.
const maxProgram = 20_000

// instBytes is what an instruction takes in the three forms of a pattern.
const instBytes = 3 * 64

// CompileRegex makes a regex of a pattern in Java's syntax; the reader calls it too. It throws a PatternSyntaxException.
func CompileRegex(t *Thread, src string) Value {
	t.Steps(1 + len(src)/4)
	t.Charge(64*len(src) + 8192*strings.Count(strings.ToLower(src), `\p`) + 512)
	pattern, ex := translate(src)
	if ex != nil {
		panic(ex)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(patternError(src, reason(src, err)))
	}
	size := programSize(tree)
	if size > maxProgram {
		panic(patternError(src, "it repeats too much"))
	}
	t.Steps(size / 4)
	t.Charge(size * instBytes)
	re, err := regexp.Compile(pattern)
	if err != nil {
		panic(patternError(src, reason(src, err)))
	}
	r := &value.Regex{Header: value.Head(value.KindRegex), Source: src, Go: pattern, Size: size,
		Groups: re.NumSubexp(), Names: re.SubexpNames(), Search: re}
	if text, all := re.LiteralPrefix(); all && r.Groups == 0 {
		r.Literal = text
	}
	return value.Of(r)
}

// reason words an error of the regexp package; the part it is about is shown where it is not all of src.
func reason(src string, err error) string {
	e, ok := err.(*syntax.Error)
	switch {
	case ok && (e.Expr == "" || e.Expr == src):
		return e.Code.String()
	case ok:
		return e.Code.String() + ": " + e.Expr
	}
	return err.Error()
}

// programSize bounds the number of instructions that a tree compiles to, before it is compiled. The parser has bounded
// the depth of the tree.
func programSize(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n = min(n+programSize(sub), maxProgram+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 16
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n += 2
	case syntax.OpRepeat:
		n *= max(re.Max, re.Min+1, 1)
	case syntax.OpAlternate:
		n += len(re.Sub)
	}
	return min(n, maxProgram+1)
}

// whole gives the form of r that matches nothing but a whole text.
func whole(r *value.Regex) *regexp.Regexp {
	if re := r.Whole.Load(); re != nil {
		return re
	}
	re := formOfRegex(r, `\A(?:`+r.Go+`)\z`)
	r.Whole.Store(re)
	return re
}

// resume gives the form of r that goes on inside a text. Its first character is the one before the place to start from,
// so that ^ and \b see what stands there; its first group is the match.
func resume(r *value.Regex) *regexp.Regexp {
	if re := r.Resume.Load(); re != nil {
		return re
	}
	re := formOfRegex(r, `\A(?s:.)(?s:.)*?(`+r.Go+`)`)
	r.Resume.Store(re)
	return re
}

// formOfRegex compiles a form of r. What r itself nests as deeply as can be, it nests deeper.
func formOfRegex(r *value.Regex, pattern string) *regexp.Regexp {
	re, err := regexp.Compile(pattern)
	if err != nil {
		panic(patternError(r.Source, reason(r.Source, err)))
	}
	return re
}
