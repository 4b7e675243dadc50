package read_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

func thread(l limit.Limits) *value.Thread {
	return value.NewThread(value.NewRun(context.Background(), l), value.NewEnv(value.NewNamespace("clojure.core"), nil))
}

func trusted() *value.Thread { return thread(limit.Trusted()) }

// program are the options of a namespace user that has the alias str and the core names + and inc.
func program() read.Options {
	n := 0
	return read.Options{
		File:      "f",
		CurrentNS: "user",
		AliasNS: func(_ *value.Thread, a string) (string, bool) {
			return "clojure.string", a == "str"
		},
		Resolve: func(_ *value.Thread, s *value.Symbol) *value.Symbol {
			switch {
			case s.NS == "str":
				return value.NewSymbol("clojure.string", s.Name)
			case s.NS != "":
				return s
			case s.Name == "+" || s.Name == "inc":
				return value.NewSymbol("clojure.core", s.Name)
			}
			return value.NewSymbol("user", s.Name)
		},
		Gensym: func(prefix string) string {
			n++
			return prefix + strconv.Itoa(n)
		},
		Regex: func(t *value.Thread, src string) value.Value {
			if src == "[" {
				panic(value.Errorf("PatternSyntaxException", "regex: got [, want a closed class"))
			}
			return value.Of(&value.Regex{Header: value.Head(value.KindRegex), Source: src})
		},
	}
}

// all reads every form of src and prints them, a space between.
func all(t *value.Thread, src string, o read.Options) (string, error) {
	r := read.New(t, src, o)
	var out []string
	for {
		v, err := r.Read()
		if err == io.EOF {
			return strings.Join(out, " "), nil
		}
		if err != nil {
			return strings.Join(out, " "), err
		}
		out = append(out, value.PrStr(t, v))
	}
}

// TestForms holds what each piece of syntax reads as; the values are those of JVM Clojure 1.11.
func TestForms(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", ""}, {" ,\t\n ; only a comment", ""}, {"#! shebang\n1", "1"}, {"\uFEFF1", "1"},
		// numbers
		{"42 -17 +5 0 -0 00 -00", "42 -17 5 0 0 0 0"},
		{"-0x10 0x1F -010 017 36rZZ 16rCAFE 8r17 2r101", "-16 31 -8 15 1295 51966 15 5"},
		{"9223372036854775807 -9223372036854775808 -9223372036854775809", "9223372036854775807 -9223372036854775808 -9223372036854775809N"},
		{"999999999999999999 1000000000000000000", "999999999999999999 1000000000000000000"},
		{"42N 0N -5N 0x10N", "42N 0N -5N 16N"},
		{"1.5e3 1e10 1E-5 -2.25e+2 0.5e0 1e400 -1e400 1e-400", "1500.0 1.0E10 1.0E-5 -225.0 0.5 ##Inf ##-Inf 0.0"},
		{"1.5M 100M 1.50M", "1.5M 100M 1.50M"},
		{"1/2 10/5 0/3", "1/2 2 0"},
		{"##Inf ##-Inf ##NaN", "##Inf ##-Inf ##NaN"},
		{"1'a", "1 (quote a)"}, {"[1#_2 3]", "[1 3]"},
		// names
		{"nil true false nilx true?", "nil true false nilx true?"},
		{"foo foo/bar foo/bar/baz a.b/c.d / clojure.core// foo' x'' a#b %", "foo foo/bar foo/bar/baz a.b/c.d / clojure.core// foo' x'' a#b %"},
		{"+ - -> ->x +x -.5 .5 ... $x _ <=> =x ! & λ été", "+ - -> ->x +x -.5 .5 ... $x _ <=> =x ! & λ été"},
		{":a :a.b/c :1a :+ :/ :foo-bar? :a.b.c/d.e :a//", ":a :a.b/c :1a :+ :/ :foo-bar? :a.b.c/d.e :a//"},
		{"::local ::str/join", ":user/local :clojure.string/join"},
		// characters
		{`\a \newline \space \tab \return \backspace \formfeed \\ \( \" \; \' \# \,`, `\a \newline \space \tab \return \backspace \formfeed \\ \( \" \; \' \# \,`},
		{`\u0041 \u00e9 \u03bb \o101 \o7 \λ \u \o`, `\A \é \λ \A ` + "\\\a" + ` \λ \u \o`},
		{`[\a\b]`, `[\a \b]`}, {`\☃ \😀`, `\☃ \😀`},
		// strings
		{`"hello" "" "λ → ∀"`, `"hello" "" "λ → ∀"`},
		{`"tab\there" "back\\slash" "q\"q" "\r\n\f\b"`, `"tab\there" "back\\slash" "q\"q" "\r\n\f\b"`},
		{`"\u00e9" "\u2603 snow" "\101\60" "\377" "\7 x"`, `"é" "☃ snow" "A0" "ÿ" "` + "\a" + ` x"`},
		{`"\uD83D\uDE00"`, `"😀"`}, {"\"a\nb\"", `"a\nb"`},
		{`"` + strings.Repeat("x", 100) + `\n"`, `"` + strings.Repeat("x", 100) + `\n"`},
		// collections
		{"() [] {} #{} (1 2 3) (a . b) [1 [2 (3)]]", "() [] {} #{} (1 2 3) (a . b) [1 [2 (3)]]"},
		{`{[1 2] :v, "k" v, nil 3}`, `{[1 2] :v, "k" v, nil 3}`}, {"{{:a 1} {:b 2}} #{a}", "{{:a 1} {:b 2}} #{a}"},
		{"[1 ; comment\n 2]", "[1 2]"}, {"(a;b\r\nc)", "(a c)"},
		// discard
		{"#_ 1 2", "2"}, {"[1 #_#_ 2 3 4]", "[1 4]"}, {"[1 #_ #_ 2 3 4]", "[1 4]"}, {"[#_ (foo bar [baz]) 1 #_{:a 1}]", "[1]"},
		{"#_ #unknown/tag 1 2", "2"}, {"#_", "!"},
		// prefixes
		{"'a ''x '@x @a #'x '()", "(quote a) (quote (quote x)) (quote (clojure.core/deref x)) (clojure.core/deref a) (var x) (quote ())"},
		{"~x ~@x ~ @x", "(clojure.core/unquote x) (clojure.core/unquote-splicing x) (clojure.core/unquote (clojure.core/deref x))"},
		// function literals
		{"#(+ 1 %)", "(fn* [p1__1#] (+ 1 p1__1#))"},
		{"#(f %2 %&)", "(fn* [p1__3# p2__1# & rest__2#] (f p2__1# rest__2#))"},
		{"#()", "(fn* [] ())"}, {"#(% %1)", "(fn* [p1__1#] (p1__1# p1__1#))"}, {"#(a [#_%2 {:v %}])", "(fn* [p1__2# p2__1#] (a [{:v p1__2#}]))"},
		// regexes
		{`#"a+b" #"a\"b" #"\\" #"\d"`, `#"a+b" #"a\"b" #"\\" #"\d"`},
		// namespaced maps
		{"#:a{:b 1 :c/d 2 :_/e 3}", "{:a/b 1, :c/d 2, :e 3}"}, {"#:a{b 1}", "{a/b 1}"}, {"#:a {:b 1}", "{:a/b 1}"},
		{"#::{:y 1} #::str{:y 1} #:a.b{\"k\" :v}", "{:user/y 1} {:clojure.string/y 1} {\"k\" :v}"},
		// conditionals
		{"#?(:clj 1 :joker 2 :default 3)", "2"}, {"#?(:clj 1 :default 3)", "3"}, {"#?(:clj 1) 2", "2"}, {"#?()", ""},
		{"[#?@(:joker [1 2]) 3 #?@(:clj [4])]", "[1 2 3]"}, {"['#?@(:joker [a b])]", "[(quote a) b]"},
		{"#?(:clj #foo/bar [::nope/x #\"(\"] :joker 1)", "1"}, {"#?(:joker 1 :clj #=(x))", "1"}, {"#? (:joker 1)", "1"},
		{"{:a #?(:clj 1 :joker 2)}", "{:a 2}"},
		// tags
		{`#uuid "00000000-0000-0000-0000-000000000001"`, `#uuid "00000000-0000-0000-0000-000000000001"`},
		{`#inst "2020-01-02T03:04:05.678-00:00" #inst "2020" #inst "2020-02-29T23:59+01:30"`, `#inst "2020-01-02T03:04:05.678-00:00" #inst "2020-01-01T00:00:00.000-00:00" #inst "2020-02-29T22:29:00.000-00:00"`},
		// syntax-quote
		{"`foo `+ `str/join `:kw `\"s\" `nil `1 `\\a", "(quote user/foo) (quote clojure.core/+) (quote clojure.string/join) :kw \"s\" nil 1 \\a"},
		{"`~5 `() `if `& `.m `Foo. `fn*", "5 (clojure.core/list) (quote if) (quote &) (quote .m) (quote Foo.) (quote fn*)"},
		{"`(a ~b ~@c)", "(clojure.core/seq (clojure.core/concat (clojure.core/list (quote user/a)) (clojure.core/list b) c))"},
		{"`[~@x]", "(clojure.core/apply clojure.core/vector (clojure.core/seq (clojure.core/concat x)))"},
		{"`{:a ~b}", "(clojure.core/apply clojure.core/hash-map (clojure.core/seq (clojure.core/concat (clojure.core/list :a) (clojure.core/list b))))"},
		{"`#{~a}", "(clojure.core/apply clojure.core/hash-set (clojure.core/seq (clojure.core/concat (clojure.core/list a))))"},
		{"`(x# x#) `x#", "(clojure.core/seq (clojure.core/concat (clojure.core/list (quote x__1__auto__)) (clojure.core/list (quote x__1__auto__)))) (quote x__2__auto__)"},
		{"`^:k x", "(clojure.core/with-meta (quote user/x) (clojure.core/apply clojure.core/hash-map (clojure.core/seq (clojure.core/concat (clojure.core/list :k) (clojure.core/list true)))))"},
		{"``~~a", "a"},
	} {
		got, err := all(trusted(), c.src, program())
		if c.want == "!" {
			if err == nil {
				t.Errorf("%s: got %s, want an error", c.src, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
		} else if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// TestErrors holds the message and the place of each fault.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"(f [1 2)", "f:1:8: unmatched ) at f:1:8: the [ opened at f:1:4 wants ]"},
		{"(a\n  b))", "f:2:5: unmatched ) at f:2:5: nothing is open"},
		{"]", "f:1:1: unmatched ] at f:1:1: nothing is open"},
		{"(a (b", "f:1:6: end of text: the ( opened at f:1:4 wants )"},
		{"\n#{1", "f:2:4: end of text: the #{ opened at f:2:1 wants }"},
		{`"abc`, `f:1:5: end of text: the string opened at f:1:1 wants "`},
		{`"abc\`, `f:1:6: end of text: the string opened at f:1:1 wants "`},
		{`#"abc`, `f:1:6: end of text: the regex opened at f:1:1 wants "`},
		{"'", "f:1:2: end of text: the ' at f:1:1 wants a form"},
		{"(')", "f:1:3: ': got ), want a form after it"},
		{"{:a 1 :b}", "f:1:1: map: got 3 forms, want a value for each key: :b has none"},
		{"[{:a 1 :a 2}]", "f:1:2: map: duplicate key :a"},
		{"#{1 2 1}", "f:1:1: set: duplicate element 1"},
		{"1a", "f:1:1: number: got 1a, want a number such as 42, 0x2A, 1.5, 1/2, 42N or 1.5M"},
		{"0x", "f:1:1: number: got 0x, want"}, {"1//2", "f:1:1: number:"}, {"1/2N", "f:1:1: number:"}, {"1/0", "f:1:1: "}, {"089", "f:1:1: number:"},
		{"##Foo", "f:1:1: ##: got ##Foo, want ##Inf, ##-Inf or ##NaN"},
		{"a/ ", "f:1:1: symbol: got a/, want a name such as x, ns/x or /"}, {"/a", "f:1:1: symbol: got /a"}, {"a/1", "f:1:1: symbol:"}, {"a: ", "f:1:1: symbol:"}, {"//", "f:1:1: symbol:"},
		{"a::b", "f:1:1: symbol:"}, {":a::b", "f:1:1: keyword:"}, {":::a", "f:1:1: keyword:"}, {": a", "f:1:1: keyword:"}, {":: a", "f:1:1: keyword:"}, {":a/", "f:1:1: keyword:"}, {":/a", "f:1:1: keyword:"}, {":a/1", "f:1:1: keyword:"},
		{" ::nope/x", "f:1:2: keyword: got ::nope/, want an alias of this namespace; nope is none"},
		{`"\q"`, `f:1:2: string: got \q, want one of \t \r \n \b \f \\ \" \uXXXX or an octal \0 to \377`},
		{`"ab\u00g0"`, `f:1:4: string: got \u00g0, want \u and four hexadecimal digits`},
		{`"\uD800"`, `f:1:2: string: got \uD800, half of a surrogate pair`}, {`"\400"`, `f:1:2: string: got \400, want an octal escape of at most \377`}, {`"\18"`, "f:1:4: string: got 8 in an octal escape"},
		{`\abc`, `f:1:1: char: got \abc, want a single character`}, {`\o777`, `f:1:1: char: got \o777`}, {`\uD800`, `f:1:1: char: got \uD800`}, {`\u00411`, "f:1:1: char:"}, {`\`, `f:1:1: end of text: \ wants a character`},
		{"#(#(1))", "f:1:3: #(): got a #() inside a #(), want (fn [x] …) for one of them"}, {"#(%21)", "f:1:3: #(): got %21, want %, %1 to %20 or %&"}, {"#(%x)", "f:1:3: #(): got %x"},
		{"#=(+ 1 2)", "f:1:1: #=: got a form to evaluate while reading, want data; reading never evaluates"},
		{"#<foo>", "f:1:1: #<: got the text of an object"}, {"#", "f:1:1: end of text: # wants"}, {"#%", "f:1:1: #: got #%, want one of"},
		{"#unknown/tag 5", "f:1:1: tag: got #unknown/tag, want a tag with a reader function"}, {"#nope", "f:1:6: end of text: the #nope at f:1:1 wants a form"},
		{`#inst "2020-13"`, `f:1:1: literal: got "2020-13", want an RFC 3339 time`}, {"#inst 5", "f:1:1: literal: got 5"}, {`#uuid "x"`, `f:1:1: literal: got "x", want a UUID`}, {`#inst "2021-02-29"`, "f:1:1: literal:"},
		{`#"["`, "f:1:1: regex: got [, want a closed class"},
		{"^[a] []", "f:1:1: ^: got [a] (vector), want a keyword, symbol, string or map as metadata"}, {"^:a 1", "f:1:1: ^: got metadata on 1 (integer), want it on a symbol or collection"},
		{"#:{:a 1}", "f:1:1: map: got #:, want a namespace"}, {"#:a 1", "f:1:5: map: got 1 after #:a, want {"}, {"#:a", "f:1:4: end of text: the #: at f:1:1 wants a map"}, {"#::nope{}", "f:1:1: keyword: got ::nope/"},
		{"#?(:clj 1 :joker)", "f:1:17: :joker: got ), want a form after it"}, {"#?@(:joker [1])", "f:1:1: #?@: got it at the top level"}, {"#?(1 2)", "f:1:4: #?: got 1 (integer), want a keyword"}, {"#?x", "f:1:3: #?: got x, want a list"}, {"[#?@(:joker 1)]", "f:1:2: #?@: got 1 (integer), want a list or vector"}, {"#?(:else 1)", "f:1:4: #?: got :else, which is reserved"},
		{"`(~@a ~@)", "f:1:9: ~@: got ), want"}, {"`~@a", "f:1:1: syntax-quote: got ~@ outside a collection"},
		{"ok \xff", "f:1:4: text: got byte 0xff at byte 3, want UTF-8"}, {"é\r\né (\r]", "f:3:1: unmatched ] at f:3:1: the ( opened at f:2:3 wants )"},
	} {
		_, err := all(trusted(), c.src, program())
		var e *read.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want %s", c.src, err, c.want)
			continue
		}
		if !strings.HasPrefix(e.Error(), c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.src, e.Error(), c.want)
		}
		if inc := strings.Contains(c.want, "end of text"); e.Incomplete != inc {
			t.Errorf("%s: got incomplete %v, want %v", c.src, e.Incomplete, inc)
		}
	}
}
