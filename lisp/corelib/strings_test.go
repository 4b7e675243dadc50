package corelib

import "testing"

func TestCoreStrings(t *testing.T) {
	evals(t, [][2]string{
		{"(str)", `""`}, {"(str nil)", `""`}, {`(str "a" 1 :b 'c nil \d)`, `"a1:bcd"`}, {`(str [1 "a" \b :c nil])`, `"[1 \"a\" \\b :c nil]"`},
		{"(str 100N)", `"100"`}, {"(str 1.50M)", `"1.50"`}, {"(str ##Inf)", `"Infinity"`}, {"(str 1/3)", `"1/3"`}, {"(str -0.0)", `"-0.0"`},
		{`(subs "hello" 1)`, `"ello"`}, {`(subs "hello" 1 3)`, `"el"`}, {`(subs "aéλb" 1 3)`, `"éλ"`}, {`(subs "aéλb" 2)`, `"λb"`},
		{`(subs "hello" 5)`, `""`}, {`(subs "hello" 6)`, "!StringIndexOutOfBoundsException"}, {`(subs "hello" 3 2)`, "!StringIndexOutOfBoundsException"},
		{`(subs "hello" -1)`, "!StringIndexOutOfBoundsException"}, {`(subs nil 1)`, "!NullPointerException"},
	})
}

func TestStringCase(t *testing.T) {
	evals(t, [][2]string{
		{`(str/upper-case "abcé")`, `"ABCÉ"`}, {`(str/upper-case "straße")`, `"STRASSE"`}, {`(str/capitalize "hELLO")`, `"Hello"`},
		{`(str/capitalize "")`, `""`}, {`(str/upper-case nil)`, "!NullPointerException"}, {`(str/upper-case :kw)`, `":KW"`},
		{`(str/lower-case "ÀB")`, `"àb"`}, {`(str/trim "  a b \n\t")`, `"a b"`}, {`(str/triml "  a ")`, `"a "`}, {`(str/trimr "  a ")`, `"  a"`},
		{`(str/trim "\u00a0a")`, "\"\u00a0a\""}, {`(str/trim-newline "a\nb\r\n")`, `"a\nb"`}, {`(str/blank? " \t")`, "true"}, {`(str/blank? nil)`, "true"},
		{`(str/blank? "a")`, "false"}, {`(str/blank? 1)`, "!ClassCastException"}, {`(str/reverse "aéb")`, `"béa"`},
	})
}

func TestStringSearch(t *testing.T) {
	evals(t, [][2]string{
		{`(str/includes? "hello" "ell")`, "true"}, {`(str/includes? "hello" "")`, "true"}, {`(str/starts-with? 'ab "a")`, "true"},
		{`(str/starts-with? "a" nil)`, "!NullPointerException"}, {`(str/ends-with? "hello" "hello!")`, "false"},
		{`(str/index-of "hello" "l")`, "2"}, {`(str/index-of "hello" \l 3)`, "3"}, {`(str/index-of "hello" "z")`, "nil"},
		{`(str/index-of "hello" "")`, "0"}, {`(str/index-of "hello" "l" 10)`, "nil"}, {`(str/index-of "aéλ" "λ")`, "2"}, {`(str/index-of "aéλa" "a" 1)`, "3"},
		{`(str/index-of "abc" "a" -5)`, "0"}, {`(str/last-index-of "hello" "l")`, "3"}, {`(str/last-index-of "hello" "l" 2)`, "2"},
		{`(str/last-index-of "hello" "z")`, "nil"}, {`(str/last-index-of "hello" "h" -1)`, "nil"}, {`(str/last-index-of "éλé" "é")`, "2"},
	})
}

func TestStringBuilding(t *testing.T) {
	evals(t, [][2]string{
		{`(str/join ", " [])`, `""`}, {`(str/join ", " nil)`, `""`}, {`(str/join [1 2])`, `"12"`}, {`(str/join \, [1 nil "a"])`, `"1,,a"`},
		{`(str/join "," {:a 1})`, `"[:a 1]"`}, {`(str/join 1)`, "!"},
		{`(str/escape "a<b>" {\< "&lt;" \> "&gt;"})`, `"a&lt;b&gt;"`},
		{`(str/pad-left "7" "0" 3)`, `"007"`}, {`(str/pad-right "a" "xy" 4)`, `"axyx"`}, {`(str/pad-left "abc" "x" 2)`, `"abc"`},
	})
}

func TestSplit(t *testing.T) {
	evals(t, [][2]string{
		{`(str/split "a,b,,c,," #",")`, `["a" "b" "" "c"]`}, {`(str/split "a,b,,c,," #"," -1)`, `["a" "b" "" "c" "" ""]`},
		{`(str/split "a,b,c" #"," 2)`, `["a" "b,c"]`}, {`(str/split "a,b" #"," 1)`, `["a,b"]`}, {`(str/split "" #",")`, `[""]`},
		{`(str/split "," #",")`, `[]`}, {`(str/split ",a" #",")`, `["" "a"]`}, {`(str/split "abc" #"")`, `["a" "b" "c"]`},
		{`(str/split "a1b22c" #"\d+")`, `["a" "b" "c"]`}, {`(str/split "a-b" #"(-)")`, `["a" "b"]`}, {`(str/split "abc" #"x")`, `["abc"]`},
		{`(str/split "foo bar" #"\b")`, `["foo" " " "bar"]`}, {`(str/split "a,b" ",")`, `!ClassCastException: split: got "," (string), want a regex such as #","`},
		{`(str/split nil #",")`, "!NullPointerException"}, {`(str/split-lines "a\nb\r\nc")`, `["a" "b" "c"]`}, {`(str/split-lines "")`, `[""]`},
		{`(str/split-lines "a\n\nb\n")`, `["a" "" "b"]`}, {`(str/split-lines "\n")`, `[]`},
	})
}

func TestReplace(t *testing.T) {
	evals(t, [][2]string{
		{`(str/replace "hello" "l" "L")`, `"heLLo"`}, {`(str/replace "abc" "" "-")`, `"-a-b-c-"`}, {`(str/replace "hello" #"l+" "L")`, `"heLo"`},
		{`(str/replace "hello" #"(h)(e)" "$2$1")`, `"ehllo"`}, {`(str/replace "hello" #"(?<x>h)" "${x}${x}")`, `"hhello"`},
		{`(str/replace "hello" #"[aeiou]" str/upper-case)`, `"hEllO"`}, {`(str/replace "a.b.c" "." "-")`, `"a-b-c"`}, {`(str/replace "a$b" "$" "\\")`, `"a\\b"`},
		{`(str/replace "price" #"r" (str/re-quote-replacement "$1"))`, `"p$1ice"`}, {`(str/replace "x-y_z" #"[-_]" {"-" "+" "_" "/"})`, `"x+y/z"`},
		{`(str/replace "abc" \b \x)`, `"axc"`}, {`(str/replace "aaa" #"a*" "x")`, `"xx"`}, {`(str/replace "abc" #"" "-")`, `"-a-b-c-"`},
		{`(str/replace "a" #"a" "$1")`, "!IndexOutOfBoundsException"}, {`(str/replace "a" #"a" "$")`, "!IllegalArgumentException"},
		{`(str/replace "a" #"a" "\\$1")`, `"$1"`}, {`(str/replace "ab" #"(a)b" "$12")`, `"a2"`}, {`(str/replace "a" #"a" {})`, "!NullPointerException"},
		{`(str/replace-first "hello" #"l" "L")`, `"heLlo"`}, {`(str/replace-first "hello" "l" "L")`, `"heLlo"`}, {`(str/replace-first "hello" "z" "L")`, `"hello"`},
		{`(str/replace-first "abc" "" "-")`, `"-abc"`}, {`(str/replace "a.b" (str/re-quote ".") "x")`, `"axb"`}, {`(str/replace "a" 1 "x")`, "!ClassCastException"},
	})
}
