package read_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

var seeds = []string{
	"", "(defn f [x & ys] `(a ~x ~@ys b#))", "#(+ % %2 %&)", `{:a "b\n\u00e9\101" :c #{\a \newline \o101}}`, "#:a{:b 1 :_/c 2} #::{:x 1}",
	"#?(:clj 1 :default #?@(:joker [2]))", `#inst "2020-01-02T03:04:05.678-00:00" #uuid "1-1-1-1-1"`, "^:a ^{:b 1} #^\"c\" [x]", "#_#_ 1 2 3 ; c\n#! d\n4",
	"017 0x1F 2r101 1/2 1N 1.5M -1e3 ##Inf ##-Inf ##NaN", "'a @b #'c ~d ~@e ``f", `#"a\"b" #=(x) #<x>`, ":a/b ::c ::d/e a//", "[)", "\xff", "\uFEFF\u00a0\u2003x", `"\ud83d\ude00"`,
}

func small() *value.Thread {
	return thread(limit.Limits{Steps: 1 << 20, Alloc: 64 << 20}.OrDefault())
}

// tripped runs f and tells whether a limit or the depth ended it.
func tripped(f func()) (yes bool) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *limit.Error:
			yes = true
		case *value.Exception:
			if x.Class != "StackOverflowError" {
				panic(x)
			}
			yes = true
		default:
			panic(x)
		}
	}()
	f()
	return false
}

// FuzzRead holds that any text reads, or fails with an *Error that has a position.
func FuzzRead(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, src string, edn bool) {
		o := program()
		o.EDN = edn
		tripped(func() {
			r := read.New(small(), src, o)
			for {
				_, err := r.Read()
				if err == io.EOF {
					return
				}
				var e *read.Error
				if errors.As(err, &e) {
					if e.Pos == nil || e.Message == "" {
						t.Fatalf("%q: got %#v, want a position and a message", src, e)
					}
					return
				}
			}
		})
	})
}

// FuzzPrintReadRoundTrip holds that what was read prints as text that reads as an equal value.
func FuzzPrintReadRoundTrip(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "#:") { // makes keywords such as :a/1 that have no text of their own, as on the JVM
			return
		}
		o := program()
		o.EDN = true
		tripped(func() {
			th := small()
			v, err := read.New(th, src, o).Read()
			if err != nil {
				return
			}
			text := value.PrStr(th, v)
			w, err := read.New(th, " "+text, o).Read()
			if err != nil {
				t.Fatalf("%q printed as %q: %v", src, text, err)
			}
			if again := value.PrStr(th, w); again != text {
				t.Fatalf("%q printed as %q, then as %q", src, text, again)
			}
		})
	})
}
