package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// jobsKept is how many spawns that have ended are remembered, for those who wait for them or ask after them.
const jobsKept = 1000

// The states of a job.
const (
	jobStarting = "starting" // about to run
	jobQueued   = "queued"   // waits for a place: its role's, or the instance's
	jobRunning  = "running"
	jobBackoff  = "backoff" // waits for its next attempt
	jobEnded    = "ended"
)

// job is a spawn with all its attempts.
type job struct {
	id, role, backend, model string
	since                    time.Time
	done                     chan struct{} // closed at its end
	cancel                   context.CancelCauseFunc
	meter                    *budget.Meter
	usage                    func(backend.Usage) // of the attempt that runs
	hear                     *hearer             // nil: nobody hears of its events

	mu       sync.Mutex
	state    string
	attempts []Attempt
	result   spawn.Result
	ended    time.Time
	calls    map[string]int // of capabilities, by name, in the latest run

	adviser atomic.Pointer[string] // the id of the adviser's run that is under way

	run atomic.Pointer[context.CancelCauseFunc] // ends the attempt that runs
}

// Attempt is one run of a spawn.
type Attempt struct {
	ID      string // of the spawn, with ".2" and so on from the second on
	Status  spawn.Status
	Error   string
	Elapsed time.Duration
}

// jobs are the spawns of this process, those that run and the latest that ended. The zero one is ready.
type jobs struct {
	mu    sync.Mutex
	byID  map[string]*job // by the spawn's id
	runs  map[string]*job // by the id of the attempt that runs
	ended []string        // oldest first
}

func (x *jobs) open(j *job) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old := x.byID[j.id]; old != nil {
		select {
		case <-old.done:
			x.ended = slices.DeleteFunc(x.ended, func(id string) bool { return id == j.id })
		default:
			return fmt.Errorf("id: got %q, which runs already; want a fresh one", j.id)
		}
	}
	if x.byID == nil {
		x.byID, x.runs = map[string]*job{}, map[string]*job{}
	}
	x.byID[j.id] = j
	return nil
}

func (x *jobs) close(j *job, res spawn.Result) {
	j.mu.Lock()
	j.state, j.result, j.ended = jobEnded, res, time.Now()
	j.mu.Unlock()
	x.mu.Lock()
	x.ended = append(x.ended, j.id)
	for len(x.ended) > jobsKept {
		delete(x.byID, x.ended[0])
		x.ended = x.ended[1:]
	}
	x.mu.Unlock()
	close(j.done)
}

// begin makes an attempt the one that runs.
func (x *jobs) begin(j *job, attempt string) {
	x.mu.Lock()
	x.runs[attempt] = j
	x.mu.Unlock()
}

func (x *jobs) end(attempt string) {
	x.mu.Lock()
	delete(x.runs, attempt)
	x.mu.Unlock()
}

// attempt gives the job whose attempt runs under an id; nil where none does.
func (x *jobs) attempt(id string) *job {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.runs[id]
}

func (x *jobs) find(id string) (*job, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if j := x.byID[id]; j != nil {
		return j, nil
	}
	if j := x.runs[id]; j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("spawn: got %q, want the id of one that runs or has ended lately: (zeno.spawn/ps {:all true}) lists them", id)
}

func (j *job) become(state string) {
	j.mu.Lock()
	j.state = state
	j.mu.Unlock()
}

// SpawnStatus is a spawn as an operator sees it.
type SpawnStatus struct {
	ID, Role, Backend, Model string
	State                    string // starting, queued, running, backoff, ended
	Since                    time.Time
	Elapsed                  time.Duration
	Attempt                  int // the one that runs or ran last, from 1 on; 0: none yet
	Attempts                 []Attempt
	Used                     budget.Amount
	Left                     []budget.Left
	Result                   *spawn.Result // where it has ended
}

func (j *job) status() SpawnStatus {
	j.mu.Lock()
	s := SpawnStatus{ID: j.id, Role: j.role, Backend: j.backend, Model: j.model, State: j.state, Since: j.since,
		Elapsed: time.Since(j.since), Attempts: slices.Clone(j.attempts), Attempt: len(j.attempts)}
	if j.state == jobRunning {
		s.Attempt++
	}
	if j.state == jobEnded {
		res := j.result
		s.Result, s.Elapsed = &res, j.ended.Sub(j.since)
	}
	m := j.meter
	j.mu.Unlock()
	if m != nil {
		s.Used, s.Left = m.Used(), m.Left()
	}
	return s
}

// Spawns lists the spawns of this process, oldest first: those that have not ended, or with all the latest that have, too.
func (c *Core) Spawns(all bool) []SpawnStatus {
	c.jobs.mu.Lock()
	list := make([]*job, 0, len(c.jobs.byID))
	for _, j := range c.jobs.byID {
		list = append(list, j)
	}
	c.jobs.mu.Unlock()
	var out []SpawnStatus
	for _, j := range list {
		if s := j.status(); all || s.State != jobEnded {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b SpawnStatus) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return out
}

// CancelSpawn ends a spawn, and tells whether it was still going. why is for the record; it may be empty.
func (c *Core) CancelSpawn(id, why string) (bool, error) {
	j, err := c.jobs.find(id)
	if err != nil {
		return false, err
	}
	select {
	case <-j.done:
		return false, nil
	default:
	}
	reason := "cancelled by the operator"
	if why != "" {
		reason += ": " + why
	}
	j.cancel(errors.New(reason))
	return true, nil
}

// WaitSpawn waits for a spawn's end.
func (c *Core) WaitSpawn(ctx context.Context, id string) (spawn.Result, error) {
	j, err := c.jobs.find(id)
	if err != nil {
		return spawn.Result{}, err
	}
	select {
	case <-j.done:
		return j.result, nil
	case <-ctx.Done():
		return spawn.Result{}, context.Cause(ctx)
	}
}
