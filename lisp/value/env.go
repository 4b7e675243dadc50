package value

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Var is a named cell. Its root is read and written atomically; a dynamic var may also be bound per thread.
type Var struct {
	Header
	NS, Name string
	root     atomic.Pointer[Value] // nil: unbound
	meta     atomic.Pointer[Value] // a map; nil: none
	Dynamic  atomic.Bool
	Macro    atomic.Bool
	Private  atomic.Bool
	Sealed   bool        // part of a shared core: never redefined
	bare     atomic.Bool // reset-meta! or alter-meta! has replaced the metadata whole
	pos      atomic.Pointer[Pos]
	source   atomic.Pointer[string] // nil: not known

	guard guard // watches and validator
}

// NewVar makes an unbound var.
func NewVar(ns, name string) *Var { return &Var{Header: Head(KindVar), NS: ns, Name: name} }

// FullName is ns/name.
func (v *Var) FullName() string { return joinName(v.NS, v.Name) }

// Root gives the root value; false when unbound.
func (v *Var) Root() (Value, bool) {
	p := v.root.Load()
	if p == nil {
		return Nil, false
	}
	return *p, true
}

// SetRoot replaces the root value.
func (v *Var) SetRoot(x Value) { v.root.Store(&x) }

// Unbind removes the root value.
func (v *Var) Unbind() { v.root.Store(nil) }

// Get gives what the var stands for on t: its thread binding if it is dynamic and has one, else its root.
func (v *Var) Get(t *Thread) Value {
	if v.Dynamic.Load() && t.Binds != nil {
		if b := t.Binds.find(v); b != nil {
			return b.Get()
		}
	}
	if p := v.root.Load(); p != nil {
		return *p
	}
	panic(StateError("var: %s is unbound", v.FullName()))
}

// MetaMap gives the metadata map of the var, or nil.
func (v *Var) MetaMap() Value {
	if p := v.meta.Load(); p != nil {
		return *p
	}
	return Nil
}

// SetMeta replaces the metadata of the var.
func (v *Var) SetMeta(m Value) {
	v.meta.Store(&m)
	v.bare.Store(false)
}

// ReplaceMeta makes m all the metadata there is: nothing that is known of the var otherwise is added when it is read.
func (v *Var) ReplaceMeta(m Value) {
	v.meta.Store(&m)
	v.bare.Store(true)
}

// MetaWhole tells whether MetaMap is all the metadata of the var.
func (v *Var) MetaWhole() bool { return v.bare.Load() }

// Pos is where the var was defined, or nil.
func (v *Var) Pos() *Pos { return v.pos.Load() }

// SetPos notes where the var was defined.
func (v *Var) SetPos(p *Pos) { v.pos.Store(p) }

// Source is the text that defined the var; "" where it is not known.
func (v *Var) Source() string {
	if p := v.source.Load(); p != nil {
		return *p
	}
	return ""
}

// SetSource notes the text that defined the var.
func (v *Var) SetSource(text string) { v.source.Store(&text) }

// Box is the cell of one dynamic binding; threads that share the binding share the cell.
type Box struct{ p atomic.Pointer[Value] }

// NewBox makes a cell that holds v.
func NewBox(v Value) *Box {
	b := &Box{}
	b.Set(v)
	return b
}

// Get reads the cell.
func (b *Box) Get() Value { return *b.p.Load() }

// Set writes the cell.
func (b *Box) Set(v Value) { b.p.Store(&v) }

// Bindings are the dynamic bindings of a thread: one frame per binding form, each with all bindings in force, so that a
// look-up is one step and leaving a form is one assignment.
type Bindings struct {
	list  []bound      // never written once made
	index map[*Var]int // where a var stands in list; nil: there are few
	under *Bindings    // of push-thread-bindings: what pop goes back to
}

type bound struct {
	v   *Var
	box *Box
}

// fewBindings is how many are searched one by one.
const fewBindings = 12

// extended copies b, which may be nil, with room for more.
func (b *Bindings) extended(more int) *Bindings {
	out := &Bindings{}
	var old []bound
	if b != nil {
		old = b.list
	}
	out.list = append(make([]bound, 0, len(old)+more), old...)
	if cap(out.list) > fewBindings {
		out.index = make(map[*Var]int, cap(out.list))
		for i, x := range old {
			out.index[x.v] = i
		}
	}
	return out
}

// set is for a frame that nobody has seen yet.
func (b *Bindings) set(v *Var, box *Box) {
	if i := b.at(v); i >= 0 {
		b.list[i].box = box
		return
	}
	if b.index != nil {
		b.index[v] = len(b.list)
	}
	b.list = append(b.list, bound{v, box})
}

func (b *Bindings) at(v *Var) int {
	if b.index != nil {
		if i, ok := b.index[v]; ok {
			return i
		}
		return -1
	}
	for i := range b.list {
		if b.list[i].v == v {
			return i
		}
	}
	return -1
}

func (b *Bindings) find(v *Var) *Box {
	if i := b.at(v); i >= 0 {
		return b.list[i].box
	}
	return nil
}

func (b *Bindings) size() int {
	if b == nil {
		return 0
	}
	return len(b.list)
}

// Box gives the cell of v's binding on t, or nil.
func (t *Thread) Box(v *Var) *Box {
	if t.Binds == nil {
		return nil
	}
	return t.Binds.find(v)
}

// bindingBytes is what a frame of n bindings takes over one of old.
func bindingBytes(n, old int) int { return 64*(n+1) + 48*old }

// Bind puts new bindings in force on t; restore t.Binds to leave them.
func (t *Thread) Bind(vars []*Var, vals []Value) {
	t.Charge(bindingBytes(len(vars), t.Binds.size()))
	b := t.Binds.extended(len(vars))
	for i, v := range vars {
		b.set(v, NewBox(vals[i]))
	}
	t.Binds = b
}

// BindAll puts the bindings of over in force on t, above those that are; restore t.Binds to leave them. Cells are shared.
func (t *Thread) BindAll(over *Bindings) {
	switch {
	case over == nil || over == t.Binds:
	case t.Binds == nil:
		t.Binds = over
	default:
		t.Charge(48 * (t.Binds.size() + over.size()))
		b := t.Binds.extended(over.size())
		for _, x := range over.list {
			b.set(x.v, x.box)
		}
		t.Binds = b
	}
}

// PushBindings puts new bindings in force until PopBindings.
func (t *Thread) PushBindings(vars []*Var, vals []Value) {
	under := t.Binds
	if under == nil {
		under = &Bindings{}
	}
	t.Bind(vars, vals)
	t.Binds.under = under
}

// PopBindings undoes the last PushBindings, unless other bindings came over it.
func (t *Thread) PopBindings() {
	if t.Binds == nil || t.Binds.under == nil {
		panic(StateError("pop-thread-bindings: got no bindings to pop"))
	}
	t.Binds = t.Binds.under
}

// Bound lists the vars bound on t and their values.
func (t *Thread) Bound() (vars []*Var, vals []Value) {
	if t.Binds == nil {
		return nil, nil
	}
	for _, x := range t.Binds.list {
		vars, vals = append(vars, x.v), append(vals, x.box.Get())
	}
	return vars, vals
}

// Namespace maps names to vars. It may be read and written by any number of threads.
type Namespace struct {
	Header
	Name string
	meta atomic.Pointer[Value]

	mu      sync.RWMutex
	vars    map[string]*Var            // defined here; nil until something is, as in most isolates
	refers  map[string]*Var            // referred from elsewhere
	aliases map[string]string          // alias -> namespace name
	core    atomic.Pointer[coreFilter] // what of the core is known here; nil: all
}

type coreFilter struct {
	only    map[string]bool // nil: all
	exclude map[string]bool
}

// FilterCore makes only some names of the core known here without their namespace. A nil only means all.
func (n *Namespace) FilterCore(only []string, exclude map[string]bool) {
	f := &coreFilter{exclude: exclude}
	if only != nil {
		f.only = make(map[string]bool, len(only))
		for _, name := range only {
			f.only[name] = true
		}
	}
	n.core.Store(f)
}

// SeesCore tells whether a name of the core is known here without its namespace. ns and in-ns always are: they are the way
// out.
func (n *Namespace) SeesCore(name string) bool {
	f := n.core.Load()
	return f == nil || name == "ns" || name == "in-ns" || (f.only == nil || f.only[name]) && !f.exclude[name]
}

// NewNamespace makes an empty namespace.
func NewNamespace(name string) *Namespace {
	return &Namespace{Header: Head(KindNamespace), Name: name}
}

// Var gives the var defined here under name, or nil.
func (n *Namespace) Var(name string) *Var {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.vars[name]
}

// Find gives the var that name means inside the namespace, defined or referred, or nil.
func (n *Namespace) Find(name string) *Var {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if v := n.vars[name]; v != nil {
		return v
	}
	return n.refers[name]
}

// Intern gives the var defined here under name, making an unbound one if there is none.
func (n *Namespace) Intern(name string) *Var {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.vars[name]
	if v == nil {
		v = NewVar(n.Name, name)
		n.define(v)
	}
	return v
}

// define adds v; the caller holds the lock.
func (n *Namespace) define(v *Var) {
	if n.vars == nil {
		n.vars = map[string]*Var{}
	}
	n.vars[v.Name] = v
}

// Put defines v here under its name.
func (n *Namespace) Put(v *Var) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.define(v)
}

// Unmap removes name, defined or referred.
func (n *Namespace) Unmap(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.vars, name)
	delete(n.refers, name)
}

// Refer makes name mean v inside the namespace.
func (n *Namespace) Refer(name string, v *Var) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refers == nil {
		n.refers = map[string]*Var{}
	}
	n.refers[name] = v
}

// Alias makes alias/x mean x of namespace ns.
func (n *Namespace) Alias(alias, ns string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.aliases == nil {
		n.aliases = map[string]string{}
	}
	n.aliases[alias] = ns
}

// Foreign counts what the namespace has from elsewhere: aliases and referred names.
func (n *Namespace) Foreign() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.refers) + len(n.aliases)
}

// Unalias removes an alias.
func (n *Namespace) Unalias(alias string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.aliases, alias)
}

// Aliased gives the namespace name behind an alias.
func (n *Namespace) Aliased(alias string) (string, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	ns, ok := n.aliases[alias]
	return ns, ok
}

// Aliases copies the aliases.
func (n *Namespace) Aliases() map[string]string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return maps.Clone(n.aliases)
}

// Grow makes room for vars to come in an empty namespace.
func (n *Namespace) Grow(more int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.vars == nil {
		n.vars = make(map[string]*Var, more)
	}
}

// Len counts what is defined here.
func (n *Namespace) Len() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.vars)
}

// Each calls f with what is defined here, in no order. f must not use the namespace.
func (n *Namespace) Each(f func(*Var)) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, v := range n.vars {
		f(v)
	}
}

// Vars copies what is defined here, sorted by name.
func (n *Namespace) Vars() []*Var { return sorted(&n.mu, &n.vars) }

// Refers copies what is referred here: name to var.
func (n *Namespace) Refers() map[string]*Var {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return maps.Clone(n.refers)
}

func sorted(mu *sync.RWMutex, m *map[string]*Var) []*Var {
	mu.RLock()
	defer mu.RUnlock()
	out := make([]*Var, 0, len(*m))
	for _, k := range slices.Sorted(maps.Keys(*m)) {
		out = append(out, (*m)[k])
	}
	return out
}

// Env is what code is evaluated in: its namespaces and what the language may reach. The orchestrator's owns everything;
// an isolate's is a thin layer over a shared core.
type Env struct {
	Isolate bool // only the pure core, the grant and its own definitions exist
	Core    *Namespace

	mu     sync.RWMutex
	first  *Namespace            // the first of its own namespaces: most isolates have no other
	spaces map[string]*Namespace // the others by name; nil: none
	shared func(name string) *Namespace
	gensym atomic.Int64
	live   liveMeter // of an isolate

	NSVar  *Var       // *ns*: dynamic; nil root in an isolate
	OutVar *Var       // *out*
	Home   *Namespace // where an evaluation starts

	// Eval compiles and runs one form; the compiler sets it, so that values need not know it.
	Eval func(t *Thread, form Value) Value
	// Macroexpand expands a form until it is no macro call, Macroexpand1 once.
	Macroexpand, Macroexpand1 func(t *Thread, form Value) Value
	// EvalText reads and evaluates every form of a source, and gives the value of the last.
	EvalText func(t *Thread, src, file string) Value
	// Life is the run of what outlives the evaluation that made it; nil in an isolate, where nothing does.
	Life *Run
	// Crashed reports a Go panic that ended a future: a defect of ours; nil: nobody is told.
	Crashed func(reason any)
	// Load loads the library of a name, found on the environment's paths; nil: there are none.
	Load func(t *Thread, lib string) error
	// State holds what libraries keep per environment, by name.
	State sync.Map
}

// NewEnv makes an environment over a core. shared looks up namespaces that the environment reads but does not own; it
// may be nil.
func NewEnv(core *Namespace, shared func(string) *Namespace) *Env {
	return &Env{Core: core, shared: shared}
}

// NewIsolateEnv makes the environment of an isolate, with the namespace that its evaluations start in: one allocation.
func NewIsolateEnv(core *Namespace, shared func(string) *Namespace, home string) *Env {
	e := &struct {
		env  Env
		home Namespace
	}{}
	e.home.Header, e.home.Name = Head(KindNamespace), home
	e.env.Core, e.env.shared, e.env.Isolate = core, shared, true
	e.env.Home, e.env.first = &e.home, &e.home
	return &e.env
}

// Namespace gives the namespace of a name, or nil. joker.x and clojure.x are two names of one library.
func (e *Env) Namespace(name string) *Namespace {
	if name == e.Core.Name || name == "clojure.core" || name == "joker.core" {
		return e.Core
	}
	if n := e.exactly(name); n != nil {
		return n
	}
	if rest, ok := strings.CutPrefix(name, "clojure."); ok {
		return e.exactly("joker." + rest)
	}
	if rest, ok := strings.CutPrefix(name, "joker."); ok {
		return e.exactly("clojure." + rest)
	}
	return nil
}

func (e *Env) exactly(name string) *Namespace {
	e.mu.RLock()
	n := e.own(name)
	e.mu.RUnlock()
	if n == nil && e.shared != nil {
		n = e.shared(name)
	}
	return n
}

// Create gives the namespace of a name, making it if there is none.
func (e *Env) Create(name string) *Namespace {
	if n := e.Namespace(name); n != nil {
		return n
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.own(name)
	if n == nil {
		n = NewNamespace(name)
		e.add(n)
	}
	return n
}

// own gives one of the environment's own namespaces, or nil; the caller holds the lock.
func (e *Env) own(name string) *Namespace {
	if e.first != nil && e.first.Name == name {
		return e.first
	}
	return e.spaces[name]
}

// add makes n an own namespace, in place of one of its name; the caller holds the lock to write.
func (e *Env) add(n *Namespace) {
	switch {
	case e.first == nil && e.spaces[n.Name] == nil || e.first != nil && e.first.Name == n.Name:
		e.first = n
		return
	case e.spaces == nil:
		e.spaces = map[string]*Namespace{}
	}
	e.spaces[n.Name] = n
}

// Add makes n one of the environment's own namespaces.
func (e *Env) Add(n *Namespace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(n)
}

// Remove forgets a namespace.
func (e *Env) Remove(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first != nil && e.first.Name == name {
		e.first = nil
	}
	delete(e.spaces, name)
}

// Namespaces copies the environment's own namespaces, sorted by name.
func (e *Env) Namespaces() []*Namespace {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]*Namespace, 0, len(e.spaces)+1)
	if e.first != nil {
		out = append(out, e.first)
	}
	out = slices.AppendSeq(out, maps.Values(e.spaces))
	slices.SortFunc(out, func(a, b *Namespace) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Gensym gives the next number of the environment.
func (e *Env) Gensym() int64 { return e.gensym.Add(1) }

// NS is the namespace that t evaluates in.
func (t *Thread) NS() *Namespace {
	if t.Env.NSVar == nil {
		return t.Env.Home
	}
	if v := t.Env.NSVar.Get(t); v.Kind() == KindNamespace {
		return As[Namespace](v)
	}
	return t.Env.Home
}
