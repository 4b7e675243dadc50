package spawn

import (
	"sync"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// tally is what a run has used: what its stream says and, in a box, what the models' answers said at the proxy. Of each
// count the greater one holds: a CLI may hide a request, and a proxy does not see what a cache of the CLI's own answers.
type tally struct {
	mu           sync.Mutex
	told, passed backend.Usage
	hear         func(backend.Usage)
}

// stream takes over what the stream has said so far.
func (t *tally) stream(u backend.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = u
	t.tell()
}

// proxy adds the usage of one answer.
func (t *tally) proxy(u backend.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed.TokensIn += u.TokensIn
	t.passed.TokensOut += u.TokensOut
	t.passed.CacheRead += u.CacheRead
	t.passed.CacheWrite += u.CacheWrite
	t.tell()
}

// tell holds the lock, so that who hears it hears it in order.
func (t *tally) tell() {
	if t.hear != nil {
		t.hear(t.most())
	}
}

func (t *tally) most() backend.Usage {
	return backend.Usage{TokensIn: max(t.told.TokensIn, t.passed.TokensIn), TokensOut: max(t.told.TokensOut, t.passed.TokensOut),
		CacheRead: max(t.told.CacheRead, t.passed.CacheRead), CacheWrite: max(t.told.CacheWrite, t.passed.CacheWrite), USD: max(t.told.USD, t.passed.USD)}
}

// all is what was used so far.
func (t *tally) all() backend.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most()
}

// checkUsage stops the spawn over a budget of its request.
func (s *run) checkUsage() {
	used, q := s.used.all(), s.req
	if tokens := used.TokensIn + used.TokensOut; q.MaxTokens > 0 && tokens > q.MaxTokens {
		s.stop(OverBudget, "tokens: got %d, want at most %d", tokens, q.MaxTokens)
	}
	if q.MaxUSD > 0 && used.USD > q.MaxUSD {
		s.stop(OverBudget, "usd: got %.4f, want at most %.4f", used.USD, q.MaxUSD)
	}
}

// with is what was used by a run whose stream has come to its end.
func (t *tally) with(u backend.Usage) backend.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = u
	return t.most()
}
