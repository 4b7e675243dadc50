package corelib

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// jokerJSON is joker.json, dataJSON is clojure.data.json: one reader and one writer under two sets of names.
func jokerJSON() []Def {
	return []Def{
		{Name: "read-string", F1: jsonRead, F2: jsonReadMap, Arglists: "([s] [s opts])", Doc: "The value of a JSON text. Options: :keywords? true makes keywords of keys, :key-fn a function of each key."},
		{Name: "write-string", F1: jsonWrite1, F2: jsonWriteMap, Arglists: "([v] [v opts])", Doc: "The JSON text of a value. Options: :indent true spreads it over lines, :key-fn a function of each key."},
	}
}

func dataJSON() []Def {
	return []Def{
		{Name: "read-str", N: jsonReadStr, Min: 1, Arglists: "([string & options])", Doc: "The value of a JSON text. Options: :key-fn a function of each key, such as keyword; :value-fn a function of key and value; :bigdec true reads fractions as decimals; :eof-error? false and :eof-value for an empty text."},
		{Name: "write-str", N: jsonWriteStr, Min: 1, Arglists: "([x & options])", Doc: "The JSON text of a value. Options: :key-fn a function of each key; :value-fn a function of key and value; :indent true; :escape-unicode true; :escape-slash true."},
		{Name: "read", N: jsonReadFrom, Min: 1, Host: true, Arglists: "([reader & options])", Doc: "The value of the JSON text of a reader."},
		{Name: "write", N: jsonWriteTo, Min: 2, Host: true, Arglists: "([x writer & options])", Doc: "Writes the JSON text of a value to a writer."},
	}
}

// jsonOptions are the options of reading and writing.
type jsonOptions struct {
	keywords    bool
	keyFn       Value
	valueFn     Value
	bigdec      bool
	eofOK       bool
	eof         Value
	indent      bool
	escapeAll   bool
	escapeSlash bool
}

func (o *jsonOptions) set(key string, v Value) {
	switch key {
	case "keywords?":
		o.keywords = v.Truthy()
	case "key-fn":
		o.keyFn = v
	case "value-fn":
		o.valueFn = v
	case "bigdec":
		o.bigdec = v.Truthy()
	case "eof-error?":
		o.eofOK = !v.Truthy()
	case "eof-value":
		o.eof = v
	case "indent":
		o.indent = v.Truthy()
	case "escape-unicode":
		o.escapeAll = v.Truthy()
	case "escape-slash":
		o.escapeSlash = v.Truthy()
	}
}

func jsonOptionsMap(t *Thread, m Value) *jsonOptions {
	o := &jsonOptions{}
	value.EachKV(t, m, func(k, v Value) bool {
		if k.Kind() == value.KindKeyword {
			o.set(value.As[value.Keyword](k).FullName(), v)
		}
		return true
	})
	return o
}

func jsonOptionsOf(t *Thread, who string, args []Value) *jsonOptions {
	o := &jsonOptions{}
	options(t, who, args, o.set)
	return o
}

func jsonRead(t *Thread, s Value) Value {
	return readJSON(t, stringOf(t, "json/read-string", s), &jsonOptions{})
}

func jsonReadMap(t *Thread, s, opts Value) Value {
	return readJSON(t, stringOf(t, "json/read-string", s), jsonOptionsMap(t, opts))
}

func jsonReadStr(t *Thread, args []Value) Value {
	return readJSON(t, stringOf(t, "json/read-str", args[0]), jsonOptionsOf(t, "json/read-str", args[1:]))
}

func jsonReadFrom(t *Thread, args []Value) Value {
	return readJSON(t, input(t, "json/read", args[0]).all(), jsonOptionsOf(t, "json/read", args[1:]))
}

// readJSON reads the one value of a text.
func readJSON(t *Thread, src string, o *jsonOptions) Value {
	d := &jsonDecoder{t: t, src: src, o: o}
	d.space()
	if d.off == len(src) && o.eofOK {
		return o.eof
	}
	v := d.value()
	d.space()
	if d.off < len(src) {
		panic(d.fail("the end of the text"))
	}
	return v
}

// jsonDecoder walks a JSON text once.
type jsonDecoder struct {
	t   *Thread
	src string
	off int
	o   *jsonOptions
}

func (d *jsonDecoder) fail(want string) *value.Exception {
	line := 1 + strings.Count(d.src[:min(d.off, len(d.src))], "\n")
	if d.off >= len(d.src) {
		return value.Errorf("ParseError", "json: got the end of the text on line %d, want %s", line, want)
	}
	r, _ := utf8.DecodeRuneInString(d.src[d.off:])
	return value.Errorf("ParseError", "json: got %q on line %d, at byte %d, want %s", r, line, d.off, want)
}

func (d *jsonDecoder) space() {
	start := d.off
	for d.off < len(d.src) && strings.IndexByte(" \t\n\r", d.src[d.off]) >= 0 {
		d.off++
	}
	d.t.Steps((d.off - start) >> 4)
}

func (d *jsonDecoder) peek() byte {
	if d.off < len(d.src) {
		return d.src[d.off]
	}
	return 0
}

func (d *jsonDecoder) value() Value {
	d.t.Step()
	switch c := d.peek(); {
	case c == '{':
		d.t.Enter()
		v := d.object()
		d.t.Leave()
		return v
	case c == '[':
		d.t.Enter()
		v := d.array()
		d.t.Leave()
		return v
	case c == '"':
		return value.Str(d.string())
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	return d.word()
}

func (d *jsonDecoder) word() Value {
	for _, w := range []struct {
		text string
		v    Value
	}{{"true", value.True}, {"false", value.False}, {"null", value.Nil}} {
		if strings.HasPrefix(d.src[d.off:], w.text) {
			d.off += len(w.text)
			return w.v
		}
	}
	panic(d.fail("a JSON value"))
}

// next takes the separator after an item: true when another item comes.
func (d *jsonDecoder) next(closing byte) bool {
	d.space()
	switch d.peek() {
	case ',':
		d.off++
		d.space()
		return true
	case closing:
		d.off++
		return false
	}
	panic(d.fail("',' or '" + string(closing) + "'"))
}

func (d *jsonDecoder) array() Value {
	d.off++
	d.space()
	tr := value.Transient(d.t, value.EmptyVector)
	if d.peek() == ']' {
		d.off++
		return value.EmptyVector
	}
	for {
		tr = value.ConjT(d.t, tr, d.value())
		if !d.next(']') {
			return value.Persistent(d.t, tr)
		}
	}
}

func (d *jsonDecoder) object() Value {
	d.off++
	d.space()
	m := value.EmptyMap
	if d.peek() == '}' {
		d.off++
		return m
	}
	for {
		if d.peek() != '"' {
			panic(d.fail("a string for a key"))
		}
		k := d.key(d.string())
		d.space()
		if d.peek() != ':' {
			panic(d.fail("':'"))
		}
		d.off++
		d.space()
		v := d.value()
		if !d.o.valueFn.IsNil() {
			v = d.t.Call2(d.o.valueFn, k, v)
		}
		m = value.Assoc(d.t, m, k, v)
		if !d.next('}') {
			return m
		}
	}
}

func (d *jsonDecoder) key(s string) Value {
	switch {
	case !d.o.keyFn.IsNil():
		return d.t.Call1(d.o.keyFn, value.Str(s))
	case d.o.keywords:
		d.t.Charge(96)
		return value.Kw(s)
	}
	return value.Str(s)
}

// string takes a string: the cursor stands on its quote.
func (d *jsonDecoder) string() string {
	d.off++
	start := d.off
	for d.off < len(d.src) && d.src[d.off] != '"' && d.src[d.off] != '\\' && d.src[d.off] >= ' ' {
		d.off++
	}
	d.t.Steps((d.off - start) >> 4)
	if d.peek() == '"' && d.off < len(d.src) {
		s := d.src[start:d.off]
		d.t.Charge(len(s) + 48)
		d.off++
		return strings.Clone(s)
	}
	return d.escaped(start)
}

// escaped takes the rest of a string that has escapes in it.
func (d *jsonDecoder) escaped(start int) string {
	end := d.off
	for end < len(d.src) && d.src[end] != '"' { // an upper bound, for the charge
		if d.src[end] == '\\' {
			end++
		}
		end++
	}
	d.t.Steps((end - start) >> 2)
	d.t.Charge(end - start + 48)
	b := append(make([]byte, 0, end-start), d.src[start:d.off]...)
	for {
		if d.off >= len(d.src) {
			panic(d.fail("'\"' at the end of a string"))
		}
		switch c := d.src[d.off]; {
		case c == '"':
			d.off++
			return string(b)
		case c == '\\':
			b = d.escape(b)
		case c < ' ':
			panic(d.fail("an escape such as \\n for a control character"))
		default:
			b = append(b, c)
			d.off++
		}
	}
}

func (d *jsonDecoder) escape(b []byte) []byte {
	d.off++
	c := d.peek()
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 && d.off < len(d.src) {
		d.off++
		return append(b, "\"\\/\b\f\n\r\t"[i])
	}
	if c != 'u' {
		panic(d.fail("an escape: one of \" \\ / b f n r t u"))
	}
	r := d.hex()
	if utf16.IsSurrogate(r) {
		if strings.HasPrefix(d.src[d.off:], `\u`) {
			d.off++
			if full := utf16.DecodeRune(r, d.hex()); full != utf8.RuneError {
				return utf8.AppendRune(b, full)
			}
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(b, r)
}

// hex takes u and four digits.
func (d *jsonDecoder) hex() rune {
	d.off++
	if d.off+4 > len(d.src) {
		d.off = len(d.src)
		panic(d.fail("four hexadecimal digits after \\u"))
	}
	n, err := strconv.ParseUint(d.src[d.off:d.off+4], 16, 32)
	if err != nil {
		panic(d.fail("four hexadecimal digits after \\u"))
	}
	d.off += 4
	return rune(n)
}

func (d *jsonDecoder) digits() {
	start := d.off
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.off++
	}
	if d.off == start {
		panic(d.fail("a digit"))
	}
}

func (d *jsonDecoder) number() Value {
	start := d.off
	if d.peek() == '-' {
		d.off++
	}
	if d.peek() == '0' {
		d.off++
	} else {
		d.digits()
	}
	whole := true
	if d.peek() == '.' {
		whole = false
		d.off++
		d.digits()
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		whole = false
		d.off++
		if c := d.peek(); c == '+' || c == '-' {
			d.off++
		}
		d.digits()
	}
	return d.numberOf(d.src[start:d.off], whole)
}

func (d *jsonDecoder) numberOf(s string, whole bool) Value {
	d.t.Steps(len(s) >> 3)
	if whole {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return value.Int(i)
		}
		i, _ := value.ParseBigInt(d.t, s)
		return value.NewBigInt(i)
	}
	if d.o.bigdec {
		if v, err := value.ParseNumber(d.t, s+"M"); err == nil {
			return v
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(value.Errorf("ParseError", "json: got number %.40s, want one that a double can hold", s))
	}
	return value.Float(f)
}
