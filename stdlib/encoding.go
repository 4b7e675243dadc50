package stdlib

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"html"
	"maps"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"github.com/reflection-dev/zeno/lisp/value"
)

// The small namespaces of text in one form made text in another.

func base64NS() []value.Builtin {
	return []value.Builtin{
		textFn("encode-string", "s in base64.", 2, func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		textFn("decode-string", "The text behind base64.", 1, func(s string) string {
			b, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				panic(value.ArgError("decode-string: got no valid base64 (%s), want letters, digits, + and /, filled up with =", err))
			}
			return string(b)
		}),
	}
}

func hexNS() []value.Builtin {
	return []value.Builtin{
		textFn("encode-string", "The bytes of s in hexadecimal.", 2, func(s string) string { return hex.EncodeToString([]byte(s)) }),
		textFn("decode-string", "The bytes behind hexadecimal digits, as a string.", 1, func(s string) string {
			b, err := hex.DecodeString(s)
			if err != nil {
				panic(value.ArgError("decode-string: got no valid hexadecimal (%s), want pairs of digits and letters a to f", err))
			}
			return string(b)
		}),
	}
}

func htmlNS() []value.Builtin {
	return []value.Builtin{
		textFn("escape", "s with entities for < > & ' and \".", 5, html.EscapeString),
		textFn("unescape", "s with the characters that its entities stand for.", 1, html.UnescapeString),
	}
}

func urlNS() []value.Builtin {
	return []value.Builtin{
		textFn("path-escape", "s made fit for a part of a URL's path.", 3, url.PathEscape),
		textFn("query-escape", "s made fit for a URL's query.", 3, url.QueryEscape),
		textFn("path-unescape", "The text behind a part of a URL's path.", 1, unescape("path-unescape", url.PathUnescape)),
		textFn("query-unescape", "The text behind a part of a URL's query.", 1, unescape("query-unescape", url.QueryUnescape)),
		def("parse-query", "([s])", "A URL's query as a map of names to vectors of values.", parseQuery),
	}
}

// textFn makes a function from text to text that is at most growth times as long.
func textFn(name, doc string, growth int, f func(string) string) value.Builtin {
	return def(name, "([s])", doc, func(t *Thread, s string) Value {
		t.Steps(len(s) >> 6)
		t.Charge(growth*len(s) + 64)
		return value.Str(f(s))
	})
}

func unescape(who string, f func(string) (string, error)) func(string) string {
	return func(s string) string {
		out, err := f(s)
		if err != nil {
			panic(value.ArgError("%s: got %s, want every %% followed by two hexadecimal digits", who, err))
		}
		return out
	}
}

func parseQuery(t *Thread, s string) Value {
	t.Charge(8 * len(s))
	q, err := url.ParseQuery(s)
	if err != nil {
		panic(value.ArgError("parse-query: got %s, want a query such as a=1&b=2", err))
	}
	var kvs []Value
	for _, k := range slices.Sorted(maps.Keys(q)) {
		t.Step()
		kvs = append(kvs, str(t, k), strs(t, q[k]))
	}
	return value.NewMap(t, kvs...)
}

func uuidNS() []value.Builtin {
	return []value.Builtin{
		def("new", "([])", "A new random UUID (version 4), as a string.", func() (string, error) {
			u, err := uuid.NewRandom()
			return u.String(), err
		}),
	}
}

// algorithms are the hashes by name.
func algorithms() map[string]func() hash.Hash {
	return map[string]func() hash.Hash{
		"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384,
		"sha512": sha512.New, "sha512-224": sha512.New512_224, "sha512-256": sha512.New512_256,
	}
}

func cryptoNS() []value.Builtin {
	out := []value.Builtin{
		def("hmac", "([algorithm message key])", "The bytes of the HMAC of a message under a key, as a string. The algorithm is a keyword: :sha1 :sha224 :sha256 :sha384 :sha512 :sha512-224 :sha512-256 or :md5.", mac),
	}
	all := algorithms()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		out = append(out, def(name, "([data])", "The bytes of the "+name+" checksum of a string, as a string; joker.hex makes it readable.",
			func(t *Thread, data string) string {
				t.Steps(len(data) >> 6)
				d := f()
				d.Write([]byte(data))
				return string(d.Sum(nil))
			}))
	}
	return out
}

func mac(t *Thread, algorithm, message, key string) string {
	f := algorithms()[algorithm]
	if f == nil {
		panic(value.ArgError("hmac: got the algorithm :%s, want one such as :sha256", algorithm))
	}
	t.Steps(len(message) >> 6)
	m := hmac.New(f, []byte(key))
	m.Write([]byte(message))
	return string(m.Sum(nil))
}
