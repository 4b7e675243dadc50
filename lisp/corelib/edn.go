package corelib

import (
	"errors"
	"io"

	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// ednNS is clojure.edn: data only, nothing is evaluated.
func ednNS() []Def {
	return []Def{
		{Name: "read-string", F1: ednReadString, F2: ednReadStringOpts, Arglists: "([s] [opts s])", Doc: "The first form of data in the string s; nil for nil or an empty one. Options: :eof, :readers (functions by tag), :default (a function of tag and form)."},
		{Name: "read", F1: ednRead, F2: ednReadOpts, Host: true, Arglists: "([stream] [opts stream])", Doc: "The next form of data of the stream."},
	}
}

func ednOptions(t *Thread, m Value) (o read.Options, eof Value, hasEOF bool) {
	o.EDN = true
	if m.IsNil() {
		return o, value.Nil, false
	}
	readers, _ := value.Get(t, m, value.Kw("readers"))
	o.Tags = tagsOf(t, readers)
	if f, _ := value.Get(t, m, value.Kw("default")); !f.IsNil() {
		o.Default = func(t *Thread, tag, form Value) Value { return t.Call2(f, tag, form) }
	}
	eof, hasEOF = value.Get(t, m, value.Kw("eof"))
	return o, eof, hasEOF
}

func ednReadString(t *Thread, s Value) Value {
	if s.IsNil() {
		return s
	}
	return readFirst(t, stringOf(t, "edn/read-string", s), read.Options{EDN: true, Unplaced: true}, value.Nil, true)
}

func ednReadStringOpts(t *Thread, opts, s Value) Value {
	if s.IsNil() {
		return s
	}
	o, eof, has := ednOptions(t, opts)
	o.Unplaced = true
	return readFirst(t, stringOf(t, "edn/read-string", s), o, eof, has)
}

func ednRead(t *Thread, stream Value) Value { return ednReadOpts(t, value.Nil, stream) }

func ednReadOpts(t *Thread, opts, stream Value) Value {
	o, eof, has := ednOptions(t, opts)
	v, _, err := input(t, "edn/read", stream).form(t, o)
	if errors.Is(err, io.EOF) && has {
		return eof
	}
	if err != nil {
		panic(readError(err))
	}
	return v
}
