package grant

import (
	"fmt"
	"math"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// LimitsForm is what a spawn may use, as the program writes it: {:tokens 200000 :usd 1.5 :wall "30m" :evals 100 :calls 500}.
type LimitsForm struct {
	Tokens *int64         `lisp:"tokens"`
	USD    *float64       `lisp:"usd"`
	Wall   *bind.Duration `lisp:"wall"`
	Evals  *int64         `lisp:"evals"`
	Calls  *int64         `lisp:"calls"`
	Late   bool           `lisp:"late"` // tokens and money may be known only at the end
}

// Limits checks the form. Nothing may be zero: what is to be used not at all is better not started.
func (f LimitsForm) Limits() (l budget.Limits, err error) {
	for _, x := range []struct {
		name string
		from *int64
		to   *int64
	}{{"tokens", f.Tokens, &l.Tokens}, {"evals", f.Evals, &l.Evals}, {"calls", f.Calls, &l.Calls}} {
		if x.from == nil {
			continue
		}
		if *x.from <= 0 {
			return l, fmt.Errorf(":%s: got %d, want more than 0; leave it out for no bound", x.name, *x.from)
		}
		*x.to = *x.from
	}
	if f.USD != nil {
		if !(*f.USD > 0) || math.IsInf(*f.USD, 0) {
			return l, fmt.Errorf(":usd: got %v, want US dollars, more than 0; leave it out for no bound", *f.USD)
		}
		l.USD = budget.Dollars(*f.USD)
	}
	if f.Wall != nil {
		if *f.Wall <= 0 {
			return l, fmt.Errorf(":wall: got %s, want more than nothing; leave it out for no bound", time.Duration(*f.Wall))
		}
		l.Wall = time.Duration(*f.Wall)
	}
	return l, nil
}

// budgetForm is the :budget of a grant.
type budgetForm struct {
	Tokens        *int64         `lisp:"tokens"`
	USD           *float64       `lisp:"usd"`
	Wall          *bind.Duration `lisp:"wall"`
	Evals         *int64         `lisp:"evals"`
	Calls         *int64         `lisp:"calls"`
	Per           string         `lisp:"per"`
	Spawn         *LimitsForm    `lisp:"spawn"`
	Late          bool           `lisp:"late"`
	SpawnsPerHour *int           `lisp:"spawns-per-hour"`
	Concurrent    *int           `lisp:"concurrent"`
	Queue         *int           `lisp:"queue"`
}

func decodeBudget(t *value.Thread, v value.Value) (r budget.Role, err error) {
	if v.IsNil() {
		return r, nil
	}
	var f budgetForm
	if err := bind.Decode(t, v, &f); err != nil {
		return r, err
	}
	if r.Limits, err = (LimitsForm{Tokens: f.Tokens, USD: f.USD, Wall: f.Wall, Evals: f.Evals, Calls: f.Calls}).Limits(); err != nil {
		return r, err
	}
	if f.Per != "" {
		if r.Per, err = budget.ParsePeriod(f.Per); err != nil {
			return r, fmt.Errorf(":per: %w", err)
		}
	}
	if f.Spawn != nil {
		if r.Spawn, err = f.Spawn.Limits(); err != nil {
			return r, fmt.Errorf(":spawn %w", err)
		}
	}
	for _, x := range []struct {
		name string
		from *int
		to   *int
	}{{"spawns-per-hour", f.SpawnsPerHour, &r.SpawnsPerHour}, {"concurrent", f.Concurrent, &r.Concurrent}} {
		if x.from == nil {
			continue
		}
		if *x.from <= 0 {
			return r, fmt.Errorf(":%s: got %d, want more than 0", x.name, *x.from)
		}
		*x.to = *x.from
	}
	if f.Queue != nil && *f.Queue < 0 {
		return r, fmt.Errorf(":queue: got %d, want 0 (none waits) or more", *f.Queue)
	}
	r.Queue, r.Late = f.Queue, f.Late || f.Spawn != nil && f.Spawn.Late
	return r, nil
}
