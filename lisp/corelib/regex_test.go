package corelib

import (
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

func TestRegexFunctions(t *testing.T) {
	evals(t, [][2]string{
		{`(re-find #"\d+" "abc123def456")`, `"123"`}, {`(re-find #"(\d)(\d)" "abc12")`, `["12" "1" "2"]`}, {`(re-find #"x" "abc")`, "nil"},
		{`(re-matches #"\d+" "123a")`, "nil"}, {`(re-matches #"a|ab" "ab")`, `"ab"`}, {`(re-matches #"(a)(b)?" "a")`, `["a" "a" nil]`},
		{`(re-seq #"\d" "a1b2c3")`, `("1" "2" "3")`}, {`(re-seq #"(\w)(\d)" "a1b2")`, `(["a1" "a" "1"] ["b2" "b" "2"])`}, {`(re-seq #"z" "abc")`, "nil"},
		{`(re-seq #"a*" "baac")`, `("" "aa" "" "")`}, {`(re-seq #"\bf" "foo fa af")`, `("f" "f")`}, {`(re-seq #"^a" "aaa")`, `("a")`},
		{`(re-seq #"(?m)^\w" "ab\ncd")`, `("a" "c")`}, {`(re-seq #"ab" "abxab")`, `("ab" "ab")`}, {`(re-seq #"" "é")`, `("" "")`},
		{`(re-pattern "a+")`, `#"a+"`}, {`(re-find (re-pattern #"a+") "baa")`, `"aa"`}, {`(re-find #"a" nil)`, "!NullPointerException"},
		{`(re-groups (re-matcher #"a" "a"))`, "!IllegalStateException"}, {`(re-find (re-matcher #"a(b)" "xab"))`, `["ab" "b"]`},
	})
}

func TestMatcherGoesOn(t *testing.T) {
	c := newCalc(limit.Trusted())
	m := reMatcher(c.t, CompileRegex(c.t, `(\w)\d`), value.Str("a1 b2"))
	for _, want := range []string{`["a1" "a"]`, `["b2" "b"]`, "nil", "nil"} {
		if got := value.PrStr(c.t, nextMatch(c.t, m)); got != want {
			t.Errorf("re-find: got %s, want %s", got, want)
		}
	}
}

func TestJavaSyntax(t *testing.T) {
	evals(t, [][2]string{
		{`(re-find #"(?i)HELLO" "say hello")`, `"hello"`}, {`(re-find #"\p{Lu}" "abC")`, `"C"`}, {`(re-find #"\p{Lower}+" "ABcd")`, `"cd"`},
		{`(re-find #"(?<y>\d{4})" "in 2024")`, `["2024" "2024"]`}, {`(re-find #"\u0041" "A")`, `"A"`}, {`(re-find #"\x41\0102" "AB")`, `"AB"`},
		{`(re-find #"\Qa.b\E+" "a.bb")`, `"a.bb"`}, {`(re-find #"[a-c[x-z]]+" "qaxq")`, `"ax"`}, {`(re-find #"[\w-.]+" "a-b.c d")`, `"a-b.c"`},
		{`(re-find #"[^\s,]+" " ,ab ")`, `"ab"`}, {`(re-find #"[\S]+" " ab ")`, `"ab"`}, {`(re-find #"a.c" "a\nc")`, "nil"}, {`(re-find #"a.c" "a\rc")`, "nil"},
		{`(re-find #"(?s)a.c" "a\nc")`, `"a\nc"`}, {`(re-find #"(?x) a b # c
 c" "abc")`, `"abc"`}, {`(re-find #"(?i:A)b" "ab")`, `"ab"`}, {`(re-find #"(?:(?s).)." "\nb")`, `"\nb"`}, {`(re-find #"\R" "a\r\nb")`, `"\r\n"`},
		{`(re-find #"\h+" "a \tb")`, `" \t"`}, {`(re-find #"a{2}" "aaa")`, `"aa"`}, {`(re-find #"a{2,}?" "aaa")`, `"aa"`}, {`(re-find #"[]a]+" "a]")`, `"a]"`},
		{`(re-find #"[a&]+" "&a")`, `"&a"`}, {`(re-find #"\/\-\." "/-.")`, `"/-."`}, {`(re-find #"[+\-*/]" "2-3")`, `"-"`}, {`(re-find #"\p{IsAlphabetic}+" "1é")`, `"é"`},
		{`(re-find #"[\p{L}&&[^a]]" "b")`, "!read"}, {`(re-find #"[\]\[]+" "[]")`, `"[]"`}, {`(re-find #"(a)|(b)" "b")`, `["b" nil "b"]`},
	})
}

func TestRegexErrors(t *testing.T) {
	c := newCalc(limit.Trusted())
	for _, x := range []struct{ src, want string }{
		{"foo(?=bar)", "lookahead"}, {"(?!a)", "lookahead"}, {"(?<=a)b", "lookbehind"}, {"(?<!a)b", "lookbehind"}, {"(?>a)", "atomic"},
		{`(a)\1`, "backreferences"}, {`(?<a>b)\k<a>`, "backreferences"}, {"a++", "possessive"}, {"a*+", "possessive"}, {"a{1,2}+", "possessive"},
		{"[a&&b]", "intersections"}, {"[a[^b]]", "negated class within"}, {"(", "missing"}, {")", "no ( before"}, {"[a", "no ]"}, {"*", "nothing before"},
		{"a**", "nothing before"}, {`\`, "ends too early"}, {`\p{Nope}`, "not a class"}, {`\uZZZZ`, "not the number"}, {`\y`, "not an escape"},
		{"(?q)", "flag"}, {strings.Repeat("a{1000}", 40), "repeats too much"}, {strings.Repeat("(", 5000) + strings.Repeat(")", 5000), ""},
	} {
		ex := thrown(func() { CompileRegex(c.t, x.src) })
		if ex == nil || ex.Class != "PatternSyntaxException" || !strings.Contains(ex.Error(), x.want) {
			t.Errorf("%.40s: got %v, want a PatternSyntaxException about %q", x.src, ex, x.want)
		}
	}
}

func thrown(f func()) (ex *value.Exception) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Exception:
			ex = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// A large text goes through the meter; it finds what a small one finds.
func TestMeteredSearch(t *testing.T) {
	c := newCalc(limit.Trusted())
	r := value.As[value.Regex](CompileRegex(c.t, `\b(\w+)=(\d*)\b`))
	for _, n := range []int{3, 30_000} {
		text := strings.Repeat("é k=12 x= ", n)
		got := 0
		eachMatch(c.t, r, text, func(loc []int) bool {
			if text[loc[2]:loc[3]] != "k" || text[loc[4]:loc[5]] != "12" {
				t.Fatalf("match: got %q", text[loc[0]:loc[1]])
			}
			got++
			return true
		})
		if got != n {
			t.Errorf("matches in %d bytes: got %d, want %d", len(text), got, n)
		}
	}
}

func TestHostileRegexIsCharged(t *testing.T) {
	small := limit.Limits{Steps: 200_000, Alloc: 256 << 20}
	for _, src := range []string{
		`(count (re-seq #"(?:a.*b|a)" (repeat-str 200000 "a")))`,
		`(re-matches #"(x+x+)+y" (repeat-str 5000000 "x"))`,
		`(count (str/split (repeat-str 1000000 "ab") #"b"))`,
	} {
		if k := trips(small, src); k == "" {
			t.Errorf("%s: got a result, want a limit", src)
		}
	}
}

func FuzzCompileRegex(f *testing.F) {
	for _, s := range []string{`a+`, `[a-z&&[^b]]`, `(?<n>\d+)\k<n>`, `\Qx\E`, `(?x) a # b`, `[\w-.]`, `\p{Lu}\u0041`, `((?i)a|b)*?`} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, src string) {
		t := newCalc(limit.Trusted()).t
		if ex := thrown(func() { matchWhole(t, value.As[value.Regex](CompileRegex(t, src)), "abc") }); ex != nil {
			return
		}
		r := value.As[value.Regex](CompileRegex(t, src))
		eachMatch(t, r, "ab\ncé", func([]int) bool { return true })
	})
}
