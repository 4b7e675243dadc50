package compile

import "github.com/reflection-dev/zeno/lisp/value"

// node is a piece of analysed code.
type node any

type (
	constNode struct{ v value.Value }

	localNode struct {
		l    *local
		last bool // nothing reads the slot after this: it may be emptied
	}

	varNode struct{ v *value.Var } // the value of a var

	ifNode struct{ test, then, els node }

	doNode struct{ body []node }

	letNode struct {
		locals []*local
		inits  []node
		body   node
	}

	loopNode struct {
		locals []*local
		inits  []node
		body   node
		target *loopTarget
	}

	recurNode struct {
		target *loopTarget
		args   []node
		temp   int // first of len(args) slots
	}

	callNode struct {
		fn   node
		args []node
		temp int // first of len(args)+1 slots, where arguments wait
		pos  *value.Pos
	}

	vectorNode struct {
		items []node
		temp  int
	}

	mapNode struct {
		items []node // key, value, key, value …
		temp  int
	}

	setLitNode struct {
		items []node
		temp  int
	}

	metaNode struct{ expr, meta node }

	fnNode struct {
		name     string
		arities  []*arity
		captures []*localNode // in the enclosing frame
		meta     node         // or nil
		hidden   int          // parameters that nobody writes an argument for: those of a macro
		held     value.Value  // marks the constants of the code
		pos      *value.Pos
	}

	letfnNode struct {
		locals []*local
		fns    []*fnNode
		body   node
	}

	defNode struct {
		v       *value.Var
		init    node // nil: declare only
		meta    node // nil: none
		dynamic bool
		macro   bool
		private bool
		pos     *value.Pos
		text    string // of the top-level form it stands in; "" not kept
	}

	assignNode struct {
		v    *value.Var
		expr node
	}

	throwNode struct {
		expr node
		pos  *value.Pos
	}

	tryNode struct {
		body    node
		catches []catchClause
		finally node // or nil
	}

	caseNode struct {
		expr    node
		consts  []value.Value
		hashes  []uint64 // of consts
		targets []int    // index into thens, one per const
		thens   []node
		els     node
	}

	bindingNode struct {
		vars  []*value.Var
		inits []node
		temp  int
		body  node
	}

	lazyNode  struct{ fn *fnNode }
	delayNode struct{ fn *fnNode }
)

type catchClause struct {
	class string // "" catches everything
	local *local
	body  node
}

// arity is one way to call a function.
type arity struct {
	params  []*local
	rest    *local // or nil
	self    *local // the function's own name, or nil
	scope   *fnScope
	body    node
	target  *loopTarget
	capSlot int   // where the captures start
	capFrom []int // which of the function's captures go there
}

// loopTarget is where recur goes.
type loopTarget struct {
	locals []*local
	used   bool
}
