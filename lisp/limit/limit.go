// Package limit holds the budgets of an evaluation and the one error by which a spent budget is known.
//
// Every limit is finite by default. A limit that trips ends its evaluation: it unwinds the Lisp stack without running any
// Lisp catch or finally, so the code that ran out can neither see nor forge it. Go code tells limits apart by Kind.
package limit

import (
	"fmt"
	"time"
)

// Kind names a limit.
type Kind string

// The kinds of limit.
const (
	Steps   Kind = "steps"     // calls, loop turns, items realised, characters printed
	Alloc   Kind = "alloc"     // bytes built in one evaluation, freed or not
	Bytes   Kind = "bytes"     // bytes alive at once
	Depth   Kind = "depth"     // nesting of calls and of data
	Output  Kind = "output"    // bytes printed
	Time    Kind = "time"      // wall clock
	Calls   Kind = "calls"     // capability calls
	Threads Kind = "threads"   // futures alive at once
	Cancel  Kind = "cancelled" // the caller's context ended
	// Interrupt is no budget: the host has ended the evaluation, and knows why.
	Interrupt Kind = "interrupted"
)

// Limits bounds one evaluation. A zero field means the default of that field; Unlimited lifts it, except for Depth,
// which binds everyone, because a Go stack that overflows takes the whole process.
type Limits struct {
	Steps   int64         // default 10,000,000
	Alloc   int64         // bytes; default 1 GiB
	Bytes   int64         // bytes; default 64 MiB
	Depth   int           // frames; default 2,500 in an isolate, 10,000 elsewhere; at most 10,000
	Output  int64         // bytes; default 1 MiB
	Time    time.Duration // default 45 s
	Calls   int64         // default 1,000
	Threads int           // default 16
}

// Unlimited lifts a limit.
const Unlimited = 1<<62 - 1

// MaxDepth is the deepest nesting anyone gets.
const MaxDepth = 10_000

// Defaults are the limits of an isolate that names none.
func Defaults() Limits {
	return Limits{Steps: 10_000_000, Alloc: 1 << 30, Bytes: 64 << 20, Depth: 2_500, Output: 1 << 20,
		Time: 45 * time.Second, Calls: 1_000, Threads: 16}
}

// Trusted are the limits of the orchestrator: only depth.
func Trusted() Limits {
	return Limits{Steps: Unlimited, Alloc: Unlimited, Bytes: Unlimited, Depth: MaxDepth, Output: Unlimited,
		Time: Unlimited, Calls: Unlimited, Threads: Unlimited}
}

// OrDefault fills the zero fields of l from Defaults.
func (l Limits) OrDefault() Limits {
	d := Defaults()
	l.Steps, l.Alloc, l.Bytes = or(l.Steps, d.Steps), or(l.Alloc, d.Alloc), or(l.Bytes, d.Bytes)
	l.Output, l.Calls = or(l.Output, d.Output), or(l.Calls, d.Calls)
	l.Time = or(l.Time, d.Time)
	l.Threads, l.Depth = or(l.Threads, d.Threads), min(or(l.Depth, d.Depth), MaxDepth)
	return l
}

func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// Error says which limit ended an evaluation.
type Error struct {
	Kind  Kind
	Limit int64 // in the unit of the kind: a count, bytes, or nanoseconds
	Used  int64 // what was asked for when it tripped
}

func (e *Error) Error() string {
	switch e.Kind {
	case Cancel:
		return "evaluation: cancelled"
	case Interrupt:
		return "evaluation: interrupted by the host"
	case Time:
		return fmt.Sprintf("time limit: ran longer than %s; do less in one evaluation", time.Duration(e.Limit))
	case Depth:
		return fmt.Sprintf("depth limit: nested deeper than %d; use loop/recur, reduce or a flatter structure", e.Limit)
	case Bytes:
		return fmt.Sprintf("bytes limit: wanted %d bytes alive at once, the limit is %d; keep less at a time", e.Used, e.Limit)
	case Alloc:
		return fmt.Sprintf("alloc limit: wanted %d bytes in all, the limit is %d; build less in one evaluation", e.Used, e.Limit)
	case Output:
		return fmt.Sprintf("output limit: printed more than %d bytes; print a part, or return a value", e.Limit)
	case Threads:
		return fmt.Sprintf("threads limit: more than %d at once; wait for some first", e.Limit)
	case Calls:
		return fmt.Sprintf("calls limit: more than %d capability calls in one evaluation", e.Limit)
	}
	return fmt.Sprintf("%s limit: used more than %d; do less in one evaluation", e.Kind, e.Limit)
}
