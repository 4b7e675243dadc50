package nrepl

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// lookOps are the ops that tell of one name.
func (s *Server) lookOps() []op {
	const cider = "sym symbol ns context"
	return []op{
		{name: "lookup", doc: "Tells of a name: documentation, arguments, place.", requires: "sym", optional: "ns session", returns: "info", run: s.opLookup, plain: true},
		{name: "info", doc: "Tells of a name: documentation, arguments, place.", requires: "sym", optional: cider, returns: "name ns doc arglists-str file line column", run: s.opInfo},
		{name: "eldoc", doc: "Tells the arguments of a function.", requires: "sym", optional: cider, returns: "eldoc name ns type docstring", run: s.opEldoc},
		{name: "completions", doc: "Lists the names that begin with a prefix.", requires: "prefix", optional: "ns options session", returns: "completions", run: s.opComplete, plain: true},
		{name: "complete", doc: "Lists the names that begin with a prefix.", requires: "prefix", optional: "symbol ns context extra-metadata", returns: "completions", run: s.opComplete},
		{name: "complete-doc", doc: "Gives the documentation of a completion.", requires: "sym", optional: "symbol ns", returns: "completion-doc", run: s.opCompleteDoc},
		{name: "complete-flush-caches", doc: "Does nothing: nothing is cached.", run: func(r *request) { r.answer(nil) }},
	}
}

// find looks up what a request names. It answers where it names nothing.
func (s *Server) find(r *request) (f *facts, info bencode.Dict, ok bool) {
	name := r.text("sym", "symbol")
	if name == "" && (r.wrong("sym") || r.wrong("symbol") || r.msg["sym"] == nil && r.msg["symbol"] == nil) {
		r.bad("sym", "a name as a string")
		return nil, nil, false
	}
	err := s.tool(r, func(t *value.Thread, _ *value.Namespace) {
		if f = look(t, name); f != nil {
			info = s.info(t, f)
		}
	})
	if err != nil {
		r.finish(bencode.Dict{"message": err.Error()}, "error", r.op+"-error", "done")
		return nil, nil, false
	}
	return f, info, true
}

// info is what clients get of the facts.
func (s *Server) info(t *value.Thread, f *facts) bencode.Dict {
	d := bencode.Dict{"ns": f.ns, "name": f.name, "doc": f.doc, "arglists-str": f.arglist(), "type": f.kind}
	switch f.kind {
	case "macro":
		d["macro"] = "true"
	case "special-form":
		d["special-form"] = "true"
	case "namespace":
		delete(d, "arglists-str")
	}
	if f.pos != nil {
		d["line"], d["column"] = int(f.pos.Line), int(f.pos.Column)
		d["file"] = s.files.uri(f.ns, f.pos.File)
		d["resource"] = f.pos.File
	}
	if f.v != nil {
		m := metaOf(t, f.v)
		for _, key := range []string{"added", "deprecated"} {
			if x := textAt(t, m, key); x != "" {
				d[key] = x
			}
		}
		for _, key := range []string{"private", "dynamic"} {
			if get(t, m, key).Truthy() {
				d[key] = "true"
			}
		}
	}
	return d
}

func (s *Server) opLookup(r *request) {
	switch _, info, ok := s.find(r); {
	case !ok:
	case info == nil:
		r.answer(bencode.Dict{"info": []any{}})
	default:
		r.answer(bencode.Dict{"info": info})
	}
}

func (s *Server) opInfo(r *request) {
	switch _, info, ok := s.find(r); {
	case !ok:
	case info == nil:
		r.finish(nil, "no-info", "done")
	default:
		r.answer(info)
	}
}

func (s *Server) opEldoc(r *request) {
	f, _, ok := s.find(r)
	if !ok {
		return
	}
	if f == nil || f.kind == "namespace" {
		r.finish(nil, "no-eldoc", "done")
		return
	}
	lists := []any{}
	for _, a := range f.arglists {
		lists = append(lists, arguments(a))
	}
	r.answer(bencode.Dict{"eldoc": lists, "name": f.name, "ns": f.ns, "docstring": f.doc, "type": f.kind})
}

// arguments splits "[x & more]" into its parts; a destructuring form is one.
func arguments(list string) []string {
	out := []string{}
	depth, start := 0, -1
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	flush := func(end int) {
		if start >= 0 {
			out = append(out, list[start:end])
			start = -1
		}
	}
	for i, c := range list {
		switch {
		case c == '[' || c == '{' || c == '(':
			depth++
		case c == ']' || c == '}' || c == ')':
			depth--
		case (c == ' ' || c == ',' || c == '\n') && depth == 0:
			flush(i)
			continue
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(list))
	return out
}
