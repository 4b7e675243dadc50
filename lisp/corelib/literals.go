package corelib

import (
	"crypto/rand"
	endian "encoding/binary"

	"github.com/reflection-dev/zeno/lisp/value"
)

// literals holds UUIDs and instants.
func literals() []Def {
	return []Def{
		{Name: "parse-uuid", F1: parseUUID, Arglists: "([s])", Doc: "The UUID of the string s, or nil."},
		{Name: "random-uuid", F0: randomUUID, Host: true, Arglists: "([])", Doc: "A random UUID."},
		{Name: "inst-ms", F1: instMillis, Arglists: "([inst])", Doc: "The milliseconds of the instant since 1970-01-01T00:00:00Z."},
		{Name: "inst-ms*", F1: instMillis, Arglists: "([inst])", Doc: "As inst-ms."},
	}
}

// instantNS is clojure.instant, as far as there is something without the JVM's classes of dates.
func instantNS() []Def {
	return []Def{{Name: "read-instant-date", Arglists: "([s])", Doc: "The instant that the string s writes, as #inst reads it.",
		F1: func(t *Thread, s Value) Value {
			v, ok := value.ParseInst(stringOf(t, "read-instant-date", s))
			if !ok {
				panic(value.ArgError("read-instant-date: got %s, want an instant such as 2024-01-31T10:20:30Z", value.Brief(t, s)))
			}
			return v
		}}}
}

// dataReaders is default-data-readers: the functions behind the tags that the reader knows.
func dataReaders() []Const {
	reader := func(name, want string, parse func(string) (Value, bool)) Value {
		return value.Of(value.NewBuiltin(coreName+"/"+name, &value.Builtin{Name: name, F1: func(t *Thread, s Value) Value {
			v, ok := parse(stringOf(t, name, s))
			if !ok {
				panic(value.ArgError("%s: got %s, want %s", name, value.Brief(t, s), want))
			}
			return v
		}}))
	}
	m := value.NewMap(unlimited(),
		value.Sym("inst"), reader("read-inst", "an instant such as 2024-01-31T10:20:30Z", value.ParseInst),
		value.Sym("uuid"), reader("read-uuid", "a UUID such as 00000000-0000-0000-0000-000000000001", value.ParseUUID))
	return []Const{{Name: "default-data-readers", Value: m, Doc: "The functions of the tags that every reader knows: inst and uuid."}}
}

func parseUUID(t *Thread, s Value) Value {
	v, ok := value.ParseUUID(stringOf(t, "parse-uuid", s))
	if !ok {
		return value.Nil
	}
	return v
}

// randomUUID makes a version 4 UUID.
func randomUUID(*Thread) Value {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	hi, lo := endian.BigEndian.Uint64(b[:8]), endian.BigEndian.Uint64(b[8:])
	return value.NewUUID(hi&^0xf000|0x4000, lo&^(3<<62)|1<<63)
}

func instMillis(t *Thread, v Value) Value {
	if v.Kind() != value.KindInst {
		panic(value.TypeError(t, "inst-ms", v, "an instant"))
	}
	return value.Int(value.As[value.Inst](v).Millis)
}
