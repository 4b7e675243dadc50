package read_test

import (
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

func TestEDN(t *testing.T) {
	edn := read.Options{EDN: true}
	for _, c := range []struct{ src, want string }{
		{`[1 2 {:a "b"}] #{1} (+ 1 2) \a "a\nb" 1.5M 1/2 0x1F ##Inf :foo/bar a/b/c`, `[1 2 {:a "b"}] #{1} (+ 1 2) \a "a\nb" 1.5M 1/2 31 ##Inf :foo/bar a/b/c`},
		{"#_ 1 2", "2"}, {"^:a b", "b"}, {"#:a{:b 1}", "{:a/b 1}"}, {`#inst "2020-01-01"`, `#inst "2020-01-01T00:00:00.000-00:00"`},
		{"'a %1", "'a %1"}, {"[a;b\n c]", "[a c]"},
	} {
		got, err := all(trusted(), c.src, edn)
		if err != nil || got != c.want {
			t.Errorf("%s\n got %s %v\nwant %s", c.src, got, err, c.want)
		}
	}
	for _, src := range []string{"#foo 1", "#(inc 1)", "@a", "`a", "~a", `#"re"`, "#=(+ 1 2)", "#'a", "#?(:joker 1)", "::a", "#::{:a 1}", "{:a 1 :a 2}", "#{1 1}", "{:a}", "[1", "]", "1a"} {
		if got, err := all(trusted(), src, edn); err == nil {
			t.Errorf("%s: got %s, want an error", src, got)
		}
	}
}

func TestConditionals(t *testing.T) {
	src := "#?(:foo 1 :default #x/y 2) [#?@(:foo [a])]"
	for _, c := range []struct {
		o    read.Options
		want string
	}{
		{read.Options{Features: []string{"foo"}}, "1 [a]"},
		{read.Options{ReadCond: read.CondPreserve}, "#?(:foo 1 :default #x/y 2) [#?@(:foo [a])]"},
		{read.Options{ReadCond: read.CondForbid}, "error"},
	} {
		got, err := all(trusted(), src, c.o)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%+v: got %s, want %s", c.o.ReadCond, got, c.want)
		}
	}
}

func TestTags(t *testing.T) {
	o := read.Options{Tags: func(tag string) read.TagFunc {
		if tag != "x/y" {
			return nil
		}
		return func(t *value.Thread, form value.Value) value.Value {
			return value.NewVector(t, []value.Value{form, form})
		}
	}}
	if got, err := all(trusted(), "#x/y 1 #x/y #x/y 2", o); got != "[1 1] [[2 2] [2 2]]" {
		t.Errorf("got %s %v", got, err)
	}
	o.Default = func(_ *value.Thread, tag, form value.Value) value.Value { return value.NewTaggedLiteral(tag, form) }
	if got, err := all(trusted(), "#unk {:a 1}", o); got != "#unk {:a 1}" {
		t.Errorf("got %s %v", got, err)
	}
}

func TestMetadata(t *testing.T) {
	th := trusted()
	for _, c := range []struct{ src, want string }{
		{"^:foo []", "{:foo true}"}, {"^{:a 1} [1]", "{:a 1}"}, {"^String x", "{:tag String}"}, {`^"x" x`, `{:tag "x"}`}, {"#^{:x 1} {}", "{:x 1}"},
		{"^:k #{1}", "{:k true}"}, {"^:a ^:b []", "{:b true, :a true}"}, {"^{:a 1} ^{:a 2} []", "{:a 1}"}, {" (1)", "{:line 1, :column 2}"}, {"x", "nil"}, {"[]", "nil"},
	} {
		v, err := read.New(th, c.src, program()).Read()
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := value.PrStr(th, value.Meta(v)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

// TestPositions shows every form that carries a position with it.
func TestPositions(t *testing.T) {
	th := trusted()
	src := "(é [x\r\n {:k #{y}} 'z ^:m w]\r #(q %) `(r) () [] {} #{})"
	v, err := read.New(th, src, program()).Read()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(v value.Value)
	walk = func(v value.Value) {
		if p := value.PosOf(v); p != nil {
			out = append(out, value.Brief(th, v)+"@"+p.String()[2:])
		}
		switch k := v.Kind(); {
		case k.IsMap():
			value.EachKV(th, v, func(_, x value.Value) bool { walk(x); return true })
		case k.IsColl():
			value.Each(th, v, func(x value.Value) bool { walk(x); return true })
		}
	}
	walk(v)
	got := strings.Join(out, "\n")
	for _, want := range []string{"é@1:2", "[x {:k #{y}} (quote z) w]@1:4", "x@1:5", "{:k #{y}}@2:2", "#{y}@2:6", "y@2:8", "(quote z)@2:12", "z@2:13", "w@2:19",
		"(fn* [p1__1#] (q p1__1#))@3:2", "[p1__1#]@3:2", "(q p1__1#)@3:2", "q@3:4", "p1__1#@3:6", "r@3:11", "()@3:14", "[]@3:17", "{}@3:20", "#{}@3:23"} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s in\n%s", want, got)
		}
	}
	r := read.New(th, "a b", read.Options{File: "g", StartLine: 7, StartColumn: 5})
	a, _ := r.Read()
	if p := value.PosOf(a); p.String() != "g:7:5" || r.Offset() != 1 || r.Pos().Column != 6 {
		t.Errorf("got %s, %d, %s", p, r.Offset(), r.Pos())
	}
}

func TestInterned(t *testing.T) {
	in := &value.Interner{}
	a, _ := read.New(trusted(), ":a/b", read.Options{Intern: in}).Read()
	b, _ := read.New(trusted(), ":a/b", read.Options{Intern: in}).Read()
	if a != b {
		t.Error("two keywords of one name are two objects")
	}
}

// TestHostile holds that each of these ends in a limit or an error, in little time, and that without limits the nesting
// still ends in a StackOverflowError.
func TestHostile(t *testing.T) {
	const n = 2_000_000
	for name, src := range map[string]string{
		"parens": strings.Repeat("(", n), "vectors": strings.Repeat("[", n), "maps": strings.Repeat("{", n), "quotes": strings.Repeat("'", n), "discards": strings.Repeat("#_", n),
		"metas": strings.Repeat("^", n), "tags": strings.Repeat("#a ", n), "conds": strings.Repeat("#?(:joker ", n), "fns": "#(" + strings.Repeat("(", n),
		"backquotes": strings.Repeat("`", 60) + "(a)", "derefs": strings.Repeat("@", n), "nsmaps": strings.Repeat("#:a{:b ", n),
		"string": `"` + strings.Repeat("x", 160<<20) + `"`, "escapes": `"` + strings.Repeat(`\n`, 50<<20) + `"`, "symbol": strings.Repeat("x", 100<<20), "vector": "[" + strings.Repeat("1 ", 20<<20) + "]",
		"names": "[" + strings.Repeat("a ", 5<<20) + "]", "number": strings.Repeat("9", 50<<20), "dots": "1." + strings.Repeat("9", 50<<20) + "M",
	} {
		t.Run(name, func(t *testing.T) {
			if kind := limitOf(thread(limit.Defaults()), src); kind == "" {
				t.Error("no limit")
			}
		})
	}
	for _, src := range []string{strings.Repeat("(", n), strings.Repeat("'", n), strings.Repeat("#_", n)} {
		if kind := limitOf(trusted(), src); kind != "StackOverflowError" {
			t.Errorf("%s…: got %q, want StackOverflowError", src[:4], kind)
		}
	}
}

// limitOf reads src and gives the limit that ended that.
func limitOf(th *value.Thread, src string) (kind string) {
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
	_, _ = read.New(th, src, program()).Read()
	return ""
}
