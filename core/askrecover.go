package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// recover decides, at the start of the process that leads, what became of what was under way when the last one ended.
func (a *asks) recover(d *ask.Desk) error {
	runner, err := a.core.runner() // it has ended what was left of the last one's agents
	if err != nil {
		return err
	}
	list, err := d.In(a.ctx(), ask.Calling, ask.Resuming, ask.Asked)
	if err != nil {
		return err
	}
	found := a.finder()
	for _, q := range list {
		if a.mine(q) {
			continue
		}
		switch {
		case q.State == ask.Calling:
			err = a.unknown(d, q, fmt.Sprintf("the call %s was approved and begun, and nobody knows how it ended, since zeno was killed in it", q.Call.Form()))
		case q.State == ask.Resuming:
			err = a.recoverResume(d, runner, q)
		case q.Kind == ask.Program && q.Key == "" && !alive(q.Owner):
			var ok bool
			_, ok, err = d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
				q.State, q.Note = ask.Withdrawn, "the zeno that asked has ended, and the question had no :key to come back to"
				return true
			}, ask.Asked)
			if ok {
				found("question %s taken back, since the zeno that asked has ended and it had no :key", q.ID)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := a.recoverSpawns(d, found); err != nil {
		return err
	}
	return a.tellAnswered(d, found)
}

// finder tells the operator what an earlier zeno left behind, a line each, and no more than maxFound of them.
func (a *asks) finder() func(format string, args ...any) {
	told := 0
	return func(format string, args ...any) {
		switch told++; {
		case told <= maxFound:
			a.core.warn("found " + fmt.Sprintf(format, args...))
		case told == maxFound+1:
			a.core.warn("found more of that; `zeno journal tail` shows it")
		}
	}
}

// tellAnswered tells which agents go on with an answer that an earlier zeno could not hand over.
func (a *asks) tellAnswered(d *ask.Desk, found func(string, ...any)) error {
	list, err := d.In(a.ctx(), ask.Answered, ask.Called)
	for _, q := range list {
		if q.Kind != ask.Program && !a.mine(q) {
			found("question %s answered; spawn %s (%s) goes on with that", q.ID, q.Spawn, q.Role)
		}
	}
	return err
}

// mine tells whether this process is at work for q.
func (a *asks) mine(q ask.Ask) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.runs[q.Spawn]
	return a.busy[q.ID] || q.Spawn != "" && r != nil && r.running || q.Owner == a.owner && q.Waited
}

func alive(owner string) bool {
	text, _, _ := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	return err == nil && pid > 1 && pid != os.Getpid() && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func (a *asks) unknown(d *ask.Desk, q ask.Ask, why string) error {
	_, ok, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool { q.State, q.Note = ask.Unknown, why; return true }, ask.Calling, ask.Resuming)
	if ok {
		a.core.warn(fmt.Sprintf("question %s: %s; find out, then (zeno.ask/resume! %q) or `zeno answer --resume %s`", q.ID, why, q.ID, q.ID))
	}
	return err
}

// recoverResume looks for the marker of the last attempt in the session.
func (a *asks) recoverResume(d *ask.Desk, runner *spawn.Runner, q ask.Ask) error {
	sp, ok, err := d.Spawn(a.ctx(), q.Spawn)
	if err != nil || !ok {
		return err
	}
	var req spawn.Request
	_ = json.Unmarshal(sp.Request, &req) // what does not read has no backend, and is not sent again
	// A scripted agent is called only once the answer counts as arrived.
	again := !q.Begun || req.Backend == spawn.Scripted
	if !again {
		there, err := runner.InSession(q.Spawn, q.Marker())
		switch {
		case err != nil:
			return a.unknown(d, q, fmt.Sprintf("whether the answer has reached the agent cannot be told: %v", err))
		case there:
			_, _, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool { q.State = ask.Resumed; return true }, ask.Resuming)
			return err
		case !a.sessionFirst(req):
			return a.unknown(d, q, "the answer is not in the agent's session, but its CLI may have sent it to the model all the same")
		}
	}
	_, _, err = d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
		q.State = ask.Answered
		if q.Outcome != "" {
			q.State = ask.Called
		}
		return true
	}, ask.Resuming)
	return err
}

func (a *asks) sessionFirst(req spawn.Request) bool {
	table := a.core.conf.Backends
	if table == nil {
		table = backend.Table()
	}
	return table[req.Backend].SessionFirst && len(req.Tools) == 0
}

// recoverSpawns ends the spawns whose agent has the answer and was cut off at its work.
func (a *asks) recoverSpawns(d *ask.Desk, found func(string, ...any)) error {
	waiting, err := d.Waiting(a.ctx())
	if err != nil {
		return err
	}
	for _, id := range waiting {
		list, err := d.Of(a.ctx(), id)
		if err != nil || len(list) == 0 {
			return err
		}
		q := list[len(list)-1]
		a.mu.Lock()
		r := a.runs[id]
		a.mu.Unlock()
		if q.State != ask.Resumed || r != nil && r.running {
			continue
		}
		found("spawn %s (%s) cut off by the end of the zeno before, with the answer to %s; it is recorded as interrupted", id, q.Role, q.ID)
		a.conclude(d, q, spawn.Interrupted, fmt.Sprintf("zeno was ended while the agent worked with the answer to %s; its session is kept: see :resume", q.ID))
	}
	return nil
}
