package nrepl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// The bounds of what an inspector shows.
const (
	inspectPage  = 32      // items of a page, unless the client says otherwise
	inspectMost  = 1000    // items of a page at most
	inspectItem  = 200     // bytes of an item
	inspectText  = 8 << 10 // bytes of a text that is inspected itself
	inspectDepth = 100     // values on the way to the one that is shown
)

// inspectOps are the ops of CIDER's inspector. They may run code, for a lazy seq does, and so wait for their turn.
func (s *Server) inspectOps() []op {
	of := func(name, doc, requires string, move func(in *inspector, j *job) *inspector) op {
		return op{name: name, doc: doc, requires: requires, returns: "value", run: func(r *request) {
			r.submit(func(j *job) { j.inspect(func(in *inspector) *inspector { return move(in, j) }) })
		}}
	}
	return []op{
		of("inspect-refresh", "Shows the value again.", "", func(in *inspector, j *job) *inspector { return in.sized(j.r) }),
		of("inspect-set-page-size", "Sets how many items a page has.", "page-size", func(in *inspector, j *job) *inspector { return in.sized(j.r) }),
		of("inspect-push", "Shows the item with the number.", "idx", func(in *inspector, j *job) *inspector { return in.push(number(j.r.msg["idx"], 0)) }),
		of("inspect-pop", "Goes back to the value before.", "", func(in *inspector, _ *job) *inspector { return in.pop() }),
		of("inspect-next-page", "Shows the next items.", "", func(in *inspector, _ *job) *inspector { return in.turn(1) }),
		of("inspect-prev-page", "Shows the items before.", "", func(in *inspector, _ *job) *inspector { return in.turn(-1) }),
		of("inspect-clear", "Forgets what is inspected.", "", func(*inspector, *job) *inspector { return &inspector{} }),
		of("inspect-last-exception", "Shows the last error.", "", func(_ *inspector, j *job) *inspector { return (&inspector{}).start(j.x.lisp().Value("*e")) }),
		of("inspect-def-current-value", "Makes a var of the value that is shown.", "ns var-name", func(in *inspector, j *job) *inspector {
			in.define(j)
			return in
		}),
		{name: "inspect-get-path", doc: "Tells the way to the value that is shown.", returns: "value", run: func(r *request) {
			r.submit(func(j *job) { j.send(bencode.Dict{"value": strings.Join(j.x.inspected().path(), " ")}) })
		}},
	}
}

// inspector is the state of an inspection. It is never changed once it is made. The zero value inspects nothing.
type inspector struct {
	stack []inspectedValue // the last is shown
	size  int              // items of a page; 0: inspectPage
	items []inspectedValue // those that were shown, by number from 1
	more  bool             // there is a page after the one that was shown
}

type inspectedValue struct {
	v    value.Value
	key  string // how it is reached from the one before
	page int
}

func (in *inspector) start(v value.Value) *inspector {
	return &inspector{stack: []inspectedValue{{v: v}}, size: in.size}
}

func (in *inspector) with(stack ...inspectedValue) *inspector {
	return &inspector{stack: append([]inspectedValue{}, stack...), size: in.size}
}

// push goes on to an item that was shown; a number that none has changes nothing.
func (in *inspector) push(n int) *inspector {
	if n < 1 || n > len(in.items) || len(in.stack) >= inspectDepth {
		return in
	}
	return in.with(append(append([]inspectedValue{}, in.stack...), in.items[n-1])...)
}

func (in *inspector) pop() *inspector {
	if len(in.stack) < 2 {
		return in
	}
	return in.with(in.stack[:len(in.stack)-1]...)
}

func (in *inspector) turn(by int) *inspector {
	if len(in.stack) == 0 || by > 0 && !in.more {
		return in
	}
	out := in.with(in.stack...)
	top := &out.stack[len(out.stack)-1]
	top.page = max(top.page+by, 0)
	return out
}

func (in *inspector) sized(r *request) *inspector {
	out := in.with(in.stack...)
	if n := min(r.number("page-size", 0), inspectMost); n > 0 && n != in.size {
		out.size = n
		for i := range out.stack {
			out.stack[i].page = 0
		}
	}
	return out
}

func (in *inspector) path() []string {
	var out []string
	for _, s := range in.stack[min(1, len(in.stack)):] {
		out = append(out, s.key)
	}
	return out
}

// define makes a var of what is shown. It answers where that cannot be.
func (in *inspector) define(j *job) {
	env, name := j.x.s.conf.Env.Raw(), j.r.text("var-name")
	ns, sym := env.Namespace(j.r.text("ns")), symbol(name)
	switch {
	case ns == nil || ns == env.Core:
		j.finish(bencode.Dict{"ns": j.r.text("ns")}, "error", "namespace-not-found", "done")
	case sym == nil || sym.FullName() != name || strings.Contains(name, "/") || len(in.stack) == 0:
		j.finish(bencode.Dict{"message": j.r.op + ": got no usable var-name or nothing that is inspected, want a name without a slash"}, "error", "bad-argument", "done")
	default:
		ns.Intern(name).SetRoot(in.stack[len(in.stack)-1].v)
	}
}

func (x *session) inspected() *inspector {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inspecting == nil {
		return &inspector{}
	}
	return x.inspecting
}

// inspect moves the inspector and sends what it shows then.
func (j *job) inspect(move func(*inspector) *inspector) {
	next := move(j.x.inspected())
	text := ""
	in := lisp.Input{Src: "nil", File: evalFile, Last: func(t *value.Thread, _ value.Value) { text = j.shown(t, next) }}
	fails := &failures{j: j, file: evalFile, line: 1}
	in.Failed = func(err *lisp.Error) bool {
		fails.report(err)
		return false
	}
	if _, err := j.x.lisp().Fork().Eval(j.ctx, in); err != nil {
		return // fails has reported it
	}
	j.send(bencode.Dict{"value": text})
}

// shown renders what next shows, and makes it the session's.
func (j *job) shown(t *value.Thread, next *inspector) string {
	done, text := next.render(t)
	j.x.mu.Lock()
	defer j.x.mu.Unlock()
	if !j.over.Load() {
		j.x.inspecting = done
	}
	return valid(text)
}

// sheet is a list that Emacs reads: texts, line breaks, and values with the number by which they are asked for.
type sheet struct {
	b     strings.Builder
	items []inspectedValue
}

func (s *sheet) text(texts ...string) {
	for _, x := range texts {
		s.b.WriteString(" " + elisp(x))
	}
}

func (s *sheet) line(texts ...string) {
	s.text(texts...)
	s.b.WriteString(" (:newline)")
}

func (s *sheet) value(t *value.Thread, v value.Value, key string) {
	s.items = append(s.items, inspectedValue{v: v, key: key})
	fmt.Fprintf(&s.b, " (:value %s %d)", elisp(brief(t, v, inspectItem)), len(s.items))
}

// elisp writes a text as Emacs reads it.
func elisp(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }

func brief(t *value.Thread, v value.Value, most int) string {
	p := value.NewPrinter(true)
	p.Length, p.Level, p.MaxBytes = 10, 4, most
	p.Print(t, v)
	text := string(p.Buf)
	if p.Truncated() {
		text += "..."
	}
	p.Release(t)
	return text
}

// render gives the text for a value, and the inspector that knows its items.
func (in *inspector) render(t *value.Thread) (*inspector, string) {
	s := &sheet{}
	out := &inspector{stack: in.stack, size: in.size}
	if len(in.stack) == 0 {
		s.line("nothing is inspected")
		return out, "(" + s.b.String() + ")"
	}
	top := in.stack[len(in.stack)-1]
	s.line("Class: ", top.v.Kind().String())
	switch k := top.v.Kind(); {
	case k.IsColl():
		out.more = s.collection(t, top, in.pageSize())
	case k == value.KindException:
		s.exception(t, value.As[value.Exception](top.v))
	case k == value.KindVar || k == value.KindAtom:
		s.text("Contains: ")
		s.value(t, t.Call1(t.Env.Core.Var("deref").Get(t), top.v), "deref")
		s.line()
	default:
		s.line("Value: ", brief(t, top.v, inspectText))
	}
	if m := value.Meta(top.v); !m.IsNil() {
		s.text("Meta: ")
		s.value(t, m, "meta")
		s.line()
	}
	if p := in.path(); len(p) > 0 {
		s.line()
		s.line("--- Path:")
		s.line("  " + strings.Join(p, " "))
	}
	out.items = s.items
	return out, "(" + s.b.String() + ")"
}

func (in *inspector) pageSize() int {
	if in.size == 0 {
		return inspectPage
	}
	return in.size
}

// collection shows a page and tells whether there is one after it. No more of a lazy seq is made than that needs.
func (s *sheet) collection(t *value.Thread, top inspectedValue, size int) (more bool) {
	if value.Counted(top.v) {
		s.line("Count: ", strconv.Itoa(value.Count(t, top.v)))
	}
	s.line()
	s.line("--- Contents:")
	n, from := 0, top.page*size
	value.Each(t, top.v, func(x value.Value) bool {
		t.Step()
		n++
		switch {
		case n <= from:
		case n > from+size:
			more = true
			return false
		default:
			s.item(t, top.v.Kind(), n-1, x)
		}
		return true
	})
	if from > 0 || more {
		s.line()
		s.line(fmt.Sprintf("  Page size: %d, showing page: %d", size, top.page+1))
	}
	return more
}

func (s *sheet) item(t *value.Thread, of value.Kind, n int, x value.Value) {
	switch {
	case of.IsMap() && x.Kind() == value.KindMapEntry:
		e := value.As[value.MapEntry](x)
		key := brief(t, e.Key(), inspectItem)
		s.text("  ")
		s.value(t, e.Key(), "(find "+key+")")
		s.text(" = ")
		s.value(t, e.Val(), key)
	case of.IsSet():
		s.text("  ")
		s.value(t, x, "(get "+brief(t, x, inspectItem)+")")
	default:
		s.text("  " + strconv.Itoa(n) + ". ")
		s.value(t, x, "(nth "+strconv.Itoa(n)+")")
	}
	s.line()
}

func (s *sheet) exception(t *value.Thread, e *value.Exception) {
	s.line("Error: ", e.Class, ": ", e.Error())
	if !e.Data.IsNil() {
		s.text("Data: ")
		s.value(t, e.Data, "(ex-data)")
		s.line()
	}
	if e.Cause.Kind() == value.KindException {
		s.text("Cause: ")
		s.value(t, e.Cause, "(ex-cause)")
		s.line()
	}
	for _, f := range e.Trace {
		name, at := "eval", ""
		if f.Code != nil {
			name = f.Code.Name
		}
		if f.Pos != nil {
			at = fmt.Sprintf(" (%s:%d)", base(f.Pos.File), f.Pos.Line)
		}
		s.line("  at " + name + at)
	}
}
