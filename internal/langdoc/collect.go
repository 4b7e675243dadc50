package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/stdlib"
)

// namespace is one namespace of the reference.
type namespace struct {
	name, other string // other: its second name, or ""
	doc         string
	names       []entry
}

// entry is one public name.
type entry struct {
	name, arglists, doc string
	macro, dynamic      bool
	isolate             bool // an agent has it too
}

// collect lists every namespace of a zeno without a home, with the libraries that are loaded when first required.
func collect(ctx context.Context) ([]namespace, error) {
	c, err := core.New(core.Config{Rehearsal: &core.Rehearsal{}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	env := c.Env()
	for _, lib := range append(corelib.Sources(), stdlib.Sources()...) {
		if _, err := env.Eval(ctx, "(require '"+lib+")", "langdoc"); err != nil {
			return nil, err
		}
	}
	agent := env.Runtime().NewIsolate(lisp.Limits{})
	var out []namespace
	_, err = env.Do(ctx, func(t *value.Thread) value.Value {
		for _, ns := range append(env.Raw().Namespaces(), env.Raw().Core) {
			n := describe(t, ns)
			if n.name == "user" || len(n.names) == 0 || slices.ContainsFunc(out, func(x namespace) bool { return x.name == n.name }) {
				continue
			}
			for i, e := range n.names {
				n.names[i].isolate = known(ctx, agent, n.name+"/"+e.name)
			}
			n.other = otherName(env, n.name)
			if n.doc == "" {
				n.doc = purposes()[n.name]
			}
			out = append(out, n)
		}
		return value.Nil
	})
	slices.SortFunc(out, func(a, b namespace) int { return cmp.Compare(order(a.name), order(b.name)) })
	return out, err
}

// otherName is the second name that require takes for the namespace; "" where there is none.
func otherName(env *lisp.Env, name string) string {
	other := corelib.OtherName(name)
	if n := env.Raw().Namespace(other); other == name || n != nil && n.Name != name {
		return ""
	}
	return other
}

// order puts the core first, then the libraries by what follows the first dot.
func order(name string) string {
	if name == lisp.CoreName {
		return ""
	}
	return name
}

// known tells whether a name means something to an agent without any grant.
func known(ctx context.Context, agent *lisp.Isolate, name string) bool {
	res := agent.Eval(ctx, name)
	return res.Err == nil || res.Err.Kind != "unresolved"
}

func describe(t *value.Thread, ns *value.Namespace) namespace {
	meta := t.Env.Core.Var("meta").Get(t)
	n := namespace{name: ns.Name, doc: text(t, t.Call(meta, value.Of(ns)), "doc")}
	for _, v := range ns.Vars() {
		if v.Private.Load() || helper(v.Name) {
			continue
		}
		m := t.Call(meta, value.Of(v))
		e := entry{name: v.Name, doc: text(t, m, "doc"), macro: v.Macro.Load(), dynamic: v.Dynamic.Load()}
		if args, _ := value.Get(t, m, value.Kw("arglists")); !args.IsNil() {
			e.arglists = value.PrStr(t, args)
		}
		n.names = append(n.names, e)
	}
	slices.SortFunc(n.names, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return n
}

// helper tells whether a name is one that only expansions of macros call.
func helper(name string) bool {
	return strings.HasSuffix(name, "*") && len(name) > 2 && name[0] != '*' && !slices.Contains(publicStars(), name)
}

// publicStars are the names with a star at the end that are for programs.
func publicStars() []string {
	return []string{"list*", "bound-fn*", "with-bindings*", "inst-ms*"}
}

func text(t *value.Thread, m value.Value, key string) string {
	if m.IsNil() {
		return ""
	}
	v, _ := value.Get(t, m, value.Kw(key))
	if v.Kind() != value.KindString {
		return ""
	}
	return v.Text()
}

// undocumented lists the names without a docstring, for the test.
func undocumented(all []namespace) []string {
	var out []string
	for _, n := range all {
		if n.doc == "" {
			out = append(out, n.name)
		}
		for _, e := range n.names {
			if e.doc == "" {
				out = append(out, fmt.Sprintf("%s/%s", n.name, e.name))
			}
		}
	}
	return out
}
