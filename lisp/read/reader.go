// Package read turns the text of programs and of EDN data into values.
//
// A Reader walks a Go string once, from left to right, and gives one form at a time. Every list, vector, map, set and
// symbol it makes knows its position. Its one invariant: nothing that a text asks for is built before it is charged to
// the thread, and each level of nesting counts as depth, so that a hostile text ends in a limit. It evaluates nothing:
// #= is refused, and a tagged literal reaches only the functions that the Options name.
//
// Errors in the text are *Error values. Start reading at Reader.Read, then item, which meets every kind of form.
package read

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// CondMode says what becomes of reader conditionals, #?(…) and #?@(…).
type CondMode int

// The modes of reader conditionals.
const (
	CondAllow    CondMode = iota // the first branch with a feature that is on
	CondForbid                   // an error
	CondPreserve                 // kept as data, with the tagged literals in them
)

// Options say how a text is read. The zero Options read a program without a namespace.
type Options struct {
	File                   string // for positions
	StartLine, StartColumn int    // of the first character; zero means 1

	Unplaced bool     // lists have no :line and :column in their metadata; errors still tell their place
	EDN      bool     // data only: no quote, deref, fn, regex, var, conditionals
	ReadCond CondMode // program text only
	Features []string // that are on, without colon, besides :default; nil: joker

	CurrentNS string // for ::k and #::{…}; "" refuses them
	// AliasNS gives the namespace behind an alias, for ::alias/k.
	AliasNS func(t *value.Thread, alias string) (string, bool)
	// Resolve gives the full name of a symbol in a syntax-quote; nil: as it is.
	Resolve func(*value.Thread, *value.Symbol) *value.Symbol
	CoreNS  string                                  // where deref, unquote, seq, concat … live; "" means clojure.core
	Gensym  func(prefix string) string              // prefix and a number not used before; nil: the environment's
	Regex   func(*value.Thread, string) value.Value // makes a regex; nil refuses them
	Intern  *value.Interner                         // of the runtime; nil: one of the reader's own

	// Tags gives the function that reads forms tagged so, or nil. It is asked before the built-in inst and uuid.
	Tags func(tag string) TagFunc
	// Default reads forms with a tag that nobody knows; nil makes them an error.
	Default func(t *value.Thread, tag, form value.Value) value.Value
}

// TagFunc makes a value of a form that carried a tag. It may panic with a *value.Exception.
type TagFunc func(t *value.Thread, form value.Value) value.Value

// Reader reads the forms of one text. It is for one goroutine. After an error it is not to be used again.
type Reader struct {
	state
	first [8]value.Value // where stack begins, so that a small text needs no more
	outer [4]opening     // where open begins
}

// state is all of a Reader but for the room that it starts with.
type state struct {
	t    *value.Thread
	src  string
	off  int // of the next byte
	opts Options
	at   cursor

	stack   []value.Value // elements of the collections being read
	pending []value.Value // spliced forms that come next, last first
	open    []opening     // collections being read
	held    int           // bytes pinned for the form being read
	fn      *fnArgs       // of the #(…) being read, or nil
	skip    int           // inside forms that will be dropped: nothing is resolved
	keep    int           // inside conditionals that are kept as data
	gensyms int
	checked bool
	core    map[string]*value.Symbol
}

// opening is a delimiter that waits for its partner.
type opening struct {
	text string // as written: ( [ { #{ #(
	want byte
	off  int
	pos  value.Pos
}

// ours are the features that are on by default. It is never written.
var ours = []string{"joker"}

// fill sets what is left to us.
func (o *Options) fill() {
	if o.CoreNS == "" {
		o.CoreNS = "clojure.core"
	}
	if o.Intern == nil {
		o.Intern = &value.Interner{}
	}
	if o.Features == nil {
		o.Features = ours
	}
}

// New makes a reader of src on thread t.
func New(t *value.Thread, src string, opts Options) *Reader {
	r := &Reader{}
	r.start(t, src, opts)
	return r
}

// Readers keeps readers that have read their text to the end, to be used again: programs are mostly small, and a reader
// would be the largest thing that one needs. The zero Readers is ready, and safe for concurrent use.
type Readers struct{ pool sync.Pool }

// New is New, of a reader used before if there is one. Done gives it back.
func (rs *Readers) New(t *value.Thread, src string, opts Options) *Reader {
	r, ok := rs.pool.Get().(*Reader)
	if !ok {
		return New(t, src, opts)
	}
	r.start(t, src, opts)
	return r
}

// Done takes r, which is at the end of its text and known to nobody else any more. It holds nothing of what it read: what
// is made of elements takes them off the stack.
func (rs *Readers) Done(r *Reader) {
	r.state = state{}
	rs.pool.Put(r)
}

// start makes r, which is empty, read src.
func (r *Reader) start(t *value.Thread, src string, opts Options) {
	opts.fill()
	r.t, r.src, r.opts = t, src, opts
	r.stack, r.open = r.first[:0], r.outer[:0]
	r.at = cursor{line: int32(max(opts.StartLine, 1)), col: int32(max(opts.StartColumn, 1))}
	r.off = len(src) - len(strings.TrimPrefix(src, "\uFEFF"))
	r.at.off = r.off
}

// Read gives the next form, io.EOF when there is none, or an *Error. Limits end it by panic.
func (r *Reader) Read() (value.Value, error) {
	if err := r.check(); err != nil {
		return value.Nil, err
	}
	mark := r.t.Mark()
	v, ok, err := r.top()
	if err != nil {
		r.t.Unwind(mark) // takes back what was entered and pinned
		return value.Nil, err
	}
	r.t.Unpin(r.held)
	r.held = 0
	if !ok {
		return value.Nil, io.EOF
	}
	return v, nil
}

// top reads forms until one counts.
func (r *Reader) top() (value.Value, bool, *Error) {
	for {
		v, st, err := r.item()
		switch {
		case err != nil:
			return value.Nil, false, err
		case st == found:
			return v, true, nil
		case st == closed:
			return value.Nil, false, r.unmatched()
		case st == ended:
			return value.Nil, false, nil
		}
	}
}

// InNS makes ns the current namespace of the forms to come.
func (r *Reader) InNS(ns string) { r.opts.CurrentNS = ns }

// Offset is how many bytes of the text have been read.
func (r *Reader) Offset() int { return r.off }

// Pos is where the reader is.
func (r *Reader) Pos() *value.Pos { return r.posAt(r.off) }

// check refuses a text that is not UTF-8, once.
func (r *Reader) check() error {
	if r.checked {
		return nil
	}
	r.t.Steps(len(r.src) >> 6)
	if !utf8.ValidString(r.src) {
		bad := 0
		for i, c := range r.src {
			if c == utf8.RuneError {
				if _, n := utf8.DecodeRuneInString(r.src[i:]); n == 1 {
					bad = i
					break
				}
			}
		}
		return r.errorf(bad, "text: got byte 0x%02x at byte %d, want UTF-8", r.src[bad], bad)
	}
	r.checked = true
	return nil
}

// hold charges n bytes before they are allocated and counts them as alive until the form is done.
func (r *Reader) hold(n int) {
	r.t.Charge(n)
	r.t.Pin(n)
	r.held += n
}

// pin counts n bytes that were charged elsewhere as alive until the form is done.
func (r *Reader) pin(n int) {
	r.t.Pin(n)
	r.held += n
}

// push adds an element to the collection being read.
func (r *Reader) push(v value.Value) {
	if len(r.stack) == cap(r.stack) {
		r.hold(16 * (cap(r.stack) + 16))
	}
	r.stack = append(r.stack, v)
}

// cursor remembers the line and column of an offset, and moves only forward: all positions of a text cost one pass.
type cursor struct {
	off       int
	line, col int32
}

func (r *Reader) posAt(off int) *value.Pos {
	p := r.place(off)
	return &p
}

// place gives the position of an offset.
func (r *Reader) place(off int) value.Pos {
	c := &r.at
	if off < c.off { // an error that looks back
		c = &cursor{line: int32(max(r.opts.StartLine, 1)), col: int32(max(r.opts.StartColumn, 1))}
	}
	c.advance(r.src, off)
	return value.Pos{File: r.opts.File, Line: c.line, Column: c.col}
}

// advance counts characters; \n, \r\n and \r end a line.
func (c *cursor) advance(src string, off int) {
	line, col := c.line, c.col
	for i := c.off; i < off; i++ {
		switch b := src[i]; {
		case b == '\n', b == '\r' && (i+1 == len(src) || src[i+1] != '\n'):
			line++
			col = 1
		case b&0xC0 != 0x80:
			col++
		}
	}
	c.off, c.line, c.col = off, line, col
}
