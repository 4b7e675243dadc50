package grant

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// addOwn grants the few names that zeno adds to every isolate: they describe it and reach nothing.
func (s *Session) addOwn() {
	own := []value.Builtin{
		{Name: "tools", Arglists: "([])", Doc: "Lists what this role is granted: name, arglists, doc, effect, calls left.",
			F0: s.tools},
		{Name: "doc", Arglists: "([name])", Doc: "Gives the documentation of a granted or core function as a string.",
			Macro: true, N: s.docMacro, Min: 3, Max: 3},
		{Name: "search", Arglists: "([word])", Doc: "Finds granted and core functions whose name or doc holds the word.",
			F1: s.search},
		{Name: "context", Arglists: "([])", Doc: "Gives what the operator tells this role about its work.",
			F0: func(*value.Thread) value.Value { return s.grant.Load().Context }},
		{Name: "budget", Arglists: "([])", Doc: "Gives what is left to this evaluation and to this run.",
			F0: s.budget},
	}
	for i := range own {
		f := value.NewBuiltin(own[i].Name, &own[i])
		if own[i].Macro {
			s.isolate.GrantMacro(own[i].Name, value.Of(f))
			continue
		}
		s.isolate.Grant(own[i].Name, value.Of(f))
	}
}

func (s *Session) tools(t *value.Thread) value.Value {
	var out []value.Value
	for _, c := range s.grant.Load().Caps {
		out = append(out, s.tool(t, c))
	}
	if s.asking {
		out = append(out, value.NewMap(t, value.Kw("name"), value.Str(AskUser), value.Kw("call"),
			value.Str("(ask-user question) (ask-user question {:keys [choices timeout default]})"), value.Kw("doc"), value.Str(AskDoc)))
	}
	return value.NewVector(t, out)
}

func (s *Session) tool(t *value.Thread, c *Capability) value.Value {
	kvs := []value.Value{value.Kw("name"), value.Str(c.Name), value.Kw("call"), value.Str(c.Call()), value.Kw("doc"), value.Str(c.Doc)}
	if c.Effect != "" {
		kvs = append(kvs, value.Kw("effect"), value.Kw(c.Effect))
	}
	if n := s.left(c); n >= 0 {
		kvs = append(kvs, value.Kw("calls-left"), value.Int(int64(n)))
	}
	t.Charge(64 + len(c.Doc))
	return value.NewMap(t, kvs...)
}

// docMacro is (doc name): name is a symbol or a string and is not evaluated.
func (s *Session) docMacro(t *value.Thread, args []value.Value) value.Value {
	v := args[2]
	name := ""
	switch v.Kind() {
	case value.KindSymbol:
		name = value.As[value.Symbol](v).FullName()
	case value.KindString:
		name = v.Text()
	default:
		panic(value.TypeError(t, "doc", v, "a name"))
	}
	return value.Str(s.doc(t, name))
}

func (s *Session) doc(t *value.Thread, name string) string {
	if c := s.grant.Load().Find(name); c != nil {
		return c.Call() + " - " + c.Doc
	}
	if name == AskUser && s.asking {
		return "(ask-user question) (ask-user question {:keys [choices timeout default]}) - " + AskDoc
	}
	if d := lisp.Doc(t, name); d != "" {
		return d
	}
	return name + ": nothing granted and nothing of the core has this name; try (search \"" + name + "\")"
}

// search looks through grant and core, the grant first.
func (s *Session) search(t *value.Thread, word value.Value) value.Value {
	if word.Kind() != value.KindString {
		panic(value.TypeError(t, "search", word, "a string"))
	}
	w := strings.ToLower(word.Text())
	var out []value.Value
	add := func(name, doc string) {
		t.Charge(128)
		out = append(out, value.NewMap(t, value.Kw("name"), value.Str(name), value.Kw("doc"), value.Str(doc)))
	}
	for _, c := range s.grant.Load().Caps {
		if strings.Contains(strings.ToLower(c.Name+" "+c.Doc), w) {
			add(c.Name, c.Call()+" - "+c.Doc)
		}
	}
	for _, hit := range lisp.Apropos(t, w, 30) {
		add(hit, lisp.Doc(t, hit))
	}
	return value.NewVector(t, out)
}

func (s *Session) budget(t *value.Thread) value.Value {
	l, u := t.Limits, t.Used()
	kvs := []value.Value{
		value.Kw("steps"), value.Int(l.Steps - u.Steps), value.Kw("bytes"), value.Int(l.Alloc - u.Alloc),
		value.Kw("output"), value.Int(l.Output - u.Output), value.Kw("calls"), value.Int(l.Calls - u.Calls),
	}
	if left := s.warden.Left(); len(left) > 0 {
		kvs = append(kvs, value.Kw("run"), leftMap(t, left))
	}
	return value.NewMap(t, kvs...)
}
