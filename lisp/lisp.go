// Package lisp is a Clojure dialect to embed: a language that a trusted program is written in, and that an untrusted one
// may be handed.
//
// A Runtime holds what is shared: the sealed core. From it come two kinds of environment. An Env is a trusted program's:
// it owns its copy of the core, may redefine it, and reaches whatever host namespaces it is given. An Isolate is an
// agent's: the pure core, the capabilities it is granted and its own definitions, under limits that nothing can lift or
// catch. What crosses between the two is plain data (boundary.go).
//
// The invariant: nothing an isolate does, whatever the code, reaches another environment or ends the process.
//
// Start with New, Runtime.NewEnv and Runtime.NewIsolate. The rooms behind this face are value (data and threads), read,
// compile and corelib (the functions); DESIGN.md says why they are as they are.
package lisp

import (
	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// The types that users of the package meet, under one name.
type (
	Value      = value.Value
	Thread     = value.Thread
	Builtin    = value.Builtin
	Limits     = limit.Limits
	LimitError = limit.Error
	Usage      = value.Usage
)

// CoreName is the namespace of the core; joker.core names it too.
const CoreName = "clojure.core"

// Runtime is what environments share: immutable once made, so any number of them may run at once. Two Runtimes never see
// each other.
type Runtime struct {
	core    *value.Namespace            // the pure core, sealed
	shared  map[string]*value.Namespace // pure libraries, sealed
	host    map[string][]value.Builtin  // functions that reach outside, by namespace: for trusted environments
	out     *value.Var                  // *out* of isolates: bound by with-out-str, named by nothing
	interns *value.Interner
	readers read.Readers
	pool    *pool // of memory for isolates

	// What every isolate is given, made once.
	lookup   func(string) *value.Namespace
	evalText func(t *value.Thread, src, file string) value.Value
}

// New makes a runtime with the defaults of Config.
func New() *Runtime { return NewRuntime(Config{}) }

// NewRuntime makes a runtime.
func NewRuntime(c Config) *Runtime {
	r := &Runtime{core: value.NewNamespace(CoreName), shared: map[string]*value.Namespace{}, interns: &value.Interner{}, pool: newPool(c)}
	r.host = map[string][]value.Builtin{CoreName: fill(r.core, corelib.Core())}
	for name, bs := range corelib.Namespaces() {
		ns := value.NewNamespace(name)
		if host := fill(ns, bs); host != nil {
			r.host[name] = host
		}
		r.shared[name] = ns
	}
	r.lookup = r.library
	r.evalText = func(t *value.Thread, src, file string) value.Value { return evalSource(t, r, src, file, 1, 1) }
	r.constants()
	r.out = value.NewVar(CoreName, "*out*")
	r.out.Dynamic.Store(true)
	r.out.SetRoot(value.Nil)
	r.out.Sealed = true
	for _, d := range corelib.Dynamics() {
		if !d.Host {
			v := dynamic(r.core, d)
			v.Sealed = true
		}
	}
	return r
}

// constants defines the data of the namespaces.
func (r *Runtime) constants() {
	for name, cs := range corelib.Constants() {
		ns := r.core
		if name != CoreName {
			if ns = r.shared[name]; ns == nil {
				ns = value.NewNamespace(name)
				r.shared[name] = ns
			}
		}
		for _, c := range cs {
			v := ns.Intern(c.Name)
			v.SetRoot(c.Value)
			v.Sealed = true
		}
	}
}

// fill defines for good what of bs is pure, and gives back what is not. ns keeps bs.
func fill(ns *value.Namespace, bs []value.Builtin) (host []value.Builtin) {
	ns.Grow(len(bs))
	for i := range bs {
		if bs[i].Host {
			host = append(host, bs[i])
			continue
		}
		define(ns, &bs[i]).Sealed = true
	}
	return host
}

// define defines b in ns, which keeps it.
func define(ns *value.Namespace, b *value.Builtin) *value.Var {
	v := ns.Intern(b.Name)
	v.SetRoot(value.Of(value.NewBuiltin(v.FullName(), b)))
	v.Macro.Store(b.Macro)
	v.Private.Store(b.Private)
	return v
}

func dynamic(ns *value.Namespace, d corelib.Dynamic) *value.Var {
	v := ns.Intern(d.Name)
	v.Dynamic.Store(true)
	v.SetRoot(d.Default)
	return v
}

// shortNames are the aliases that every isolate has from the start: those that programmers give these libraries.
var shortNames = map[string]string{"str": "clojure.string", "string": "clojure.string", "set": "clojure.set", "walk": "clojure.walk",
	"zip": "clojure.zip", "edn": "clojure.edn", "json": "joker.json", "math": "joker.math", "pprint": "clojure.pprint"}

// library gives the shared namespace of a name: clojure.x and joker.x are one, and the usual aliases work.
func (r *Runtime) library(name string) *value.Namespace {
	if full := shortNames[name]; full != "" {
		name = full
	}
	if n := r.shared[name]; n != nil {
		return n
	}
	return r.shared[corelib.OtherName(name)]
}

// own copies a sealed namespace for an environment that may redefine what is in it. What the compiler knows by heart
// stays sealed.
func own(ns *value.Namespace) *value.Namespace {
	c := value.NewNamespace(ns.Name)
	c.Grow(ns.Len())
	ns.Each(func(v *value.Var) {
		if compile.Intrinsic(v.Name) && ns.Name == CoreName {
			c.Put(v)
			return
		}
		w := c.Intern(v.Name)
		root, _ := v.Root()
		w.SetRoot(root)
		w.Macro.Store(v.Macro.Load())
		w.Dynamic.Store(v.Dynamic.Load())
		w.Private.Store(v.Private.Load())
	})
	return c
}
