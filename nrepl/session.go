package nrepl

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// session is one conversation: its state in the language, what is typed for it, and its queue. Its jobs run one at a time,
// in the order they came, on a goroutine that exists while there are any.
type session struct {
	s      *Server
	id     string
	conn   *conn // whose own it is: it has no name, and starts anew with every evaluation; nil for others
	ctx    context.Context
	cancel context.CancelFunc
	in     *typed
	users  atomic.Int64 // open connections that have used it
	last   atomic.Int64 // when it was used, in Unix nanoseconds

	mu      sync.Mutex
	state   *lisp.Session
	queue   []*job
	running *job
	working bool
	closed  bool
	tests   testRun // what the last test op found

	inspecting *inspector // nil: nothing
}

// newSession makes a session that lives as long as ctx; from, if not nil, is where it starts.
func newSession(s *Server, ctx context.Context, from *session) *session {
	x := &session{s: s, id: newID(), in: newTyped(s.conf.MaxInput)}
	x.ctx, x.cancel = context.WithCancel(ctx)
	if from == nil || from.conn != nil {
		x.state = lisp.NewSession(s.conf.Env)
	} else {
		x.state = from.lisp().Fork()
		x.state.Set("*ns*", lisp.NewSession(s.conf.Env).Value("*ns*"))
	}
	x.touch()
	return x
}

// newID makes a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (x *session) touch() { x.last.Store(time.Now().UnixNano()) }

// lisp gives the session's state in the language.
func (x *session) lisp() *lisp.Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

// renew starts the state anew.
func (x *session) renew(state *lisp.Session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = state
}

// enqueue makes j run when all before it have. It gives the status of a refusal, or "".
func (x *session) enqueue(j *job) (refused string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return "unknown-session"
	case len(x.queue) >= x.s.conf.MaxQueue:
		return "queue-full"
	}
	j.r.queued = true
	j.r.c.begin()
	x.queue = append(x.queue, j)
	if !x.working {
		x.working = true
		x.s.wg.Add(1)
		go x.work()
	}
	return ""
}

func (x *session) work() {
	defer x.s.wg.Done()
	for {
		j := x.next()
		if j == nil {
			return
		}
		j.perform()
	}
}

// next takes the job that is due.
func (x *session) next() *job {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running = nil
	if len(x.queue) == 0 {
		x.queue, x.working = nil, false
		return nil
	}
	x.running, x.queue = x.queue[0], x.queue[1:]
	x.touch()
	return x.running
}

// clone registers a new session that starts where from is; nil where there are too many.
func (s *Server) clone(from *session) *session {
	s.evict()
	x := newSession(s, s.ctx, from)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= s.conf.MaxSessions || s.state != started {
		x.cancel()
		return nil
	}
	s.sessions[x.id] = x
	return x
}

func (s *Server) session(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *Server) allSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sessions))
}

func (s *Server) allConns() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// closeSession ends a session: what runs is interrupted and what waits is answered.
func (s *Server) closeSession(x *session) {
	s.mu.Lock()
	delete(s.sessions, x.id)
	s.mu.Unlock()
	x.mu.Lock()
	x.closed = true
	waiting := x.queue
	x.queue = nil
	if x.running != nil {
		x.running.interrupted.Store(true)
	}
	x.mu.Unlock()
	x.cancel()
	for _, c := range s.allConns() {
		c.unuses(x)
	}
	for _, j := range waiting {
		j.conclude("interrupted", "session-closed", "done")
	}
}

// evict makes room for a session where there is none, by closing the one that has been idle longest of those that no
// open connection uses.
func (s *Server) evict() {
	s.mu.Lock()
	full := len(s.sessions) >= s.conf.MaxSessions
	s.mu.Unlock()
	if !full {
		return
	}
	var oldest *session
	for _, x := range s.allSessions() {
		if x.idle() && (oldest == nil || x.last.Load() < oldest.last.Load()) {
			oldest = x
		}
	}
	if oldest != nil {
		s.closeSession(oldest)
	}
}

// idle tells whether nobody would miss the session at once.
func (x *session) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.users.Load() == 0 && !x.working
}

// reap closes sessions that no open connection uses once they have not been used for long, even while they evaluate: nobody
// waits for it.
func (s *Server) reap() {
	defer s.wg.Done()
	tick := time.NewTicker(min(s.conf.SessionIdle/4+1, time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			for _, x := range s.allSessions() {
				if x.users.Load() == 0 && now.UnixNano()-x.last.Load() > int64(s.conf.SessionIdle) {
					s.closeSession(x)
				}
			}
		}
	}
}

func (s *Server) opClone(r *request) {
	x := s.clone(r.ses)
	if x == nil {
		r.finish(bencode.Dict{"message": fmt.Sprintf("clone: got %d sessions open already, want some closed first", s.conf.MaxSessions)}, "error", "session-limit", "done")
		return
	}
	r.c.uses(x)
	r.answer(bencode.Dict{"new-session": x.id})
}

func (s *Server) opClose(r *request) {
	if r.ses == r.c.own {
		r.finish(nil, "error", "session-ephemeral", "done")
		return
	}
	s.closeSession(r.ses)
	r.finish(nil, "session-closed", "done")
}

func (s *Server) opLsSessions(r *request) {
	s.mu.Lock()
	ids := slices.Sorted(maps.Keys(s.sessions))
	s.mu.Unlock()
	r.answer(bencode.Dict{"sessions": append([]string{}, ids...)})
}
