package core

import "time"

// SpawnInfo is a spawn under way, or one that ended lately, as `zeno ps` shows it.
type SpawnInfo struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Backend string    `json:"backend"`
	Model   string    `json:"model,omitempty"`
	State   string    `json:"state"` // starting, queued, running, backoff, ended
	Since   time.Time `json:"since"`
	Attempt int       `json:"attempt,omitempty"`
	Evals   int64     `json:"evals"`
	Last    time.Time `json:"last,omitzero"` // its last request
	Tokens  int64     `json:"tokens,omitempty"`
	USD     float64   `json:"usd,omitempty"` // US dollars

	Status string        `json:"status,omitempty"` // of one that ended
	Error  string        `json:"error,omitempty"`
	Took   time.Duration `json:"took-ns,omitempty"`
}

// spawnInfos lists the spawns that have not ended, with all those that ended lately too, the oldest first.
func (c *Core) spawnInfos(all bool) []SpawnInfo {
	out := []SpawnInfo{}
	for _, s := range c.Spawns(all) {
		i := SpawnInfo{ID: s.ID, Role: s.Role, Backend: s.Backend, Model: s.Model, State: s.State, Since: s.Since,
			Attempt: s.Attempt, Tokens: s.Used.Tokens, USD: s.Used.USD.Float()}
		if r := s.Result; r != nil {
			i.Status, i.Error, i.Took, i.Evals = string(r.Status), r.Error, s.Elapsed, int64(r.Evals)
		} else {
			a := c.Gateway().Observe(s.ID)
			i.Evals, i.Last = a.Evals, a.LastAt
		}
		out = append(out, i)
	}
	return out
}
