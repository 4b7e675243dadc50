package core

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// The kinds of event that the loop records.
const (
	processRun  = "process/run"  // a run of a process, when it has ended
	processStep = "process/step" // a step of a tick that threw
)

func (c *Core) processes(t *value.Thread) value.Value {
	var out []value.Value
	for _, s := range c.loop.Processes() {
		out = append(out, statusMap(t, s))
	}
	return value.NewVector(t, out)
}

// statusMap is a process as the program sees it. What is not known yet has no key.
func statusMap(t *value.Thread, s loop.Status) value.Value {
	m := map[string]any{"name": bind.Keyword(s.Name), "schedule": s.Schedule, "status": bind.Keyword(s.State),
		"runs": s.Runs, "failures": s.Failures}
	if s.Paused {
		m["paused"] = true
	}
	if s.Overdue {
		m["overdue"] = true
	}
	if s.Failing > 0 {
		m["failing"] = s.Failing
	}
	if !s.Since.IsZero() {
		m["since"] = s.Since
	}
	if !s.Next.IsZero() {
		m["next"] = s.Next
	}
	if s.Last.Outcome != "" {
		m["last-ms"], m["last-at"], m["last-outcome"] = millis(s.Last.Elapsed), s.Last.Started, bind.Keyword(outcome(s.Last))
	}
	if s.Err != nil {
		m["error"] = errorMap(s.Err, s.ErrAt)
	}
	return bind.Encode(t, m)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// errorMap is the error of a run: what was thrown, where in the program, and the stack that led there.
func errorMap(err error, at time.Time) map[string]any {
	m := map[string]any{"message": err.Error(), "time": at}
	if thrown, ok := err.(*lisp.Error); ok {
		m["message"] = strings.TrimSuffix(thrown.Message+"; "+thrown.Hint, "; ")
	}
	var le *lisp.Error
	if errors.As(err, &le) {
		m["kind"] = bind.Keyword(le.Kind)
		if le.Pos != nil {
			m["at"] = le.Pos.String()
		}
		if len(le.Stack) > 0 {
			m["stack"] = le.Stack
		}
	}
	return m
}

// outcome is that of a run, or the kind of its error where the language knows one.
func outcome(r loop.Run) string {
	var le *lisp.Error
	if r.Outcome == loop.Failed && errors.As(r.Err, &le) {
		return le.Kind
	}
	return string(r.Outcome)
}

// recordRun tells the journal of a run, and a person of one that failed.
func (c *Core) recordRun(r loop.Run) {
	e := journal.Event{At: r.Started.Add(r.Elapsed), Kind: processRun, Outcome: outcome(r), Elapsed: r.Elapsed,
		Data: map[string]any{"process": r.Process, "trigger": string(r.Trigger)}}
	if r.Err != nil {
		e.Data["error"] = clip(r.Err.Error())
	}
	c.record(e)
	c.rehearsal.ran(r)
	if r.Outcome != loop.Failed && r.Outcome != loop.TimedOut {
		return
	}
	what := "process " + r.Process + " failed"
	if r.Outcome == loop.TimedOut {
		what = fmt.Sprintf("process %s took %s, more than its :timeout of %s", r.Process, r.Elapsed.Round(time.Millisecond), r.Timeout)
	}
	if r.Failing > 1 {
		what += fmt.Sprintf(" (%d times in a row)", r.Failing)
	}
	c.report(what, r.Err)
	var p *loop.Panic
	if errors.As(r.Err, &p) {
		c.conf.Log.Error("a process panicked", "process", r.Process, "reason", p.Value, "stack", string(p.Stack))
	}
}

// reportOverdue tells of a run that is being cancelled. One that does not end then would otherwise never be heard of.
func (c *Core) reportOverdue(r loop.Run) {
	c.warn(fmt.Sprintf("process %s: got no end within %s, want one; it is being cancelled (:timeout sets how long a run may take)", r.Process, r.Timeout))
}
