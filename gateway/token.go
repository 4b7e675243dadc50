package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"
)

// digest is all that is kept of a token.
type digest = [sha256.Size]byte

// pass is one live token.
type pass struct {
	hash    digest
	spawn   *spawn
	expires time.Time
}

// registry knows the tokens and the spawns they belong to.
type registry struct {
	mu     sync.RWMutex
	passes map[digest]*pass
	spawns map[string]*spawn
	closed bool
}

func newRegistry() *registry {
	return &registry{passes: map[digest]*pass{}, spawns: map[string]*spawn{}}
}

// errStopped is the cause of everything that ends because the server does.
var errStopped = errors.New("the gateway is stopping")

// errRevoked is the cause of everything that ends because its spawn did.
var errRevoked = errors.New("the spawn has ended")

// Issue makes a token with which spawn may call as role until ttl has passed,
// which must be more than 0 and at most Config.MaxTTL. It is returned here once
// and can not be had again. A spawn may hold several tokens, all of one role.
// Safe for concurrent use.
func (s *Server) Issue(role, spawn string, ttl time.Duration) (token string, err error) {
	cfg := s.config()
	if role == "" || spawn == "" {
		return "", fmt.Errorf("gateway token: got role %q and spawn %q, want both named", role, spawn)
	}
	if ttl <= 0 || ttl > cfg.MaxTTL {
		return "", fmt.Errorf("gateway token: ttl: got %v, want more than 0 and at most %v (Config.MaxTTL)", ttl, cfg.MaxTTL)
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("failed to make a gateway token: %w", err)
	}
	token = base64.RawURLEncoding.EncodeToString(secret[:])
	now := cfg.Now()
	p := &pass{hash: sha256.Sum256([]byte(token)), expires: now.Add(ttl)}
	return token, s.reg.add(p, Caller{Role: role, Spawn: spawn}, now, cfg.MaxTokens, s.newSpawn)
}

func (g *registry) add(p *pass, c Caller, now time.Time, limit int, make func(Caller) *spawn) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("gateway token: spawn %q: %w; make a new gateway with New", c.Spawn, errStopped)
	}
	if len(g.passes) >= limit || len(g.spawns) >= limit {
		g.sweep(now)
	}
	if len(g.passes) >= limit || len(g.spawns) >= limit {
		return fmt.Errorf("gateway token: got %d live tokens of %d spawns, want fewer than %d; "+
			"Revoke the spawns that have ended, or raise Config.MaxTokens", len(g.passes), len(g.spawns), limit)
	}
	sp := g.spawns[c.Spawn]
	if sp == nil {
		sp = make(c)
		g.spawns[c.Spawn] = sp
	} else if sp.caller.Role != c.Role {
		return fmt.Errorf("gateway token: spawn %q: got role %q, want %q, which it holds a token for; Revoke it first",
			c.Spawn, c.Role, sp.caller.Role)
	}
	p.spawn = sp
	g.passes[p.hash] = p
	return nil
}

// sweep forgets what has expired. It runs only when there is no room left: an
// expired token is refused whether it is still known or not.
func (g *registry) sweep(now time.Time) {
	live := map[*spawn]bool{}
	for hash, p := range g.passes {
		if now.Before(p.expires) {
			live[p.spawn] = true
			continue
		}
		delete(g.passes, hash)
	}
	for id, sp := range g.spawns {
		if !live[sp] && sp.inflight.Load() == 0 {
			sp.end(errRevoked)
			delete(g.spawns, id)
		}
	}
}

// find returns the spawn a token belongs to, or nil where the token is not a
// live one for the role.
func (g *registry) find(token, role string, now time.Time) *spawn {
	hash := sha256.Sum256([]byte(token))
	g.mu.RLock()
	p := g.passes[hash]
	g.mu.RUnlock()
	if p == nil {
		return nil
	}
	ok := subtle.ConstantTimeCompare(hash[:], p.hash[:]) &
		subtle.ConstantTimeCompare([]byte(role), []byte(p.spawn.caller.Role))
	if ok != 1 || !now.Before(p.expires) {
		return nil
	}
	return p.spawn
}

// Revoke ends a spawn: its tokens are refused from now on, its running evals
// are cancelled, its waiting ones answered. It returns what the spawn did here,
// as Observe would have just before; afterwards the spawn is unknown.
func (s *Server) Revoke(spawn string) Activity {
	s.reg.mu.Lock()
	sp := s.reg.spawns[spawn]
	delete(s.reg.spawns, spawn)
	for hash, p := range s.reg.passes {
		if p.spawn == sp {
			delete(s.reg.passes, hash)
		}
	}
	s.reg.mu.Unlock()
	if sp == nil {
		return Activity{}
	}
	sp.end(errRevoked)
	return sp.activity()
}

// close revokes everything and refuses what comes later.
func (g *registry) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, sp := range g.spawns {
		sp.end(errStopped)
	}
	clear(g.spawns)
	clear(g.passes)
}

// Activity is what reached the gateway from one spawn. A CLI that exits with 0
// and was never Connected did nothing.
type Activity struct {
	Known     bool      // the spawn holds a token, which may have expired
	Connected bool      // any request with a valid token was seen
	Requests  int64     // requests with a valid token
	Evals     int64     // evals handed to the Host
	LastAt    time.Time // of the last request; zero: none
}

// Observe reports what spawn has done so far; a zero Activity where it is not
// known. Safe for concurrent use.
func (s *Server) Observe(spawn string) Activity {
	s.reg.mu.RLock()
	sp := s.reg.spawns[spawn]
	s.reg.mu.RUnlock()
	if sp == nil {
		return Activity{}
	}
	return sp.activity()
}

// endOf joins the life of a request with the life of its spawn: the context
// ends with whichever ends first.
func endOf(ctx context.Context, sp *spawn) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(sp.life, func() { cancel(context.Cause(sp.life)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
