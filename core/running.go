package core

import "time"

// SpawnInfo is a spawn under way, as `zeno ps` shows it.
type SpawnInfo struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Backend string    `json:"backend"`
	Model   string    `json:"model,omitempty"`
	State   string    `json:"state"` // starting, queued, running, backoff
	Since   time.Time `json:"since"`
	Attempt int       `json:"attempt,omitempty"`
	Evals   int64     `json:"evals"`
	Last    time.Time `json:"last,omitzero"` // its last request
}

// runningSpawns lists the spawns that have not ended, the oldest first.
func (c *Core) runningSpawns() []SpawnInfo {
	out := []SpawnInfo{}
	for _, s := range c.Spawns(false) {
		a := c.Gateway().Observe(s.ID)
		out = append(out, SpawnInfo{ID: s.ID, Role: s.Role, Backend: s.Backend, Model: s.Model, State: s.State, Since: s.Since,
			Attempt: s.Attempt, Evals: a.Evals, Last: a.LastAt})
	}
	return out
}
