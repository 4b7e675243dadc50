package corelib

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// requires holds what makes the names of one namespace known in another. A namespace that exists is not loaded again;
// clojure.x and joker.x name one library. An isolate loads nothing: it has the pure libraries and what is granted.
func requires() []Def {
	return []Def{
		{Name: "require", N: require, Min: 1, Arglists: "([& args])", Doc: "Loads libraries and names them: 'lib, '[lib :as alias :refer [names] :rename {from to}], '(prefix lib …). :refer :all refers everything. Flags: :reload."},
		{Name: "use", N: use, Min: 1, Arglists: "([& args])", Doc: "As require, and refers everything, or what :only and :exclude leave."},
		{Name: "refer", N: refer, Min: 1, Host: true, Arglists: "([ns-sym & filters])", Doc: "Makes the public names of the namespace known here. Filters: :only names, :exclude names, :rename {from to}."},
		{Name: "load", N: loadLibs, Host: true, Arglists: "([& paths])", Doc: "Loads libraries by name, whether or not they have been."},
	}
}

// libSpec is one library of a require or use.
type libSpec struct {
	name    string
	as      string
	asOnly  bool // :as-alias: an alias without loading
	only    []string
	all     bool
	exclude map[string]bool
	rename  map[string]string
}

// requirer reads the arguments of require or use.
type requirer struct {
	t      *Thread
	who    string
	reload bool
	specs  []libSpec
}

func require(t *Thread, args []Value) Value { return (&requirer{t: t, who: "require"}).run(args) }

func use(t *Thread, args []Value) Value { return (&requirer{t: t, who: "use"}).run(args) }

func (r *requirer) run(args []Value) Value {
	for _, a := range args {
		if a.Kind() == value.KindKeyword {
			switch name := value.As[value.Keyword](a).Name; name {
			case "reload", "reload-all":
				r.reload = true
			case "verbose":
			default:
				panic(value.ArgError("%s: got :%s outside of a vector, want [library :%s …]; beside it may stand :reload, :reload-all and :verbose", r.who, name, name))
			}
			continue
		}
		r.spec("", a)
	}
	for _, s := range r.specs {
		r.apply(s)
	}
	return value.Nil
}

// spec reads lib, [lib options] or (prefix spec …).
func (r *requirer) spec(prefix string, v Value) {
	r.t.Step()
	r.t.Charge(128)
	k := v.Kind()
	switch {
	case k == value.KindSymbol:
		r.add(libSpec{name: prefix + value.As[value.Symbol](v).FullName()})
		return
	case !k.IsSeq() && k != value.KindVector:
		panic(r.bad(v))
	}
	xs := value.ToSlice(r.t, v)
	if len(xs) == 0 || xs[0].Kind() != value.KindSymbol {
		panic(r.bad(v))
	}
	name := value.As[value.Symbol](xs[0]).FullName()
	if len(xs) > 1 && xs[1].Kind() != value.KindKeyword {
		if prefix != "" {
			panic(r.bad(v))
		}
		for _, x := range xs[1:] {
			r.spec(name+".", x)
		}
		return
	}
	s := libSpec{name: prefix + name}
	r.options(&s, v, xs[1:])
	r.add(s)
}

func (r *requirer) add(s libSpec) {
	if r.who == "use" && s.only == nil {
		s.all = true
	}
	r.specs = append(r.specs, s)
}

func (r *requirer) bad(v Value) *value.Exception {
	return value.ArgError("%s: got %s, want a library name, [lib :as alias :refer [name …]] or (prefix lib …)", r.who, value.Brief(r.t, v))
}

func (r *requirer) options(s *libSpec, spec Value, args []Value) {
	options(r.t, r.who, args, func(key string, v Value) {
		switch key {
		case "as":
			s.as = symbolOf(r.t, r.who, v).Name
		case "as-alias":
			s.as, s.asOnly = symbolOf(r.t, r.who, v).Name, true
		case "refer", "only":
			if value.Identical(v, value.Kw("all")) {
				s.all = true
				return
			}
			s.only = append(s.only, namesOf(r.t, r.who, v)...)
		case "exclude":
			s.exclude = setOf(namesOf(r.t, r.who, v))
			s.all = s.all || r.who == "use"
		case "rename":
			s.rename = renames(r.t, r.who, v)
		default:
			panic(value.ArgError("%s: got option :%s in %s, want :as, :refer, :only, :exclude or :rename", r.who, key, value.Brief(r.t, spec)))
		}
	})
}

func namesOf(t *Thread, who string, v Value) []string {
	out := []string{}
	value.Each(t, v, func(x Value) bool {
		t.Charge(16)
		out = append(out, symbolOf(t, who, x).Name)
		return true
	})
	return out
}

func setOf(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

func renames(t *Thread, who string, v Value) map[string]string {
	m := map[string]string{}
	value.EachKV(t, v, func(from, to Value) bool {
		t.Charge(64)
		m[symbolOf(t, who, from).Name] = symbolOf(t, who, to).Name
		return true
	})
	return m
}

// foreignMost bounds the aliases and referred names of an isolate, which outlive its evaluations.
const foreignMost = 4096

func checkForeign(t *Thread, n *value.Namespace) {
	if t.Env.Isolate && n.Foreign() >= foreignMost {
		panic(value.StateError("require: got more than %d aliases and referred names, want fewer", foreignMost))
	}
}

func (r *requirer) apply(s libSpec) {
	here := r.t.NS()
	checkForeign(r.t, here)
	if s.asOnly {
		here.Alias(s.as, s.name)
		return
	}
	n := loadedNS(r.t, s.name, r.reload)
	if s.as != "" {
		if old, ok := here.Aliased(s.as); ok && old != n.Name && namespaceNamed(r.t, old) != nil && namespaceNamed(r.t, old) != n {
			panic(value.StateError("%s: got alias %s for %s, which stands for %s already", r.who, s.as, s.name, old))
		}
		here.Alias(s.as, n.Name)
	}
	if s.all || s.only != nil || s.rename != nil {
		referNames(r.t, here, n, s)
	}
}

// loadedNS gives the namespace of a library, loading it if there is none or reload says so.
func loadedNS(t *Thread, name string, reload bool) *value.Namespace {
	n := namespaceNamed(t, name)
	if n != nil && (!reload || t.Env.Load == nil) {
		return n
	}
	if n == nil && !t.Env.Isolate {
		if src, file, ok := Source(name); ok {
			return embedded(t, name, src, file)
		}
	}
	if t.Env.Load == nil {
		ex := value.Errorf("FileNotFoundException", "require: no library %s is available here", name)
		if t.Env.Isolate {
			ex.Hint = "an agent has the pure libraries, such as clojure.string, clojure.set, clojure.walk and clojure.edn, and what is granted; see (tools)"
		}
		panic(ex)
	}
	if n != nil {
		return reloaded(t, n, name)
	}
	return loading(t, name, func() { load(t, name) })
}

// embedded loads a library that comes with the language.
func embedded(t *Thread, name, src, file string) *value.Namespace {
	return loading(t, name, func() {
		binds, pos := t.Binds, t.Pos
		t.Bind([]*value.Var{t.Env.NSVar}, []Value{value.Of(t.NS())})
		t.Env.EvalText(t, src, file)
		t.Binds, t.Pos = binds, pos
	})
}

// loading runs f, which loads a library that is not there yet: if it fails, the library still is not.
func loading(t *Thread, name string, f func()) *value.Namespace {
	loaded := false
	defer func() {
		if !loaded {
			t.Env.Remove(name)
			t.Env.Remove(OtherName(name))
		}
	}()
	f()
	loaded = true
	got := namespaceNamed(t, name)
	if got == nil {
		panic(value.Errorf("Exception", "require: %s was loaded but makes no namespace of that name", name))
	}
	return got
}

// reloaded loads a library again; one without a source, such as those written in Go, stays as it is.
func reloaded(t *Thread, n *value.Namespace, name string) *value.Namespace {
	if err := t.Env.Load(t, name); err != nil {
		return n
	}
	return namespaceNamed(t, name)
}

func load(t *Thread, name string) {
	if t.Env.Load == nil {
		panic(value.Errorf("FileNotFoundException", "load: no library %s is available here", name))
	}
	if err := t.Env.Load(t, name); err != nil {
		ex := value.WrapError(err)
		if ex.Class == "Exception" {
			ex.Class = "FileNotFoundException"
		}
		panic(ex)
	}
}

func loadLibs(t *Thread, args []Value) Value {
	for _, a := range args {
		switch a.Kind() {
		case value.KindString:
			load(t, strings.TrimPrefix(strings.ReplaceAll(a.Text(), "/", "."), "."))
		default:
			load(t, symbolOf(t, "load", a).FullName())
		}
	}
	return value.Nil
}

// referNames makes names of n known in here.
func referNames(t *Thread, here, n *value.Namespace, s libSpec) {
	names := s.only
	if s.all || names == nil && s.rename == nil {
		names = nil
		for _, v := range n.Vars() {
			if !v.Private.Load() {
				names = append(names, v.Name)
			}
		}
	} else if names == nil {
		for from := range s.rename {
			names = append(names, from)
		}
	}
	for _, name := range names {
		t.Step()
		if s.exclude[name] {
			continue
		}
		v := n.Var(name)
		if v == nil || v.Private.Load() {
			ex := value.StateError("refer: %s has no public name %s", n.Name, name)
			panic(ex)
		}
		to := name
		if r, ok := s.rename[name]; ok {
			to = r
		}
		if here.Var(to) == v {
			continue
		}
		t.Charge(64)
		checkForeign(t, here)
		here.Refer(to, v)
	}
}

func refer(t *Thread, args []Value) Value {
	n := nsOf(t, "refer", args[0])
	s := libSpec{name: n.Name}
	r := &requirer{t: t, who: "refer"}
	r.options(&s, args[0], args[1:])
	here := t.NS()
	if n == t.Env.Core {
		here.FilterCore(s.only, s.exclude)
		s.exclude = allBut(n, s.rename)
		if s.rename == nil {
			return value.Nil
		}
	}
	referNames(t, here, n, s)
	return value.Nil
}

// allBut lists every name of n that is not renamed.
func allBut(n *value.Namespace, rename map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, v := range n.Vars() {
		if _, ok := rename[v.Name]; !ok {
			out[v.Name] = true
		}
	}
	return out
}
