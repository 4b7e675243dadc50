package nrepl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// namespaceOps are the ops that tell of namespaces and search them.
func (s *Server) namespaceOps() []op {
	return []op{
		{name: "ns-list", doc: "Lists the namespaces.", optional: "filter-regexps exclude-regexps", returns: "ns-list", run: s.opNsList},
		{name: "ns-vars", doc: "Lists the public names of a namespace.", requires: "ns", optional: "private?", returns: "ns-vars", run: s.opNsVars},
		{name: "ns-vars-with-meta", doc: "Lists the public names of a namespace with their arguments and documentation.", requires: "ns", optional: "private?", returns: "ns-vars-with-meta", run: s.opNsVarsMeta},
		{name: "ns-path", doc: "Gives the file of a namespace.", requires: "ns", returns: "path url", run: s.opNsPath},
		{name: "ns-aliases", doc: "Gives the aliases of a namespace.", requires: "ns", returns: "ns-aliases", run: s.opNsAliases},
		{name: "apropos", doc: "Searches names, or documentation, of all namespaces.", requires: "query", optional: "ns search-ns docs? privates? case-sensitive?", returns: "apropos-matches", run: s.opApropos},
		{name: "classpath", doc: "Lists the directories where sources are looked for.", returns: "classpath", run: s.opClasspath},
		{name: "undef", doc: "Makes a name, or an alias, mean nothing in a namespace.", requires: "ns symbol", run: s.opUndef},
		{name: "undef-all", doc: "Removes all names and aliases of a namespace.", requires: "ns", run: s.opUndefAll},
	}
}

// patterns compiles the regular expressions of a list. One that Go cannot read filters nothing.
func patterns(v any) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, s := range texts(v) {
		if re, err := regexp.Compile(s); err == nil {
			out = append(out, re)
		}
	}
	return out
}

func matchesAny(res []*regexp.Regexp, s string) bool {
	return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}

func (s *Server) opNsList(r *request) {
	only, except := patterns(r.msg["filter-regexps"]), patterns(r.msg["exclude-regexps"])
	names := []string{}
	for _, n := range s.conf.Env.Raw().Namespaces() {
		if (len(only) == 0 || matchesAny(only, n.Name)) && !matchesAny(except, n.Name) {
			names = append(names, n.Name)
		}
	}
	r.answer(bencode.Dict{"ns-list": names})
}

// withNS finds the namespace that the request must name, and answers where there is none.
func (s *Server) withNS(r *request, f func(t *value.Thread, ns *value.Namespace)) {
	name := r.text("ns")
	n := s.conf.Env.Raw().Namespace(name)
	if n == nil {
		r.finish(bencode.Dict{"ns": name}, "error", "namespace-not-found", "done")
		return
	}
	if err := s.tool(r, func(t *value.Thread, _ *value.Namespace) { f(t, n) }); err != nil && !r.answered {
		r.finish(bencode.Dict{"message": err.Error()}, "error", r.op+"-error", "done")
	}
}

// listed gives the vars of a namespace that a request wants.
func listed(r *request, n *value.Namespace) []*value.Var {
	var out []*value.Var
	for _, v := range n.Vars() {
		if !v.Private.Load() || flag(r.msg["private?"]) {
			out = append(out, v)
		}
	}
	return out
}

func (s *Server) opNsVars(r *request) {
	s.withNS(r, func(_ *value.Thread, ns *value.Namespace) {
		names := []string{}
		for _, v := range listed(r, ns) {
			names = append(names, v.Name)
		}
		r.answer(bencode.Dict{"ns-vars": names})
	})
}

func (s *Server) opNsVarsMeta(r *request) {
	s.withNS(r, func(t *value.Thread, ns *value.Namespace) {
		out := bencode.Dict{}
		for _, v := range listed(r, ns) {
			f := factsOf(t, v)
			d := bencode.Dict{"arglists": "(" + strings.Join(f.arglists, " ") + ")", "doc": f.doc}
			switch f.kind {
			case "macro":
				d["macro"] = "true"
			case "function":
				d["fn"] = "true"
			}
			out[v.Name] = d
		}
		r.answer(bencode.Dict{"ns-vars-with-meta": out})
	})
}

func (s *Server) opNsPath(r *request) {
	s.withNS(r, func(t *value.Thread, ns *value.Namespace) {
		d := bencode.Dict{}
		if f := factsOfNS(t, ns); f.pos != nil {
			url := s.files.uri(ns.Name, f.pos.File)
			d["url"], d["path"] = url, strings.TrimPrefix(url, "file:")
		}
		r.answer(d)
	})
}

func (s *Server) opNsAliases(r *request) {
	s.withNS(r, func(_ *value.Thread, ns *value.Namespace) {
		d := bencode.Dict{}
		for alias, name := range ns.Aliases() {
			d[alias] = name
		}
		r.answer(bencode.Dict{"ns-aliases": d})
	})
}

// maxMatches bounds what a search gives.
const maxMatches = 1000

func (s *Server) opApropos(r *request) {
	query := r.text("query")
	if query == "" {
		r.bad("query", "a regular expression as a string")
		return
	}
	if !flag(r.msg["case-sensitive?"]) {
		query = "(?i)" + query
	}
	re, err := regexp.Compile(query)
	if err != nil {
		r.bad("query", "a regular expression of Go: "+err.Error())
		return
	}
	matches := []bencode.Dict{}
	err = s.tool(r, func(t *value.Thread, _ *value.Namespace) {
		for _, n := range t.Env.Namespaces() {
			if only := r.text("search-ns"); only != "" && only != n.Name {
				continue
			}
			for _, v := range n.Vars() {
				t.Step()
				if len(matches) < maxMatches && (!v.Private.Load() || flag(r.msg["privates?"])) {
					matches = appendMatch(matches, re, flag(r.msg["docs?"]), factsOf(t, v))
				}
			}
		}
	})
	if err != nil {
		r.finish(bencode.Dict{"message": err.Error()}, "error", "apropos-error", "done")
		return
	}
	r.answer(bencode.Dict{"apropos-matches": matches})
}

func appendMatch(out []bencode.Dict, re *regexp.Regexp, docs bool, f *facts) []bencode.Dict {
	if full := f.ns + "/" + f.name; !re.MatchString(full) && !(docs && re.MatchString(f.doc)) {
		return out
	}
	doc := f.doc
	if !docs {
		doc, _, _ = strings.Cut(doc, "\n")
	}
	return append(out, bencode.Dict{"name": f.ns + "/" + f.name, "type": kindForApropos(f.kind), "doc": doc})
}

func kindForApropos(kind string) string {
	if kind == "var" {
		return "variable"
	}
	return kind
}

func (s *Server) opClasspath(r *request) {
	paths := []string{}
	if s.conf.Paths != nil {
		paths = append(paths, s.conf.Paths()...)
	}
	r.answer(bencode.Dict{"classpath": paths})
}

func (s *Server) opUndef(r *request) {
	name := r.text("symbol", "sym")
	if name == "" {
		r.bad("symbol", "the name to remove as a string")
		return
	}
	s.withNS(r, func(_ *value.Thread, ns *value.Namespace) {
		if !removable(r, s, ns) {
			return
		}
		_, base := value.SplitName(name)
		ns.Unmap(base)
		ns.Unalias(base)
		r.answer(nil)
	})
}

func (s *Server) opUndefAll(r *request) {
	s.withNS(r, func(_ *value.Thread, ns *value.Namespace) {
		if !removable(r, s, ns) {
			return
		}
		for _, v := range ns.Vars() {
			ns.Unmap(v.Name)
		}
		for name := range ns.Refers() {
			ns.Unmap(name)
		}
		for alias := range ns.Aliases() {
			ns.Unalias(alias)
		}
		r.answer(nil)
	})
}

// removable refuses the core, without which nothing works.
func removable(r *request, s *Server, ns *value.Namespace) bool {
	if ns != s.conf.Env.Raw().Core {
		return true
	}
	r.bad("ns", "another than that of the core, without which nothing works")
	return false
}
