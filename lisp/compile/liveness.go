package compile

import "github.com/reflection-dev/zeno/lisp/value"

// Last uses. A local that is never read again must not keep what it held alive: (reduce + (map f xs)) over a long lazy
// seq would otherwise hold every element. markLastUses walks a function's body backwards, in reverse order of
// evaluation, and marks each read after which, on the same path, the slot is not read again.

// liveSet is the locals that are still read later. Every branch copies it, so the work is the product of locals and
// branches, and the thread is charged for it.
type liveSet struct {
	t      *value.Thread
	locals map[*local]bool
}

func noneLive(t *value.Thread) liveSet { return liveSet{t, map[*local]bool{}} }

func (s liveSet) clone() liveSet {
	c := noneLive(s.t)
	c.add(s)
	return c
}

func (s liveSet) add(o liveSet) {
	s.t.Steps(1 + len(o.locals)>>2)
	s.t.Charge(32 * len(o.locals))
	for l := range o.locals {
		s.locals[l] = true
	}
}

// markLastUses marks the last uses in n and in every function inside it.
func markLastUses(t *value.Thread, n node) { lastUses(n, noneLive(t)) }

// lastUses updates live to what is read at or after n.
func lastUses(n node, live liveSet) {
	switch n := n.(type) {
	case *localNode:
		if !live.locals[n.l] {
			n.last = true
			live.locals[n.l] = true
		}
	case *ifNode:
		els := live.clone()
		lastUses(n.els, els)
		lastUses(n.then, live)
		live.add(els)
		lastUses(n.test, live)
	case *doNode:
		backwards(n.body, live)
	case *letNode:
		lastUses(n.body, live)
		backwards(n.inits, live)
	case *loopNode:
		loopUses(n.body, n.locals, live)
		backwards(n.inits, live)
	case *recurNode:
		backwards(n.args, live)
	case *callNode:
		backwards(n.args, live)
		lastUses(n.fn, live)
	case *fnNode:
		fnUses(n, live)
	default:
		rareUses(n, live)
	}
}

func backwards(ns []node, live liveSet) {
	for i := len(ns) - 1; i >= 0; i-- {
		lastUses(ns[i], live)
	}
}

// loopUses walks a loop's body: what it reads from outside is read again by the next turn.
func loopUses(body node, own []*local, live liveSet) {
	outer := noneLive(live.t)
	reads(body, outer)
	for _, l := range own {
		delete(outer.locals, l)
	}
	live.add(outer)
	lastUses(body, live)
	for _, l := range own {
		delete(live.locals, l)
	}
}

// fnUses walks a function made here: it reads what it captures, and its body is a world of its own.
func fnUses(n *fnNode, live liveSet) {
	for _, ar := range n.arities {
		inner := noneLive(live.t)
		if ar.target.used { // the next turn reads captures and the function itself again
			reads(ar.body, inner)
			for _, l := range ar.target.locals {
				delete(inner.locals, l)
			}
		}
		lastUses(ar.body, inner)
	}
	for _, c := range n.captures {
		live.locals[c.l] = true
	}
	if n.meta != nil {
		lastUses(n.meta, live)
	}
}

func rareUses(n node, live liveSet) {
	switch n := n.(type) {
	case *vectorNode:
		backwards(n.items, live)
	case *mapNode:
		backwards(n.items, live)
	case *setLitNode:
		backwards(n.items, live)
	case *metaNode:
		lastUses(n.meta, live)
		lastUses(n.expr, live)
	case *letfnNode:
		lastUses(n.body, live)
		for _, f := range n.fns {
			fnUses(f, live)
		}
	case *defNode:
		if n.init != nil {
			lastUses(n.init, live)
		}
		if n.meta != nil {
			lastUses(n.meta, live)
		}
	case *assignNode:
		lastUses(n.expr, live)
	case *throwNode:
		lastUses(n.expr, live)
	case *tryNode:
		tryUses(n, live)
	case *caseNode:
		after := live.clone()
		lastUses(n.els, live)
		for _, then := range n.thens {
			branch := after.clone()
			lastUses(then, branch)
			live.add(branch)
		}
		lastUses(n.expr, live)
	case *bindingNode:
		lastUses(n.body, live)
		backwards(n.inits, live)
	case *lazyNode:
		fnUses(n.fn, live)
	case *delayNode:
		fnUses(n.fn, live)
	}
}

// tryUses keeps what the clauses read alive all through the body, which may throw anywhere.
func tryUses(n *tryNode, live liveSet) {
	if n.finally != nil {
		lastUses(n.finally, live)
	}
	clauses := live.clone()
	for _, c := range n.catches {
		branch := live.clone()
		lastUses(c.body, branch)
		clauses.add(branch)
	}
	live.add(clauses)
	lastUses(n.body, live)
}

// reads collects the locals that n reads, functions inside it by what they capture.
func reads(n node, out liveSet) {
	out.t.Step()
	switch n := n.(type) {
	case *localNode:
		out.locals[n.l] = true
	case *fnNode:
		for _, c := range n.captures {
			out.locals[c.l] = true
		}
	case *lazyNode:
		reads(n.fn, out)
	case *delayNode:
		reads(n.fn, out)
	case *letfnNode:
		for _, f := range n.fns {
			reads(f, out)
		}
	case *caseNode:
		reads(n.expr, out)
		reads(n.els, out)
	}
	for _, c := range children(n) {
		reads(c, out)
	}
}

// children lists the nodes that run in the same frame as n.
func children(n node) []node {
	switch n := n.(type) {
	case *ifNode:
		return []node{n.test, n.then, n.els}
	case *doNode:
		return n.body
	case *letNode:
		return append(append([]node(nil), n.inits...), n.body)
	case *loopNode:
		return append(append([]node(nil), n.inits...), n.body)
	case *recurNode:
		return n.args
	case *callNode:
		return append(append([]node(nil), n.args...), n.fn)
	case *vectorNode:
		return n.items
	case *mapNode:
		return n.items
	case *setLitNode:
		return n.items
	case *metaNode:
		return []node{n.expr, n.meta}
	case *letfnNode:
		return []node{n.body}
	case *defNode:
		return present(n.init, n.meta)
	case *assignNode:
		return []node{n.expr}
	case *throwNode:
		return []node{n.expr}
	case *tryNode:
		out := present(n.body, n.finally)
		for _, c := range n.catches {
			out = append(out, c.body)
		}
		return out
	case *caseNode:
		return n.thens
	case *bindingNode:
		return append(append([]node(nil), n.inits...), n.body)
	}
	return nil
}

func present(ns ...node) []node {
	var out []node
	for _, n := range ns {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}
