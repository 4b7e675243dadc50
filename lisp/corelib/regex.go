package corelib

import (
	"github.com/reflection-dev/zeno/lisp/value"
)

func regexes() []Def {
	return []Def{
		def1("re-pattern", "[s]", "The regex of a pattern in Java's syntax. Lookaround, backreferences, possessive quantifiers "+
			"and class intersections are not supported, and say so.", rePattern),
		def1("regex?", "[x]", "True when x is a regex.", func(_ *Thread, x Value) Value {
			return value.Bool(x.Kind() == value.KindRegex)
		}),
		def2("re-matcher", "[re s]", "A matcher for re-find, which goes through s.", reMatcher),
		{Name: "re-find", Arglists: "([m] [re s])", F1: nextMatch, F2: reFind,
			Doc: "The first match of re in s, or the next one of a matcher: a string, or a vector of the match and its groups; nil if none."},
		def2("re-matches", "[re s]", "The match of re and all of s: a string, or a vector of it and its groups; nil if none.", reMatches),
		def1("re-groups", "[m]", "What the matcher found last.", reGroups),
		def2("re-seq", "[re s]", "A lazy seq of the matches of re in s.", reSeq),
	}
}

func regexOf(t *Thread, who string, v Value) *value.Regex {
	if v.Kind() != value.KindRegex {
		panic(value.TypeError(t, who, v, "a regex"))
	}
	return value.As[value.Regex](v)
}

func textOf(t *Thread, who string, v Value) string {
	if v.Kind() != value.KindString {
		panic(value.TypeError(t, who, v, "a string"))
	}
	return v.Text()
}

func rePattern(t *Thread, s Value) Value {
	if s.Kind() == value.KindRegex {
		return s
	}
	return CompileRegex(t, textOf(t, "re-pattern", s))
}

func reFind(t *Thread, re, s Value) Value {
	r, text := regexOf(t, "re-find", re), textOf(t, "re-find", s)
	loc := findFrom(t, r, text, 0)
	if loc == nil {
		return value.Nil
	}
	return groups(t, text, loc)
}

func reMatches(t *Thread, re, s Value) Value {
	r, text := regexOf(t, "re-matches", re), textOf(t, "re-matches", s)
	loc := matchWhole(t, r, text)
	if loc == nil {
		return value.Nil
	}
	return groups(t, text, loc)
}

// reSeq looks for the first match at once, so that it is nil when there is none.
func reSeq(t *Thread, re, s Value) Value {
	return matchesFrom(t, regexOf(t, "re-seq", re), textOf(t, "re-seq", s), 0, re, s)
}

// matchesFrom gives the seq of the matches from a byte offset on, or nil. re and s are what r and text belong to.
func matchesFrom(t *Thread, r *value.Regex, text string, from int, re, s Value) Value {
	if from < 0 {
		return value.Nil
	}
	loc := findFrom(t, r, text, from)
	if loc == nil {
		return value.Nil
	}
	next := after(text, loc)
	rest := value.NewLazyGo(func(t *Thread) Value { return matchesFrom(t, r, text, next, re, s) }, re, s)
	t.Charge(160)
	return value.Cons(t, groups(t, text, loc), rest)
}

func reMatcher(t *Thread, re, s Value) Value {
	t.Charge(192)
	m := &value.Matcher{Header: value.Head(value.KindMatcher), Re: regexOf(t, "re-matcher", re), Text: textOf(t, "re-matcher", s)}
	m.State.Store(&value.MatchState{})
	return value.Of(m)
}

func matcherOf(t *Thread, who string, v Value) *value.Matcher {
	if v.Kind() != value.KindMatcher {
		panic(value.TypeError(t, who, v, "a matcher"))
	}
	return value.As[value.Matcher](v)
}

// nextMatch goes on with a matcher.
func nextMatch(t *Thread, v Value) Value {
	m := matcherOf(t, "re-find", v)
	st := m.State.Load()
	if st.Done {
		return value.Nil
	}
	loc := findFrom(t, m.Re, m.Text, st.Next)
	if loc == nil {
		m.State.Store(&value.MatchState{Done: true})
		return value.Nil
	}
	found := groups(t, m.Text, loc)
	next := after(m.Text, loc)
	t.Charge(64)
	m.State.Store(&value.MatchState{Next: max(next, 0), Done: next < 0, Loc: loc})
	return found
}

func reGroups(t *Thread, v Value) Value {
	m := matcherOf(t, "re-groups", v)
	loc := m.State.Load().Loc
	if loc == nil {
		panic(value.StateError("re-groups: No match found; call re-find first"))
	}
	return groups(t, m.Text, loc)
}
