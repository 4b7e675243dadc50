package value_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

func printThread(l limit.Limits) *value.Thread {
	return value.NewThread(value.NewRun(context.Background(), l), value.NewEnv(value.NewNamespace("clojure.core"), nil))
}

// form reads one form.
func form(t testing.TB, th *value.Thread, src string) value.Value {
	t.Helper()
	v, err := read.New(th, src, read.Options{ReadCond: read.CondPreserve, Regex: func(_ *value.Thread, s string) value.Value {
		return value.Of(&value.Regex{Header: value.Head(value.KindRegex), Source: s})
	}}).Read()
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return v
}

// TestPrint holds the text of each kind of value under pr, print and str, as JVM Clojure has it; "" means as under pr.
func TestPrint(t *testing.T) {
	th := printThread(limit.Trusted())
	for _, c := range []struct{ src, pr, print, str string }{
		{"nil", "nil", "", "\x00"},
		{"true", "true", "", ""},
		{`"a"`, `"a"`, "a", "a"},
		{`"a\\b\"c\n\t\r\f\b\u0001é"`, "\"a\\\\b\\\"c\\n\\t\\r\\f\\b\x01é\"", "a\\b\"c\n\t\r\f\b\x01é", "a\\b\"c\n\t\r\f\b\x01é"},
		{`\a`, `\a`, "a", "a"}, {`\space`, `\space`, " ", " "}, {`\newline`, `\newline`, "\n", "\n"}, {`\"`, `\"`, `"`, `"`}, {`\\`, `\\`, `\`, `\`}, {`\u00e9`, `\é`, "é", "é"}, {`\u0000`, "\\\x00", "\x00", "\x00\x00"},
		{":a/b", ":a/b", "", ""}, {"a/b", "a/b", "", ""},
		{"1.0", "1.0", "", ""}, {"1e10", "1.0E10", "", ""}, {"123456.789", "123456.789", "", ""}, {"0.0001", "1.0E-4", "", ""}, {"1/2", "1/2", "", ""},
		{"1N", "1N", "", "1"}, {"1.50M", "1.50M", "", "1.50"}, {"123456789012345678901234567890", "123456789012345678901234567890N", "", "123456789012345678901234567890"},
		{"##Inf", "##Inf", "", "Infinity"}, {"##-Inf", "##-Inf", "", "-Infinity"}, {"##NaN", "##NaN", "", "NaN"}, {"[##Inf 1N]", "[##Inf 1N]", "", ""},
		{`[1 "two" :three four \5 6.0 nil true]`, `[1 "two" :three four \5 6.0 nil true]`, "[1 two :three four 5 6.0 nil true]", ""},
		{"()", "()", "", ""}, {"[]", "[]", "", ""}, {"{}", "{}", "", ""}, {"#{}", "#{}", "", ""}, {"(1 (2 (3)))", "(1 (2 (3)))", "", ""},
		{"{:a 1 :b {:c [1 2]}}", "{:a 1, :b {:c [1 2]}}", "", ""}, {`{"k" "v"}`, `{"k" "v"}`, "{k v}", `{"k" "v"}`}, {"{[1 2] #{3}}", "{[1 2] #{3}}", "", ""},
		{"'a", "(quote a)", "", ""}, {`#"a\d\"b"`, `#"a\d\"b"`, `#"a\d\"b"`, `a\d\"b`},
		{`#uuid "00000000-0000-0000-0000-00000000000a"`, `#uuid "00000000-0000-0000-0000-00000000000a"`, "", "00000000-0000-0000-0000-00000000000a"},
		{`#inst "2020-01-02T03:04:05.678-00:00"`, `#inst "2020-01-02T03:04:05.678-00:00"`, "", "2020-01-02T03:04:05.678-00:00"},
		{"#?(:a #b c)", "#?(:a #b c)", "", ""}, {"[#?@(:a [1])]", "[#?@(:a [1])]", "", ""},
	} {
		v := form(t, th, c.src)
		check := func(how, got, want string) {
			switch want {
			case "":
				want = c.pr
			case "\x00":
				want = ""
			case "\x00\x00":
				want = "\x00"
			}
			if got != want {
				t.Errorf("%s of %s: got %q, want %q", how, c.src, got, want)
			}
		}
		check("pr", value.PrStr(th, v), c.pr)
		if c.src != `\u0000` {
			check("print", value.PrintStr(th, v), c.print)
		}
		check("str", value.ToString(th, v), c.str)
	}
}

// TestPrintObjects holds the text of what has no syntax.
func TestPrintObjects(t *testing.T) {
	th := printThread(limit.Trusted())
	one := value.Int(1)
	inner := value.Errorf("ArithmeticException", "divide")
	outer := value.Errorf("ExceptionInfo", "boom")
	outer.Data, outer.Cause = form(t, th, "{:a 1}"), value.Of(inner)
	pt := value.NewRecordType("user", "Pt", []*value.Keyword{value.NewKeyword("", "x"), value.NewKeyword("", "y")})
	point := value.NewRecord(th, pt, []value.Value{one, value.Str("a")})
	promise := value.NewPromise(th)
	fn := value.Of(value.NewBuiltin("user/f", &value.Builtin{F0: func(*value.Thread) value.Value { return value.Nil }}))
	for _, c := range []struct {
		v    value.Value
		want string
	}{
		{value.Of(value.NewVar("user", "x")), "#'user/x"}, {fn, "#object[user/f]"}, {value.Of(value.NewNamespace("user")), "#object[Namespace user]"},
		{value.Of(value.NewAtom(th, one)), "#object[Atom {:status :ready, :val 1}]"}, {promise, "#object[Promise {:status :pending, :val nil}]"},
		{value.NewVolatile(th, one), "#object[Volatile {:status :ready, :val 1}]"}, {value.NewDelay(value.As[value.Fn](fn)), "#object[Delay {:status :pending, :val nil}]"},
		{value.Of(value.NewRef(th, one)), "#object[Ref {:status :ready, :val 1}]"}, {value.Of(value.NewAgent(th, one, false, value.Nil)), "#object[Agent {:status :ready, :val 1}]"},
		{point, `#user.Pt{:x 1, :y "a"}`}, {value.Assoc(th, point, value.Kw("z"), one), `#user.Pt{:x 1, :y "a", :z 1}`},
		{value.Of(outer), `#error {:cause "divide", :via [{:type ExceptionInfo, :message "boom", :data {:a 1}} {:type ArithmeticException, :message "divide"}]}`},
		{value.NewRange(0, 3, 1), "(0 1 2)"}, {value.NewReduced(one), "#object[Reduced {:status :ready, :val 1}]"},
		{value.NewLazyGo(func(*value.Thread) value.Value { return value.NewArraySeq([]value.Value{one, one}) }), "(1 1)"},
		{value.NewTaggedLiteral(value.Sym("a/b"), one), "#a/b 1"}, {value.NewMapEntry(one, one), "[1 1]"},
	} {
		if got := value.PrStr(th, c.v); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := value.ToString(th, value.Of(outer)); got != "ExceptionInfo: boom {:a 1}" {
		t.Errorf("got %s", got)
	}
	if got := value.PrintStr(th, point); got != "#user.Pt{:x 1, :y a}" {
		t.Errorf("got %s", got)
	}
}

// TestPrintObjectText holds that str asks an object for its text, and takes nothing but a string for it.
func TestPrintObjectText(t *testing.T) {
	th := printThread(limit.Trusted())
	object := func(f func(*value.Thread, value.Value) value.Value) value.Value {
		fn := value.Of(value.NewBuiltin("toString", &value.Builtin{F1: f}))
		methods := value.NewMap(th, value.Kw("toString"), fn)
		return value.NewReified(th, value.NewMethodTable(th, []value.Value{value.Sym("Object")}, []value.Value{methods}))
	}
	named := object(func(*value.Thread, value.Value) value.Value { return value.Str("me") })
	if got := value.ToString(th, named); got != "me" {
		t.Errorf("got %s", got)
	}
	if got := value.PrStr(th, named); got != "#object[zeno.lang.Reified]" {
		t.Errorf("got %s", got)
	}
	self := object(func(_ *value.Thread, v value.Value) value.Value { return v })
	if got := tripOf(func() { value.ToString(th, self) }); got != "ClassCastException" {
		t.Errorf("got %q", got)
	}
	again := object(func(t *value.Thread, v value.Value) value.Value { return value.Str(value.ToString(t, v)) })
	if got := tripOf(func() { value.ToString(th, again) }); got != "StackOverflowError" {
		t.Errorf("got %q", got)
	}
}

func TestPrintOptions(t *testing.T) {
	th := printThread(limit.Trusted())
	printed := func(p *value.Printer, src string) string {
		p.Print(th, form(t, th, src))
		return p.Take(th)
	}
	for _, c := range []struct {
		length, level int
		src, want     string
	}{
		{3, -1, "[1 2 3]", "[1 2 3]"}, {0, -1, "[1 2 3]", "[...]"}, {2, -1, "[[1 2 3] [4 5 6] 7]", "[[1 2 ...] [4 5 ...] ...]"}, {2, -1, `"abcdef"`, `"abcdef"`}, {1, -1, "{:a 1 :b 2}", "{:a 1, ...}"},
		{-1, 1, "[1 [2 [3]]]", "[1 #]"}, {-1, 2, "[1 [2 [3]]]", "[1 [2 #]]"}, {-1, 1, "{:a {:b 1}}", "{:a #}"}, {2, 2, "[[1 [2] 3] 4 5]", "[[1 # ...] 4 ...]"}, {-1, 0, "[1]", "#"},
	} {
		p := value.NewPrinter(true)
		p.Length, p.Level = c.length, c.level
		if got := printed(p, c.src); got != c.want {
			t.Errorf("%d %d %s: got %s, want %s", c.length, c.level, c.src, got, c.want)
		}
	}
	for src, want := range map[string]string{"{:a/x 1 :a/y 2}": "#:a{:x 1, :y 2}", "{:a/x 1 :b/y 2}": "{:a/x 1, :b/y 2}", "{:x 1}": "{:x 1}", "{a/b :a/c}": "#:a{b :a/c}", "{}": "{}", `{:a/x 1 "k" 2}`: `{:a/x 1, "k" 2}`} {
		p := value.NewPrinter(true)
		p.NamespaceMaps = true
		if got := printed(p, src); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	for src, want := range map[string]string{"^String x": "^String x", "[^:a [] ^{:b 1 :c 2} {}]": "[^{:a true} [] ^{:b 1, :c 2} {}]", "[1 2]": "[1 2]"} {
		p := value.NewPrinter(true)
		p.Meta = true
		if got := printed(p, src); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	p := value.NewPrinter(true)
	p.MaxBytes = 10
	if got := printed(p, `["ééééééééé" 1 2]`); got != `["éééé` || !p.Truncated() {
		t.Errorf("got %q", got)
	}
}

func TestPrintSink(t *testing.T) {
	th := printThread(limit.Trusted())
	var out bytes.Buffer
	p := value.NewPrinter(true)
	p.Sink = &out
	p.Print(th, value.NewRange(0, 10_000, 1))
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	p.Release(th)
	if got := value.PrStr(th, value.NewRange(0, 10_000, 1)); got != out.String() {
		t.Errorf("got %d bytes, want %d", out.Len(), len(got))
	}
}

// TestPrintLimits holds that what never ends, or holds itself, ends in a limit.
func TestPrintLimits(t *testing.T) {
	deep := func(th *value.Thread) value.Value {
		v := value.EmptyVector
		for range 1_000_000 {
			v = value.NewVectorOwned(th, []value.Value{v})
		}
		return v
	}
	big := limit.Limits{Steps: 50_000_000, Bytes: 1 << 30}.OrDefault()
	for name, c := range map[string]struct {
		make func(*value.Thread) value.Value
		l    limit.Limits
		want string
	}{
		"endless": {func(*value.Thread) value.Value { return value.NewRepeat(value.Str("xxxxxxxxxxxxxxxx")) }, limit.Defaults(), "bytes steps"},
		"deep":    {deep, big, "depth"},
		"trusted": {deep, limit.Trusted(), "StackOverflowError"},
		"cyclic": {func(th *value.Thread) value.Value {
			a := value.NewAtom(th, value.Nil)
			a.Swap(th, func(value.Value) value.Value { return value.NewVector(th, []value.Value{value.Of(a)}) })
			return value.Of(a)
		}, limit.Defaults(), "depth"},
		"causes": {func(*value.Thread) value.Value {
			e := value.Errorf("Exception", "x")
			e.Data = value.Of(e)
			return value.Of(e)
		}, limit.Defaults(), "depth"},
		"string": {func(*value.Thread) value.Value { return value.Str(strings.Repeat("\n", 100<<20)) }, limit.Defaults(), "bytes steps"},
	} {
		th := printThread(c.l)
		v := c.make(th)
		if got := tripOf(func() { value.PrStr(th, v) }); got == "" || !strings.Contains(c.want, got) {
			t.Errorf("%s: got %q, want %s", name, got, c.want)
		}
		if got := value.Brief(th, v); len(got) > 60 || got == "" {
			t.Errorf("%s: brief is %q", name, got)
		}
	}
}

func tripOf(f func()) (kind string) {
	defer func() {
		switch x := recover().(type) {
		case *limit.Error:
			kind = string(x.Kind)
		case *value.Exception:
			kind = x.Class
		case nil:
		default:
			panic(x)
		}
	}()
	f()
	return ""
}

// TestBrief holds that a brief text is short, and that making it runs and realises nothing.
func TestBrief(t *testing.T) {
	th := printThread(limit.Trusted())
	lazy := value.NewLazyGo(func(*value.Thread) value.Value { t.Error("a brief text realised a lazy seq"); return value.Nil })
	done := value.NewLazyGo(func(*value.Thread) value.Value { return value.Cons(th, value.Int(1), lazy) })
	value.First(th, done)
	huge := form(t, th, "1"+strings.Repeat("0", 5_000))
	for _, c := range []struct {
		v    value.Value
		want string
	}{
		{value.Nil, "nil"}, {lazy, "(…)"}, {done, "(1 …)"}, {value.Cons(th, value.Int(1), lazy), "(1 …)"}, {value.NewVector(th, []value.Value{lazy}), "[(…)]"},
		{value.NewIterate(lazy, value.Int(0)), "(…)"}, {huge, "a big integer"}, {value.Float(math.Inf(1)), "##Inf"}, {value.NewRange(0, 3, 1), "(0 1 2)"}, {form(t, th, "(1 2)"), "(1 2)"}, {form(t, th, "()"), "()"},
		{value.Str(strings.Repeat("é", 50)), `"` + strings.Repeat("é", 28) + "…"}, {value.Str("\xff"), "\"\uFFFD\""},
		{form(t, th, "[[[[[1]]]]]"), "[[[[#]]]]"},
	} {
		if got := value.Brief(th, c.v); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := value.Brief(nil, value.NewRange(0, 1000, 1)); got != "(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 …)" {
		t.Errorf("got %s", got)
	}
}

func TestLiterals(t *testing.T) {
	for src, want := range map[string]string{
		"2020": "2020-01-01T00:00:00.000-00:00", "2020-02": "2020-02-01T00:00:00.000-00:00", "2020-02-29T23": "2020-02-29T23:00:00.000-00:00",
		"2020-02-29T23:59:58.12345": "2020-02-29T23:59:58.123-00:00", "2020-01-01T00:00:00Z": "2020-01-01T00:00:00.000-00:00", "2020-01-01T00:00:00+02:00": "2019-12-31T22:00:00.000-00:00",
		"1969-12-31T23:59:59.999-00:00": "1969-12-31T23:59:59.999-00:00", "2016-12-31T23:59:60Z": "2017-01-01T00:00:00.000-00:00",
		"": "", "20": "", "2020-00": "", "2021-02-29": "", "2020-01-01T24": "", "2020-01-01T00:60": "", "2020-01-01T00:00:60": "", "2020-1-1": "", "2020-01-01 00:00": "", "2020-01-01T00:00:00.": "", "2020-01-01T00+25:00": "", "2020x": "",
	} {
		v, ok := value.ParseInst(src)
		got := ""
		if ok {
			got = value.As[value.Inst](v).String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
	for src, want := range map[string]string{
		"b6883c0a-0342-4007-9966-bc2dfa6b109e": "b6883c0a-0342-4007-9966-bc2dfa6b109e", "1-2-3-4-5": "00000001-0002-0003-0004-000000000005", "B6883C0A-0342-4007-9966-BC2DFA6B109E": "b6883c0a-0342-4007-9966-bc2dfa6b109e",
		"0": "", "": "", "----": "", "b6883c0a-0342-4007-9966-bc2dfa6b109g": "", "+1-2-3-4-5": "", "b6883c0a-0342-4007-9966-bc2dfa6b109e0": "",
	} {
		v, ok := value.ParseUUID(src)
		got := ""
		if ok {
			got = value.As[value.UUID](v).String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}
