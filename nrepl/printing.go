package nrepl

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// The keys by which clients say how values are to be printed, and what they hear of it.
const (
	printKey     = "nrepl.middleware.print/"
	keyTruncated = printKey + "truncated"
)

// printing is how a client wants values printed.
type printing struct {
	stream  bool
	pretty  bool
	custom  string // a function of the user's
	buffer  int    // bytes of one message of a stream
	quota   int    // bytes of a value
	width   int
	length  int // -1: as the session says
	level   int
	options bencode.Dict
}

func newPrinting(m bencode.Dict, most int) *printing {
	p := &printing{stream: flag(m[printKey+"stream?"]), length: -1, level: -1}
	p.buffer = max(number(m[printKey+"buffer-size"], 1024), 16)
	p.quota = min(number(m[printKey+"quota"], most), most)
	p.options, _ = m[printKey+"options"].(bencode.Dict)
	for key, n := range map[string]*int{"length": &p.length, "print-length": &p.length, "level": &p.level, "print-level": &p.level,
		"right-margin": &p.width, "print-right-margin": &p.width, "width": &p.width} {
		*n = number(p.options[key], *n)
	}
	name, _ := m[printKey+"print"].(string)
	_, fn, _ := strings.Cut(name, "/")
	known := strings.HasPrefix(name, "cider.nrepl.pprint/") || strings.HasPrefix(name, "nrepl.util.print/") || strings.HasPrefix(name, "clojure.pprint/")
	switch {
	case known && strings.HasSuffix(fn, "pprint"):
		p.pretty = true
	case known, name == "", name == "clojure.core/pr", name == "clojure.core/prn":
	default:
		p.custom = name
	}
	return p
}

// errQuota stops a printing function of the user's.
var errQuota = errors.New("the value is longer than the client wants")

// printed is the text of a value on its way to the client, or a part of it.
type printed struct {
	j    *job
	p    *printing
	text strings.Builder
	n    int
	cut  bool
}

// Write takes text as it is printed. A stream sends it on; other text is kept.
func (w *printed) Write(b []byte) (int, error) {
	size := len(b)
	if room := w.p.quota - w.n; size > room {
		b, w.cut = b[:whole(b[:max(room, 0)])], true
	}
	w.n += len(b)
	w.text.Write(b)
	if w.p.stream {
		w.drain(w.p.buffer)
	}
	if w.cut {
		return len(b), errQuota
	}
	return size, nil
}

// drain sends what there is in messages of the buffer's size, while there are as many bytes as least.
func (w *printed) drain(least int) {
	s := w.text.String()
	for len(s) >= max(least, 1) {
		n := min(len(s), w.p.buffer)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		w.j.send(bencode.Dict{"value": valid(s[:n])})
		s = s[n:]
	}
	w.text.Reset()
	w.text.WriteString(s)
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// value prints v and sends it, with the namespace that evaluation goes on in; "" sends none. It runs Lisp code, for a lazy
// seq may, and so ends as the evaluation does.
func (j *job) value(t *value.Thread, p *printing, v value.Value, ns string) {
	w := &printed{j: j, p: p}
	w.print(t, v)
	j.out.flush() // printing may have printed
	switch {
	case p.stream:
		w.drain(1)
		if ns != "" {
			j.send(bencode.Dict{"ns": ns})
		}
		if w.cut {
			j.send(bencode.Dict{"status": []string{keyTruncated}})
		}
	default:
		m := bencode.Dict{"value": valid(w.text.String())}
		if ns != "" {
			m["ns"] = ns
		}
		if w.cut {
			m["status"] = []string{keyTruncated}
			m[printKey+"truncated-keys"] = []string{"value"}
		}
		j.send(m)
	}
}

func (w *printed) print(t *value.Thread, v value.Value) {
	switch p := w.p; {
	case p.custom != "" && w.custom(t, v):
	case p.pretty:
		text, cut := corelib.Pretty(t, v, corelib.Layout{Width: p.width, Length: p.length, Level: p.level, MaxBytes: p.quota})
		_, _ = w.Write([]byte(text)) // w never fails but for the quota, which it notes
		w.cut = w.cut || cut
	default:
		w.plain(t, v)
	}
}

func (w *printed) plain(t *value.Thread, v value.Value) {
	pr := corelib.NewPrinter(t)
	if w.p.length >= 0 {
		pr.Length = w.p.length
	}
	if w.p.level >= 0 {
		pr.Level = w.p.level
	}
	pr.MaxBytes, pr.Sink = w.p.quota, w
	pr.Print(t, v)
	_ = pr.Flush() // as in print
	w.cut = w.cut || pr.Truncated()
	pr.Release(t)
}

// custom prints with a function of the user's, called as nREPL does: (f value writer) or (f value writer options). It gives
// false where there is none of that name, and says so.
func (w *printed) custom(t *value.Thread, v value.Value) bool {
	ns, name := value.SplitName(w.p.custom)
	x := compile.Resolve(t, value.NewSymbol(ns, name))
	if x == nil {
		w.j.send(bencode.Dict{"status": []string{printKey + "error"}, printKey + "error": "Couldn't resolve var " + w.p.custom})
		return false
	}
	writer := corelib.NewWriter(w)
	args := []value.Value{v, writer}
	if len(w.p.options) > 0 {
		args = append(args, optionMap(t, w.p.options))
	}
	saved := t.Binds
	t.Bind([]*value.Var{t.Env.OutVar}, []value.Value{writer})
	_, ex := t.Try(func() value.Value { return t.Call(x.Get(t), args...) })
	t.Binds = saved
	if ex != nil && !w.cut {
		panic(ex)
	}
	return true
}

func optionMap(t *value.Thread, d bencode.Dict) value.Value {
	m := value.EmptyMap
	for k, x := range d {
		v := value.Nil
		switch x := x.(type) {
		case string:
			v = value.Str(x)
		case int64:
			v = value.Int(x)
		}
		m = value.Assoc(t, m, value.Kw(k), v)
	}
	return m
}
