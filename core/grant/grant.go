// Package grant says what a role may call.
//
// A grant is data that the instance's program returns, asked for anew at every request: capabilities by name, their
// docs, what (context) answers, limits and budget. Decode checks it; a Session gives it to the isolate of one spawn and
// keeps the two in step.
//
// The invariant: what is not in the grant does not exist in the isolate. There is no list of what is forbidden.
package grant

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// DefaultEvalTimeout bounds one evaluation of an agent whose role names no other.
const DefaultEvalTimeout = 45 * time.Second

// Grant is what a role may do.
type Grant struct {
	Caps        []*Capability // by name
	Context     value.Value   // what (context) answers: plain data
	Limits      lisp.Limits
	EvalTimeout time.Duration
	Fresh       bool // a new isolate for every evaluation
	Budget      budget.Role
	Asking      *Asking // nil: the role may not ask a person
}

// Capability is one function that the agent may call.
type Capability struct {
	Name       string
	Fn         value.Value
	Doc        string
	Arglists   []string
	Effect     string // "read", "write" or ""
	Approve    bool
	Timeout    time.Duration
	MaxCalls   int // in one spawn; 0: only the limit of the role
	AcceptsFns bool
	Serial     string // calls with the same one take turns, in all spawns; "": none
	Audit      string // "args": the journal keeps the arguments; "none": only that there was a call
}

// Reserved names are zeno's own in every isolate.
var Reserved = []string{"tools", "doc", "search", "context", "budget", "ask-user"}

// form is a grant as the program writes it.
type form struct {
	Vocab   value.Value       `lisp:"vocab"`
	Docs    map[string]string `lisp:"docs"`
	CtxInfo value.Value       `lisp:"ctx-info"`
	Limits  limitsForm        `lisp:"limits"`
	Budget  value.Value       `lisp:"budget"`
	Fresh   bool              `lisp:"fresh"`
	Ask     value.Value       `lisp:"ask"`
}

type limitsForm struct {
	Steps       int64
	Alloc       bind.Size
	Bytes       bind.Size
	Depth       int
	Output      bind.Size
	EvalTimeout bind.Duration
	Calls       int64
	Threads     int
}

// capForm is a capability written as a map.
type capForm struct {
	Fn         value.Value   `lisp:"fn,required"`
	Doc        string        `lisp:"doc"`
	Arglists   value.Value   `lisp:"arglists"`
	Effect     string        `lisp:"effect"`
	Approve    bool          `lisp:"approve"`
	Timeout    bind.Duration `lisp:"timeout"`
	MaxCalls   int           `lisp:"max-calls"`
	AcceptsFns bool          `lisp:"accepts-fns"`
	Serial     value.Value   `lisp:"serial"`
	Audit      string        `lisp:"audit"`
	Name       string        `lisp:"name"`
}

// Decode checks what a grant function returned.
func Decode(t *value.Thread, v value.Value) (*Grant, error) {
	var f form
	if err := bind.Decode(t, v, &f); err != nil {
		return nil, fmt.Errorf("grant: %w", err)
	}
	g := &Grant{Fresh: f.Fresh, EvalTimeout: time.Duration(f.Limits.EvalTimeout)}
	if g.EvalTimeout == 0 {
		g.EvalTimeout = DefaultEvalTimeout
	}
	if err := checkLimits(t, v); err != nil {
		return nil, err
	}
	g.Limits = f.Limits.limits(g.EvalTimeout)
	g.Context = lisp.Plain(t, f.CtxInfo, lisp.Crossing{What: "grant: :ctx-info"})
	var err error
	if g.Asking, err = decodeAsking(t, f.Ask); err != nil {
		return nil, err
	}
	if g.Budget, err = decodeBudget(t, f.Budget); err != nil {
		return nil, fmt.Errorf("grant: :budget %w", err)
	}
	if err := g.decodeVocab(t, f); err != nil {
		return nil, err
	}
	for name := range f.Docs {
		if g.Find(name) == nil {
			return nil, fmt.Errorf("grant: :docs: got a text for %q, want only names of :vocab", name)
		}
	}
	return g, nil
}

func (l limitsForm) limits(timeout time.Duration) lisp.Limits {
	return lisp.Limits{Steps: l.Steps, Alloc: int64(l.Alloc), Bytes: int64(l.Bytes), Depth: l.Depth, Output: int64(l.Output),
		Time: timeout, Calls: l.Calls, Threads: l.Threads}.OrDefault()
}

func (g *Grant) decodeVocab(t *value.Thread, f form) error {
	if f.Vocab.IsNil() {
		return nil
	}
	if !f.Vocab.Kind().IsMap() {
		return fmt.Errorf("grant: :vocab: got %s (%s), want a map from names to functions", value.Brief(t, f.Vocab), f.Vocab.Kind())
	}
	var err error
	value.EachKV(t, f.Vocab, func(k, v value.Value) bool {
		var c *Capability
		if c, err = decodeCap(t, k, v); err != nil {
			return false
		}
		if doc := f.Docs[c.Name]; doc != "" {
			c.Doc = doc
		}
		g.Caps = append(g.Caps, c)
		return true
	})
	slices.SortFunc(g.Caps, func(a, b *Capability) int { return strings.Compare(a.Name, b.Name) })
	return err
}

func decodeCap(t *value.Thread, k, v value.Value) (*Capability, error) {
	name, err := capName(t, k)
	if err != nil {
		return nil, err
	}
	cf := capForm{Fn: v}
	if v.Kind().IsMap() {
		cf = capForm{}
		if err := bind.Decode(t, v, &cf); err != nil {
			return nil, fmt.Errorf("grant: :vocab %q: %w", name, err)
		}
	}
	if !callable(cf.Fn) {
		return nil, fmt.Errorf("grant: :vocab %q: got %s (%s), want a function, a var or a capability map", name, value.Brief(t, cf.Fn), cf.Fn.Kind())
	}
	if cf.Effect != "" && cf.Effect != "read" && cf.Effect != "write" {
		return nil, fmt.Errorf("grant: :vocab %q :effect: got %s, want :read or :write", name, cf.Effect)
	}
	if cf.Audit != "" && cf.Audit != "args" && cf.Audit != "none" {
		return nil, fmt.Errorf("grant: :vocab %q :audit: got %s, want :args or :none", name, cf.Audit)
	}
	serial, err := serialName(t, name, cf.Serial)
	if err != nil {
		return nil, err
	}
	c := &Capability{Name: name, Fn: cf.Fn, Doc: cf.Doc, Effect: cf.Effect, Approve: cf.Approve, Timeout: time.Duration(cf.Timeout),
		MaxCalls: cf.MaxCalls, AcceptsFns: cf.AcceptsFns, Serial: serial, Audit: cf.Audit}
	c.Arglists = arglists(t, cf.Arglists)
	c.describe(t)
	return c, nil
}

// WithLeased gives g and one capability more. What g has of that name stays as it is.
func (g *Grant) WithLeased(c *Capability) *Grant {
	if g.Find(c.Name) != nil {
		return g
	}
	n := *g
	n.Caps = append(slices.Clone(g.Caps), c)
	slices.SortFunc(n.Caps, func(a, b *Capability) int { return strings.Compare(a.Name, b.Name) })
	return &n
}

// Bare gives what is left of g without everything that is granted: its limits and its budget.
func (g *Grant) Bare() *Grant {
	n := *g
	n.Caps, n.Context, n.Asking = nil, value.Nil, nil
	return &n
}

// DecodeCapability reads a name and a function or capability map, as in :vocab.
func DecodeCapability(t *value.Thread, name, v value.Value) (*Capability, error) {
	return decodeCap(t, name, v)
}

func capName(t *value.Thread, k value.Value) (string, error) {
	name := ""
	switch k.Kind() {
	case value.KindString:
		name = k.Text()
	case value.KindSymbol:
		name = value.As[value.Symbol](k).FullName()
	case value.KindKeyword:
		name = value.As[value.Keyword](k).FullName()
	}
	if !validName(name) {
		return "", fmt.Errorf("grant: :vocab: got %s as a name, want one that reads as a symbol, such as \"diff\" or \"comment!\"", value.Brief(t, k))
	}
	if slices.Contains(Reserved, name) {
		return "", fmt.Errorf("grant: :vocab: got %q, which is zeno's own in every isolate, want another name", name)
	}
	return name, nil
}

func validName(s string) bool {
	if s == "" || len(s) > 128 || strings.ContainsAny(s, " \t\r\n,()[]{}\"';@^`~\\#%") || strings.Count(s, "/") > 1 {
		return false
	}
	c := s[0]
	return !(c >= '0' && c <= '9') && c != ':' && c != '/' && s[len(s)-1] != '/' && s != "nil" && s != "true" && s != "false" && s != "&" && s != "."
}

func callable(v value.Value) bool {
	switch v.Kind() {
	case value.KindFn, value.KindVar, value.KindMultiFn, value.KindProtocolFn, value.KindKeyword:
		return true
	}
	return false
}

// describe takes what the capability's map did not say from the function's var or metadata.
func (c *Capability) describe(t *value.Thread) {
	meta := value.Nil
	switch c.Fn.Kind() {
	case value.KindVar:
		meta = value.As[value.Var](c.Fn).MetaMap()
	case value.KindFn:
		meta = value.Meta(c.Fn)
	}
	if meta.IsNil() {
		return
	}
	if c.Doc == "" {
		if d, _ := value.Get(t, meta, value.Kw("doc")); d.Kind() == value.KindString {
			c.Doc = d.Text()
		}
	}
	if len(c.Arglists) == 0 {
		a, _ := value.Get(t, meta, value.Kw("arglists"))
		c.Arglists = arglists(t, a)
	}
}

// arglists prints each parameter vector of ([a] [a b]).
func arglists(t *value.Thread, v value.Value) []string {
	if !v.Kind().IsSequential() {
		return nil
	}
	var out []string
	value.Each(t, v, func(a value.Value) bool {
		out = append(out, value.PrStr(t, a))
		return true
	})
	return out
}

// Writes tells whether a call may have an effect: one that does not say counts as one that has.
func (c *Capability) Writes() bool { return c.Effect != "read" }

// Find gives the capability of a name, or nil.
func (g *Grant) Find(name string) *Capability {
	for _, c := range g.Caps {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Call is the line that a model reads: (name arg …) or one per arglist.
func (c *Capability) Call() string {
	if len(c.Arglists) == 0 {
		return "(" + c.Name + " …)"
	}
	out := make([]string, len(c.Arglists))
	for i, a := range c.Arglists {
		out[i] = strings.TrimSpace("("+c.Name+" "+strings.Trim(a, "[]")) + ")"
	}
	return strings.Join(out, " ")
}

// Deadline is when an evaluation that starts now must end.
func (g *Grant) Deadline() time.Duration { return min(g.EvalTimeout, limit.Unlimited) }
