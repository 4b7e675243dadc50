package nrepl

import (
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// maxCandidates bounds a list of completions.
const maxCandidates = 500

// opComplete lists what a prefix may go on to: names of the namespace and those it sees, names behind an alias or a
// namespace, namespaces, aliases, special forms; and after a colon keywords.
func (s *Server) opComplete(r *request) {
	prefix := r.text("prefix", "symbol")
	if r.wrong("prefix") || r.wrong("symbol") {
		r.bad("prefix", "the beginning of a name as a string")
		return
	}
	extra := texts(r.msg["extra-metadata"])
	if o, ok := r.msg["options"].(bencode.Dict); ok {
		extra = append(extra, texts(o["extra-metadata"])...)
	}
	found := []bencode.Dict{}
	err := s.tool(r, func(t *value.Thread, ns *value.Namespace) {
		c := &completer{t: t, ns: ns, prefix: prefix, extra: extra, keywords: s.conf.Env.CompleteKeyword}
		c.all()
		found = c.sorted()
	})
	if err != nil {
		r.finish(bencode.Dict{"completions": []any{}, "message": err.Error()}, "error", r.op+"-error", "done")
		return
	}
	r.answer(bencode.Dict{"completions": found})
}

type completer struct {
	t        *value.Thread
	ns       *value.Namespace
	prefix   string
	extra    []string
	keywords func(ns *value.Namespace, text string) []string
	found    map[string]bencode.Dict
}

func (c *completer) all() {
	c.found = map[string]bencode.Dict{}
	if strings.HasPrefix(c.prefix, ":") {
		for _, k := range c.keywords(c.ns, c.prefix) {
			c.add(k, "keyword", "")
		}
		return
	}
	if qualifier, _, ok := strings.Cut(c.prefix, "/"); ok && qualifier != "" {
		c.members(qualifier)
		return
	}
	for name, v := range visible(c.t, c.ns) {
		c.variable(name, v)
	}
	for name := range specials() {
		c.add(name, "special-form", "clojure.core")
	}
	for alias := range c.ns.Aliases() {
		c.add(alias, "namespace", "")
	}
	for _, n := range c.t.Env.Namespaces() {
		c.add(n.Name, "namespace", "")
	}
}

// members adds the public names of a namespace, or all of them where it is the one completed in.
func (c *completer) members(qualifier string) {
	n := namespaceOf(c.t, qualifier)
	if n == nil {
		return
	}
	for _, v := range n.Vars() {
		if !v.Private.Load() || n == c.ns {
			c.variable(qualifier+"/"+v.Name, v)
		}
	}
}

func (c *completer) variable(name string, v *value.Var) {
	if d := c.add(name, kindOf(v), v.NS); d != nil {
		c.details(d, v)
	}
}

func (c *completer) add(name, kind, ns string) bencode.Dict {
	if !strings.HasPrefix(name, c.prefix) || c.found[name] != nil {
		return nil
	}
	d := bencode.Dict{"candidate": name, "type": kind}
	if ns != "" {
		d["ns"] = ns
	}
	c.found[name] = d
	return d
}

// details adds what the client asked for besides.
func (c *completer) details(d bencode.Dict, v *value.Var) {
	if len(c.extra) == 0 {
		return
	}
	f := factsOf(c.t, v)
	if slices.Contains(c.extra, "arglists") && len(f.arglists) > 0 {
		d["arglists"] = f.arglists
	}
	if slices.Contains(c.extra, "doc") && f.doc != "" {
		d["doc"] = f.doc
	}
}

// sorted gives the shortest first: who typed a whole name wants that.
func (c *completer) sorted() []bencode.Dict {
	names := sortedNames(c.found)
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	out := []bencode.Dict{}
	for _, n := range names[:min(len(names), maxCandidates)] {
		out = append(out, c.found[n])
	}
	return out
}

func (s *Server) opCompleteDoc(r *request) {
	f, _, ok := s.find(r)
	switch {
	case !ok:
	case f == nil:
		r.answer(bencode.Dict{"completion-doc": ""})
	default:
		r.answer(bencode.Dict{"completion-doc": strings.TrimSpace(f.ns + "/" + f.name + "\n" + f.arglist() + "\n" + f.doc)})
	}
}
