// Package budget counts what agents use and says when it is enough.
//
// Three scopes bound a spawn: its own budget, that of its role for a period, and the instance's for a day. A Ledger admits
// spawns and keeps the sums; a Meter is one spawn's side of it. What was used is kept in a file, so that a restart, or a
// second zeno on the same home, spends from the same purse.
//
// The invariant: what is counted only grows, whatever a CLI claims and whatever the clock does, and a crossing stays one:
// after it every Meter.Eval and Meter.Call of the spawn fails with the same *OverError. Money is whole nanodollars, so no
// sum of small prices is rounded away.
//
// Start with Role and Limits (what may be used), then Ledger.Admit and Meter; window.go holds the periods, store.go the
// file, prices.go what a token costs.
package budget

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound what may be used. A zero field bounds nothing.
type Limits struct {
	Tokens int64         // in and out, as the CLI's stream reports them
	USD    Money         // by the price table, or what the CLI reports where that is more
	Wall   time.Duration // time that spawns run, added up
	Evals  int64         // evaluations
	Calls  int64         // capability calls
}

// Defaults of a spawn whose budget names no other.
const (
	DefaultEvals = 10_000
	DefaultCalls = 100_000
)

// DefaultSpawnsPerHour is that of a role whose budget names no other.
const DefaultSpawnsPerHour = 10_000

// DefaultQueue is how many spawns of a role wait at its cap on concurrent ones where the budget does not say.
const DefaultQueue = 64

// Role is the budget of a role.
type Role struct {
	Limits                 // of all its spawns together, in one Per
	Per           Period   // "" is Day
	Spawn         Limits   // of each of its spawns; the spawn's own budget can only be tighter
	SpawnsPerHour int      // starts in any 60 minutes; 0: DefaultSpawnsPerHour
	Concurrent    int      // spawns at once; 0: only the instance's bound
	Late          bool     // tokens and money of the spawns may be known only at their end
	Queue         *int     // spawns that wait at Concurrent, more are refused; nil: DefaultQueue
	_             struct{} // fields by name
}

func (r Role) starts() int {
	if r.SpawnsPerHour > 0 {
		return r.SpawnsPerHour
	}
	return DefaultSpawnsPerHour
}

func (r Role) queue() int {
	if r.Queue != nil {
		return *r.Queue
	}
	return DefaultQueue
}

func (r Role) period() Period {
	if r.Per == "" {
		return Day
	}
	return r.Per
}

// Daily is the instance's budget for a calendar day in Zone.
type Daily struct {
	Limits
	Spawns int64 // starts; 0: no bound
}

// What is a thing that is counted.
type What string

// The things that are counted.
const (
	Tokens     What = "tokens"
	USD        What = "usd"
	Wall       What = "wall"
	Evals      What = "evals"
	Calls      What = "calls"
	Spawns     What = "spawns"
	Starts     What = "spawns-per-hour"
	Concurrent What = "concurrent"
)

// counted are those that Amount and Limits both have.
func counted() [5]What { return [...]What{Tokens, USD, Wall, Evals, Calls} }

func (l Limits) of(w What) int64 {
	return Amount{Tokens: l.Tokens, USD: l.USD, Wall: l.Wall, Evals: l.Evals, Calls: l.Calls}.Of(w)
}

// Tighter gives the smaller of each limit.
func (l Limits) Tighter(m Limits) Limits {
	least := func(a, b int64) int64 {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	return Limits{Tokens: least(l.Tokens, m.Tokens), USD: Money(least(int64(l.USD), int64(m.USD))),
		Wall: time.Duration(least(int64(l.Wall), int64(m.Wall))), Evals: least(l.Evals, m.Evals), Calls: least(l.Calls, m.Calls)}
}

// Amount is what was used.
type Amount struct {
	Tokens int64
	USD    Money
	Wall   time.Duration
	Evals  int64
	Calls  int64
	Spawns int64
}

// Of gives one of a's numbers: a count, nanodollars or nanoseconds.
func (a Amount) Of(w What) int64 {
	switch w {
	case Tokens:
		return a.Tokens
	case USD:
		return int64(a.USD)
	case Wall:
		return int64(a.Wall)
	case Evals:
		return a.Evals
	case Calls:
		return a.Calls
	case Spawns:
		return a.Spawns
	}
	return 0
}

func (a Amount) plus(b Amount) Amount {
	return Amount{Tokens: add(a.Tokens, b.Tokens), USD: Money(add(int64(a.USD), int64(b.USD))),
		Wall: time.Duration(add(int64(a.Wall), int64(b.Wall))), Evals: add(a.Evals, b.Evals), Calls: add(a.Calls, b.Calls),
		Spawns: add(a.Spawns, b.Spawns)}
}

// most bounds every sum: a CLI that claims absurd numbers crosses its budget, and no counter overflows.
const most = 1 << 60

// add is the sum of two numbers that are not negative, at most most.
func add(a, b int64) int64 { return min(min(max(a, 0), most)+min(max(b, 0), most), most) }

// Scope is whose budget a limit belongs to.
type Scope string

// The scopes.
const (
	OfSpawn    Scope = "spawn"
	OfRole     Scope = "role"
	OfInstance Scope = "instance"
)

// OverError says which budget is used up.
type OverError struct {
	Scope  Scope
	Role   string
	What   What
	Used   int64 // in the unit of What: a count, nanodollars, nanoseconds
	Limit  int64
	Resets time.Time // when there is something again; zero: never
}

func (e *OverError) Error() string {
	whose := map[Scope]string{OfSpawn: "in this spawn", OfRole: "by role " + e.Role, OfInstance: "by the whole instance today"}[e.Scope]
	s := fmt.Sprintf("%s: got %s %s, want at most %s", e.What, Show(e.What, e.Used), whose, Show(e.What, e.Limit))
	if !e.Resets.IsZero() {
		s += "; there is more from " + e.Resets.Format("2006-01-02 15:04:05 MST") + " on"
	}
	return s
}

// Hint tells the operator what to do about it.
func (e *OverError) Hint() string {
	switch e.Scope {
	case OfSpawn:
		return fmt.Sprintf("give the spawn, or :spawn in the :budget of its role, a greater :%s", e.What)
	case OfRole:
		return fmt.Sprintf("(zeno.budget/report) shows it; :budget {:%s …} of the role's grant sets it", e.What)
	}
	return fmt.Sprintf("(zeno.budget/report) shows it; (zeno.budget/daily! {:%s …}) sets it", e.What)
}

// Show words an amount.
func Show(w What, n int64) string {
	switch w {
	case USD:
		return Money(n).String()
	case Wall:
		return time.Duration(n).Round(time.Millisecond).String()
	}
	return fmt.Sprint(n)
}

// RefusedError is why a spawn may not start although nothing is used up: what it needs to be counted cannot be counted, or
// too many wait already.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// ErrClosed: the ledger, or the instance it belongs to, has ended.
var ErrClosed = errors.New("budget: it is closed")
