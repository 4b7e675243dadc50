package core

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/spawn"
)

// running knows the spawns under way, by what their runner tells.
type running struct {
	mu    sync.Mutex
	byID  map[string]SpawnInfo
	ended int64
}

// SpawnInfo is a spawn under way.
type SpawnInfo struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Backend string    `json:"backend"`
	State   string    `json:"state"` // "queued" or "running"
	Since   time.Time `json:"since"`
	Evals   int64     `json:"evals"`
	Last    time.Time `json:"last,omitzero"` // its last request or line
}

func (r *running) event(e spawn.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = map[string]SpawnInfo{}
	}
	s, ok := r.byID[e.Spawn]
	if !ok {
		s = SpawnInfo{ID: e.Spawn, Role: e.Role, Backend: e.Backend, State: "running", Since: e.Time}
	}
	s.Last = e.Time
	switch e.Kind {
	case spawn.Ended:
		if res := e.Result; ok && res != nil && e.Time.Add(-res.Elapsed).After(s.Since) {
			return // another request of the same id, which was refused
		}
		delete(r.byID, e.Spawn)
		r.ended++
		return
	case spawn.Queued:
		s.State = "queued"
	case spawn.Started:
		s.State = "running"
	}
	r.byID[e.Spawn] = s
}

// runningSpawns lists them, the oldest first.
func (c *Core) runningSpawns() []SpawnInfo {
	c.running.mu.Lock()
	out := make([]SpawnInfo, 0, len(c.running.byID))
	for _, s := range c.running.byID {
		out = append(out, s)
	}
	c.running.mu.Unlock()
	for i := range out {
		a := c.Gateway().Observe(out[i].ID)
		out[i].Evals = a.Evals
		if a.LastAt.After(out[i].Last) {
			out[i].Last = a.LastAt
		}
	}
	slices.SortFunc(out, func(a, b SpawnInfo) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return out
}
