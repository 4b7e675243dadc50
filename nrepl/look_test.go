package nrepl

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const kitFile = "(ns kit.comp \"About it.\")\n(def kit-var-one 1)\n(defn kit-fn-two \"Two.\" ([] 2) ([a {:keys [b c]} & more] [a b]))\n(defmacro kit-mac [x] x)\n(defn- kit-hidden [] 0)\n"

// kit loads a namespace to look things up in.
func kit(t *testing.T, s *Server) *peer {
	t.Helper()
	p := open(t, s)
	if ms := p.ask(Message{"op": "load-file", "file": kitFile, "file-path": "/tmp/kit/a b/comp.clj"}); text(ms, "err") != "" {
		t.Fatal(ms)
	}
	return p
}

// candidates asks for completions.
func (p *peer) candidates(m Message) map[string]Message {
	p.t.Helper()
	if m["op"] == nil {
		m["op"] = "completions"
	}
	ms := p.ask(m)
	list, ok := last(ms)["completions"].([]any)
	if !ok || status(ms) != "done" {
		p.t.Fatalf("%v: got %v, want a list", m, ms)
	}
	out := map[string]Message{}
	for _, x := range list {
		d, _ := x.(Message)
		name, _ := d["candidate"].(string)
		out[name] = d
	}
	return out
}

func TestCompletions(t *testing.T) {
	p := kit(t, start(t, Config{}))
	for _, c := range []struct {
		m          Message
		name, kind string
	}{
		{Message{"prefix": "map-"}, "map-indexed", "function"},
		{Message{"op": "complete", "symbol": "map-", "ns": "user", "context": 0}, "map-indexed", "function"},
		{Message{"op": "cider/complete", "prefix": "map-", "context": ":same"}, "map-indexed", "function"},
		{Message{"prefix": "map-", "ns": ""}, "map-indexed", "function"},
		{Message{"prefix": "map-", "ns": "no.such"}, "map-indexed", "function"},
		{Message{"prefix": "when-"}, "when-let", "macro"},
		{Message{"prefix": "recu"}, "recur", "special-form"},
		{Message{"prefix": "kit-", "ns": "kit.comp"}, "kit-var-one", "var"},
		{Message{"prefix": "kit-", "ns": "kit.comp"}, "kit-hidden", "function"},
		{Message{"prefix": "kit-", "ns": "kit.comp"}, "kit-mac", "macro"},
		{Message{"prefix": "kit.comp/kit-"}, "kit.comp/kit-fn-two", "function"},
		{Message{"prefix": "kit.co"}, "kit.comp", "namespace"},
		{Message{"prefix": "clojure.string/up"}, "clojure.string/upper-case", "function"},
	} {
		got := p.candidates(c.m)
		if got[c.name]["type"] != c.kind {
			t.Errorf("%v: got %v for %s, want type %s", c.m, got[c.name], c.name, c.kind)
		}
	}
	if got := p.candidates(Message{"prefix": "kit.comp/kit-"}); got["kit.comp/kit-hidden"] != nil {
		t.Error("a private name is offered to others")
	}
	if got := p.candidates(Message{"prefix": "zzzqqq"}); len(got) != 0 {
		t.Errorf("nothing: got %v", got)
	}
	p.eval("(require '[kit.comp :as kc :refer [kit-fn-two]])")
	if got := p.candidates(Message{"prefix": "kc/"}); got["kc/kit-fn-two"] == nil {
		t.Errorf("behind an alias: got %v", got)
	}
	p.eval("[:kit-key :kit.comp/far ::near]")
	for prefix, want := range map[string]string{":kit-k": ":kit-key", ":kit.comp/": ":kit.comp/far", "::ne": "::near", "::kc/": "::kc/far"} {
		for _, op := range []string{"completions", "complete", "cider/complete"} {
			if got := p.candidates(Message{"op": op, "prefix": prefix, "symbol": prefix}); got[want]["type"] != "keyword" {
				t.Errorf("%s %s: got %v, want %s", op, prefix, got, want)
			}
		}
	}
	got := p.candidates(Message{"prefix": "kit-fn", "extra-metadata": []any{"arglists", "doc"}})
	if d := got["kit-fn-two"]; d["doc"] != "Two." || len(texts(d["arglists"])) != 2 || d["ns"] != "kit.comp" {
		t.Errorf("details: got %v", d)
	}
	if got := p.candidates(Message{"prefix": ""}); len(got) != maxCandidates {
		t.Errorf("everything: got %d, want %d", len(got), maxCandidates)
	}
	if got := text(p.ask(Message{"op": "complete-doc", "sym": "map"}), "completion-doc"); !strings.Contains(got, "clojure.core/map") {
		t.Errorf("complete-doc: got %q", got)
	}
}

func TestLookup(t *testing.T) {
	p := kit(t, start(t, Config{}))
	for _, c := range []struct {
		sym, ns string
		want    Message
	}{
		{"map", "user", Message{"name": "map", "ns": "clojure.core", "type": "function"}},
		{"clojure.core/map", "user", Message{"name": "map", "ns": "clojure.core"}},
		{"kit-fn-two", "kit.comp", Message{"line": int64(3), "column": int64(1), "doc": "Two.", "arglists-str": "[]\n[a {:keys [b c]} & more]", "file": "file:/tmp/kit/a%20b/comp.clj"}},
		{"kit.comp/kit-mac", "user", Message{"macro": "true", "line": int64(4)}},
		{"kit-hidden", "kit.comp", Message{"private": "true"}},
		{"kit.comp", "user", Message{"name": "kit.comp", "type": "namespace", "line": int64(1), "doc": "About it."}},
		{"if", "user", Message{"special-form": "true", "arglists-str": "[test then else?]"}},
		{"*1", "user", Message{"dynamic": "true"}},
	} {
		info, _ := last(p.ask(Message{"op": "lookup", "sym": c.sym, "ns": c.ns}))["info"].(Message)
		for k, v := range c.want {
			if info[k] != v {
				t.Errorf("lookup %s: %s is %v, want %v", c.sym, k, info[k], v)
			}
		}
		for _, key := range []string{"sym", "symbol"} {
			flat := last(p.ask(Message{"op": "info", key: c.sym, "ns": c.ns}))
			for k, v := range c.want {
				if flat[k] != v {
					t.Errorf("info {%s %s}: %s is %v, want %v", key, c.sym, k, flat[k], v)
				}
			}
		}
	}
	for _, sym := range []string{"zzz-nope", "no.such/thing", "(", "a b", strings.Repeat("x", 10000)} {
		if m := last(p.ask(Message{"op": "lookup", "sym": sym})); len(m["info"].([]any)) != 0 || !has(m, "done") {
			t.Errorf("lookup %.20s: got %v, want nothing", sym, m)
		}
		if got := status(p.ask(Message{"op": "info", "sym": sym})); got != "done no-info" {
			t.Errorf("info %.20s: got %s", sym, got)
		}
		if got := status(p.ask(Message{"op": "eldoc", "sym": sym})); got != "done no-eldoc" {
			t.Errorf("eldoc %.20s: got %s", sym, got)
		}
	}
	m := last(p.ask(Message{"op": "eldoc", "sym": "kit-fn-two", "ns": "kit.comp"}))
	lists, _ := m["eldoc"].([]any)
	if len(lists) != 2 || !slices.Equal(texts(lists[1]), []string{"a", "{:keys [b c]}", "&", "more"}) || m["type"] != "function" || m["name"] != "kit-fn-two" || m["ns"] != "kit.comp" || m["docstring"] != "Two." {
		t.Errorf("eldoc: got %v", m)
	}
}

// TestJumpToDefinition: the place of a name is a file that an editor can open, also for a library inside the binary.
func TestJumpToDefinition(t *testing.T) {
	s := start(t, Config{SourceDir: t.TempDir()})
	p := open(t, s)
	p.eval("(require 'clojure.repl 'zeno.grant)")
	for _, c := range []struct{ sym, line string }{
		{"clojure.repl/apropos", "(defn apropos"}, {"zeno.grant", "(ns "},
	} {
		m := last(p.ask(Message{"op": "info", "sym": c.sym}))
		file, _ := m["file"].(string)
		u, err := url.Parse(file)
		if err != nil || u.Scheme != "file" {
			t.Fatalf("%s: got %q in %v, want a file", c.sym, file, m)
		}
		b, err := os.ReadFile(u.Path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		if n, _ := m["line"].(int64); n < 1 || int(n) > len(lines) || !strings.Contains(strings.Join(lines[n-1:min(int(n)+3, len(lines))], "\n"), c.line) {
			t.Errorf("%s: line %v of %s has no %q", c.sym, m["line"], u.Path, c.line)
		}
		if info, err := os.Stat(u.Path); err != nil || info.Mode()&0o222 != 0 {
			t.Errorf("%s: got %v, %v, want a copy that cannot be written to", u.Path, info, err)
		}
	}
	home := filepath.Join(t.TempDir(), "mine.joke")
	writeFile(t, home, "(ns mine)\n\n(defn f [] 1)\n")
	p.eval("(load-file \"" + home + "\")")
	if m := last(p.ask(Message{"op": "info", "sym": "mine/f"})); m["file"] != "file:"+home || m["line"] != int64(3) {
		t.Errorf("a file: got %v:%v, want %s:3", m["file"], m["line"], home)
	}
	if m := last(p.ask(Message{"op": "ns-path", "ns": "mine"})); m["path"] != home {
		t.Errorf("ns-path: got %v", m)
	}
}

func TestNamespaces(t *testing.T) {
	s := start(t, Config{Paths: func() []string { return []string{"/home/x/src"} }})
	p := kit(t, s)
	all := texts(last(p.ask(Message{"op": "ns-list"}))["ns-list"])
	if !slices.Contains(all, "kit.comp") || !slices.Contains(all, "clojure.core") || !slices.IsSorted(all) {
		t.Errorf("ns-list: got %v", all)
	}
	some := texts(last(p.ask(Message{"op": "ns-list", "filter-regexps": []any{"^kit", "("}, "exclude-regexps": []any{"^cider"}}))["ns-list"])
	if !slices.Equal(some, []string{"kit.comp"}) {
		t.Errorf("ns-list of ^kit: got %v", some)
	}
	vars := texts(last(p.ask(Message{"op": "ns-vars", "ns": "kit.comp"}))["ns-vars"])
	if !slices.Equal(vars, []string{"kit-fn-two", "kit-mac", "kit-var-one"}) {
		t.Errorf("ns-vars: got %v", vars)
	}
	meta, _ := last(p.ask(Message{"op": "ns-vars-with-meta", "ns": "kit.comp"}))["ns-vars-with-meta"].(Message)
	if d, _ := meta["kit-mac"].(Message); d["macro"] != "true" || d["arglists"] != "([x])" {
		t.Errorf("ns-vars-with-meta: got %v", meta)
	}
	p.eval("(require '[kit.comp :as kc])")
	if d, _ := last(p.ask(Message{"op": "ns-aliases", "ns": "user"}))["ns-aliases"].(Message); d["kc"] != "kit.comp" {
		t.Errorf("ns-aliases: got %v", d)
	}
	if got := texts(last(p.ask(Message{"op": "classpath"}))["classpath"]); !slices.Equal(got, []string{"/home/x/src"}) {
		t.Errorf("classpath: got %v", got)
	}
	found, _ := last(p.ask(Message{"op": "apropos", "query": "KIT-fn"}))["apropos-matches"].([]any)
	if len(found) != 1 || found[0].(Message)["name"] != "kit.comp/kit-fn-two" || found[0].(Message)["type"] != "function" {
		t.Errorf("apropos: got %v", found)
	}
	if found, _ := last(p.ask(Message{"op": "apropos", "query": "two\\.", "docs?": 1, "search-ns": "kit.comp"}))["apropos-matches"].([]any); len(found) != 1 {
		t.Errorf("apropos of docs: got %v", found)
	}
	p.ask(Message{"op": "undef", "ns": "kit.comp", "symbol": "kit-fn-two"})
	p.ask(Message{"op": "undef", "ns": "user", "sym": "kc"})
	p.wants("[(resolve 'kit.comp/kit-fn-two) (resolve 'kc/kit-mac)]", "[nil nil]")
	p.ask(Message{"op": "undef-all", "ns": "kit.comp"})
	p.wants("(count (ns-interns 'kit.comp))", "0")
}

func TestStacktrace(t *testing.T) {
	p := open(t, start(t, Config{}))
	for _, op := range []string{"stacktrace", "analyze-last-stacktrace", "cider/analyze-last-stacktrace"} {
		if got := status(p.ask(Message{"op": op})); got != "done no-error" {
			t.Errorf("%s: got %s, want no error yet", op, got)
		}
	}
	p.eval("(defn kit-inner [] (throw (ex-info \"outer\" {:k 1} (ex-info \"inner\" {}))))\n(defn kit-outer [] (str (kit-inner)))\n(kit-outer)", Message{"file": "/tmp/kit/st.clj"})
	ms := p.ask(Message{"op": "analyze-last-stacktrace"})
	if len(ms) != 3 || ms[0]["class"] != "ExceptionInfo" || ms[0]["message"] != "outer" || ms[0]["data"] != "{:k 1}" || ms[1]["message"] != "inner" {
		t.Fatalf("got %v, want a message for each cause, and done", ms)
	}
	frames, _ := ms[0]["stacktrace"].([]any)
	var names []string
	for _, f := range frames {
		d := f.(Message)
		names = append(names, d["name"].(string))
		for _, k := range []string{"name", "ns", "fn", "file", "line", "type", "flags"} {
			if d[k] == nil {
				t.Errorf("frame %v has no %s", d, k)
			}
		}
	}
	if !slices.Contains(names, "user/kit-inner") || !slices.Contains(names, "user/kit-outer") {
		t.Errorf("got frames %v, want those of both functions", names)
	}
	if d := frames[0].(Message); d["file"] != "st.clj" || d["line"] != int64(1) || d["file-url"] != "file:/tmp/kit/st.clj" {
		t.Errorf("the innermost frame: got %v, want its place", d)
	}
	p.eval("(nope)", Message{"file": "/tmp/kit/st.clj"})
	if ms := p.ask(Message{"op": "stacktrace"}); ms[0]["location"] == nil {
		t.Errorf("a fault in code: got %v, want its location", ms[0])
	}
	p.eval("(require 'clojure.stacktrace)")
	p.wants("(with-out-str (clojure.stacktrace/print-cause-trace (ex-info \"a\" {:k 1} (ex-info \"b\" {}))))",
		`"clojure.lang.ExceptionInfo: a\n{:k 1}\nCaused by: clojure.lang.ExceptionInfo: b\n{}\n"`)
}
